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


def totals(figures: Digest, damaged: int) -> str:
    if figures.started_at is None or figures.ended_at is None:
        return "<p>No request has ended yet.</p>"
    took = figures.ended_at - figures.started_at
    rows = [
        ("first request", f"{second(figures.started_at)} UTC"),
        ("last request", f"{second(figures.ended_at)} UTC"),
        ("between them", text.duration(took)),
        ("workers", text.count(len(figures.workers))),
        ("requests", text.count(figures.requests)),
        *((f"of them {kind}", text.count(number)) for kind, number in figures.kinds.most(6)),
        ("pages received", text.count(figures.pages)),
        ("failed requests", text.count(figures.failed)),
        ("bodies cut short", text.count(figures.truncated)),
        ("pages not read to their end", text.count(figures.cut)),
        ("received", text.size(figures.bytes)),
        ("pages a second, on the whole", text.rate(figures.pages / took if took > 0 else 0.0)),
        ("bits a second, on the whole", _bits(8 * figures.bytes / took if took > 0 else 0.0)),
    ]
    if damaged:
        rows.append(("lines of the log that cannot be read", text.count(damaged)))
    return html.facts(rows)


def over_time(figures: Digest) -> str:
    """Render pages, bits and failures in equal steps of time."""
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
        plot(pages, "pages a second", "Pages received a second", text.rate),
        plot(bits, "bits a second", "Bits of bodies received a second, of all requests", _bits),
        plot(failed, "failures a second", "Requests without a response, a second", text.rate)
        if figures.failed
        else "",
    )


def _bits(per_second: float) -> str:
    return f"{text.size(per_second).replace('B', 'bit')}/s"


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
            "Hosts that the frontier knew, and those of them that were active in a worker",
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
        ("requests for each page", f"{figures.requests / figures.pages:.2f}"),
        (
            "bytes received for each page, robots.txt and the like included",
            text.size(figures.bytes / figures.pages),
        ),
    ]
    each = course.cpu_seconds / course.pages if course.pages else None
    if each is not None:
        rows += [
            ("CPU time of all processes", text.duration(course.cpu_seconds)),
            ("CPU time for each page", f"{1000 * each:.2f} ms"),
        ]
    note = "" if each is not None else "the CPU time was not recorded (PROGRESS_LOG_SECONDS)"
    rows += _money(figures, each, prices)
    return html.section("Cost", html.facts(rows), f'<p class="quiet">{note}</p>' if note else "")


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
        ("together", f"{total:,.2f}"),
        ("for a million pages", f"{total / figures.pages * 1e6:,.2f}"),
    ]
