"""Downloader middleware that ends what a site has refused: neither links nor items come of it, and no other try."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import TextResponse

from webcrawl.crawl.context import get_context
from webcrawl.crawl.running import get_in_flight_request
from webcrawl.fetching.meta import fetch_meta
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import Kind
from webcrawl.refusal import RefusedBySite

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from webcrawl.crawl.running import InFlightRequest
    from webcrawl.features.refusals.feature import RefusalsFeature
    from webcrawl.politeness.refusals import SiteRefusal


class RefusalsMiddleware:
    """Judges pages with a status 2xx by their content; the others were judged when they came.

    Responses with another status go on to the spider, as Scrapy has it; those with 2xx go to the errback.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._context = context = get_context(crawler)
        self._refusals: RefusalsFeature = context.features.get("refusals")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RefusalsMiddleware:
        return cls(crawler)

    def process_response(
        self, request: Request, response: Response
    ) -> Response | Coroutine[None, None, Response]:
        facts = fetch_meta(request)
        if facts.refusal is None and not _may_be_read(response):
            return response
        flight = get_in_flight_request(self._crawler, request)
        if flight is None:
            return response
        if facts.refusal is not None:
            return self._refused(flight, facts.refusal, response)
        refusal, kind = self._refusals.of_content(response), flight.lease.entry.kind
        if refusal is None and kind == Kind.PAGE:
            text = self._refusals.start_page_text(response)
            if text is not None:
                return self._look_up(text, flight, response)
        return self._judged(flight, refusal, response)

    async def _look_up(self, text: bytes, flight: InFlightRequest, response: Response) -> Response:
        refusal = await self._refusals.of_start_page(text, flight, response.url)
        return self._judged(flight, refusal, response)

    def _judged(self, flight: InFlightRequest, refusal: SiteRefusal | None, response: Response) -> Response:
        """Let the frontier know what the content of a page with a status 2xx is; end the page if it is a refusal."""
        if refusal is None and flight.lease.entry.kind == Kind.ROBOTS:
            return response
        pause = None
        if refusal is None or refusal.is_of_host:
            pause = self._context.frontier.judge(flight.lease, None if refusal is None else refusal.kind)
        if refusal is None:
            return response
        fetch_meta(flight.request).refusal = refusal
        if (archived := flight.outcome.entry) is not None:
            archived.record.extra |= refusal.facts()
            if pause is not None:
                archived.record.extra["delay"] = round(pause, 6)
        return self._refused(flight, refusal, response)

    def _refused(self, flight: InFlightRequest, refusal: SiteRefusal, response: Response) -> Response:
        """Record a refusal. :raises RefusedBySite: the page has a status 2xx, and would pass for content"""
        self._refusals.note(flight, refusal)
        if flight.lease.entry.kind == Kind.ROBOTS or not refusal.is_final:
            return response
        flight.outcome.result, flight.outcome.rule = Result.FAILED, refusal.kind
        if 200 <= response.status < 300:
            raise RefusedBySite(refusal.kind, str(refusal))
        return response


def _may_be_read(response: Response) -> bool:
    """Return whether the content of a response may be a refusal."""
    is_success = 200 <= response.status < 300
    return is_success and isinstance(response, TextResponse) and response.url.startswith(("http:", "https:"))
