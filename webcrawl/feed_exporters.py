"""Feed exporters for pages: CSV without formulas, and Parquet.

In CSV, lists and mappings in a cell are JSON, and no cell is a formula for a spreadsheet.

A Parquet file (https://parquet.apache.org) has typed columns and is written by pyarrow. The columns of pages have the
types of their fields, including all fields that processing may produce. Those of other items are inferred from the
first ``ROWS`` of them; a value of a later one with another type is null, and the log says so. A Parquet file has its
table of contents at its end: one that was not closed cannot be read, none can be continued.
"""

from __future__ import annotations

import csv
import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy.exporters import BaseItemExporter, CsvItemExporter

from webcrawl.processing.contract import FieldType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import BytesIO

    from scrapy import Field


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_BEGINNING = "'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
"""The beginnings of cells that spreadsheets take for a formula, by OWASP's list, also after quote marks that the text
already had.
"""
_FORMULA = re.compile(_BEGINNING)
_MARKED = re.compile(f"'(?={_BEGINNING})")
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def inert(text: str) -> str:
    """Return a text that a spreadsheet shows and does not execute: a ``'`` is put before a possible formula.

    Numbers stay as they are. ``as_written`` returns the original text.
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def as_written(cell: str) -> str:
    """Return the text that ``inert`` turned into a cell."""
    return cell[1:] if _MARKED.match(cell) else cell


class FlatCsvExporter(CsvItemExporter):
    """Scrapy's CSV exporter with changes for values of pages that are lists or mappings, for formulas, and for
    continued files: such a file keeps its columns.

    ``formulas``: True to leave possible formulas unchanged.
    """

    def __init__(self, file: BytesIO, *args: Any, formulas: bool = False, **kwargs: Any) -> None:
        columns = _read_columns(file, kwargs.get("encoding") or "utf-8")
        super().__init__(file, *args, **kwargs)
        self._formulas = formulas
        if columns:
            self._headers_not_written = False
            if not self.fields_to_export:
                self.fields_to_export = columns
                self._autodetected_fields = True

    def serialize_field(self, field: Mapping[str, Any] | Field, name: str, value: Any) -> Any:
        if (name == "links" or "kind" in field) and isinstance(value, list | dict):
            return _encode(value)
        return super().serialize_field(field, name, value)

    def _build_row(self, values: Iterable[Any]) -> Iterator[Any]:
        for cell in super()._build_row(values):
            yield inert(cell) if isinstance(cell, str) and not self._formulas else cell


def _read_columns(file: BytesIO, encoding: str) -> list[str]:
    """Return the columns of a file to which rows are added; none for a new file, and if they cannot be read."""
    name = getattr(file, "name", None)
    try:
        if not isinstance(name, str) or file.tell() == 0:
            return []
        with Path(name).open("rb") as written, TextIOWrapper(written, encoding, newline="") as text:
            return [as_written(cell) for cell in next(csv.reader(text), [])]
    except (OSError, ValueError, csv.Error):
        return []


ROWS = 1_000
"""The number of items that are written at a time, as a row group."""
TEXT_MAX = 16 << 20
"""The number of characters after which a row group is written before it has so many items."""

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
        self._kinds: dict[str, FieldType] = {}
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
        """Pass the rows to the thread. Raises the error of writing the previous ones."""
        self._wait()
        if self._rows:
            self._writing = self._thread.submit(self._write, self._rows)
        self._rows, self._held, self._is_first = [], 0, False

    def _wait(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def _learn(self, item: Any, row: Mapping[str, Any]) -> None:
        """Record the kinds of its fields that an item declares."""
        unknown = row.keys() - self._kinds.keys()
        if self._is_first and unknown:
            adapter = ItemAdapter(item)
            for name in unknown & set(adapter.field_names()):
                if kind := adapter.get_field_meta(name).get("kind"):
                    self._kinds[name] = kind

    def _write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows in the thread, which alone uses schema and writer while it runs."""
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
                FieldType.WHOLE: arrow.int64(),
                FieldType.REAL: arrow.float64(),
                FieldType.FLAG: arrow.bool_(),
                FieldType.LINES: arrow.list_(arrow.string()),
                FieldType.COUNTS: arrow.map_(arrow.string(), arrow.int64()),
                FieldType.NAMED: arrow.map_(arrow.string(), arrow.string()),
            }.get(kind, arrow.string())
        shown = {type(row[name]) for row in rows if row.get(name) is not None}
        for types, arrow_type in (
            ({bool}, arrow.bool_()),
            ({int}, arrow.int64()),
            ({int, float}, arrow.float64()),
        ):
            if shown and shown <= types:
                return arrow_type
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
    """Return a value for a column of text: unchanged, or as JSON; halves of characters (surrogates), which no file
    accepts, are replaced.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return value.encode("utf-8", "replace").decode("utf-8")  # type: ignore[no-any-return]
