"""CSV with pages: lists and mappings in a cell are JSON, and no cell is a formula to a spreadsheet."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exporters import CsvItemExporter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import BytesIO

    from scrapy import Field

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_BEGINNING = "'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
"""What a cell begins with that spreadsheets take for a formula, by OWASP's list, be it behind marks that it had from
the start."""
_FORMULA = re.compile(_BEGINNING)
_MARKED = re.compile(f"'(?={_BEGINNING})")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def inert(text: str) -> str:
    """A text that a spreadsheet shows and does not execute: a ``'`` stands before what looks like a formula.

    Numbers stay as they are. ``as_written`` gives the text back.
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def as_written(cell: str) -> str:
    """The text of which ``inert`` made a cell."""
    return cell[1:] if _MARKED.match(cell) else cell


class FlatCsvExporter(CsvItemExporter):
    """Scrapy's, but for values of pages that are no single value, for what looks like a formula, and for a file that
    is gone on with: its columns are those that it has.

    ``formulas``: let cells begin with whatever they begin with.
    """

    def __init__(self, file: BytesIO, *args: Any, formulas: bool = False, **kwargs: Any) -> None:
        columns = _columns_of(file, kwargs.get("encoding") or "utf-8")
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


def _columns_of(file: BytesIO, encoding: str) -> list[str]:
    """The columns of a file to whose rows others are added; empty of a new one, and where that cannot be told."""
    name = getattr(file, "name", None)
    try:
        if not isinstance(name, str) or file.tell() == 0:
            return []
        with Path(name).open("rb") as written, TextIOWrapper(written, encoding, newline="") as text:
            return [as_written(cell) for cell in next(csv.reader(text), [])]
    except (OSError, ValueError, csv.Error):
        return []
