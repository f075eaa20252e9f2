"""The sections on the crawl as a whole: figures over time, growth of the frontier, resources and costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.reports import html, text
from webcrawl.reports.text import second

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawl.reports.figures import Digest
    from webcrawl.reports.progress_log import Course


def over_time(figures: Digest) -> str:
    """Render pages, bits and errors in equal steps of time."""
    line = figures.time_line
    bins, step = line.bins(), line.step_seconds
    if not bins:
        return ""
    pages, bits, failed = (
        [part[number] * factor / step for part in bins] for number, factor in ((0, 1), (1, 8), (2, 1))
    )

    def plot(values: list[float], name: str, title: str, shown: Callable[[float], str]) -> str:
        ends_at = line.starts_at + len(values) * step
        across, up = html.times(line.starts_at, ends_at), html.linear(max(values), shown)
        frame = html.Frame(f"{title}; at most {shown(max(values))}", across, up, "UTC", name)
        rows = [(second(line.starts_at + n * step), shown(value)) for n, value in enumerate(values)]
        caption = f"{title}; each step is {text.duration(step)}"
        return html.figure(html.steps(frame, values, line.starts_at, step), caption, ("from", name), rows)

    return html.section(
        "Pages and bits over time",
        plot(pages, "pages per second", "Pages received per second", text.rate),
        plot(bits, "bits per second", "Bits of bodies received per second, of all requests", html.bits),
        plot(failed, "errors per second", "Requests without a response per second", text.rate)
        if figures.failed
        else "",
    )


_NAMED = 8
"""The number of workers that are named."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in any currency; None if not given."""

    core_hour: float | None = None
    gigabyte: float | None = None
    """The price of 1,000,000,000 received bytes."""


def growth(course: Course) -> str:
    """Render queued URLs and known hosts over time."""
    points = course.points()
    if not points:
        return ""
    across = html.times(points[0].at, points[-1].at)
    drawn = ""
    for name, title, series in (
        ("URLs", "URLs that waited in the frontier", {"queued": [(p.at, p.queued) for p in points]}),
        (
            "hosts",
            "Hosts that the frontier knew, and hosts that were active in a worker",
            {"known": [(p.at, p.hosts) for p in points], "active": [(p.at, p.active) for p in points]},
        ),
    ):
        up = html.linear(max(value for line in series.values() for _, value in line), html.whole)
        last = ", ".join(f"{which} {html.whole(line[-1][1])}" for which, line in series.items())
        frame = html.Frame(f"{title}; at the end {last}", across, up, "UTC", name)
        rows = [
            (second(p.at), *(html.whole(line[number][1]) for line in series.values()))
            for number, p in enumerate(points)
        ]
        head = ("at", *series)
        drawn += html.figure(html.curves(frame, series), f"{title}; at the end {last}", head, rows)
    return html.section("Growth of the frontier", drawn)


def costs(figures: Digest, course: Course, prices: Prices) -> str:
    """Render the costs per page, and in money if prices are known."""
    if not figures.pages:
        return ""
    rows = [
        ("requests per page", f"{figures.requests / figures.pages:.2f}"),
        (
            "bytes received per page, including robots.txt, redirects and errors",
            text.size(figures.bytes / figures.pages),
        ),
    ]
    each = course.cpu_seconds / course.pages if course.pages else None
    if each is not None:
        rows += [
            ("CPU time of all processes", text.duration(course.cpu_seconds)),
            ("CPU time per page", f"{1000 * each:.2f} ms"),
        ]
    note = _missing(figures, course)
    rows += _money(figures, each, prices)
    return html.section("Cost", html.facts(rows), f'<p class="quiet">{note}</p>' if note else "")


def _missing(figures: Digest, course: Course) -> str:
    """Name the workers whose CPU time is not known."""
    known = {worker for worker, _ in course.runs}
    missing = sorted(
        worker for worker, _ in figures.workers.most(len(figures.workers)) if worker not in known
    )
    if not missing:
        return ""
    names = ", ".join(missing[:_NAMED]) + (" and others" if len(missing) > _NAMED else "")
    if not known:
        return (
            "The CPU time was not recorded: PROGRESS_LOG_SECONDS is 0, or the crawl was killed before "
            "its first record."
        )
    return (
        f"The CPU time is the sum over {', '.join(sorted(known)[:_NAMED])}. That of {names} was not recorded: the "
        "process was killed before its first record (PROGRESS_LOG_SECONDS)."
    )


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
    rows = [(name, f"{cost:,.2f}") for name, cost in parts]
    return [
        *rows,
        ("total", f"{total:,.2f}"),
        ("per million pages", f"{total / figures.pages * 1e6:,.2f}"),
    ]
