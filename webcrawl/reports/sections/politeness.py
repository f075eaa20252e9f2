"""The section on politeness: the gaps between requests, the delays, and the idle time of hosts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from webcrawl.reports import html, text

if TYPE_CHECKING:
    from webcrawl.reports.counting import Histogram
    from webcrawl.reports.figures import Digest, Gaps

_LEAST_SECONDS = 0.0007
"""The smallest value on an axis that has no zero."""


def kept(figures: Digest) -> str:
    """Render each gap against the owed pause."""
    gaps = figures.gaps
    if not gaps.measured:
        return ""
    # One field says no more than the figures do.
    return html.section("Politeness", html.facts(_facts(gaps)), _grid(gaps) if len(gaps.grid) > 1 else "")


def unused(figures: Digest) -> str:
    """Render the time in which hosts could have been contacted and were not."""
    gaps = figures.gaps
    if not gaps.measured:
        return ""
    part = 100 * gaps.unused_seconds / gaps.waited_seconds if gaps.waited_seconds else 0.0
    rows = [
        (
            "time in which a host could have been requested again",
            f"{text.duration(gaps.unused_seconds)} ({part:.1f} %)",
        ),
        ("requests that would have fitted into this time", text.count(round(gaps.would_fit))),
    ]
    title = "Gaps by the time beyond the delay. Whether the hosts had a URL to fetch is not in the log"
    return html.section("Idle time of hosts", html.facts(rows), _histogram(gaps.unused, title))


def _facts(gaps: Gaps) -> list[tuple[str, str]]:
    rows = [
        ("gaps between two requests to a politeness key", text.count(gaps.measured)),
        ("gaps more than 10 ms shorter than the delay", text.count(gaps.short)),
        ("sum of the delays", text.duration(gaps.owed_seconds)),
        ("sum of the gaps", text.duration(gaps.waited_seconds)),
    ]
    if gaps.unknown:
        rows.append(("gaps whose delay is not in the log", text.count(gaps.unknown)))
    if gaps.forgotten:
        rows.append(("gaps that are not counted, for lack of memory, at most", text.count(gaps.forgotten)))
    return rows


def _grid(gaps: Gaps) -> str:
    edges = [*gaps.unused.edges, gaps.unused.edges[-1] * 2]
    low = [max(edge, _LEAST_SECONDS) for edge in edges]
    most = math.log1p(max(gaps.grid.values()))
    cells = [
        (low[owed], low[owed + 1], low[gap], low[gap + 1], math.log1p(count) / most)
        for (owed, gap), count in gaps.grid.items()
    ]
    across = html.logarithmic(0.001, max(max(cell[1] for cell in cells), 1.0), _seconds)
    up = html.logarithmic(0.001, max(max(cell[3] for cell in cells), 1.0), _seconds)
    title = (
        "Each gap by the delay before it and by its own length; darker fields hold more gaps. On the dashed line a "
        "gap is as long as the delay, above it longer. Below the line a gap would be too short"
    )
    frame = html.Frame(title, across, up, "delay, logarithmic", "gap")
    rows = [
        (_range(edges, owed), _range(edges, gap), html.whole(count))
        for (owed, gap), count in sorted(gaps.grid.items())
    ]
    caption = (
        f"{title}. A step is a quarter of a power of ten, so fields on the line hold gaps a little "
        "shorter or longer than the delay; the number of gaps that are too short is stated above. Gaps at the edge "
        "are a millisecond or less"
    )
    return html.figure(html.heat(frame, cells), caption, ("delay", "gap", "number"), rows)


def _histogram(counted: Histogram, title: str) -> str:
    edges = [*counted.edges, counted.edges[-1] * 2]
    span = counted.span()
    bars = [
        (max(edges[n], _LEAST_SECONDS), max(edges[n + 1], _LEAST_SECONDS), float(counted.counts[n]))
        for n in span
    ]
    across = html.logarithmic(0.001, max(edges[span[-1] + 1], 1.0), _seconds)
    up = html.linear(max(bar[2] for bar in bars), html.whole)
    low, high = counted.part_below(0.5)
    caption = f"{title}. Median between {_seconds(low)} and {_seconds(high)}"
    frame = html.Frame(caption, across, up, "time beyond the delay, logarithmic", "gaps")
    rows = [(_range(edges, n), html.whole(counted.counts[n])) for n in span]
    return html.figure(html.columns(frame, bars), caption, ("beyond the delay", "gaps"), rows)


def _range(edges: list[float], number: int) -> str:
    return f"{_seconds(edges[number])} to {_seconds(edges[number + 1])}"


def _seconds(seconds: float) -> str:
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:,.0f} s"
