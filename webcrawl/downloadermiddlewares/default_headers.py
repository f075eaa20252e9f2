"""``DEFAULT_REQUEST_HEADERS``: what a request says unless it says something else itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import Headers
from scrapy.utils.python import without_none_values

from webcrawl import header_fields

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Self

    from scrapy import Request
    from scrapy.crawler import Crawler


class DefaultHeadersMiddleware:
    """Scrapy's of this name, with names and values brought into their form once and not for every request."""

    def __init__(self, headers: Iterable[tuple[str, Any]]) -> None:
        written = Headers()
        for name, value in headers:
            written.setdefault(name, value)
        self._fields: list[tuple[bytes, list[bytes]]] = list(dict.items(written))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(without_none_values(crawler.settings["DEFAULT_REQUEST_HEADERS"]).items())

    def process_request(self, request: Request) -> None:
        headers = request.headers
        for name, values in self._fields:
            header_fields.set_default(headers, name, values)
