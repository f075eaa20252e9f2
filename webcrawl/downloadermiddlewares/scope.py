"""The last check before the network: the exclusion list, and that every request comes from the frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.crawl.context import get_context
from webcrawl.crawl.running import get_in_flight_request, has_frontier
from webcrawl.fetching.failures import refusal
from webcrawl.refusal import Refused

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request


class ScopeMiddleware:
    """Refuses URLs that may not be fetched any more, and requests that did not come from the frontier.

    A request that was not leased would obey no clock and no robots.txt. ``engine.download_async`` gets a lease for
    each; only code that calls the downloader itself comes here without one.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._context = get_context(crawler)
        self._admit = self._context.intake.admit

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ScopeMiddleware:
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        if not has_frontier(self._crawler):
            return
        flight = get_in_flight_request(self._crawler, request)
        if flight is None:
            raise Refused(
                "around-the-frontier", f"{request} was not scheduled; yield it, or use download_async"
            )
        if (rule := flight.lease.refusal) is not None:
            raise refusal(rule, request.url, self._context.frontier.last_error(flight.lease.entry.key))
        if rule := self._admit(flight.lease.entry):
            raise Refused(rule, f"{request.url} is out of scope")
