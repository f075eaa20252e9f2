"""Plots as inline SVG and tables as HTML: no scripts, no other files, readable in print and in dark mode.

Every plot has a text alternative and a table with its values. Texts from outside are escaped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

from webcrawl.reports import text
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from webcrawl.reports.counting import HeavyHitters


_STEPS_SECONDS = (1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 604_800, 2_592_000)
_TICKS_MAX = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from ``low`` to ``high``, linear or logarithmic, with labelled values."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Return the position of a value: 0 at the low end, 1 at the high end; not beyond."""
        if self.logarithmic:
            value = max(value, self.low)
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return min(max(part, 0.0), 1.0)


def _round(label: str) -> str:
    """Return the label of a round number without the decimal that makes it wide: ``50 kB`` for ``50.0 kB``."""
    return label.replace(".0 ", " ").replace(".0/", "/")


def linear(high: float, shown: Callable[[float], str]) -> Axis:
    """Return an axis from 0 to the next round number above ``high``."""
    high = high if high > 0 else 1.0
    power = 10.0 ** math.floor(math.log10(high))
    step = next(step for step in (0.2, 0.5, 1.0, 2.0, 5.0) if high <= step * power * 5) * power
    count = math.ceil(high / step - 1e-9)
    return Axis(
        0.0, count * step, [(number * step, _round(shown(number * step))) for number in range(count + 1)]
    )


def logarithmic(low: float, high: float, shown: Callable[[float], str]) -> Axis:
    """Return an axis from the power of ten below ``low`` (more than 0) to the one above ``high``."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    last = max(last, first + 1)
    every = math.ceil((last - first) / 8)
    ticks = [(10.0**power, _round(shown(10.0**power))) for power in range(first, last + 1, every)]
    return Axis(10.0**first, 10.0**last, ticks, logarithmic=True)


def times(start: float, end: float) -> Axis:
    """Return an axis of epoch seconds, labelled in UTC."""
    end = max(end, start + 1)
    step = next((step for step in _STEPS_SECONDS if (end - start) / step <= _TICKS_MAX), None)
    if step is None:
        step = math.ceil((end - start) / _TICKS_MAX / _STEPS_SECONDS[-1]) * _STEPS_SECONDS[-1]
    pattern = "%Y-%m-%d" if step >= 86_400 else "%m-%d %H:%M" if step >= 60 else "%H:%M:%S"
    first = math.ceil(start / step) * step
    ticks = [
        (float(at), datetime.fromtimestamp(at, UTC).strftime(pattern))
        for at in range(first, int(end) + 1, step)
    ]
    return Axis(start, end, ticks)


LONGEST = 120
"""The longest name in characters; longer ones are cut."""


def safe(text: str) -> str:
    """Return ``text`` escaped for a page: unprintable characters are replaced and markup is escaped."""
    return escape(text if text.isprintable() else printable(text, None))


def name(text: str) -> str:
    """Return the escaped name of a host, a type or a URL, cut if it is very long."""
    return safe(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 98, 14, 12, 48
_INNER_WIDTH, _INNER_HEIGHT = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
_KEY_HEIGHT = 22


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of a plot: its title and axes."""

    title: str
    """Screen readers read it in place of the plot, so it describes the plot."""
    across: Axis
    up: Axis
    across_name: str
    up_name: str

    def x(self, value: float) -> float:
        return LEFT + _INNER_WIDTH * self.across.place(value)

    def y(self, value: float) -> float:
        return TOP + _INNER_HEIGHT * (1 - self.up.place(value))

    def around(self, shapes: str, names: Sequence[str] = ()) -> str:
        """Return the whole figure. ``names``: the names of several series, for the legend."""
        height = HEIGHT + _KEY_HEIGHT * bool(names)
        return (
            f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{safe(self.title)}">'
            f"<title>{safe(self.title)}</title>{self._grid()}{shapes}{self._labels()}{_key(names)}</svg>"
        )

    def _grid(self) -> str:
        lines = [
            f'<line class="grid" x1="{LEFT}" y1="{self.y(v):.1f}" x2="{WIDTH - RIGHT}" y2="{self.y(v):.1f}"/>'
            for v, _ in self.up.ticks
        ]
        base = TOP + _INNER_HEIGHT
        lines += [
            f'<line class="axis" x1="{self.x(v):.1f}" y1="{base}" x2="{self.x(v):.1f}" y2="{base + 5}"/>'
            for v, _ in self.across.ticks
        ]
        return (
            "".join(lines) + f'<line class="axis" x1="{LEFT}" y1="{base}" x2="{WIDTH - RIGHT}" y2="{base}"/>'
        )

    def _labels(self) -> str:
        base = TOP + _INNER_HEIGHT
        texts = [
            f'<text x="{LEFT - 7}" y="{self.y(v) + 4:.1f}" text-anchor="end">{safe(label)}</text>'
            for v, label in self.up.ticks
        ]
        for number, (value, label) in enumerate(self.across.ticks):
            x, odd = self.x(value), ' class="odd"' * (number % 2)
            anchor = "end" if x > WIDTH - 60 else "start" if x < LEFT + 10 else "middle"
            texts.append(
                f'<text{odd} x="{x:.1f}" y="{base + 19}" text-anchor="{anchor}">{safe(label)}</text>'
            )
        texts.append(
            f'<text class="name" x="{WIDTH - RIGHT}" y="{base + 40}" text-anchor="end">'
            f"{safe(self.across_name)}</text>"
        )
        texts.append(f'<text class="name" x="{LEFT}" y="{base + 40}">{safe(self.up_name)}</text>')
        return "".join(texts)


def steps(frame: Frame, values: Sequence[float], starts_at: float, step: float) -> str:
    """Return a filled line over equal steps."""
    base = frame.y(frame.up.low)
    points = [f"{frame.x(starts_at):.1f},{base:.1f}"]
    for number, value in enumerate(values):
        y = frame.y(value)
        begin, end = frame.x(starts_at + number * step), frame.x(starts_at + (number + 1) * step)
        points += [f"{begin:.1f},{y:.1f}", f"{end:.1f},{y:.1f}"]
    points.append(f"{frame.x(starts_at + len(values) * step):.1f},{base:.1f}")
    return frame.around(f'<polygon class="fill" points="{" ".join(points)}"/>')


def columns(frame: Frame, bars: Sequence[tuple[float, float, float]]) -> str:
    """Return a bar for each (from, to, value)."""
    base = frame.y(frame.up.low)
    shapes = []
    for begin, end, value in bars:
        x, y = frame.x(begin), frame.y(value)
        width = max(frame.x(end) - x - 1, 0.8)
        shapes.append(
            f'<rect class="fill" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{max(base - y, 0):.1f}"/>'
        )
    return frame.around("".join(shapes))


def curves(frame: Frame, series: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Return a line for each series; they differ by colour and by dashes."""
    shapes = []
    for number, points in enumerate(series.values()):
        drawn = _thinned([(frame.x(x), frame.y(y)) for x, y in points])
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        shapes.append(f'<polyline class="line s{number}" points="{text}"/>')
        if len(drawn) == 1:
            shapes.append(
                f'<circle class="dot s{number}" cx="{drawn[0][0]:.1f}" cy="{drawn[0][1]:.1f}" r="3"/>'
            )
    return frame.around("".join(shapes), list(series) if len(series) > 1 else ())


def heat(frame: Frame, cells: Sequence[tuple[float, float, float, float, float]]) -> str:
    """Return a field for each (left, right, bottom, top, darkness from 0 to 1), and the line where both axes are
    equal.
    """
    shapes = []
    for left, right, bottom, top, dark in cells:
        x, y = frame.x(left), frame.y(top)
        shapes.append(
            f'<rect class="fill" fill-opacity="{0.15 + 0.85 * dark:.2f}" x="{x:.1f}" y="{y:.1f}" '
            f'width="{max(frame.x(right) - x, 1):.1f}" height="{max(frame.y(bottom) - y, 1):.1f}"/>'
        )
    low, high = max(frame.across.low, frame.up.low), min(frame.across.high, frame.up.high)
    if low < high:
        shapes.append(
            f'<line class="line s1" x1="{frame.x(low):.1f}" y1="{frame.y(low):.1f}" '
            f'x2="{frame.x(high):.1f}" y2="{frame.y(high):.1f}"/>'
        )
    return frame.around("".join(shapes))


def _key(names: Sequence[str]) -> str:
    shapes, x = [], float(LEFT)
    for number, label in enumerate(names):
        y = HEIGHT + 4
        shapes.append(f'<line class="line s{number}" x1="{x:.0f}" y1="{y}" x2="{x + 26:.0f}" y2="{y}"/>')
        shapes.append(f'<text x="{x + 32:.0f}" y="{y + 4}">{safe(label)}</text>')
        x += 56 + 11 * len(label)
    return "".join(shapes)


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points without those that are indistinguishable on the screen."""
    kept: list[tuple[float, float]] = []
    for number, point in enumerate(points):
        far = not kept or abs(point[0] - kept[-1][0]) + abs(point[1] - kept[-1][1]) >= 0.7
        if far or number == len(points) - 1:
            kept.append(point)
    return kept


_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--quiet:#59636e;--paper:#fff;--fill:#3b76b5;--other:#b4480f;
--third:#2c7a4b;--rule:#d0d5db;--bad:#b3261e;--soft:#eef1f4}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--quiet:#a3adb8;--paper:#15181c;--fill:#6aa5df;--other:#f0944f;
--third:#69c08b;--rule:#3a4048;--bad:#f2847c;--soft:#23282e}}
*{box-sizing:border-box}html{background:var(--paper)}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);max-width:800px;
margin:2rem auto;padding:0 1rem;container-type:inline-size;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.15rem;margin:2.4rem 0 .4rem}
h3{font-size:1rem;margin:1.4rem 0 .3rem}
nav{margin-top:.8rem;font-size:13px;color:var(--quiet)}nav a{margin-right:.8rem;white-space:nowrap}
a{color:var(--fill)}
.quiet,figcaption,summary{color:var(--quiet);font-size:13px}p{margin:.4rem 0}figure{margin:.6rem 0 .2rem}
.plot{overflow-x:auto}svg{width:100%;height:auto;display:block}
svg text{font-size:12px;fill:var(--ink)}svg text.name{fill:var(--quiet)}
.fill{fill:var(--fill)}.axis{stroke:var(--ink)}.grid{stroke:var(--rule)}
.line{fill:none;stroke-width:2}.s0{stroke:var(--fill)}.s1{stroke:var(--other);stroke-dasharray:7 4}
.s2{stroke:var(--third);stroke-dasharray:2 3}.dot{stroke:none;fill:var(--fill)}.dot.s1{fill:var(--other)}
table{border-collapse:collapse;font-size:14px}caption{text-align:left}
td,th{padding:.12rem 1.1rem .12rem 0;text-align:left;font-weight:normal;vertical-align:top}
thead th:not(:first-child){text-align:right}
thead th{color:var(--quiet);border-bottom:1px solid var(--rule)}
td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
table.bars{width:100%}table.bars tbody th{width:34%}td.bar{width:45%;padding-right:0}
td.bar span{display:block;height:.8em;margin-top:.35em;background:var(--fill);min-width:1px;print-color-adjust:exact;
-webkit-print-color-adjust:exact}
.large{display:grid;grid-template-columns:repeat(5,1fr);gap:.8rem;margin:1.2rem 0}
.large div{display:flex;flex-direction:column;border-top:3px solid var(--fill);padding-top:.4rem}
.large dd{margin:0;font-size:1.7rem;line-height:1.2;font-variant-numeric:tabular-nums;white-space:nowrap}
.large dt{color:var(--quiet);font-size:13px}
.verdict{padding:.5rem .8rem;border-left:4px solid var(--third);font-weight:600}
.verdict.bad{border-color:var(--bad)}.verdict span{font-weight:700}.verdict.good span{color:var(--third)}
.verdict.bad span{color:var(--bad)}
.facts{display:grid;grid-template-columns:1fr 1fr;gap:.15rem 2rem;margin:1rem 0;font-size:14px}
.facts div{display:flex;flex-wrap:wrap;column-gap:.8rem}.facts dt{color:var(--quiet);min-width:6.5rem}
.facts dd{margin:0;flex:1 1 10rem}
.line{margin:1.8rem 0 .5rem}.line+.line{margin-top:.5rem}
.facts .wide{grid-column:1/-1}
code{font:13px/1.5 ui-monospace,monospace;user-select:all;-webkit-user-select:all;background:var(--soft);
padding:.1rem .3rem;
border-radius:3px}
ul.examples{margin:.3rem 0;padding-left:1.1rem;font-size:14px}
details{margin:.2rem 0 1rem}summary{cursor:pointer}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
@container(max-width:620px){.large{grid-template-columns:repeat(3,1fr)}.facts{grid-template-columns:1fr}}
@media screen and (max-width:560px){.large dd{font-size:1.4rem}
svg text{font-size:18px}svg text.odd{display:none}
td.bar{width:22%}td,th{padding-right:.6rem}body{padding:0 .7rem}}
@media print{:root{--ink:#000;--quiet:#444;--paper:#fff;--fill:#3b76b5;--other:#b4480f;--third:#2c7a4b;--rule:#ccc;
--bad:#b3261e;--soft:#fff}
body{max-width:none;margin:0;font-size:11pt}figure,tr{break-inside:avoid}
h3,p.quiet{break-after:avoid}nav,details{display:none}
.plot{overflow:visible}h2{break-after:avoid}}
"""


def document(title: str, body: str) -> str:
    """Return a whole page. It loads and runs nothing, and its content security policy forbids both."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{safe(title)}</title><style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


SHOWN = 15
"""The number of rows of a ranking."""
_ROWS_MAX = 300


def section(title: str, *parts: str) -> str:
    """Return a heading with its content; nothing if there is no content."""
    shown = [part for part in parts if part]
    if not shown:
        return ""
    anchor = "".join(letter if letter.isalnum() else "-" for letter in title.lower())
    return (
        f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{safe(title)}</h2>{"".join(shown)}</section>'
    )


def figure(drawing: str, caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a plot with its caption, and its table, folded."""
    # A figure that is wider than a small screen can be scrolled within its frame, also by keyboard.
    return (
        f'<figure><div class="plot" tabindex="0">{drawing}</div><figcaption>{safe(caption)}</figcaption></figure>'
        f"<details><summary>as a table</summary>{table(head, rows)}</details>"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. Cells are shown as they are; the first column has names, the others figures. Long tables are
    thinned.
    """
    rows = list(rows)
    caption = ""
    if len(rows) > _ROWS_MAX:
        every = -(-len(rows) // _ROWS_MAX)
        caption = f'<caption class="quiet">every {every} rows of {text.count(len(rows))}</caption>'
        rows = rows[::every]
    heads = "".join(f'<th scope="col">{safe(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{name(row[0])}</th>'
        + "".join(f'<td class="number">{name(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="plot" tabindex="0"><table>{caption}<thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of names with a figure each."""
    body = "".join(
        f'<tr><th scope="row">{safe(label)}</th><td class="number">{safe(value)}</td></tr>'
        for label, value in rows
    )
    return f"<table>{body}</table>"


def bars(
    head: tuple[str, str],
    rows: Sequence[tuple[str, float]],
    shown: Callable[[float], str],
    of_all: float = 0.0,
) -> str:
    """Return a table with one row for each name and a bar as long as its number; with ``of_all`` also its share of
    that.
    """
    peak = max((number for _, number in rows), default=0) or 1
    body = "".join(
        f'<tr><th scope="row">{name(label)}</th><td class="number">{safe(shown(number))}</td>'
        + (f'<td class="number">{100 * number / of_all:.1f} %</td>' if of_all else "")
        + f'<td class="bar"><span style="width:{100 * number / peak:.1f}%"></span></td></tr>'
        for label, number in rows
    )
    heads = "".join(f'<th scope="col">{safe(cell)}</th>' for cell in (*head, *(["share"] if of_all else [])))
    return (
        f'<table class="bars"><thead><tr>{heads}<th><span class="unseen">bar</span></th></tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def ranking(title: str, counts: HeavyHitters[str], of_what: str, caption: str, number: int = SHOWN) -> str:
    """Return a section with the most frequent items."""
    rows = counts.most(number)
    if not rows:
        return ""
    if len(counts) == 1:
        return line(title, rows[0][0], rows[0][1], caption)
    return section(
        title,
        f'<p class="quiet">{safe(remark(counts, len(rows), caption))}</p>',
        bars((of_what, "number"), [(thing, count) for thing, count in rows], whole, counts.total),
    )


def line(title: str, thing: str, number: int, caption: str) -> str:
    """Return the line that takes the place of a section with a single row."""
    shown = f"<strong>{safe(title)}</strong> {name(thing or 'none')}: all {whole(number)}"
    return f'<p class="line">{shown} <span class="quiet">{safe(caption)}</span></p>'


def large(figures: Sequence[tuple[str, str]]) -> str:
    """Return figures in large type, each with its name."""
    shown = "".join(f"<div><dd>{safe(value)}</dd><dt>{safe(called)}</dt></div>" for value, called in figures)
    return f'<dl class="large">{shown}</dl>'


def verdict(sentence: str, *, good: bool) -> str:
    """Return a sentence that is marked as good or bad."""
    mark, kind = ("✓", "good") if good else ("✗", "bad")
    return f'<p class="verdict {kind}"><span aria-hidden="true">{mark}</span> {safe(sentence)}</p>'


_WIDE = 36
"""Longer texts get the whole width."""


_CLASS_WIDE = ' class="wide"'


def definitions(rows: Iterable[tuple[str, str]]) -> str:
    """Return names with texts of any length."""
    shown = "".join(
        f"<div{_CLASS_WIDE if len(value) > _WIDE else ''}><dt>{safe(label)}</dt><dd>{safe(value)}</dd></div>"
        for label, value in rows
    )
    return f'<dl class="facts">{shown}</dl>' if shown else ""


def command(words: str) -> str:
    """Return a command that a click selects, to be copied."""
    return f"<code>{safe(words)}</code>"


def bits(per_second: float) -> str:
    return f"{text.size(per_second).replace('B', 'bit')}/s"


def remark(counts: HeavyHitters[str], rows: int, caption: str) -> str:
    """Return the remark on a ranking: how many items there are, and how inexact its numbers may be."""
    remarks = [caption]
    if len(counts) > rows:
        remarks.append(f"the {rows} largest of {'more than ' * bool(counts.forgotten_most)}{len(counts):,}")
    if counts.forgotten_most:
        remarks.append(f"each may be up to {counts.forgotten_most:,} more")
    return "; ".join(remarks)


def whole(number: float) -> str:
    return text.count(round(number))
