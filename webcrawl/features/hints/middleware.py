"""Downloader middleware that reads feeds fetched as pages, and uses their data about known pages like that of
sitemaps."""

from __future__ import annotations

import asyncio
import re
from time import perf_counter
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from webcrawl.crawl.context import get_context
from webcrawl.crawl.running import get_in_flight_request
from webcrawl.frontier.records import Kind
from webcrawl.parsing.offload import TURN_SECONDS
from webcrawl.parsing.sitemap import SitemapReading
from webcrawl.urls.resolve import resolve_all

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from webcrawl.crawl.running import InFlightRequest
    from webcrawl.features.hints.feature import HintsFeature

_ROOTS = (b"rss", b"feed", b"rdf")
_FEED = re.compile(rb"<(?:[\w.-]+:)?(?:%b)[\s>]" % b"|".join(_ROOTS), re.IGNORECASE)
_LOOKED_AT = 1_024
"""Number of bytes that are searched for the root element of a feed."""


class HintsMiddleware:
    """Placed after unchanged responses were dropped, and before pages are processed."""

    def __init__(self, crawler: Crawler, feature: HintsFeature) -> None:
        self._crawler = crawler
        self._feature = feature
        self._urls_max = get_context(crawler).configuration.sitemap_urls_max

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> HintsMiddleware:
        feature: HintsFeature | None = get_context(crawler).features.get("hints")
        if feature is None:
            raise NotConfigured  # no log message: hints would have no use
        return cls(crawler, feature)

    def process_response(
        self, request: Request, response: Response
    ) -> Response | Coroutine[None, None, Response]:
        if not 200 <= response.status < 300 or not _is_feed(response.body[:_LOOKED_AT]):
            return response
        flight = get_in_flight_request(self._crawler, request)
        if flight is None or flight.lease.entry.kind != Kind.PAGE:
            return response
        return self._read(flight, response)

    async def _read(self, flight: InFlightRequest, response: Response) -> Response:
        """Read the feed in turns of the event loop, as sitemaps are read."""
        reading, ends_at, count = SitemapReading(response.url, urls_max=self._urls_max), 0.0, 0
        for _ in reading.steps([response.body]):
            if perf_counter() >= ends_at:
                count += await self._pass_on(flight, reading, response.url)
                await asyncio.sleep(0)
                ends_at = perf_counter() + TURN_SECONDS
        count += await self._pass_on(flight, reading, response.url)
        if flight.outcome.entry is not None:
            flight.outcome.entry.record.extra["hints"] = count
        return response

    async def _pass_on(self, flight: InFlightRequest, reading: SitemapReading, base: str) -> int:
        pages, _ = reading.take()
        resolved = resolve_all([page.url for page in pages], base)
        hints = {url: page.hints for url, page in zip(resolved, pages, strict=True) if url is not None}
        return await self._feature.listed(flight.lease.entry, hints)


def _is_feed(beginning: bytes) -> bool:
    folded = beginning.lower()
    # Searching for words takes a tenth of the expression's time, and most pages contain none of the three.
    return any(word in folded for word in _ROOTS) and _FEED.search(beginning) is not None
