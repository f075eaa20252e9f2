"""The parts of an explanation on features: the revisits of a page, and the estimated score of a URL in a focused
crawl.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webcrawl.reports import text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webcrawl.features.focus.learner import Guess, Learner
    from webcrawl.features.revisits.page import RevisitedPage
    from webcrawl.frontier.records import UrlEntry


if TYPE_CHECKING:
    Moment = Callable[[float], str]
    """Formats a time."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The stored visits of a page. ``why``: the policy's reason for the time of the next visit."""

    page: RevisitedPage
    why: str
    fresh_until: float = 0.0
    """The time before which it is not visited again because of its Cache-Control or Expires, as far as that is
    obeyed."""

    @property
    def is_held_back(self) -> bool:
        """True if that is why the next visit is not sooner."""
        return self.page.fresh_seconds is not None and abs(self.page.next_visit_at - self.fresh_until) < 0.01


def revisit_rows(remembered: Remembered, moment: Moment) -> Iterator[tuple[str, str]]:
    """Yield the rows of the text: names and values."""
    page, history = remembered.page, remembered.page.history
    changes = text.things(history.changes, "change")
    yield "visits", f"{text.count(history.visits)} since {moment(history.first_at)}; {changes} found"
    yield "last visit", moment(history.last_at)
    if history.changed_at is not None:
        yield "last change", f"found {moment(history.changed_at)}"
    if page.etag:
        yield "ETag", page.etag
    if page.last_modified:
        yield "Last-Modified", page.last_modified
    if page.gone:
        yield "gone", f"{text.things(page.gone, 'visit')} in a row"
    if page.failed:
        yield "failed", f"{text.things(page.failed, 'visit')} in a row"
    yield "next visit", moment(page.next_visit_at)
    yield "because", remembered.why
    if remembered.is_held_back:
        yield (
            "not sooner",
            f"its Cache-Control or Expires calls it fresh for {text.duration(page.fresh_seconds or 0.0)}",
        )


def revisit_object(remembered: Remembered | None) -> dict[str, Any] | None:
    """Return the values for JSON."""
    if remembered is None:
        return None
    page, history = remembered.page, remembered.page.history
    return {
        "visits": history.visits,
        "changes": history.changes,
        "first_at": history.first_at,
        "last_at": history.last_at,
        "changed_at": history.changed_at,
        "etag": page.etag,
        "last_modified": page.last_modified,
        "digest": page.digest.hex(),
        "gone": page.gone,
        "failed": page.failed,
        "next_visit_at": page.next_visit_at,
        "why": remembered.why,
        "fresh_seconds": page.fresh_seconds,
        "is_held_back": remembered.is_held_back,
    }


FEATURES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Worth:
    """The estimated score. ``queued``: whether the features of the link were known, and not only its URL.
    ``learned``: the number of examples. ``area``: how good recent estimates were, see
    ``features.focus.learner.Skill``.
    """

    guess: Guess
    queued: bool
    learned: int
    is_believed: bool
    area: float | None


def explain_worth(learner: Learner, url: str, entry: UrlEntry | None) -> Worth:
    """``entry``: the queued entry, if there is one."""
    guess = learner.guess(url, None if entry is None else entry.link_features)
    skill = learner.skill
    return Worth(guess, entry is not None, learner.weights.learned, skill.is_believed, skill.area)


def worth_rows(worth: Worth) -> Iterator[tuple[str, str]]:
    """Yield the rows of the text: names and values."""
    # Features that are off are not imported.
    from webcrawl.features.focus.link_features import in_words

    guess = worth.guess
    known = "" if worth.queued else ", by its URL alone"
    yield "worth", f"{guess.worth:.3f}, level {guess.level}{known}"
    area = (
        "too few to tell" if worth.area is None else f"area under the curve {worth.area:.2f}, 0.5 is chance"
    )
    believed = "believed" if worth.is_believed else "not believed, so all levels are 0"
    yield "learned from", f"{text.things(worth.learned, 'example')}; guesses are {believed} ({area})"
    shown = [feature for feature in guess.features if feature.weight][:FEATURES_SHOWN]
    for feature in shown:
        yield f"{feature.weight:+.2f}", in_words(feature.name)
    rest = sum(feature.weight for feature in guess.features) - sum(feature.weight for feature in shown)
    if len(guess.features) > len(shown) and abs(rest) >= 0.005:
        yield f"{rest:+.2f}", "all others"
    yield f"{guess.bias:+.2f}", "any link"


def worth_object(worth: Worth | None) -> dict[str, Any] | None:
    """Return the values for JSON."""
    if worth is None:
        return None
    return {
        "worth": worth.guess.worth,
        "level": worth.guess.level,
        "bias": worth.guess.bias,
        "features": {feature.name: feature.weight for feature in worth.guess.features},
        "queued": worth.queued,
        "learned": worth.learned,
        "believed": worth.is_believed,
        "area": worth.area,
    }
