"""The result of adding a URL, judged by its explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from webcrawl.explain.account import Fate
from webcrawl.features.steering.store import Place
from webcrawl.frontier.active_keys import LONG_SECONDS
from webcrawl.reports.text import second
from webcrawl.storage.inspection import Activity
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    from webcrawl.explain.account import Explanation
    from webcrawl.storage.inspection import UrlSnapshot


RobotsWord = Literal["allowed", "forbidden", "unknown"]


@dataclass(frozen=True, slots=True)
class Added:
    """The result of adding a URL."""

    url: str
    verdict: Literal["queued", "known", "refused", "invalid"]
    rule: str | None
    """The rule that refuses it, or would when its turn comes."""
    robots: RobotsWord
    """The word of robots.txt, as far as the crawl knows it."""
    sentence: str


_KNOWN = {
    Fate.DONE: "fetched",
    Fate.FAILED: "its fetch failed",
    Fate.REFUSED: "it was refused",
    Fate.SETTLED: "fetched or refused",
    Fate.WAITS: "queued",
    Fate.KEPT: "queued",
    Fate.WILL_BE_REFUSED: "queued, and a rule will refuse it",
}


def added(explanation: Explanation, places: dict[str, Place] | None) -> Added:
    """Return the result of adding a URL with this explanation.

    ``places``: None unless it becomes the next of its host; then it gets the place of one that was queued.
    """
    url, conclusion, snapshot = explanation.address.url, explanation.conclusion, explanation.snapshot
    robots: RobotsWord = "unknown"
    if explanation.robots.record is not None and explanation.robots.fresh:
        robots = "forbidden" if explanation.robots.forbids else "allowed"
    match conclusion.fate:
        case Fate.WOULD_BE_QUEUED:
            sentence = "it is queued"
            if places is not None:
                sentence += f" as the next of its host{_rest(snapshot)}"
            if robots != "forbidden":
                return Added(url, "queued", None, robots, sentence)
            sentence += "; robots.txt forbids it, so it is refused when its turn comes"
            return Added(url, "queued", "robots", robots, sentence)
        case Fate.WAITS | Fate.KEPT if places is not None and snapshot is not None and snapshot.entry:
            entry = snapshot.entry
            places[url] = Place(entry.key, entry.fingerprint, entry.level, entry.position)
            return Added(
                url,
                "queued",
                None,
                robots,
                f"it was queued, and is the next of its host now{_rest(snapshot)}",
            )
        case Fate.WOULD_BE_REFUSED:
            decided = explanation.scoping.decided_by
            detail = "" if decided is None else f": {decided.objection}"
            refused = f"the rule {conclusion.rule} refuses it{printable(detail)}"
            sentence = "robots.txt forbids it" if conclusion.rule == "robots" else refused
            return Added(url, "refused", conclusion.rule, robots, sentence)
        case Fate.ROBOTS:
            sentence = "a robots.txt is requested when a page of its origin needs it"
            return Added(url, "refused", None, robots, sentence)
        case fate:
            return Added(url, "known", conclusion.rule, robots, f"it is known: {_KNOWN.get(fate, fate)}")


def _rest(snapshot: UrlSnapshot | None) -> str:
    """Return, for a host that is left alone, until when, to be added to a sentence; else nothing."""
    key = None if snapshot is None else snapshot.key
    if snapshot is None or key is None:
        return ""
    if key.activity is Activity.GIVEN_UP:
        return "; its host is given up in this run"
    until = max(key.record.next_fetch_at, key.record.blocked_until)
    is_long = until - snapshot.now > max(key.record.delay_seconds, LONG_SECONDS)
    return f"; its host is left alone until {second(until)} UTC" if is_long else ""
