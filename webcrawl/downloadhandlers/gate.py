"""Whether a body is worth reading, decided on the headers; and Scrapy's signals that may stop a download."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils._download_handlers import check_stop_download

from webcrawl.core.listening import has_listeners
from webcrawl.documents.mime import HTML_TYPES, mime_type
from webcrawl.downloadhandlers.body import announced_lengths
from webcrawl.downloadhandlers.response_head import MAX_TYPE_BYTES
from webcrawl.downloadhandlers.scrapy_response import scrapy_headers

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.exceptions import StopDownload

    from webcrawl.downloadhandlers.response_head import ResponseHead

UNWANTED_TYPE = "mime"
ANNOUNCED_OVERSIZE = "length"
STOPPED = "stopped"


@lru_cache(maxsize=4096)
def is_wanted(content_type: bytes, wanted: tuple[str, ...]) -> bool:
    """Whether a Content-Type fits a pattern (``text/html``, ``text/*``, ``*/*``); an empty one is wanted."""
    mime = content_type.partition(b";")[0].partition(b",")[0].strip().lower().decode("latin-1")
    if not mime:
        return True
    major = mime.partition("/")[0]
    return mime in wanted or f"{major}/*" in wanted or "*/*" in wanted


def may_have_links(head: ResponseHead) -> bool:
    """Whether a body is HTML by its Content-Type, or may be for want of one."""
    content_type = head.value(b"content-type")
    return 200 <= head.status < 300 and (content_type is None or _is_html(content_type[:MAX_TYPE_BYTES]))


@lru_cache(maxsize=1024)
def _is_html(content_type: bytes) -> bool:
    mime = mime_type(content_type.decode("latin-1"))
    return mime is None or mime in HTML_TYPES


class Gate:
    """Decides for one request. ``announced_limit`` is in bytes, 0 for none; ``wanted`` is None for all."""

    def __init__(
        self, crawler: Crawler, request: Request, wanted: tuple[str, ...] | None, announced_limit: int
    ) -> None:
        self._crawler = crawler
        self._request = request
        self._wanted = wanted
        self._announced_limit = announced_limit
        self.stop: StopDownload | None = None
        """What a signal's receiver raised."""

    def on_head(self, head: ResponseHead) -> str | None:
        """None, or why the body is not to be read."""
        if has_listeners(self._crawler.signals, signals.headers_received) and self._tell_headers(head):
            return STOPPED
        if self._wanted is not None and 200 <= head.status < 300:
            content_type = head.value(b"content-type")
            if content_type is not None and not is_wanted(content_type[:MAX_TYPE_BYTES], self._wanted):
                return UNWANTED_TYPE
        if self._announced_limit and max(announced_lengths(head), default=0) > self._announced_limit:
            return ANNOUNCED_OVERSIZE
        return None

    def on_payload(self, data: bytes) -> bool:
        """Pass a piece on to the receivers of ``bytes_received``; False to stop."""
        return not self._tell(signals.bytes_received, data=data)

    def _tell_headers(self, head: ResponseHead) -> bool:
        lengths = announced_lengths(head)
        return self._tell(
            signals.headers_received,
            headers=scrapy_headers(head),
            body_length=max(lengths) if lengths else None,
        )

    def _tell(self, signal: object, **facts: Any) -> bool:
        self.stop = check_stop_download(signal, self._crawler, self._request, **facts)
        return self.stop is not None
