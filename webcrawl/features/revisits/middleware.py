"""Downloader middleware next to the network: compares revisited pages with their known content, and stops unchanged
ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from webcrawl.archive.capture import Revisit
from webcrawl.crawl.context import get_context
from webcrawl.crawl.page_processing import PageTexts
from webcrawl.crawl.running import Came, get_in_flight_request
from webcrawl.features.content_seen.content_seen import digest
from webcrawl.features.revisits.feature import known_page
from webcrawl.fetching.lifetime import response_lifetime
from webcrawl.fetching.meta import fetch_meta
from webcrawl.frontier.records import Kind
from webcrawl.refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from webcrawl.crawl.running import InFlightRequest

NOT_MODIFIED = 304
FIELD_MAX = 1024
"""Maximum length of a validator in bytes; a longer one is not stored."""


class RevisitsMiddleware:
    """Computes the digest of each response for the page's history, and stops a 304 before callbacks and pipelines.

    Only pages and sitemaps with a 2xx status, and 304 responses, are compared.
    """

    def __init__(self, crawler: Crawler) -> None:
        context = get_context(crawler)
        if context.features.get("revisits") is None:
            raise NotConfigured  # no log message: the crawl visits each page once
        self._crawler = crawler
        by_text = context.texts is not None and context.configuration.revisit_change == "text"
        self._texts = PageTexts(crawler, context.texts) if by_text and context.texts is not None else None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RevisitsMiddleware:
        return cls(crawler)

    def process_response(
        self, request: Request, response: Response
    ) -> Response | Coroutine[None, None, Response]:
        flight = get_in_flight_request(self._crawler, request)
        if flight is None or flight.lease.entry.kind in (Kind.ROBOTS, Kind.INLINE):
            return response
        if response.status == NOT_MODIFIED:
            return self._not_modified(flight, request, response)
        if not 200 <= response.status < 300 or not _is_whole(flight):
            return response
        if self._texts is not None and flight.lease.entry.kind == Kind.PAGE:
            return self._digest_text(self._texts, flight, request, response)
        flight.came = _came(_digest(request, response), response)
        return response

    @staticmethod
    async def _digest_text(
        texts: PageTexts, flight: InFlightRequest, request: Request, response: Response
    ) -> Response:
        """Digest the main text; a page without one is compared by its bytes."""
        content = await texts.digest(request, response) or digest(response.body)
        flight.came = _came(content, response)
        return response

    @staticmethod
    def _not_modified(flight: InFlightRequest, request: Request, response: Response) -> Response:
        known, archived = known_page(flight.lease.entry), flight.outcome.entry
        if known is None:
            # The request was not conditional on data of ours.
            return response
        if archived is not None:
            archived.revisit = Revisit("server-not-modified", flight.lease.entry.url, known.came_at)
        flight.came = _came(None, response)
        # Without this, the spider's errback would get the refusal.
        request.errback = None
        raise Refused("not-modified", f"{request.url} is the same as before")


def _digest(request: Request, response: Response) -> bytes:
    """Return the digest of the body, or of the received bytes if the body is in a file."""
    capture = fetch_meta(request).capture
    spooled = None if capture is None else capture.spooled
    return digest(response.body) if spooled is None else spooled.digest


def _is_whole(flight: InFlightRequest) -> bool:
    """Return whether the body is complete, or cut at the size limit, where it is cut each time."""
    archived = flight.outcome.entry
    capture = None if archived is None else archived.capture
    return capture is not None and capture.truncated in (None, "length")


def _came(content: bytes | None, response: Response) -> Came:
    etag, last_modified, date = (_field(response, name) for name in ("ETag", "Last-Modified", "Date"))
    return Came(content, etag, last_modified, date, response_lifetime(response))


def _field(response: Response, name: str) -> str | None:
    """Return a header field as it can be sent back; None if it is missing or too long."""
    value = response.headers.get(name)
    return None if not value or len(value) > FIELD_MAX else value.decode("latin-1")
