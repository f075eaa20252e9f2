"""The graph of all pages, or of all hosts, from link logs: its construction, PageRank, and export formats.

It takes some 130 bytes of memory for each vertex (page or host), and for each edge 24 bytes between pages and some
200 between hosts, of which there are far fewer. Names are in a temporary file. PageRank (Page, Brin, Motwani and
Winograd, 1999) is computed by igraph.

Exported text is valid for every reader of UTF-8: lone surrogates and control characters are U+FFFD. All links, or the
edges of a graph, can be written as a Parquet file.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any
from weakref import finalize
from xml.sax.saxutils import escape

from webcrawl.atomic_file import replacement
from webcrawl.links.line import PAGE
from webcrawl.parquet import library
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from webcrawl.links.line import Linking, LoggedLink


_HTTP = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class Choice:
    """The links that are edges: those of pages to possible pages. Links in a list of URLs are no edges, and URLs of
    other schemes than http and https have no host.
    """

    types: frozenset[str] = frozenset()
    """The types of links that are edges; empty for all."""
    avoided: frozenset[str] = frozenset()
    """Links with one of these words in ``rel`` are left out."""
    nofollow: bool = False
    """True to include the links of pages that ask for none to be followed."""

    def of(self, page: Linking) -> Iterator[LoggedLink]:
        if page.nofollow and not self.nofollow:
            return
        for link in page.links:
            if (
                (not self.types or link.type in self.types)
                and self.avoided.isdisjoint(link.rel.split())
                and link.canonical.startswith(_HTTP)
            ):
                yield link


class Names:
    """Names, numbered in the order in which they came."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - it lives as long as this
        finalize(self, self._file.close)
        self._starts = array("q", [0])
        self._numbers: dict[int, int] = {}

    def number(self, name: str) -> int:
        """Return the number of a name, new or not."""
        number = self._numbers.setdefault(fingerprint(name), len(self._numbers))
        if number == len(self._starts) - 1:
            data = name.encode("utf-8", "surrogatepass")
            self._file.write(data)
            self._starts.append(self._starts[-1] + len(data))
        return number

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:
        start, end = self._starts[number : number + 2]
        self._file.seek(start)
        return self._file.read(end - start).decode("utf-8", "surrogatepass")


class Graph:
    """Vertices by number, and edges between them with the number of links that each stands for.

    Two vertices have one edge in a direction at most, and none has an edge to itself.
    """

    def __init__(self, names: Names, ends: array[int], counts: array[int], fetched: bytearray) -> None:
        """``ends`` are the numbers of both ends of each edge, one after the other; ``fetched`` says for each vertex
        whether it, or a page of it, was fetched.
        """
        self.names = names
        self.ends = ends
        self.counts = counts
        self.fetched = fetched
        self.chosen = list(range(len(names)))
        """The number of each vertex among the names."""

    def __len__(self) -> int:
        """Return the number of vertices."""
        return len(self.chosen)

    def name(self, vertex: int) -> str:
        return self.names[self.chosen[vertex]]

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """Yield the edges: from, to, number of links."""
        ends = iter(self.ends)
        return zip(ends, ends, self.counts, strict=True)

    def in_degrees(self) -> array[int]:
        """Return the number of other vertices that link to each vertex."""
        degrees = array("q", bytes(8 * len(self)))
        for target in self.ends[1::2]:
            degrees[target] += 1
        return degrees

    def in_links(self) -> array[int]:
        """Return the number of links to each vertex."""
        links = array("q", bytes(8 * len(self)))
        for _, target, count in self.edges():
            links[target] += count
        return links

    def among_fetched(self) -> Graph:
        """Return the graph without the vertices that were only linked to."""
        chosen = [vertex for vertex in range(len(self)) if self.fetched[vertex]]
        renumbered = array("q", [-1]) * len(self)
        for number, vertex in enumerate(chosen):
            renumbered[vertex] = number
        ends, counts = array("q"), array("q")
        for source, target, count in self.edges():
            if self.fetched[source] and self.fetched[target]:
                ends.extend((renumbered[source], renumbered[target]))
                counts.append(count)
        left = Graph(self.names, ends, counts, bytearray(b"\1") * len(chosen))
        left.chosen = [self.chosen[vertex] for vertex in chosen]
        return left


def _linking(pages: Iterable[Linking]) -> Iterator[Linking]:
    """Yield the pages that may be vertices: no lists of URLs, and no URL without a host."""
    return (page for page in pages if page.kind == PAGE and page.canonical.startswith(_HTTP))


def page_graph(pages: Iterable[Linking], choice: Choice) -> Graph:
    """Return the graph of URLs in their canonical form."""
    names, ends, counts = Names(), array("q"), array("q")
    fetched = bytearray()
    for page in _linking(pages):
        source = names.number(page.canonical)
        targets = Counter(link.canonical for link in choice.of(page) if link.canonical != page.canonical)
        for target, count in targets.items():
            ends.extend((source, names.number(target)))
            counts.append(count)
        fetched.extend(bytes(len(names) - len(fetched)))
        fetched[source] = 1
    return Graph(names, ends, counts, fetched)


def host_graph(pages: Iterable[Linking], choice: Choice) -> Graph:
    """The graph of host names."""
    names = Names()
    counted: Counter[tuple[int, int]] = Counter()
    fetched = bytearray()
    for page in _linking(pages):
        host = get_host(page.canonical)
        source = names.number(host)
        targets = Counter(get_host(link.canonical) for link in choice.of(page))
        for target, count in targets.items():
            if target != host:
                counted[source, names.number(target)] += count
        fetched.extend(bytes(len(names) - len(fetched)))
        fetched[source] = 1
    ends = array("q", [end for edge in counted for end in edge])
    return Graph(names, ends, array("q", counted.values()), fetched)


DAMPING = 0.85


class GraphLibraryMissingError(Exception):
    """The library is not installed; the message says how to install it."""


def pagerank(graph: Graph, *, weighted: bool) -> list[float]:
    """Return the share of each vertex, all together 1; ``weighted`` by the number of links of each edge.

    :raises GraphLibraryMissingError:
    """
    try:
        import igraph
    except ImportError as error:
        raise GraphLibraryMissingError(
            "PageRank needs igraph, which is not installed: pip install igraph; the graph can be had with --no-rank"
        ) from error
    if not len(graph):
        return []
    edges = memoryview(graph.ends).cast("B").cast("q", shape=[len(graph.counts), 2]) if graph.counts else []
    network = igraph.Graph(n=len(graph), edges=edges, directed=True)
    shares: list[float] = network.pagerank(
        damping=DAMPING, weights=graph.counts.tolist() if weighted else None
    )
    return shares


_DISTURBS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def clean(text: str) -> str:
    """Return a text without characters that the formats cannot hold."""
    return _DISTURBS.sub("\ufffd", text)


def links_as_tsv(pages: Iterable[Linking]) -> Iterator[str]:
    """Yield every link in a line: page, to as linked, canonical, type, rel, text."""
    yield "page\tto\tcanonical\ttype\trel\ttext\n"
    for page in pages:
        for link in page.links:
            values = (page.page, link.to, link.canonical, link.type, link.rel, link.text)
            yield "\t".join(map(clean, values)) + "\n"


def as_tsv(graph: Graph) -> Iterator[str]:
    """Yield the edges: from, to, number of links."""
    yield "from\tto\tlinks\n"
    for source, target, count in graph.edges():
        yield f"{clean(graph.name(source))}\t{clean(graph.name(target))}\t{count}\n"


def as_pajek(graph: Graph) -> Iterator[str]:
    """Yield Pajek's ``.net``: vertices by number, with their names, then arcs with the number of links."""
    yield f"*Vertices {len(graph)}\n"
    for vertex in range(len(graph)):
        name = clean(graph.name(vertex)).replace('"', "%22")
        yield f'{vertex + 1} "{name}"\n'
    yield "*Arcs\n"
    for source, target, count in graph.edges():
        yield f"{source + 1} {target + 1} {count}\n"


def as_graphml(graph: Graph, ranks: Sequence[float] | None) -> Iterator[str]:
    """Yield GraphML, with name, in-degree, whether it was fetched, and rank (if there are ``ranks``) of each
    vertex.
    """
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


ROWS = 100_000
"""The number of rows in a row group, and in memory: some 60 MB."""
LINKS = {
    "page": "string",
    "page_canonical": "string",
    "at": "timestamp",
    "status": "int16",
    "noindex": "bool",
    "nofollow": "bool",
    "duplicate_of": "string",
    "to": "string",
    "canonical": "string",
    "type": "string",
    "text": "string",
    "rel": "string",
}
"""The columns of the table of links and their types; ``at`` in microseconds UTC. A page without links has no row."""
EDGES = {"from": "string", "to": "string", "links": "int64"}


def write_links(pages: Iterable[Linking], path: Path) -> int:
    """Write every link as a row; return their number. :raises ParquetMissingError: :raises OSError:"""
    return _write(LINKS, _links(pages), path)


def write_edges(graph: Graph, path: Path) -> int:
    """Write every edge as a row; return their number. :raises ParquetMissingError: :raises OSError:"""
    rows = (
        (clean(graph.name(source)), clean(graph.name(other)), count) for source, other, count in graph.edges()
    )
    return _write(EDGES, rows, path)


def _links(pages: Iterable[Linking]) -> Iterator[tuple[Any, ...]]:
    for page in pages:
        of_page = (
            clean(page.page),
            clean(page.canonical),
            round(page.at * 1_000_000),
            page.status,
            page.noindex,
            page.nofollow,
            None if page.duplicate_of is None else clean(page.duplicate_of),
        )
        for link in page.links:
            yield (*of_page, *map(clean, link))


def _write(columns: dict[str, str], rows: Iterator[tuple[Any, ...]], path: Path) -> int:
    arrow, parquet = library()
    types = {"timestamp": arrow.timestamp("us", tz="UTC"), "bool": arrow.bool_()}
    schema = arrow.schema(
        [(name, types.get(kind) or getattr(arrow, kind)()) for name, kind in columns.items()]
    )
    written = 0
    with (
        replacement(path) as unfinished,
        parquet.ParquetWriter(unfinished, schema, compression="zstd") as writer,
    ):
        while some := list(islice(rows, ROWS)):
            arrays = [
                arrow.array(values, type=field.type)
                for values, field in zip(zip(*some, strict=True), schema, strict=True)
            ]
            writer.write_table(arrow.table(arrays, schema=schema))
            written += len(some)
    return written
