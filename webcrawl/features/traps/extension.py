"""Extension that synchronises the trap quarantine with its store, once a second while the crawl runs and when it
ends."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import DontCloseSpider, NotConfigured

from webcrawl.crawl.context import context_of
from webcrawl.errors import CrawlError
from webcrawl.scheduler import Scheduler

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.features.traps.feature import TrapsFeature

logger = logging.getLogger(__name__)

SECONDS = 1.0
"""Interval between two synchronisations."""


class Traps:
    """Runs from the start of the crawl until it is closed."""

    def __init__(self, crawler: Crawler, trapping: TrapsFeature) -> None:
        self._crawler = crawler
        self._trapping = trapping
        self._task: asyncio.Task[None] | None = None
        self._stepped = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        trapping = context_of(crawler).trapping
        if trapping is None:
            raise NotConfigured  # no log message: the feature is switched off
        extension = cls(crawler, trapping)
        crawler.signals.connect(extension._opened, signal=signals.spider_opened)
        crawler.signals.connect(extension._idle, signal=signals.spider_idle)
        return extension

    def _opened(self) -> None:
        scheduler: object = self._crawler.engine.scheduler
        if isinstance(scheduler, Scheduler):
            scheduler.before_close(self._end)
            # Without this task, withheld URLs would no longer be stored.
            self._task = scheduler.run_beside(self._watch(scheduler))

    async def _watch(self, scheduler: Scheduler) -> None:
        context = context_of(self._crawler)
        while True:
            await self._trapping.step(scheduler, context.intake, context.clock())
            if not self._stepped:
                self._stepped = True
                scheduler.wake()
            await asyncio.sleep(SECONDS)

    def _idle(self) -> None:
        """Keep an idle crawl open until the URLs that were released since its last run are queued."""
        if self._task is not None and not self._task.done() and not self._stepped:
            raise DontCloseSpider

    async def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        try:
            await self._trapping.tell()
        except CrawlError as error:
            logger.warning("What the quarantine withheld last is forgotten: %s", error)
