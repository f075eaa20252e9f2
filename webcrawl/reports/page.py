"""``report.html``: what a crawl did so far, on one page that stands alone."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

from webcrawl.archive import fetchlog
from webcrawl.reports import charts, units
from webcrawl.reports.digest import Digest, digest

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.reports.heavy import HeavyHitters

NAME = "report.html"
_SHOWN = 15
_LISTED = 1_000

_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--quiet:#667;--paper:#fff;--fill:#3b76b5;--rule:#cfd4da}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--quiet:#99a;--paper:#15181c;
--fill:#6aa5df;--rule:#3a4048}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:760px;
margin:2rem auto;
padding:0 1rem}h1{font-size:1.5rem}h2{font-size:1.1rem;margin:2.2rem 0 .4rem}
p.quiet,figcaption{color:var(--quiet);font-size:13px}figure{margin:.6rem 0}svg{width:100%;height:auto}
svg text{font-size:12px;fill:var(--ink)}.fill{fill:var(--fill)}.axis{stroke:var(--rule)}
table{border-collapse:collapse}td,th{padding:.15rem 1.2rem .15rem 0;text-align:left;font-weight:normal}
td.number{text-align:right;font-variant-numeric:tabular-nums}th{color:var(--quiet)}
"""


def write(directory: Path, title: str, remark: str = "") -> Path:
    """Read the whole fetch log of ``directory`` and put ``report.html`` beside it; it appears at once or
    not at all.

    Takes some seconds for each million of lines; memory does not grow with the log. Lines that are damaged
    are counted and left out.

    :raises OSError: it cannot be written. :raises ArchiveError: the log cannot be read.
    """
    damaged: list[str] = []
    figures = digest(fetchlog.read(directory, damaged.append))
    target = directory / NAME
    unfinished = target.with_suffix(".html.part")
    unfinished.write_text(page(figures, title, len(damaged), remark), encoding="utf-8")
    unfinished.replace(target)
    return target


def page(figures: Digest, title: str, damaged: int = 0, remark: str = "") -> str:
    """The page as text. ``remark`` stands below the title."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(remark)}</p>" if remark else "",
        _overview(figures, damaged),
        *_over_time(figures),
        _ranking("Outcomes of pages", figures.statuses, "pages by HTTP status"),
        _ranking("Errors", figures.errors, "requests without a response, by what went wrong"),
        _ranking("MIME types", figures.mimes, "pages with status 200 by the type their server named"),
        _advice(figures),
        _ranking("Hosts", figures.hosts, "politeness keys with the most pages"),
        _ranking("Failing hosts", figures.failing, "politeness keys with the most failed requests"),
        _skipped(figures),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body></html>\n"
    )


def _skipped(figures: Digest) -> str:
    if not figures.skipped:
        return ""
    rows = sorted(figures.skipped.items(), key=lambda item: (-item[1], item[0]))
    cells = [
        f'<tr><td>{escape(origin)}</td><td class="number">{escape(units.duration(seconds))}</td></tr>'
        for origin, seconds in rows[:_LISTED]
    ]
    told = "they ask for a longer Crawl-delay than POLITENESS_CRAWL_DELAY_MAX allows; none of their pages is fetched"
    if len(rows) > _LISTED:
        told += f"; the {_LISTED:,} longest of {len(rows):,}"
    return f'<h2>Skipped hosts</h2><p class="quiet">{told}</p><table>{"".join(cells)}</table>'


def _overview(figures: Digest, damaged: int) -> str:
    if figures.started_at is None or figures.ended_at is None:
        return "<p>No request has ended yet.</p>"
    took = figures.ended_at - figures.started_at
    rows = [
        ("first request", _moment(figures.started_at)),
        ("last request", _moment(figures.ended_at)),
        ("between them", units.duration(took)),
        ("requests", units.count(figures.requests)),
        *((f"of them {kind}", units.count(number)) for kind, number in figures.kinds.most(6)),
        ("pages received", units.count(figures.pages)),
        ("failed requests", units.count(figures.failed)),
        ("bodies cut short", units.count(figures.truncated)),
        ("received", units.size(figures.bytes)),
        ("pages a second, on the whole", units.rate(figures.pages / took if took > 0 else 0.0)),
    ]
    if damaged:
        rows.append(("lines of the log that cannot be read", units.count(damaged)))
    cells = (
        f'<tr><th>{escape(name)}</th><td class="number">{escape(value)}</td></tr>' for name, value in rows
    )
    return f"<table>{''.join(cells)}</table>"


def _over_time(figures: Digest) -> list[str]:
    line = figures.time_line
    bins = line.bins()
    if not bins:
        return []
    width = line.width_seconds
    span = (_moment(line.starts_at), _moment(line.starts_at + len(bins) * width))
    caption = f"<figcaption>each step is {units.duration(width)}</figcaption>"
    pages = charts.area([part.pages / width for part in bins], "pages a second", span, units.rate)
    received = charts.area(
        [part.bytes / width for part in bins], "bytes a second", span, lambda value: f"{units.size(value)}/s"
    )
    return [
        f"<h2>Pages over time</h2><figure>{pages}{caption}</figure>",
        f"<h2>Bytes over time</h2><figure>{received}{caption}</figure>",
    ]


def _ranking(title: str, counts: HeavyHitters[str], caption: str) -> str:
    rows = counts.most(_SHOWN)
    if not rows:
        return ""
    remarks = [caption]
    if len(counts) > len(rows):
        remarks.append(
            f"the {len(rows)} largest of {'more than ' * bool(counts.forgotten_most)}{len(counts):,}"
        )
    if counts.forgotten_most:
        remarks.append(f"each may be up to {counts.forgotten_most:,} more")
    figure = charts.bars(rows, title, units.count)
    below = f"<figcaption>{escape('; '.join(remarks))}</figcaption>"
    return f"<h2>{escape(title)}</h2><figure>{figure}{below}</figure>"


def _advice(figures: Digest) -> str:
    """Extensions that need not be asked for again."""
    useless = figures.useless_extensions(_SHOWN)
    if not useless:
        return ""
    rows = [(f".{extension}", count) for extension, count in useless]
    told = "pages with status 200, none of them text or XHTML; EXTENSIONS_REFUSED keeps a crawl from asking for them"
    figure = charts.bars(rows, "Extensions that brought nothing", units.count)
    return f"<h2>Extensions that brought nothing</h2><figure>{figure}<figcaption>{told}</figcaption></figure>"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
