"""The graph of ``scrapy links graph``: who stands first in it, and the file that it is written to."""

from __future__ import annotations

import heapq
import json
from typing import TYPE_CHECKING

from webcrawl.commands import output
from webcrawl.linklog import forms, parquet
from webcrawl.reports import units
from webcrawl.urls.listfile import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from webcrawl.linklog.graph import Graph


def write_graph(graph: Graph, ranks: Sequence[float] | None, path: Path) -> None:
    """Write it in the form that the name's ending says.

    :raises ParquetMissingError: :raises OSError: it cannot be written
    """
    match path.suffix:
        case ".parquet":
            parquet.write_edges(graph, path)
        case ".graphml":
            output.write(forms.as_graphml(graph, ranks), path)
        case ".net":
            output.write(forms.as_pajek(graph), path)
        case _:
            output.write(forms.as_tsv(graph), path)


def standings(
    graph: Graph, ranks: Sequence[float] | None, top: int, what: str, *, as_json: bool
) -> Iterator[str]:
    """The first ``top`` vertices by rank, or by in-degree where there are no ranks; all with 0."""
    degrees, links = graph.in_degrees(), graph.in_links()
    order: Sequence[float] = degrees if ranks is None else ranks
    first = heapq.nsmallest(top or len(graph), range(len(graph)), key=lambda vertex: (-order[vertex], vertex))
    if not as_json:
        total = sum(graph.counts)
        yield (
            f"{units.count(len(graph))} {what}, {units.count(sum(graph.fetched))} of them fetched; "
            f"{units.things(len(graph.counts), 'edge')} between them by {units.things(total, 'link')}\n"
        )
        if first:
            yield f"\n{'PageRank':>10}  {'in-degree':>9}  {'links':>9}  {what[:-1]}\n"
    for vertex in first:
        rank = None if ranks is None else ranks[vertex]
        if as_json:
            said = {
                "name": graph.name(vertex),
                "in_degree": degrees[vertex],
                "in_links": links[vertex],
                "fetched": bool(graph.fetched[vertex]),
                "pagerank": rank,
            }
            yield json.dumps(said) + "\n"
        else:
            shown = "" if rank is None else f"{rank:.6f}"
            name = printable(graph.name(vertex), None)
            yield f"{shown:>10}  {units.count(degrees[vertex]):>9}  {units.count(links[vertex]):>9}  {name}\n"
