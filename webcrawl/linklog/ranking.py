"""PageRank (Page, Brin, Motwani and Winograd, 1999), by igraph."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.linklog.graph import Graph

DAMPING = 0.85


class GraphLibraryMissingError(Exception):
    """The library is not installed; the message says how to come by it."""


def pagerank(graph: Graph, *, weighted: bool) -> list[float]:
    """The share of each vertex, all together 1; ``weighted`` by the number of links of each edge.

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
    made = igraph.Graph(n=len(graph), edges=edges, directed=True)
    shares: list[float] = made.pagerank(damping=DAMPING, weights=graph.counts.tolist() if weighted else None)
    return shares
