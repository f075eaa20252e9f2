"""Extension that maintains subscriptions while the crawl runs: requests, renewals, pushes, and unsubscribing at the
end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import DontCloseSpider, NotConfigured

from webcrawl.crawl.context import context_of
from webcrawl.errors import StorageFull
from webcrawl.features.websub.feature import Asking
from webcrawl.scheduler import Scheduler

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from webcrawl.features.websub.feature import WebSubFeature

SECONDS = 1.0
"""Interval between two steps; a push starts the next one at once."""
LEAVE_SECONDS = 60.0
"""Maximum time that a finished crawl waits for hubs to end its subscriptions."""

logger = logging.getLogger(__name__)


class Websub:
    """Runs from the start of the crawl until it is closed."""

    def __init__(self, crawler: Crawler, subscribing: WebSubFeature) -> None:
        self._crawler = crawler
        self._context = context_of(crawler)
        self._subscribing = subscribing
        self._leaves = self._context.configuration.websub_unsubscribe
        self._left_at: float | None = None
        self._soon = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stepped = self._failed = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        subscribing = context_of(crawler).subscribing
        if subscribing is None:
            raise NotConfigured  # no log message: the feature is switched off
        extension = cls(crawler, subscribing)
        crawler.signals.connect(extension._opened, signal=signals.spider_opened)
        crawler.signals.connect(extension._idle, signal=signals.spider_idle)
        return extension

    def _opened(self, spider: Spider) -> None:
        scheduler: object = self._crawler.engine.scheduler
        if isinstance(scheduler, Scheduler):
            scheduler.before_close(self._end)
            self._subscribing.on_push(self._soon.set)
            asking = Asking(scheduler, self._context, spider)
            # Without this task, pushes would be accepted and their pages never visited.
            self._task = scheduler.run_beside(self._keep_on(scheduler, asking))

    async def _keep_on(self, scheduler: Scheduler, asking: Asking) -> None:
        while True:
            self._soon.clear()
            if not scheduler.frontier.is_closing():
                if await self._step(asking):
                    self._soon.set()
                if not self._stepped or self._left_at is not None:
                    self._stepped = True
                    scheduler.wake()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._soon.wait(), SECONDS)

    async def _step(self, asking: Asking) -> bool:
        """Run one step; return whether there is more to do at once."""
        try:
            more = await self._subscribing.subscriber.step(asking, self._context.clock())
            if self._left_at is not None and not await self._subscribing.subscriber.is_leaving():
                self._leaves = False
        except StorageFull as error:
            if not self._failed:
                logger.warning("Subscriptions cannot be kept at the moment: %s", error)
            self._failed = True
            return False
        self._failed = False
        return more

    def _idle(self) -> None:
        """Keep an idle crawl open until pushed topics are queued, and until hubs have answered requests to
        unsubscribe."""
        if self._task is None or self._task.done():
            return
        if not self._stepped:
            raise DontCloseSpider
        if self._leaves and self._is_worth_waiting():
            raise DontCloseSpider

    def _is_worth_waiting(self) -> bool:
        now = self._context.clock()
        if self._left_at is None:
            self._left_at = now
            self._subscribing.subscriber.end()
            self._soon.set()
        return now - self._left_at < LEAVE_SECONDS

    async def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._subscribing.close()
        counts = self._subscribing.subscriber.counts
        if counts.asked or counts.pushes or counts.ignored:
            logger.info(
                "WebSub: hubs were asked %d times, %d subscriptions confirmed, %d denied; %d pushes, %d ignored",
                counts.asked,
                counts.verified,
                counts.denied,
                counts.pushes,
                counts.ignored,
            )
