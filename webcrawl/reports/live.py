"""The live display as rows of text: what it says of a reading, and how it fits into a terminal of any size.

Colours are names of kinds (``Tone``); the extension that draws translates them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.reports import text
from webcrawl.reports.limiting import Bound
from webcrawl.reports.pace import format_usage, stops_after, to_go
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from webcrawl.reports.pace import Limit, Reading

LABEL = 11
"""Width of the column of names; two spaces follow."""
_GAP = "   "
_BAR_MOST = 30
_ROWS_LEAST = 6
"""The display is never cut to fewer rows than this."""


class Tone(Enum):
    PLAIN = ""
    WARNING = "warning"
    """Something that a person should look at, and that does no harm yet."""
    ERROR = "error"
    ALARM = "alarm"
    """The crawl cannot go on, or loses URLs."""
    FILLED = "filled"
    """The used part of a bar."""


class Part(NamedTuple):
    """A figure with its name; it is never divided between lines."""

    text: str
    tone: Tone = Tone.PLAIN


class RecentError(NamedTuple):
    """An error of one URL."""

    at: float
    """Monotonic seconds."""
    word: str
    """The name of the error, as in the fetch log."""
    url: str


@dataclass(frozen=True, slots=True)
class DisplayRow:
    """A subject of the display."""

    name: str
    parts: tuple[Part, ...]
    rank: int
    """Rows with high ranks are left out first if the terminal is too low."""
    joint: str = _GAP
    """The text between two parts."""


def rows(
    reading: Reading, failures: Sequence[RecentError] = (), now: float = 0.0, width: int = 100
) -> list[DisplayRow]:
    """Return all rows. ``failures``: the last errors, the latest last; ``now``: monotonic seconds."""
    f = reading.frontier
    shown = [
        _plain(
            "pages",
            1,
            text.count(reading.pages),
            f"{text.rate(reading.pages_rate)} now",
            f"{text.rate(reading.pages_rate_mean)} mean",
            f"{text.size(reading.bytes_rate)}/s",
        ),
        *_statuses(reading.statuses),
        *([_plain("found", 3, reading.found)] if reading.found else []),
        *([_plain("revisits", 3, reading.again)] if reading.again else []),
        *([_plain("bandwidth", 3, format_usage(*reading.bandwidth))] if reading.bandwidth else []),
        *_queues(reading),
        _other(reading),
        _with_kinds("refused", 8, reading.refused, reading.refused_by_rule, Tone.PLAIN),
        _with_kinds("errors", 4, reading.errors, reading.errors_by_word, Tone.ERROR),
        *_last(failures, now),
        _plain("now", 0, *_activity(reading)),
    ]
    if reading.limit is not None:
        shown.append(_bar(reading.limit, reading.left_seconds, width))
    shown.append(_plain("elapsed", 5, text.duration(reading.elapsed_seconds)))
    if reading.hint:
        shown.append(DisplayRow("hint", (Part(reading.hint, Tone.WARNING),), 9))
    if f.workers is not None:
        given_up = [f"{text.count(f.given_up_hosts)} given up"] if f.given_up_hosts else []
        shown.append(
            _plain(
                "whole crawl",
                3,
                text.things(f.workers, "worker"),
                f"{text.things(f.queued, 'URL')} queued",
                f"hosts: {text.count(f.known_hosts)} known",
                f"{text.count(f.parked_hosts)} parked",
                *given_up,
            )
        )
    if f.crowded:
        shown.append(DisplayRow("backlog full", (Part(f.crowded, Tone.ALARM),), 0))
    if f.stalled:
        shown.append(DisplayRow("stalled", (Part(f.stalled, Tone.ALARM),), 0))
    return shown


def fitted(rows: Sequence[DisplayRow], width: int, height: int) -> list[tuple[str, list[Part]]]:
    """Return lines of name and parts that fit into ``width`` columns and at most ``height`` lines.

    A row that is too long continues on further lines without a name. If there are too many lines, the rows with the
    highest ranks are left out.
    """
    kept = list(rows)
    while True:
        lines = [line for row in kept for line in _folded(row, max(width - LABEL - 2, 10))]
        most = max((row.rank for row in kept), default=0)
        if len(lines) <= height or len(kept) <= _ROWS_LEAST or not most:
            return lines
        last = max(number for number, row in enumerate(kept) if row.rank == most)
        del kept[last]


def _folded(row: DisplayRow, width: int) -> Iterator[tuple[str, list[Part]]]:
    name, line, used = row.name, list[Part](), 0
    for part in row.parts:
        more = len(part.text) + (len(row.joint) if line else 0)
        if line and used + more > width:
            yield name, line
            name, line, used, more = "", [], 0, len(part.text)
        if line:
            line.append(Part(row.joint))
        line.append(part)
        used += more
    yield name, line


def _plain(name: str, rank: int, *parts: str) -> DisplayRow:
    return DisplayRow(name, tuple(map(Part, parts)), rank)


def _statuses(classes: Mapping[int, int]) -> Iterator[DisplayRow]:
    tones = {4: Tone.WARNING, 5: Tone.ERROR}
    if classes:
        parts = (
            Part(f"{kind}xx {text.count(number)}", tones.get(kind, Tone.PLAIN))
            for kind, number in classes.items()
        )
        yield DisplayRow("status", tuple(parts), 6)


def _queues(reading: Reading) -> Iterator[DisplayRow]:
    """Yield the rows on URLs and hosts. In a shared crawl, those of the whole crawl have a row of their own."""
    f = reading.frontier
    in_flight = Part(f"{text.count(f.in_flight)} in flight")
    active = [Part(f"{text.count(f.active_hosts)} active")]
    if f.ready_hosts:
        active.append(Part(f"{text.count(f.ready_hosts)} ready"))
    if f.workers is not None:
        yield DisplayRow("hosts", (*active, in_flight, *_trouble(reading, shared=True)), 2)
        return
    yield DisplayRow("queued", (Part(text.things(f.queued, "URL")), in_flight), 2)
    yield DisplayRow("hosts", (Part(f"{text.count(f.known_hosts)} known"), *active, *_trouble(reading)), 2)


def _trouble(reading: Reading, *, shared: bool = False) -> Iterator[Part]:
    f = reading.frontier
    if f.parked_hosts and not shared:
        last = f" (last: {_printable(f.last_parked)})" if f.last_parked else ""
        yield Part(f"{text.count(f.parked_hosts)} parked{last}", Tone.WARNING)
    if f.given_up_hosts and not shared:
        yield Part(f"{text.count(f.given_up_hosts)} given up", Tone.WARNING)
    if reading.slow is not None:
        yield Part(f"slow: {_printable(reading.slow[0])} for {text.duration(reading.slow[1])}", Tone.WARNING)


def _other(reading: Reading) -> DisplayRow:
    parts = [f"{text.count(reading.robots)} fetched"]
    for name, number in (
        ("redirects", reading.redirects),
        ("sitemaps", reading.sitemaps),
        ("tried again", reading.retries),
    ):
        if number:
            parts.append(f"{name} {text.count(number)}")
    return _plain("robots.txt", 7, *parts)


def _with_kinds(name: str, rank: int, number: int, kinds: Mapping[str, int], tone: Tone) -> DisplayRow:
    """Return the row of a number and of the largest numbers that it consists of."""
    parts = [Part(text.count(number), tone if number else Tone.PLAIN)]
    parts += [Part(f"{kind} {text.count(count)}") for kind, count in kinds.items()]
    return DisplayRow(name, tuple(parts), rank)


def _last(failures: Sequence[RecentError], now: float) -> Iterator[DisplayRow]:
    """Yield a row for each of the last errors, the latest first."""
    for number, failure in enumerate(reversed(failures)):
        ago = text.duration(max(now - failure.at, 0.0))
        yield DisplayRow(
            "last errors" if not number else "",
            (Part(f"{ago} ago   {failure.word} {_printable(failure.url)}"),),
            10 + number,
        )


def _activity(reading: Reading) -> tuple[str, ...]:
    f = reading.frontier
    if reading.is_closing:
        return (stops_after(f),)
    limit = []
    if reading.verdict is not None and reading.verdict.bound not in (Bound.NOTHING, Bound.STARTING):
        limit = [reading.verdict.short]
    ends = [] if reading.ends is None else [to_go(reading.ends)]
    if reading.next_seconds is not None:
        return (*(limit or ["waiting"]), f"next host {text.moment_ahead(reading.next_seconds)}", *ends)
    if f.in_flight:
        return ("fetching", *limit, *ends)
    if f.unsettled:
        return ("waiting for pages to be stored", *limit, *ends)
    return (
        *(limit or ["starting the next requests" if f.ready_hosts else "nothing to fetch at this moment"]),
        *ends,
    )


def _bar(limit: Limit, left_seconds: float | None, width: int) -> DisplayRow:
    """Return the bar of a limit: its used part in its own tone."""
    length = max(min(_BAR_MOST, width - LABEL - 12), 5)
    filled = round(limit.share * length)
    left = [Part(f"{text.duration(left_seconds)} left")] if left_seconds is not None else []
    bar = Part(
        f"{'━' * filled}{'┄' * (length - filled)} {100 * limit.share:.0f} %",
        Tone.FILLED,
    )
    return DisplayRow("limit", (bar, Part(limit.text), *left), 3)


def _printable(name: str) -> str:
    """Return a text from outside without control characters."""
    return name if name.isprintable() else printable(name, None)
