"""Draws the pages of Requests with ``meta["playwright"]`` in a browser, after they were fetched as any page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import (
    DownloadCancelledError,
    DownloadFailedError,
    DownloadTimeoutError,
    NotConfigured,
)
from scrapy.http import HtmlResponse

from webcrawl.crawl.drawing import draws
from webcrawl.crawl.running import get_in_flight_request
from webcrawl.fetching.failures import failure_word
from webcrawl.frontier.lease import Result
from webcrawl.refusal import Refused

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from webcrawl.downloadermiddlewares.browser import Browser

MARK = "playwright"
"""The entry of ``Request.meta`` that asks for it."""


class DrawingMiddleware:
    """Between the engine and retries and redirects: it gets HTML that is decoded, of a turn of its host that has
    ended.
    """

    def __init__(self, crawler: Crawler, browser: Browser) -> None:
        self._crawler = crawler
        self._browser = browser

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DrawingMiddleware:
        """:raises NotConfigured: the crawl draws no pages"""
        if not draws(crawler.settings):
            raise NotConfigured  # no log message: it is switched off
        from webcrawl.downloadermiddlewares.browser import Browser

        browser = Browser(crawler)
        crawler.signals.connect(browser.close, signals.spider_closed)
        return cls(crawler, browser)

    def process_request(self, request: Request) -> Coroutine[None, None, None] | None:
        """Add the cookies of the browser, as after a login in it."""
        return self._browser.add_cookies(request) if request.meta.get(MARK) else None

    def process_response(
        self, request: Request, response: Response
    ) -> Response | Coroutine[None, None, Response]:
        if not request.meta.get(MARK) or not isinstance(response, HtmlResponse):
            return response
        return self._draw(request, response)

    async def _draw(self, request: Request, response: Response) -> Response:
        try:
            return await self._browser.draw(request, response)
        except (DownloadFailedError, DownloadTimeoutError, DownloadCancelledError, Refused) as error:
            flight = get_in_flight_request(self._crawler, request)
            if flight is not None:
                outcome = flight.outcome
                outcome.result, outcome.rule = Result.FAILED, failure_word(error)
                if isinstance(error, Refused):
                    outcome.result, outcome.rule = Result.REFUSED, error.rule
                if outcome.entry is not None:
                    outcome.entry.record.extra["drawn"] = outcome.rule
            raise
