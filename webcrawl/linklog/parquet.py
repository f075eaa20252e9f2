"""All links, or the edges of a graph, as a Parquet file."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from webcrawl.export.parquet import library
from webcrawl.linklog.forms import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from webcrawl.linklog.graph import Graph
    from webcrawl.linklog.line import Linking

ROWS = 100_000
"""In a row group, and in memory: some 60 MB."""
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
"""Columns of the table of links and what they hold; ``at`` in microseconds UTC. A page without links has no row."""
EDGES = {"from": "string", "to": "string", "links": "int64"}


def write_links(pages: Iterable[Linking], path: Path) -> int:
    """Write every link as a row; how many there are. :raises ParquetMissingError: :raises OSError:"""
    return _write(LINKS, _links(pages), path)


def write_edges(graph: Graph, path: Path) -> int:
    """Write every edge as a row; how many there are. :raises ParquetMissingError: :raises OSError:"""
    rows = ((clean(graph.name(one)), clean(graph.name(other)), count) for one, other, count in graph.edges())
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
    unfinished, written = path.with_name(path.name + ".part"), 0
    try:
        with parquet.ParquetWriter(unfinished, schema, compression="zstd") as writer:
            while some := list(islice(rows, ROWS)):
                arrays = [
                    arrow.array(values, type=field.type)
                    for values, field in zip(zip(*some, strict=True), schema, strict=True)
                ]
                writer.write_table(arrow.table(arrays, schema=schema))
                written += len(some)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return written
