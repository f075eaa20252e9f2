"""The tree of sites as text, as JSON, and as a page to look at; written as it is read."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from webcrawl.export.safe import in_html, shown
from webcrawl.export.tree import COUNTED, Node, Tree
from webcrawl.reports import units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.reports.gathered import Sums

SHOWN_SITES = 1_000
"""On a page; a browser has to hold them all."""

_HEAD = (
    '<div class="head quiet"><b></b><i>pages</i><i class="wide">requests</i><i class="wide">failed</i>'
    "<i>received</i></div>\n"
)
_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--quiet:#5b6470;--paper:#fff;--rule:#d5dae0;--fill:#3b76b526}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--quiet:#a0a8b2;--paper:#15181c;--rule:#3a4048;--fill:#6aa5df33}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:70rem;margin:1.5rem auto;
padding:0 1rem}h1{font-size:1.4rem}.quiet{color:var(--quiet)}
details details,details>p{margin-left:1.3rem}summary{cursor:pointer}
summary,details>p,.head{display:flex;gap:.5rem;margin-top:0;margin-bottom:0;border-bottom:1px solid var(--rule);
font-variant-numeric:tabular-nums}
summary::before{content:"\\25b8";width:1em}details[open]>summary::before{content:"\\25be"}
details>p::before{content:"";width:1em}summary::-webkit-details-marker{display:none}
b{flex:1;font-weight:normal;overflow-wrap:anywhere;background:linear-gradient(var(--fill),var(--fill)) no-repeat;
background-size:var(--part) 100%}
i{font-style:normal;text-align:right;width:5.5rem;flex:none}
@media(max-width:40rem){i.wide{display:none}i{width:4.6rem}details details,details>p{margin-left:.7rem}}
@media print{body{max-width:none}details:not([open])>summary::before{content:""}}
"""


def as_text(tree: Tree, title: str) -> Iterator[str]:
    """A line a node, below what it belongs to; figures first, so that names may be as long as they are."""
    yield f"{'pages':>12} {'requests':>12} {'failed':>12} {'received':>9}  {shown(title)}\n"
    for site in tree.sites():
        yield from _text_lines(site, 0)
    yield f"{_figures(tree.totals)}  {units.things(tree.domains, 'registrable domain')}\n"


def as_json(tree: Tree, title: str) -> Iterator[str]:
    """One object: ``sites`` (``name``, what ``COUNTED`` names, ``children``, ``others``), one a line, and totals."""
    yield f'{{"title": {json.dumps(title)}, "sites": [\n'
    for number, site in enumerate(tree.sites()):
        yield (",\n" if number else "") + json.dumps(_as_object(site))
    yield f'\n], "domains": {tree.domains}, "totals": {json.dumps(_named(tree.totals))}}}\n'


def as_html(tree: Tree, title: str) -> Iterator[str]:
    """A page that loads nothing. Of very many sites it has the largest."""
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{in_html(title)}</title><style>{_STYLE}</style></head>\n<body><h1>{in_html(title)}</h1>\n"
    )
    sites = tree.sites()
    first = list(islice(sites, SHOWN_SITES))
    left_out = sum(1 for _ in sites)
    yield f"<p>{_told(tree, left_out)}</p>\n{_HEAD}"
    yield f"<details open><summary><b>all sites</b>{_cells(tree.totals)}</summary>\n"
    for site in first:
        yield _element(site, tree.totals[1]) + "\n"
    yield "</details></body></html>\n"


def _text_lines(node: Node, level: int) -> Iterator[str]:
    yield f"{_figures(node.counts)}  {'  ' * level}{shown(node.name)}\n"
    for child in node.children:
        yield from _text_lines(child, level + 1)
    if node.others:
        yield f"{_figures(node.other_counts)}  {'  ' * (level + 1)}({units.count(node.others)} more)\n"


def _figures(counts: Sums) -> str:
    requests, pages, failed, size = counts
    return f"{pages:>12,} {requests:>12,} {failed:>12,} {units.size(size):>9}"


def _as_object(node: Node) -> dict[str, Any]:
    found: dict[str, Any] = {"name": node.name, **_named(node.counts)}
    if node.children:
        found["children"] = [_as_object(child) for child in node.children]
    if node.others:
        found["others"] = {"number": node.others, **_named(node.other_counts)}
    return found


def _named(counts: Sums) -> dict[str, int]:
    return dict(zip(COUNTED, counts, strict=True))


def _told(tree: Tree, left_out: int) -> str:
    told = (
        f"{units.things(tree.domains, 'registrable domain')}, the ones with the most pages first. A bar is the "
        "share of the pages of what is above."
    )
    if left_out:
        told += (
            f" The {units.count(left_out)} smallest are not on this page; as text or JSON they are all there."
        )
    return told


def _element(node: Node, pages_above: int) -> str:
    part = 100 * node.counts[1] / pages_above if pages_above else 0.0
    line = f'<b style="--part:{part:.1f}%">{in_html(node.name)}</b>{_cells(node.counts)}'
    if not node.children:
        return f"<p>{line}</p>"
    below = "".join([_element(child, node.counts[1]) for child in node.children])
    if node.others:
        below += f'<p><b class="quiet">{units.count(node.others)} more</b>{_cells(node.other_counts)}</p>'
    return f"<details><summary>{line}</summary>{below}</details>"


def _cells(counts: Sums) -> str:
    requests, pages, failed, size = counts
    return f'<i>{pages:,}</i><i class="wide">{requests:,}</i><i class="wide">{failed:,}</i><i>{units.size(size)}</i>'
