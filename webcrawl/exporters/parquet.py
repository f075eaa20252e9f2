"""Parquet, a file of columns with types (https://parquet.apache.org), written by pyarrow.

The columns of pages have the types of their fields, all that processing may find among them. Those of other items are
what the first ``ROWS`` of them show; a value of a later one that is nothing of the kind is null, and the log says so.
A Parquet file has its table of contents at its end: one that was not closed cannot be read, none can be continued.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from io import BytesIO
from typing import Any

from itemadapter import ItemAdapter
from scrapy.exporters import BaseItemExporter

from webcrawl.processing.fields import Kind

ROWS = 1_000
"""Items that are written at a time, as a row group."""
TEXT_MAX = 16 << 20
"""Characters of text after which a row group is written before it has so many."""

logger = logging.getLogger(__name__)


class ParquetExporter(BaseItemExporter):
    """``-O pages.parquet``. Needs pyarrow. Rows are encoded in a thread, one group at a time."""

    def __init__(self, file: BytesIO, **kwargs: Any) -> None:
        """:raises ImportError: pyarrow is not installed."""
        import pyarrow
        import pyarrow.parquet

        super().__init__(dont_fail=True, **kwargs)
        self._arrow: Any = pyarrow
        self._file = file
        self._schema: Any = None
        self._writer: Any = None
        self._rows: list[dict[str, Any]] = []
        self._held = 0
        self._is_first = True
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="parquet")
        self._writing: Future[None] | None = None
        self._kinds: dict[str, Kind] = {}
        self._misfits: set[str] = set()

    def export_item(self, item: Any) -> None:
        row = dict(self.get_serialized_fields(item, include_empty=self._is_first))
        self._learn(item, row)
        self._rows.append(row)
        self._held += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(self._rows) >= ROWS or self._held > TEXT_MAX:
            self._give()

    def finish_exporting(self) -> None:
        try:
            self._give()
            self._wait()
            if self._writer is not None:
                self._writer.close()
        finally:
            self._thread.shutdown()

    def _give(self) -> None:
        """Have the rows written. Raises what became of those before them."""
        self._wait()
        if self._rows:
            self._writing = self._thread.submit(self._write, self._rows)
        self._rows, self._held, self._is_first = [], 0, False

    def _wait(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def _learn(self, item: Any, row: Mapping[str, Any]) -> None:
        """Take notice of the kinds that an item says its fields are of."""
        unknown = row.keys() - self._kinds.keys()
        if self._is_first and unknown:
            adapter = ItemAdapter(item)
            for name in unknown & set(adapter.field_names()):
                if kind := adapter.get_field_meta(name).get("kind"):
                    self._kinds[name] = kind

    def _write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """In the thread, which alone knows schema and writer while it runs."""
        if self._writer is None:
            from pyarrow.parquet import ParquetWriter

            names = dict.fromkeys(name for row in rows for name in row)
            self._schema = self._arrow.schema([(name, self._type(name, rows)) for name in names])
            self._writer = ParquetWriter(self._file, self._schema, compression="zstd")
        columns = [self._column(field.name, field.type, rows) for field in self._schema]
        self._writer.write_table(self._arrow.Table.from_arrays(columns, schema=self._schema))

    def _type(self, name: str, rows: Sequence[Mapping[str, Any]]) -> Any:
        arrow = self._arrow
        if (kind := self._kinds.get(name)) is not None:
            return {
                Kind.WHOLE: arrow.int64(),
                Kind.REAL: arrow.float64(),
                Kind.FLAG: arrow.bool_(),
                Kind.LINES: arrow.list_(arrow.string()),
                Kind.COUNTS: arrow.map_(arrow.string(), arrow.int64()),
                Kind.NAMED: arrow.map_(arrow.string(), arrow.string()),
            }.get(kind, arrow.string())
        shown = {type(row[name]) for row in rows if row.get(name) is not None}
        for types, found in (
            ({bool}, arrow.bool_()),
            ({int}, arrow.int64()),
            ({int, float}, arrow.float64()),
        ):
            if shown and shown <= types:
                return found
        return arrow.string()

    def _column(self, name: str, of_type: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
        values = [row.get(name) for row in rows]
        if of_type == self._arrow.string():
            values = [_text(value) for value in values]
        elif self._arrow.types.is_map(of_type):
            values = [list(value.items()) if isinstance(value, dict) else value for value in values]
        try:
            return self._arrow.array(values, of_type)
        except (self._arrow.ArrowException, OverflowError):
            return self._arrow.array(list(self._fitting(name, values, of_type)), of_type)

    def _fitting(self, name: str, values: Iterable[Any], of_type: Any) -> Iterable[Any]:
        for value in values:
            try:
                self._arrow.scalar(value, of_type)
            except (self._arrow.ArrowException, OverflowError):
                if name not in self._misfits:
                    self._misfits.add(name)
                    logger.warning("Parquet: %s has values that are no %s; they are left out", name, of_type)
                yield None
            else:
                yield value


def _text(value: Any) -> str | None:
    """A value in a column of text: as it is, or as JSON; halves of characters, which no file takes, replaced."""
    if value is None:
        return None
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return value.encode("utf-8", "replace").decode("utf-8")  # type: ignore[no-any-return]
