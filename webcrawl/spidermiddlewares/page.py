"""Where a page's links leave Scrapy: from the Page item to the frontier, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.http import Request

from webcrawl.items import Page
from webcrawl.machine import machine_of
from webcrawl.meta import detach
from webcrawl.scheduler import flight_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from webcrawl.scheduler import Flight


class PageMiddleware:
    """Gives the links of Page items to the frontier, and tells ordinary Requests where they were found."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._intake = machine_of(crawler).intake

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PageMiddleware:
        return cls(crawler)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for output in result:
            if isinstance(output, Page):
                flight = flight_of(self._crawler, response.request)
                if flight is not None and output.links:
                    self._take(output, flight)
            elif isinstance(output, Request):
                self._found(output, response)
            yield output

    def _found(self, request: Request, response: Response) -> None:
        """An ordinary Request of a callback, often with a copy of its response's meta: it is a link of its
        own.
        """
        flight = flight_of(self._crawler, response.request)
        facts = detach(request)
        facts.via = response.url
        facts.lease_id = flight.lease.id if flight is not None else None
        for counted in ("redirect_times", "retry_times"):
            request.meta.pop(counted, None)

    def _take(self, page: Page, flight: Flight) -> None:
        entry = flight.lease.entry
        taken = self._intake.links([link.url for link in page.links], entry.depth + 1, entry.url)
        flight.outcome.discovered += taken.entries
        tally = flight.scheduler.frontier.tally
        tally.refusals += len(taken.refused)
        for _, rule in taken.refused:
            tally.refused_by_rule[rule] += 1
