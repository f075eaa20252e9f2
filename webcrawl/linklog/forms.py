"""A graph in the forms that other programs read; and all links as a table.

What comes out is text that every reader of UTF-8 takes: lone surrogates and control characters are U+FFFD.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webcrawl.linklog.graph import Graph
    from webcrawl.linklog.line import Linking

_DISTURBS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def clean(text: str) -> str:
    """A text without what no form can hold."""
    return _DISTURBS.sub("\ufffd", text)


def links_as_tsv(pages: Iterable[Linking]) -> Iterator[str]:
    """Every link in a line: page, to as linked, canonical, type, rel, text."""
    yield "page\tto\tcanonical\ttype\trel\ttext\n"
    for page in pages:
        for link in page.links:
            values = (page.page, link.to, link.canonical, link.type, link.rel, link.text)
            yield "\t".join(map(clean, values)) + "\n"


def as_tsv(graph: Graph) -> Iterator[str]:
    """The edges: from, to, number of links."""
    yield "from\tto\tlinks\n"
    for source, target, count in graph.edges():
        yield f"{clean(graph.name(source))}\t{clean(graph.name(target))}\t{count}\n"


def as_pajek(graph: Graph) -> Iterator[str]:
    """Pajek's ``.net``: vertices by number, with their names, then arcs with the number of links."""
    yield f"*Vertices {len(graph)}\n"
    for vertex in range(len(graph)):
        name = clean(graph.name(vertex)).replace('"', "%22")
        yield f'{vertex + 1} "{name}"\n'
    yield "*Arcs\n"
    for source, target, count in graph.edges():
        yield f"{source + 1} {target + 1} {count}\n"


def as_graphml(graph: Graph, ranks: Sequence[float] | None) -> Iterator[str]:
    """GraphML, with name, in-degree, whether it was fetched, and rank (if there are ``ranks``) of each vertex."""
    keys = [
        ("name", "node", "string"),
        ("in_degree", "node", "long"),
        ("fetched", "node", "boolean"),
        *([("pagerank", "node", "double")] if ranks is not None else []),
        ("weight", "edge", "long"),
    ]
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    for name, what, kind in keys:
        yield f'<key id="{name}" for="{what}" attr.name="{name}" attr.type="{kind}"/>\n'
    yield '<graph id="links" edgedefault="directed">\n'
    for vertex, degree in enumerate(graph.in_degrees()):
        rank = "" if ranks is None else _data("pagerank", repr(ranks[vertex]))
        yield (
            f'<node id="n{vertex}">{_data("name", escape(clean(graph.name(vertex))))}'
            f"{_data('in_degree', degree)}{_data('fetched', 'true' if graph.fetched[vertex] else 'false')}"
            f"{rank}</node>\n"
        )
    for source, target, count in graph.edges():
        yield f'<edge source="n{source}" target="n{target}">{_data("weight", count)}</edge>\n'
    yield "</graph>\n</graphml>\n"


def _data(key: str, value: object) -> str:
    return f'<data key="{key}">{value}</data>'
