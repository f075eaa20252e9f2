"""The section on the relevant pages of a focused crawl: how many there are, when and where they were found."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from webcrawl.reports import html, text
from webcrawl.reports.figures import TENTHS
from webcrawl.reports.text import second

if TYPE_CHECKING:
    from webcrawl.reports.figures import Digest, Harvest


def harvest(figures: Digest) -> str:
    """Render the section; empty unless the crawl is focused."""
    scores = figures.harvest
    if not scores.scored:
        return ""
    rows = [
        ("pages scored", text.count(scores.scored)),
        ("relevant pages", text.count(scores.relevant)),
        ("harvest rate: relevant pages of all scored", _share(scores.rate)),
        ("mean relevance", f"{scores.total / scores.scored:.3f}"),
    ]
    tenths = [
        (f"{number / TENTHS:.1f} to {(number + 1) / TENTHS:.1f}", count)
        for number, count in enumerate(scores.tenths)
    ]
    most = scores.hosts.most(html.SHOWN)
    where = html.remark(scores.hosts, len(most), "hosts by relevant pages")
    return html.section(
        "Harvest",
        html.facts(rows),
        _over_time(scores),
        '<p class="quiet">pages by their relevance</p>',
        html.bars(("relevance", "pages"), tenths, html.whole, scores.scored),
        f'<p class="quiet">{where}</p>' if most else "",
        html.bars(("host", "relevant pages"), most, html.whole, scores.relevant) if most else "",
    )


def _over_time(harvest: Harvest) -> str:
    """Render the rate in equal steps, and since the start."""
    line = harvest.time_line
    bins, step = line.bins(), line.step_seconds
    if not bins:
        return ""
    scored, relevant = (list(accumulate(part[number] for part in bins)) for number in (0, 1))
    ends = [line.starts_at + (number + 1) * step for number in range(len(bins))]
    series = {
        "in each step": [(at, part[1] / part[0]) for at, part in zip(ends, bins, strict=True) if part[0]],
        "since the start": [
            (at, hits / pages) for at, hits, pages in zip(ends, relevant, scored, strict=True)
        ],
    }
    caption = f"Harvest rate over time; each step is {text.duration(step)}; mean {_share(harvest.rate)}"
    across = html.times(line.starts_at, ends[-1])
    up = html.linear(max(value for points in series.values() for _, value in points), _share)
    rows = [
        (second(at), *(html.whole(number) for number in part), html.whole(hits))
        for at, part, hits in zip(ends, bins, relevant, strict=True)
    ]
    frame = html.Frame(caption, across, up, "UTC", "share of relevant pages")
    head = ("until", "scored", "relevant", "relevant since the start")
    return html.figure(html.curves(frame, series), caption, head, rows)


def _share(part: float) -> str:
    return f"{100 * part:.2f} %"
