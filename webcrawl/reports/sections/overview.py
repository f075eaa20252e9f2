"""What the crawl did on the whole, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.reports import units
from webcrawl.reports.drawing import axes, plots, tables
from webcrawl.reports.moments import second

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawl.reports.digest import Digest


def totals(figures: Digest, damaged: int) -> str:
    if figures.started_at is None or figures.ended_at is None:
        return "<p>No request has ended yet.</p>"
    took = figures.ended_at - figures.started_at
    rows = [
        ("first request", f"{second(figures.started_at)} UTC"),
        ("last request", f"{second(figures.ended_at)} UTC"),
        ("between them", units.duration(took)),
        ("workers", units.count(len(figures.workers))),
        ("requests", units.count(figures.requests)),
        *((f"of them {kind}", units.count(number)) for kind, number in figures.kinds.most(6)),
        ("pages received", units.count(figures.pages)),
        ("failed requests", units.count(figures.failed)),
        ("bodies cut short", units.count(figures.truncated)),
        ("pages not read to their end", units.count(figures.cut)),
        ("received", units.size(figures.bytes)),
        ("pages a second, on the whole", units.rate(figures.pages / took if took > 0 else 0.0)),
        ("bits a second, on the whole", _bits(8 * figures.bytes / took if took > 0 else 0.0)),
    ]
    if damaged:
        rows.append(("lines of the log that cannot be read", units.count(damaged)))
    return tables.facts(rows)


def over_time(figures: Digest) -> str:
    """Pages, bits and failures, in equal steps."""
    line = figures.time_line
    bins, step = line.bins(), line.step_seconds
    if not bins:
        return ""
    pages, bits, failed = (
        [part[number] * factor / step for part in bins] for number, factor in ((0, 1), (1, 8), (2, 1))
    )

    def plot(values: list[float], name: str, told: str, shown: Callable[[float], str]) -> str:
        ends_at = line.starts_at + len(values) * step
        across, up = axes.times(line.starts_at, ends_at), axes.linear(max(values), shown)
        frame = plots.Frame(f"{told}; at most {shown(max(values))}", across, up, "UTC", name)
        rows = [(second(line.starts_at + n * step), shown(value)) for n, value in enumerate(values)]
        caption = f"{told}; each step is {units.duration(step)}"
        return tables.figure(plots.steps(frame, values, line.starts_at, step), caption, ("from", name), rows)

    return tables.section(
        "Pages and bits over time",
        plot(pages, "pages a second", "Pages received a second", units.rate),
        plot(bits, "bits a second", "Bits of bodies received a second, of all requests", _bits),
        plot(failed, "failures a second", "Requests without a response, a second", units.rate)
        if figures.failed
        else "",
    )


def _bits(per_second: float) -> str:
    return f"{units.size(per_second).replace('B', 'bit')}/s"
