"""The section on freshness: how fresh copies were when their pages were revisited, and how fresh they were expected
to be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.reports import html, text
from webcrawl.reports.freshness import PARTS
from webcrawl.reports.text import second

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawl.reports.figures import Digest
    from webcrawl.reports.freshness import Freshness

Points = list[tuple[float, float]]


def freshness(figures: Digest) -> str:
    """Render the section; empty unless the crawl revisits pages."""
    found = figures.freshness
    if not found.revisits:
        return ""
    told = (
        "A copy is fresh while its page is as it was when it was fetched. "
        "What was expected comes from how often each page had changed before."
    )
    return html.section(
        "Freshness",
        f'<p class="quiet">{told}</p>',
        html.facts([*_counted(found), *_over_pages(found)]),
        _over_time(found),
        _ages(found),
        _intervals(found),
    )


def _counted(found: Freshness) -> list[tuple[str, str]]:
    rows = [("visits of pages that were known", text.count(found.revisits))]
    if found.judged:
        rows += [
            ("of them the page was unchanged", _part_of(found.unchanged, found.judged)),
            ("it had changed", _part_of(found.judged - found.unchanged, found.judged)),
            ("it was said to be the same (304)", _part_of(found.not_modified, found.judged)),
        ]
    if found.revisits > found.judged:
        rows.append(("it did not come", text.count(found.revisits - found.judged)))
    return rows


def _over_pages(found: Freshness) -> list[tuple[str, str]]:
    """Return the facts on the time between visits, and on its end."""
    rows = []
    if found.interval_seconds:
        least, most = (
            _share(seconds / found.interval_seconds)
            for seconds in (found.fresh_least_seconds, found.fresh_most_seconds)
        )
        rows += [
            ("mean time between two visits", text.duration(found.interval_seconds / found.intervals.total)),
            ("part of that time for which copies were fresh", f"{least} to {most}"),
        ]
    if found.foreseen:
        expected = found.expected_unchanged / PARTS / found.foreseen
        if found.foreseen_seconds:
            part = found.expected_fresh_seconds / found.foreseen_seconds
            rows.append(("the same as expected", _share(part)))
        rows.append(("copies expected to be fresh at the visit", _share(expected)))
    if found.aged:
        rows += [
            (
                "mean age of copies at the visit, by the dates of servers",
                text.duration(found.age_seconds / found.aged),
            ),
            ("the same as expected", text.duration(found.expected_age_seconds / found.aged)),
        ]
    return rows


def _over_time(found: Freshness) -> str:
    told = "Copies that were still fresh when their pages were visited again"
    return _curves(found, told, "fresh", _share, ("found", 0, 1, 1), ("expected", 2, 3, PARTS), highest=1.0)


def _ages(found: Freshness) -> str:
    if not found.aged:
        return ""
    told = "Age of copies when their pages were visited again (0 for fresh ones), by the dates of servers"
    return _curves(found, told, "mean age", text.duration, ("found", 4, 5, 1), ("expected", 4, 6, 1))


def _curves(
    found: Freshness,
    told: str,
    name: str,
    shown: Callable[[float], str],
    *series: tuple[str, int, int, int],
    highest: float | None = None,
) -> str:
    """Render means over time: for each series its name, which sum is counted, which is the count, and in how many
    parts.
    """
    line = found.time_line
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
    caption = f"{told}; each step is {text.duration(step)}"
    rows = _rows(ends, series[0][1], bins, drawn, shown)
    frame = html.Frame(caption, across, up, "UTC", name)
    return html.figure(html.curves(frame, drawn), caption, ("until", "visits", *drawn), rows)


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


def _intervals(found: Freshness) -> str:
    counted = found.intervals
    span = counted.span()
    if not span:
        return ""
    edges = [*counted.edges, counted.edges[-1] * 10 ** (1 / 4)]
    least = counted.edges[1] / 2
    bars = [(max(edges[n], least), edges[n + 1], float(counted.counts[n])) for n in span]
    across = html.logarithmic(bars[0][0], bars[-1][1], text.duration)
    up = html.linear(max(bar[2] for bar in bars), html.whole)
    told = "Visits by the time since the visit before, four steps for each power of ten"
    rows = [
        (text.duration(edges[n]), text.duration(edges[n + 1]), html.whole(counted.counts[n])) for n in span
    ]
    frame = html.Frame(told, across, up, "time since the visit before, logarithmic", "visits")
    return html.figure(html.columns(frame, bars), told, ("from", "below", "visits"), rows)


def _part_of(number: int, of_all: int) -> str:
    return f"{text.count(number)} ({_share(number / of_all)})"


def _share(part: float) -> str:
    return f"{100 * part:.1f} %"
