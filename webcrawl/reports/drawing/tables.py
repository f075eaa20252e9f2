"""Tables: the figures themselves, rankings with bars, and what stands behind a plot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.reports import units
from webcrawl.reports.drawing.texts import name, safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from webcrawl.reports.heavy import HeavyHitters

SHOWN = 15
"""Rows of a ranking."""
_ROWS_MAX = 300


def section(title: str, *parts: str) -> str:
    """A heading with what belongs to it; nothing where there is nothing."""
    told = [part for part in parts if part]
    if not told:
        return ""
    anchor = "".join(letter if letter.isalnum() else "-" for letter in title.lower())
    return (
        f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{safe(title)}</h2>{"".join(told)}</section>'
    )


def figure(drawing: str, caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A plot with what is to be known of it, and its table, folded."""
    # What is wider than a small screen can be moved within its frame, also by keys.
    return (
        f'<figure><div class="plot" tabindex="0">{drawing}</div><figcaption>{safe(caption)}</figcaption></figure>'
        f"<details><summary>as a table</summary>{table(head, rows)}</details>"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are texts as they are shown; the first column has names, the others figures. Long ones are thinned."""
    rows = list(rows)
    told = ""
    if len(rows) > _ROWS_MAX:
        every = -(-len(rows) // _ROWS_MAX)
        told = f'<caption class="quiet">every {every} rows of {units.count(len(rows))}</caption>'
        rows = rows[::every]
    heads = "".join(f'<th scope="col">{safe(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{name(row[0])}</th>'
        + "".join(f'<td class="number">{name(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="plot" tabindex="0"><table>{told}<thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names with a figure each."""
    body = "".join(
        f'<tr><th scope="row">{safe(one)}</th><td class="number">{safe(told)}</td></tr>' for one, told in rows
    )
    return f"<table>{body}</table>"


def bars(
    head: tuple[str, str],
    rows: Sequence[tuple[str, float]],
    shown: Callable[[float], str],
    of_all: float = 0.0,
) -> str:
    """A row a name, with a bar as long as its number; with ``of_all`` also the part that it is of that."""
    peak = max((number for _, number in rows), default=0) or 1
    body = "".join(
        f'<tr><th scope="row">{name(one)}</th><td class="number">{safe(shown(number))}</td>'
        + (f'<td class="number">{100 * number / of_all:.1f} %</td>' if of_all else "")
        + f'<td class="bar"><span style="width:{100 * number / peak:.1f}%"></span></td></tr>'
        for one, number in rows
    )
    heads = "".join(f'<th scope="col">{safe(cell)}</th>' for cell in (*head, *(["part"] if of_all else [])))
    return (
        f'<table class="bars"><thead><tr>{heads}<th><span class="unseen">bar</span></th></tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def ranking(title: str, counts: HeavyHitters[str], of_what: str, caption: str, number: int = SHOWN) -> str:
    """A section with the most frequent things."""
    rows = counts.most(number)
    if not rows:
        return ""
    return section(
        title,
        f'<p class="quiet">{safe(remark(counts, len(rows), caption))}</p>',
        bars((of_what, "number"), [(thing, count) for thing, count in rows], whole, counts.total),
    )


def remark(counts: HeavyHitters[str], rows: int, caption: str) -> str:
    """What is to be known of a ranking: how many there are, and how far its numbers may be off."""
    remarks = [caption]
    if len(counts) > rows:
        remarks.append(f"the {rows} largest of {'more than ' * bool(counts.forgotten_most)}{len(counts):,}")
    if counts.forgotten_most:
        remarks.append(f"each may be up to {counts.forgotten_most:,} more")
    return "; ".join(remarks)


def whole(number: float) -> str:
    return units.count(round(number))
