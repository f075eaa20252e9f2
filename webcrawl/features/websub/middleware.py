"""Downloader middleware of WebSub: finds the hubs of pages and feeds, and passes the responses of hubs to the
subscriber."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NoReturn

from scrapy.exceptions import NotConfigured

from webcrawl.crawl.context import get_context
from webcrawl.crawl.running import get_in_flight_request
from webcrawl.errors import CrawlError
from webcrawl.features.websub.discovery import advertised, may_be_feed_with_hub
from webcrawl.fetching.failures import LocalShortageError
from webcrawl.frontier.records import Kind
from webcrawl.refusal import Refused
from webcrawl.urls.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from webcrawl.crawl.running import InFlightRequest
    from webcrawl.features.websub.feature import WebSubFeature

DOCUMENTS = frozenset({Kind.PAGE.value, Kind.SITEMAP.value})
MOVED = frozenset({307, 308})
"""Statuses by which a hub may redirect to another URL (section 5.1.2)."""
GONE = frozenset({301, 302, 303, 307, 308, 404, 410})
"""Statuses of a page that has moved or no longer exists."""
LARGE_BYTES = 16_384
"""A larger feed is parsed in a thread."""


class WebsubMiddleware:
    """Placed where redirects are still visible. Responses of hubs end here; they are in the fetch log but not in the
    archive, since their requests contain secrets."""

    def __init__(self, crawler: Crawler, feature: WebSubFeature) -> None:
        self._crawler = crawler
        self._feature = feature
        self._clock = get_context(crawler).clock

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> WebsubMiddleware:
        feature: WebSubFeature | None = get_context(crawler).features.get("websub")
        if feature is None:
            raise NotConfigured  # no log message: the feature is switched off
        return cls(crawler, feature)

    def process_response(
        self, request: Request, response: Response
    ) -> Response | Coroutine[Any, Any, Response]:
        flight = get_in_flight_request(self._crawler, request)
        if flight is None:
            return response
        entry = flight.lease.entry
        if entry.kind == Kind.WEBSUB:
            return self._responded(flight, request, response)
        if entry.kind not in DOCUMENTS:
            return response
        if not 200 <= response.status < 300:
            if response.status in GONE:
                self._feature.note(entry, None)
            return response
        if len(response.body) > LARGE_BYTES and may_be_feed_with_hub(response.body):
            return self._read(flight, response)
        self._feature.note(entry, advertised(*_parts(response)))
        return response

    async def _read(self, flight: InFlightRequest, response: Response) -> Response:
        advert = await asyncio.to_thread(advertised, *_parts(response))
        self._feature.note(flight.lease.entry, advert)
        return response

    async def _responded(self, flight: InFlightRequest, request: Request, response: Response) -> NoReturn:
        _keep_out_of_archive(flight)
        location = response.headers.get("Location") if response.status in MOVED else None
        target = None if location is None else resolve(location.decode("utf-8", "replace"), request.url)
        await self._pass_on(request, response.status, target)
        raise Refused("websub", "an answer for the subscriber, not for the spider")

    def process_exception(self, request: Request, exception: Exception) -> Coroutine[Any, Any, None] | None:
        flight = get_in_flight_request(self._crawler, request)
        if (
            flight is None
            or flight.lease.entry.kind != Kind.WEBSUB
            or isinstance(exception, Refused | LocalShortageError)
        ):
            return None
        _keep_out_of_archive(flight)
        return self._pass_on(request, None, None)

    async def _pass_on(self, request: Request, status: int | None, target: str | None) -> None:
        try:
            await self._feature.responded(request.body, status, target, self._clock())
        except CrawlError:
            return  # the subscriber repeats the request, since the hub does not verify it


def _keep_out_of_archive(flight: InFlightRequest) -> None:
    if flight.outcome.entry is not None:
        flight.outcome.entry.capture = None


def _parts(response: Response) -> tuple[list[str], bytes, str | None, str]:
    links = [link.decode("latin-1") for link in response.headers.getlist("Link")]
    declared = response.headers.get("Content-Type")
    return links, response.body, None if declared is None else declared.decode("latin-1"), response.url
