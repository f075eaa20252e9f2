"""Extension of continuous crawling: adds due pages to the frontier from the opening of the spider to its end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import DontCloseSpider, NotConfigured

from webcrawl.crawl.context import context_of
from webcrawl.errors import CrawlError, StorageFull
from webcrawl.features.revisits.due_pages import Feeder, Portions
from webcrawl.features.revisits.feature import entry_at
from webcrawl.scheduler import Scheduler

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.features.revisits.feature import RevisitsFeature

logger = logging.getLogger(__name__)

BUSY_SECONDS, IDLE_SECONDS = 0.1, 1.0
"""Minimum time between two steps, and between two steps without news."""
REST_SECONDS = 5.0
"""Maximum wait of a step while nothing is due: another process may have recorded a change."""
LESSONS_SECONDS = 60.0
"""Interval at which the policy's lessons are stored and shared."""
GRACE_SECONDS = 10.0
"""Maximum wait for a step when the crawl ends, and time for which a count of pages is valid for deciding that end."""
LOOK_SECONDS = 5.0
"""Interval at which pages are counted."""


class Revisits:
    """Runs the feeder, sleeps until the next page is due, and wakes the engine."""

    def __init__(self, crawler: Crawler, visiting: RevisitsFeature) -> None:
        self._crawler = crawler
        self._visiting = visiting
        self._context = context_of(crawler)
        self._task: asyncio.Task[None] | None = None
        self._looked_at = 0.0
        self._shared_at = self._context.clock()
        self._failed = False
        self._over = False
        self._idle_since: float | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        visiting = context_of(crawler).visiting
        if visiting is None:
            raise NotConfigured  # no log message: each page is visited once
        extension = cls(crawler, visiting)
        crawler.signals.connect(extension._opened, signal=signals.spider_opened)
        crawler.signals.connect(extension._idle, signal=signals.spider_idle)
        return extension

    def _opened(self) -> None:
        scheduler: object = self._crawler.engine.scheduler
        if isinstance(scheduler, Scheduler):
            scheduler.before_close(self._end)
            # Without this task the crawl would never end.
            self._task = scheduler.run_beside(self._feed_on(scheduler))

    def _idle(self) -> None:
        """Keep the crawl open until pages are counted again: another process may have fetched some since the last
        count."""
        if self._task is None or self._task.done() or self._over:
            return
        now = self._context.clock()
        if self._idle_since is None or now - self._idle_since > GRACE_SECONDS:
            self._idle_since = now
            self._visiting.visits.news.set()
        if self._looked_at < self._idle_since:
            raise DontCloseSpider

    async def _end(self) -> None:
        """Stop taking pages. Store the last visits and lessons if the storage allows it."""
        self._over = True
        self._visiting.visits.news.set()
        if self._task is not None:
            # Pages that are taken but not added would wait for an hour.
            await asyncio.wait([self._task], timeout=GRACE_SECONDS)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        with suppress(CrawlError):
            await self._visiting.visits.keep_loose()
            await self._visiting.share_lessons()

    async def _feed_on(self, scheduler: Scheduler) -> None:
        configuration, visits = self._context.configuration, self._visiting.visits
        order = self._context.policies.order
        portions = Portions(
            configuration.revisit_share, configuration.revisit_hosts_pages, configuration.concurrent_requests
        )
        feeder = Feeder(
            visits,
            scheduler.frontier,
            lambda page, level: entry_at(page, level, order, visits.expected(page)),
            portions,
        )
        while not self._over:
            visits.news.clear()
            await self._step(scheduler, feeder)
            await asyncio.sleep(BUSY_SECONDS)
            if not feeder.waits_for_share:
                with suppress(TimeoutError):
                    await asyncio.wait_for(visits.news.wait(), self._rest_seconds())

    def _rest_seconds(self) -> float:
        next_at = self._visiting.visits.standing.next_at
        wait = REST_SECONDS if next_at is None else next_at - self._context.clock()
        return min(max(wait, IDLE_SECONDS), REST_SECONDS)

    async def _step(self, scheduler: Scheduler, feeder: Feeder) -> None:
        """Run one step of the feeder; if the storage is full or unavailable, wait as the rest of the crawl does."""
        visits, frontier, now = self._visiting.visits, scheduler.frontier, self._context.clock()
        if frontier.is_closing():
            return
        tally = frontier.tally
        try:
            await visits.keep_loose()
            await feeder.step(now, tally.pages - tally.revisits)
            if self._idle_since is not None or now - self._looked_at >= LOOK_SECONDS:
                tally.due = (await visits.look()).due
                self._looked_at = now
            if now - self._shared_at >= LESSONS_SECONDS:
                self._shared_at = now
                await self._visiting.share_lessons()
        except StorageFull as error:
            if not self._failed:
                logger.warning("Pages that are due cannot be had at the moment: %s", error)
            self._failed = True
            return
        self._failed = False
        if not self._visiting.awaits_pages():
            # The crawl may be finished.
            scheduler.wake()
