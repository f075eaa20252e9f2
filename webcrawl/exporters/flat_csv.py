"""CSV with pages: lists and mappings in a cell are JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scrapy.exporters import CsvItemExporter

if TYPE_CHECKING:
    from scrapy import Field

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class FlatCsvExporter(CsvItemExporter):
    """Scrapy's, but for values of pages that are no single value; other items are written as ever."""

    def serialize_field(self, field: Mapping[str, Any] | Field, name: str, value: Any) -> Any:
        if (name == "links" or "kind" in field) and isinstance(value, list | dict):
            return _encode(value)
        return super().serialize_field(field, name, value)
