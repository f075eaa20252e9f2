"""What no single fetch tells: how the frontier grew, what the crawl took, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.reports import units
from webcrawl.reports.drawing import axes, plots, tables
from webcrawl.reports.moments import second

if TYPE_CHECKING:
    from webcrawl.reports.digest import Digest
    from webcrawl.reports.progress_log import Course


@dataclass(frozen=True, slots=True)
class Prices:
    """What things cost, in any currency; None where nobody said."""

    core_hour: float | None = None
    gigabyte: float | None = None
    """Received: 1,000,000,000 bytes."""


def growth(course: Course) -> str:
    """URLs that wait, and hosts that are known, over time."""
    points = course.points()
    if not points:
        return ""
    across = axes.times(points[0].at, points[-1].at)
    drawn = ""
    for name, told, series in (
        ("URLs", "URLs that waited in the frontier", {"queued": [(p.at, p.queued) for p in points]}),
        (
            "hosts",
            "Hosts that the frontier knew, and those of them that were active in a worker",
            {"known": [(p.at, p.hosts) for p in points], "active": [(p.at, p.active) for p in points]},
        ),
    ):
        up = axes.linear(max(value for line in series.values() for _, value in line), tables.whole)
        last = ", ".join(f"{which} {tables.whole(line[-1][1])}" for which, line in series.items())
        frame = plots.Frame(f"{told}; at the end {last}", across, up, "UTC", name)
        rows = [
            (second(p.at), *(tables.whole(line[number][1]) for line in series.values()))
            for number, p in enumerate(points)
        ]
        head = ("at", *series)
        drawn += tables.figure(plots.curves(frame, series), f"{told}; at the end {last}", head, rows)
    return tables.section("Growth of the frontier", drawn)


def costs(figures: Digest, course: Course, prices: Prices) -> str:
    """Per page, and in money where prices are known."""
    if not figures.pages:
        return ""
    rows = [
        ("requests for each page", f"{figures.requests / figures.pages:.2f}"),
        (
            "bytes received for each page, robots.txt and the like included",
            units.size(figures.bytes / figures.pages),
        ),
    ]
    each = course.cpu_seconds / course.pages if course.pages else None
    if each is not None:
        rows += [
            ("CPU time of all processes", units.duration(course.cpu_seconds)),
            ("CPU time for each page", f"{1000 * each:.2f} ms"),
        ]
    told = "" if each is not None else "how much CPU time it took was not written down (PROGRESS_LOG_SECONDS)"
    rows += _money(figures, each, prices)
    return tables.section("Cost", tables.facts(rows), f'<p class="quiet">{told}</p>' if told else "")


def _money(figures: Digest, cpu_seconds_each: float | None, prices: Prices) -> list[tuple[str, str]]:
    parts = []
    if prices.core_hour is not None and cpu_seconds_each is not None:
        hours = cpu_seconds_each * figures.pages / 3600
        parts.append((f"{hours:.4g} hours of a core at {prices.core_hour:g}", hours * prices.core_hour))
    if prices.gigabyte is not None:
        gigabytes = figures.bytes / 1e9
        parts.append((f"{gigabytes:.4g} GB received at {prices.gigabyte:g}", gigabytes * prices.gigabyte))
    if not parts:
        return []
    total = sum(cost for _, cost in parts)
    rows = [(told, f"{cost:,.2f}") for told, cost in parts]
    return [
        *rows,
        ("together", f"{total:,.2f}"),
        ("for a million pages", f"{total / figures.pages * 1e6:,.2f}"),
    ]
