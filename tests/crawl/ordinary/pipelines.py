"""An item pipeline as in Scrapy's tutorial."""

from __future__ import annotations

from typing import Any

from scrapy.exceptions import DropItem


class Dropping:
    """Drops what says that it should be."""

    def process_item(self, item: Any) -> Any:
        if isinstance(item, dict) and item.get("drop"):
            raise DropItem("as it wished")
        return item
