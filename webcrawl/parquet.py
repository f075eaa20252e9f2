"""The fetch log as a Parquet file with one column for each field; other fields are in ``more`` as JSON."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from webcrawl.atomic_file import replacement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from types import ModuleType

ROWS = 20_000
"""The number of rows in a row group, and in memory: some 100 MB."""
MORE = "more"


class ParquetMissingError(Exception):
    """The library is not installed; the message says how to install it."""


COLUMNS = {
    "start": "timestamp",
    "end": "timestamp",
    "url": "string",
    "key": "category",
    "ip": "category",
    "kind": "category",
    "status": "int16",
    "error": "category",
    "mime": "category",
    "bytes": "int64",
    "location": "string",
    "via": "string",
    "depth": "int32",
    "worker": "category",
    "truncated": "category",
    "cut": "int64",
    "links_dropped": "int64",
    "content_location": "string",
    "archived": "bool",
    "embed": "int32",
    "cached": "bool",
    "handler": "category",
    "attempt": "int32",
    "protocol": "category",
    "resent": "bool",
    "noindex": "bool",
    "nofollow": "bool",
    "usage": "words",
    "usage_sources": "string",
    "robots_received": "timestamp",
    "withheld": "bool",
    "refusal": "category",
    "refusal_by": "category",
    "refusal_detail": "string",
    "exclusions": "category",
    "delay": "double",
    "number": "int64",
    "lost_at": "timestamp",
    "clocks": "numbers",
    "origin": "string",
    "robots": "category",
    "until": "timestamp",
    "crawl_delay": "double",
    "skipped": "bool",
    "digest": "string",
    "duplicate_of": "string",
    "near_duplicate_of": "string",
    "cluster": "string",
    "resemblance": "double",
    "links_withheld": "bool",
    "body_withheld": "bool",
    "changed": "bool",
    "revisit": "bool",
    "since": "timestamp",
    "modified": "timestamp",
    "expected": "numbers",
    "language": "category",
    "links": "int64",
    "other_links": "int64",
    "urls": "int64",
    "broken": "string",
    "hints": "int64",
    "lastmod": "timestamp",
    "changefreq": "category",
    "priority": "double",
    MORE: "string",
}
"""The columns with their types: ``timestamp`` in microseconds UTC, ``category`` a string with few values, ``numbers``
a map from names to numbers, ``words`` one from
names to strings. Every column may be null.
"""


def write(lines: Iterable[Mapping[str, Any]], path: Path) -> int:
    """Write ``path`` atomically; return the number of rows.

    :raises ParquetMissingError: :raises OSError: it cannot be written
    """
    arrow, parquet = library()
    schema = arrow.schema([(name, _type(arrow, kind)) for name, kind in COLUMNS.items()])
    source, rows = iter(lines), 0
    with (
        replacement(path) as unfinished,
        parquet.ParquetWriter(unfinished, schema, compression="zstd") as writer,
    ):
        while some := list(islice(source, ROWS)):
            writer.write_table(_table(arrow, schema, some))
            rows += len(some)
    return rows


def library() -> tuple[ModuleType, ModuleType]:
    """Return pyarrow and its Parquet module, which are an extra. :raises ParquetMissingError:"""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ParquetMissingError(
            "Parquet needs pyarrow, which is not installed: pip install pyarrow, or give another form"
        ) from error
    return pyarrow, pyarrow.parquet


def _type(arrow: Any, kind: str) -> Any:
    types = {
        "timestamp": arrow.timestamp("us", tz="UTC"),
        "string": arrow.string(),
        "category": arrow.string(),
        "bool": arrow.bool_(),
        "int16": arrow.int16(),
        "int32": arrow.int32(),
        "int64": arrow.int64(),
        "double": arrow.float64(),
        "numbers": arrow.map_(arrow.string(), arrow.float64()),
        "words": arrow.map_(arrow.string(), arrow.string()),
    }
    return types[kind]


def _table(arrow: Any, schema: Any, lines: list[Mapping[str, Any]]) -> Any:
    rows = [_row(line) for line in lines]
    columns = [[row.get(name) for row in rows] for name in COLUMNS]
    return arrow.table(
        [arrow.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )


def _row(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a line by column; a value of another type than the column's is kept in ``more``."""
    row, more = {}, {}
    usage = line.get("usage")
    if isinstance(usage, dict) and "sources" in usage:
        # The verdicts have a column of their own: they are what is searched for.
        verdicts = {name: value for name, value in usage.items() if name != "sources"}
        line = {**line, "usage": verdicts, "usage_sources": json.dumps(usage["sources"], ensure_ascii=False)}
    for name, value in line.items():
        kind = COLUMNS.get(name) if name != MORE else None
        if value is None:
            continue
        converted = None if kind is None else _VALUES[kind](value)
        if converted is None:
            more[name] = value
        else:
            row[name] = converted
    if more:
        row[MORE] = json.dumps(more)
    return row


def _timestamp(value: object) -> int | None:
    """Return microseconds."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e11
    return round(value * 1_000_000) if good else None  # type: ignore[operator]


def _string(value: object) -> str | None:
    # A lone surrogate is valid in JSON but not in UTF-8.
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _whole(bits: int) -> Callable[[object], int | None]:
    def checked(value: object) -> int | None:
        good = isinstance(value, int) and not isinstance(value, bool) and -(1 << bits) <= value < 1 << bits
        return value if good else None  # type: ignore[return-value]

    return checked


def _double(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _numbers(value: object) -> list[tuple[str, float]] | None:
    if not isinstance(value, dict):
        return None
    pairs = [(str(_string(name)), _double(number)) for name, number in value.items()]
    return None if any(number is None for _, number in pairs) else pairs  # type: ignore[return-value]


def _words(value: object) -> list[tuple[str, str]] | None:
    if not isinstance(value, dict):
        return None
    words = [(str(_string(name)), _string(word)) for name, word in value.items()]
    return None if any(word is None for _, word in words) else words  # type: ignore[return-value]


_VALUES: dict[str, Callable[[Any], Any]] = {
    "timestamp": _timestamp,
    "string": _string,
    "category": _string,
    "bool": lambda value: value if isinstance(value, bool) else None,
    "int16": _whole(15),
    "int32": _whole(31),
    "int64": _whole(63),
    "double": _double,
    "numbers": _numbers,
    "words": _words,
}
