"""The part of the report on freshness: how fresh copies were when their pages were revisited, and how fresh they were
expected to be. ``Freshness`` counts the lines of the fetch log, ``section`` renders the section.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webcrawl.reports import html, text
from webcrawl.reports.counting import SECONDS_EDGES, Histogram, TimeLine, number_in
from webcrawl.reports.text import second

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PARTS = 10_000
"""Probabilities are summed in parts of one, with as many digits as the log has."""
_FOREVER = 1e11


@dataclass(slots=True)
class Freshness:
    """Figures of lines that are revisits. Such a line has ``revisit``, ``changed`` if a page was returned, and if
    known: ``since`` (when our copy was fetched), the ``expected`` values, and ``modified`` (when the page changed
    according to its server).
    """

    revisits: int = 0
    """Revisits, including those that failed or found the page gone."""
    compared: int = 0
    """Revisits that returned the page, or the confirmation that it is unchanged."""
    unchanged: int = 0
    not_modified: int = 0
    """Unchanged pages that were answered with 304."""
    intervals: Histogram = field(default_factory=lambda: Histogram(SECONDS_EDGES))
    interval_seconds: float = 0.0
    fresh_least_seconds: float = 0.0
    """The part of that time in which copies were certainly fresh: up to visits that found no change."""
    fresh_most_seconds: float = 0.0
    """The part in which they may have been fresh: also up to a change, or the last change if its time is known."""
    foreseen: int = 0
    """Visits with a known expectation."""
    expected_unchanged: int = 0
    """The sum of probabilities, times ``PARTS``."""
    foreseen_seconds: float = 0.0
    expected_fresh_seconds: float = 0.0
    """Expected fresh seconds of the time before these visits."""
    aged: int = 0
    """Visits with a known expectation of pages whose server dates changes."""
    age_seconds: float = 0.0
    """The sum of the times for which their copies had been stale: right on average, not for one visit."""
    expected_age_seconds: float = 0.0
    time_line: TimeLine = field(default_factory=lambda: TimeLine(7))
    """Scored, unchanged; with expectation, expected unchanged; aged, age and expected age in seconds."""

    def add(self, line: Mapping[str, Any]) -> None:
        """Count a line; fields of a wrong type are ignored."""
        if line.get("revisit") is not True:
            return
        self.revisits += 1
        changed, ended = line.get("changed"), _moment(line.get("end"))
        if not isinstance(changed, bool):
            return
        self.compared += 1
        self.unchanged += not changed
        self.not_modified += line.get("status") == 304 and not changed
        sums = [1, int(not changed), 0, 0, 0, 0, 0]
        start, since = _moment(line.get("start")), _moment(line.get("since"))
        if start is not None and since is not None and since < start:
            self._add_interval(line, changed, since, start, sums)
        if ended is not None:
            self.time_line.add(ended, *sums)

    def _add_interval(
        self, line: Mapping[str, Any], changed: bool, since: float, start: float, sums: list[int]
    ) -> None:
        interval, modified = start - since, _moment(line.get("modified"))
        self.intervals.add(interval)
        self.interval_seconds += interval
        # A copy is stale since the first change, but the server dates the last one. On average the first change comes
        # as long after the visit before as the last one comes before this visit.
        age = None if modified is None or modified > start or changed != (modified > since) else 0.0
        if age is not None and modified is not None and changed:
            age = modified - since
            self.fresh_most_seconds += age
        else:
            self.fresh_most_seconds += interval
        if not changed:
            self.fresh_least_seconds += interval
        expected = line.get("expected")
        if not isinstance(expected, dict):
            return
        chance, expected_age = (number_in(expected.get(name), 0, _FOREVER) for name in ("unchanged", "age"))
        if chance is None or expected_age is None or chance > 1:
            return
        self.foreseen += 1
        sums[2:4] = 1, round(chance * PARTS)
        self.expected_unchanged += sums[3]
        self.foreseen_seconds += interval
        self.expected_fresh_seconds += max(interval - expected_age, 0.0)
        if age is not None:
            sums[4:] = 1, round(age), round(expected_age)
            self.aged += 1
            self.age_seconds += sums[5]
            self.expected_age_seconds += sums[6]


def _moment(value: object) -> float | None:
    return number_in(value, 0, _FOREVER) or None


Points = list[tuple[float, float]]


def section(freshness: Freshness) -> str:
    """Render the section; empty unless the crawl revisits pages."""
    if not freshness.revisits:
        return ""
    note = (
        "A copy is fresh while its page is as it was when it was fetched. "
        "The expectation is computed from how often each page had changed before."
    )
    return html.section(
        "Freshness",
        f'<p class="quiet">{note}</p>',
        html.facts([*_counted(freshness), *_over_pages(freshness)]),
        _over_time(freshness),
        _ages(freshness),
        _intervals(freshness),
    )


def _counted(freshness: Freshness) -> list[tuple[str, str]]:
    rows = [("visits of pages that were known", text.count(freshness.revisits))]
    if freshness.compared:
        rows += [
            ("visits where the page was unchanged", _format_part(freshness.unchanged, freshness.compared)),
            (
                "visits where the page had changed",
                _format_part(freshness.compared - freshness.unchanged, freshness.compared),
            ),
            (
                "visits where the server confirmed that (304)",
                _format_part(freshness.not_modified, freshness.compared),
            ),
        ]
    if freshness.revisits > freshness.compared:
        rows.append(("visits without a page", text.count(freshness.revisits - freshness.compared)))
    return rows


def _over_pages(freshness: Freshness) -> list[tuple[str, str]]:
    """Return the facts on the time between visits, and on its end."""
    rows = []
    if freshness.interval_seconds:
        least, most = (
            _share(seconds / freshness.interval_seconds)
            for seconds in (freshness.fresh_least_seconds, freshness.fresh_most_seconds)
        )
        rows += [
            (
                "mean time between two visits",
                text.duration(freshness.interval_seconds / freshness.intervals.total),
            ),
            ("share of that time for which copies were fresh", f"{least} to {most}"),
        ]
    if freshness.foreseen:
        expected = freshness.expected_unchanged / PARTS / freshness.foreseen
        if freshness.foreseen_seconds:
            part = freshness.expected_fresh_seconds / freshness.foreseen_seconds
            rows.append(("the same as expected", _share(part)))
        rows.append(("copies expected to be fresh at the visit", _share(expected)))
    if freshness.aged:
        rows += [
            (
                "mean age of copies at the visit, by the dates of servers",
                text.duration(freshness.age_seconds / freshness.aged),
            ),
            ("the same as expected", text.duration(freshness.expected_age_seconds / freshness.aged)),
        ]
    return rows


def _over_time(freshness: Freshness) -> str:
    caption = "Copies that were still fresh when their pages were visited again"
    return _curves(
        freshness, caption, "fresh", _share, ("found", 0, 1, 1), ("expected", 2, 3, PARTS), highest=1.0
    )


def _ages(freshness: Freshness) -> str:
    if not freshness.aged:
        return ""
    caption = "Age of copies when their pages were visited again (0 for fresh ones), by the dates of servers"
    return _curves(freshness, caption, "mean age", text.duration, ("found", 4, 5, 1), ("expected", 4, 6, 1))


def _curves(
    freshness: Freshness,
    caption: str,
    name: str,
    shown: Callable[[float], str],
    *series: tuple[str, int, int, int],
    highest: float | None = None,
) -> str:
    """Render means over time: for each series its name, which sum is counted, which is the count, and in how many
    parts.
    """
    line = freshness.time_line
    bins, step = line.bins(), line.step_seconds
    ends = [line.starts_at + (number + 1) * step for number in range(len(bins))]
    drawn: dict[str, Points] = {
        called: [
            (at, part[what] / parts / part[count]) for at, part in zip(ends, bins, strict=True) if part[count]
        ]
        for called, count, what, parts in series
    }
    drawn = {called: points for called, points in drawn.items() if points}
    if not drawn:
        return ""
    across = html.times(line.starts_at, ends[-1])
    up = html.linear(highest or max(value for points in drawn.values() for _, value in points), shown)
    legend = f"{caption}; each step is {text.duration(step)}"
    rows = _rows(ends, series[0][1], bins, drawn, shown)
    frame = html.Frame(legend, across, up, "UTC", name)
    return html.figure(html.curves(frame, drawn), legend, ("until", "visits", *drawn), rows)


def _rows(
    ends: Sequence[float],
    count: int,
    bins: Sequence[tuple[int, ...]],
    drawn: dict[str, Points],
    shown: Callable[[float], str],
) -> list[list[str]]:
    by_time = [dict(points) for points in drawn.values()]
    return [
        [
            second(at),
            text.count(part[count]),
            *(shown(points[at]) if at in points else "" for points in by_time),
        ]
        for at, part in zip(ends, bins, strict=True)
        if part[count]
    ]


def _intervals(freshness: Freshness) -> str:
    counted = freshness.intervals
    span = counted.span()
    if not span:
        return ""
    edges = [*counted.edges, counted.edges[-1] * 10 ** (1 / 4)]
    least = counted.edges[1] / 2
    bars = [(max(edges[n], least), edges[n + 1], float(counted.counts[n])) for n in span]
    across = html.logarithmic(bars[0][0], bars[-1][1], text.duration)
    up = html.linear(max(bar[2] for bar in bars), html.whole)
    caption = "Visits by the time since the visit before, four steps for each power of ten"
    rows = [
        (text.duration(edges[n]), text.duration(edges[n + 1]), html.whole(counted.counts[n])) for n in span
    ]
    frame = html.Frame(caption, across, up, "time since the visit before, logarithmic", "visits")
    return html.figure(html.columns(frame, bars), caption, ("from", "below", "visits"), rows)


def _format_part(number: int, of_all: int) -> str:
    return f"{text.count(number)} ({_share(number / of_all)})"


def _share(part: float) -> str:
    return f"{100 * part:.1f} %"
