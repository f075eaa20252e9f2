"""The broad crawl: from seeds to all reachable pages, one batch of links per page.

Scrapy loads the spiders of a project for each command that asks for one of them, so the parts of a crawl are imported
when it begins.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from webcrawl.crawl.page_reading import PageReading
    from webcrawl.items import Page
    from webcrawl.scheduler import Scheduler


class BroadSpider(Spider):
    """``-a seeds=FILE|URL[,URL...]|-``, ``-a allow=REGEX``, ``-a domains=FILE|NAME[,NAME...]``, ``-a focus=WHAT``,
    ``-a mode=once|continuous``, ``-a stay=domain|host``; or ``-a segment=FILE``."""

    name = "broad"
    makes_requests = False
    """False: the spider follows links, and makes no Requests with errbacks."""
    follows_sitemaps = True
    """True: the callback expects the pages of sitemaps, which it did not request."""
    # The fast path needs none of Scrapy's: each wraps the output of every page in a generator of its own. The meaning
    # of a status is decided by ``crawl/page_reading.py``; depth and via are stored in the frontier's entries.
    custom_settings = {  # noqa: RUF012 - Scrapy's convention
        "CONCURRENT_ITEMS": 1,  # one item per page; Scrapy starts so many tasks for it
        "SPIDER_MIDDLEWARES": {
            "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,
            "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,
            "scrapy.spidermiddlewares.referer.RefererMiddleware": None,
            "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
            "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
        },
    }

    def __init__(
        self,
        seeds: str | None = None,
        allow: str | None = None,
        domains: str | None = None,
        focus: str | None = None,
        mode: str | None = None,
        segment: str | None = None,
        stay: str | None = None,
        **notes: str,
    ) -> None:
        """``notes``: what a scheduler of jobs notes, such as scrapyd its ``_job``; all begin with ``_``."""
        if wrong := [name for name in notes if not name.startswith("_")]:
            raise TypeError(f"{', '.join(wrong)}: no argument of the spider {self.name}")
        super().__init__(**notes)
        self.seeds = seeds
        self.allow = allow
        self.domains = domains
        self.focus = focus
        self.mode = mode
        self.segment = segment
        self.stay = stay

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider._opened, signal=signals.spider_opened)
        crawler.signals.connect(spider._closed, signal=signals.spider_closed)
        return spider

    def _opened(self) -> None:
        """Import what reads pages and seeds before the first request: an import blocks the event loop."""
        from webcrawl.crawl import page_reading, seeding  # noqa: F401

    async def start(self) -> AsyncIterator[Any]:
        from webcrawl.crawl.refused_start import REFUSALS, closing
        from webcrawl.scheduler import Scheduler

        scheduler: object = self.crawler.engine.scheduler
        if isinstance(scheduler, Scheduler):
            try:
                await self._queue_seeds(scheduler)
            except REFUSALS as error:
                raise closing(self.crawler, error) from error
        for nothing in list[Any]():  # an asynchronous generator, as Scrapy requires
            yield nothing

    async def _queue_seeds(self, scheduler: Scheduler) -> None:
        from webcrawl.crawl.context import get_context
        from webcrawl.crawl.seeding import Seeding

        context = get_context(self.crawler)
        for feature in context.features:
            if await feature.queue_seeds(context, scheduler):
                return
        await Seeding(context, scheduler, self.seeds, self.domains).run()

    async def parse(self, response: Response, **kwargs: Any) -> AsyncIterator[Page]:
        if (page := await self._reading.read_page(response)) is not None:
            yield page

    def pages_in_parsers(self) -> int:
        """Return the number of pages that wait for another process to parse them, or are being parsed there."""
        return self._reading.busy()

    @cached_property
    def _reading(self) -> PageReading:
        from webcrawl.crawl.page_reading import PageReading

        return PageReading(self.crawler)

    def _closed(self) -> None:
        self._reading.close()
