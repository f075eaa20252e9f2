"""The summary at the end of a crawl, as a table for the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.reports import text
from webcrawl.reports.standing import CrawlState

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from webcrawl.frontier.tally import Snapshot, Tally

_SHOWN = 8
"""The number of lines shown of each breakdown; the rest is summed up."""

_NAMED = 4
"""The number of hosts that are named on a line."""

FORCED = "forced"
"""The close reason of a crawl that was not closed."""
_REASONS = {
    "finished": "finished",
    "shutdown": "was stopped",
    "stopped": "was stopped with the whole crawl",
    "start_error": "could not read all its seeds and ended",
    "storage_lost": "could no longer store its state and ended",
    "unanticipated_errors": "had too many unanticipated errors and ended",
    FORCED: "was stopped by force",
}


_BY_ERRORS = frozenset({"start_error", "storage_lost", "unanticipated_errors", "processing_broken"})
_BY_ORDER = frozenset({"shutdown", "stopped", FORCED})
_FOR_ALL = ("finished", "stopped")
"""Close reasons that are those of all workers of a crawl."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The shared crawl of which the worker was one part."""

    worker: str
    """Name of the worker."""
    place: str
    """The place where the crawl is stored."""


@dataclass(frozen=True, slots=True)
class CrawlEnd:
    """The end of a crawl, with its reason and totals."""

    spider: str
    reason: str
    """Scrapy's close reason."""
    elapsed_seconds: float
    tally: Tally
    frontier: Snapshot
    directory: Path | None
    report: Path | None
    resume: str | None
    """The command that resumes the crawl; None if there is nothing to resume."""
    shared: Shared | None = None
    """Set for a crawl of several workers; all figures except ``left`` are then this worker's."""
    unanticipated: int = 0
    """The number of uncaught exceptions."""
    items: int | None = None
    """The number of items; None for a spider whose items are its pages."""
    dropped_items: int = 0
    """The number of items that a pipeline dropped."""
    trouble: str | None = None
    """The reason why the crawl's state could not be stored any longer, if so."""

    @property
    def left(self) -> int:
        """The number of URLs that are still queued."""
        return self.frontier.queued


def summary(ending: CrawlEnd) -> str:
    """Return the table, with a line feed at the end."""
    tally = ending.tally
    rate = tally.pages / ending.elapsed_seconds if ending.elapsed_seconds > 0 else 0.0
    lines = [
        f"{_who(ending)} {how_it_ended(ending.reason)} after {text.duration(ending.elapsed_seconds)}",
        _row("pages", tally.pages, f"{text.rate(rate)}, {text.size(tally.bytes)} received"),
        *_breakdown({f"status {status}": number for status, number in tally.statuses.items()}),
        *_items(ending),
        *([_row("relevant", tally.relevant, _harvest(tally))] if tally.scored is not None else []),
        *([_row("same as others", tally.duplicates)] if tally.duplicates else []),
        *([_row("cut pages", tally.cut, "links after the cut are not known")] if tally.cut else []),
        *_dropped(tally),
        _row("redirects", tally.redirects),
        _row("robots.txt", tally.robots),
        *([_row("sitemaps", tally.sitemaps)] if tally.sitemaps else []),
        *([_row("inline requests", tally.inline)] if tally.inline else []),
        _row("failed", tally.failures, f"and {text.count(tally.retries)} retried" if tally.retries else ""),
        *_errors(ending),
        _row("refused", tally.refusals),
        *_breakdown(tally.refused_by_rule),
        *_by_sites(tally),
        *(
            [_row("withheld", tally.withheld, "pages that may not be used for USAGE_PURPOSES")]
            if tally.withheld
            else []
        ),
        *_skipped(tally),
        *_held(tally),
        _row(
            "left in queues" if ending.shared is None else "left in the whole crawl",
            ending.left,
            _hosts(ending),
        ),
    ]
    if ending.frontier.stalled:
        lines.append(f"  stalled at the end: {ending.frontier.stalled}")
    lines += _whereabouts(ending)
    lines += _nothing(ending)
    return "\n".join(lines) + "\n"


def _items(ending: CrawlEnd) -> Iterator[str]:
    """Yield the line on items."""
    if ending.items is not None:
        dropped = f"and {text.count(ending.dropped_items)} dropped" if ending.dropped_items else ""
        yield _row("items", ending.items, dropped)


def _errors(ending: CrawlEnd) -> Iterator[str]:
    """Yield the lines on failed requests and other errors; "no errors" is said only of a crawl that had none of
    both.
    """
    errors, unanticipated = ending.tally.errors, ending.unanticipated
    if errors or not (unanticipated or ending.trouble or ending.reason in _BY_ERRORS):
        yield _row("request errors", errors.total(), "all attempts and robots.txt included" if errors else "")
        yield from _breakdown(errors)
    if unanticipated:
        yield _row("unanticipated errors", unanticipated, "see unanticipated.log" if ending.directory else "")
    if ending.trouble:
        yield f"  could not be stored: {ending.trouble}"


def _dropped(tally: Tally) -> Iterator[str]:
    """Yield the line on links that were not taken, if there are any."""
    if tally.links_dropped:
        pages = text.things(tally.pages_with_dropped, "page")
        yield _row("links dropped", tally.links_dropped, f"over LINKS_PER_PAGE_MAX or too long, on {pages}")


def _harvest(tally: Tally) -> str:
    """Return the line on relevant pages among all that were scored."""
    scored = tally.scored or 0
    return f"{100 * tally.relevant / scored if scored else 0.0:.1f} % of {text.count(scored)} scored"


def _who(ending: CrawlEnd) -> str:
    return ending.spider if ending.shared is None else f"{ending.spider}, worker {ending.shared.worker},"


def how_it_ended(reason: str) -> str:
    """Describe a close reason; unknown reasons of a spider stay as they are."""
    if reason.startswith("closespider_"):
        return f"reached a limit ({reason.upper()})"
    return _REASONS.get(reason, f"ended ({reason})")


def state_in_words(state: CrawlState, reason: str | None) -> str:
    """Return the state of a crawl in one or two words, with the close reason of one that has ended."""
    if state is not CrawlState.ENDED or reason is None:
        return str(state)
    if reason.startswith("closespider_"):
        return "limit reached"
    if reason in _BY_ERRORS:
        return "errors"
    if reason in _BY_ORDER:
        return "stopped"
    return "finished" if reason == "finished" else "ended"


def ending_in_words(state: CrawlState, reason: str | None) -> str:
    """Return the same with its details: which limit, which errors."""
    words, reason = state_in_words(state, reason), reason or ""
    if words == "limit reached":
        return f"{words} ({reason.upper()})"
    if words == "errors":
        return f"{words}: it {how_it_ended(reason)}"
    if words == "ended" and reason:
        return f"{words} ({reason})"
    if state is CrawlState.KILLED:
        return f"{words}: its last run has no end on record"
    return {"stopped": "stopped with the whole crawl", FORCED: "stopped by force"}.get(reason, words)


def _hosts(ending: CrawlEnd) -> str:
    frontier = ending.frontier
    given_up = f", {text.count(frontier.given_up_hosts)} given up" if frontier.given_up_hosts else ""
    if frontier.given_up_urls:
        given_up += f" with {text.things(frontier.given_up_urls, 'URL')}, kept for the next start"
    return f"{text.things(frontier.known_hosts, 'host')} known{given_up}"


def _skipped(tally: Tally) -> Iterator[str]:
    """Yield the line on hosts that ask for a longer Crawl-delay than is obeyed; all of them are in the report."""
    if not tally.skipped:
        return
    hosts = sorted(tally.skipped.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(f"{key} {text.duration(seconds)}" for key, seconds in hosts[:_NAMED])
    more = " and others" if len(hosts) > _NAMED else ""
    yield _row("hosts skipped", len(hosts), f"for their Crawl-delay: {named}{more}")


def _by_sites(tally: Tally) -> Iterator[str]:
    """Yield the lines on responses by which sites refused, and on the hosts that are left alone for it."""
    if not tally.site_refusals:
        return
    yield _row("refused by sites", tally.site_refusals.total(), "scrapy errors says what would help")
    yield from _breakdown(tally.site_refusals)
    if tally.refusing_hosts:
        last = f"left alone, the last: {tally.last_refusing[0]}" if tally.last_refusing else "left alone"
        yield _row("hosts that refuse", tally.refusing_hosts, last)


def _held(tally: Tally) -> Iterator[str]:
    """Yield the line on how often something blocked the event loop; the log has the details."""
    if tally.holds:
        longest = f"times, {1000 * tally.longest_hold_seconds:.0f} ms of CPU time at most; see the log"
        yield _row("event loop blocked", tally.holds, longest)


def _whereabouts(ending: CrawlEnd) -> Iterator[str]:
    shared, others = ending.shared, _others(ending)
    if ending.directory is not None:
        kept = "kept in" if shared is None else "its data is kept in"
        yield f"  {kept} {ending.directory}" + (f", see {ending.report}" if ending.report else "")
    if shared is not None and ending.left:
        yield f"  the crawl is stored on {shared.place}" + (
            f"; {text.things(others, 'other worker')} running when this one ended" if others else ""
        )
    if ending.left and ending.resume:
        yield f"  {'to join again' if others else 'to go on'}: {ending.resume}"


_PRIVATE = "private"
"""The error of a name that leads to a private address."""
_FOR_PRIVATE = "localhost and private networks are fetched with -s FETCH_PRIVATE_ADDRESSES=1"
ADVICE = {
    "private-address": _FOR_PRIVATE,
    _PRIVATE: _FOR_PRIVATE,
    "contact": "the public web is crawled with -s CRAWLER_CONTACT=you@your.site",
    "robots": "the site's robots.txt forbids it",
}
"""Hints by rule, for a crawl of which the rule refused every URL."""


def _nothing(ending: CrawlEnd) -> Iterator[str]:
    """Yield the line on a crawl that could fetch nothing since each of its URLs was refused."""
    tally = ending.tally
    is_other = tally.pages or tally.redirects or tally.errors.keys() - {_PRIVATE} or ending.left
    rules = sorted(tally.refused_by_rule, key=lambda rule: -tally.refused_by_rule[rule])
    if _PRIVATE in tally.errors:
        rules.append(_PRIVATE)
    if is_other or not rules:
        return
    advice = "; ".join(dict.fromkeys(ADVICE[rule] for rule in rules if rule in ADVICE))
    named = " and ".join(rules[:_NAMED])
    yield f"  nothing was fetched: every URL was refused, by {named}" + (f" ({advice})" if advice else "")


def _others(ending: CrawlEnd) -> int:
    """Return the number of workers that continue without this one."""
    return 0 if ending.reason in _FOR_ALL else (ending.frontier.workers or 1) - 1


def _row(name: str, number: int, remark: str = "", indent: int = 2) -> str:
    label = " " * indent + name
    return f"{label:<26}{text.count(number):>13}  {remark}".rstrip()


def _breakdown(numbers: Mapping[str, int] | Counter[str]) -> Iterator[str]:
    """Yield the largest of ``numbers``, a line each, and the sum of the others."""
    ordered = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    for name, number in ordered[:_SHOWN]:
        yield _row(name, number, indent=4)
    if rest := ordered[_SHOWN:]:
        yield _row(f"{len(rest)} others", sum(number for _, number in rest), indent=4)
