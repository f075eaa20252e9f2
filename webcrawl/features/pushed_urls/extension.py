"""Extension that reads the list of pushed URLs while the crawl runs, and decides whether an idle crawl waits for
more."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import DontCloseSpider, NotConfigured

from webcrawl.crawl.context import context_of
from webcrawl.errors import StorageLost
from webcrawl.scheduler import Scheduler

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from webcrawl.config import Configuration
    from webcrawl.storage.contract import Counts

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
"""Interval between two reads of an empty list."""
GRACE_SECONDS = 5.0
"""Maximum time that closing a crawl waits until taken entries are queued."""


@dataclass(slots=True)
class IdleDetector:
    """Detects whether an idle crawl is finished. Times are those of the event loop's clock."""

    max_idle_seconds: float | None
    """Time that an idle crawl waits for more URLs; 0 for ever, None not at all."""
    has_seeds: bool
    """A crawl without seeds that never had a URL waits for its first one in any case."""
    since: float | None = None
    is_quiet: bool = False
    """True if the last read found nothing new, neither in the list nor in the crawl."""
    _counts: Counts | None = None

    def begin(self, now: float) -> None:
        """Record that the crawl is idle. Repeated calls have no effect."""
        if self.since is None:
            self.since, self._counts, self.is_quiet = now, None, False

    def end(self) -> None:
        """Record that the crawl is no longer idle."""
        self.since = None

    def looked(self, now: float, entries: int, counts: Counts) -> None:
        """Record a read of the list: the number of entries being queued, and the counts of the whole crawl."""
        self.is_quiet = not entries and self._counts in (None, counts)
        self._counts = counts
        if not self.is_quiet:
            self.since = now

    def is_over(self, now: float) -> bool:
        """Return whether the crawl may end."""
        if self.since is None or not self.is_quiet or self.max_idle_seconds == 0:
            return False
        if self.max_idle_seconds is not None:
            return now - self.since >= self.max_idle_seconds
        return self.has_seeds or not self.waits_for_first()

    def waits_for_first(self) -> bool:
        """Return whether the crawl never had a URL, as far as is known."""
        counts = self._counts
        return counts is not None and not (counts.queued or counts.done or counts.failed or counts.refused)


class Feeding:
    """Reads the list every half second, from the opening of the spider until the crawl is closed."""

    def __init__(self, crawler: Crawler, configuration: Configuration) -> None:
        self._crawler = crawler
        self._configuration = configuration
        self._task: asyncio.Task[None] | None = None
        self._soon = asyncio.Event()
        self._over = False
        self._worked = 0
        self._said: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        configuration = context_of(crawler).configuration
        if configuration.frontier_backend != "redis":
            raise NotConfigured  # no log message: a crawl without Redis has seeds and no list
        extension = cls(crawler, configuration)
        crawler.signals.connect(extension._opened, signal=signals.spider_opened)
        crawler.signals.connect(extension._idle, signal=signals.spider_idle)
        return extension

    # -- life ------------------------------------------------------------------------------------------------

    def _opened(self, spider: Spider) -> None:
        scheduler: object = self._crawler.engine.scheduler
        if not isinstance(scheduler, Scheduler):
            return
        # A crawl on one machine does not import the Redis backend.
        from webcrawl.features.pushed_urls.feed import PushedUrlFeed, take_over
        from webcrawl.storage.redis import RedisBackend

        configuration, context = self._configuration, context_of(self._crawler)
        assert isinstance(context.backend, RedisBackend)
        habits = take_over(spider, self._crawler, configuration)
        self._scheduler, self._backend = scheduler, context.backend
        self._list = context.backend.start_list(habits.key)
        self._lull = IdleDetector(habits.max_idle_seconds, _has_seeds(spider))
        self._feeder = PushedUrlFeed(self._list, context, scheduler, spider, habits)
        scheduler.before_close(self._end)
        self._task = asyncio.get_running_loop().create_task(self._feed_on())
        self._task.add_done_callback(self._stopped)

    @staticmethod
    def _stopped(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("Pushed URLs are read no more: %s", error, exc_info=error)

    async def _end(self) -> None:
        """Queue the entries that were taken, and take no more."""
        self._over = True
        if self._task is not None:
            # Entries that are not queued by then are given out again later.
            await asyncio.wait([self._task], timeout=GRACE_SECONDS if self._feeder.busy else 0)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._feeder.taken or self._feeder.wrong:
            logger.info("%d pushed URLs taken, %d wrong", self._feeder.taken, self._feeder.wrong)

    async def _feed_on(self) -> None:
        while not self._over:
            self._soon.clear()
            if not await self._look():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._soon.wait(), LOOK_SECONDS)

    async def _look(self) -> int:
        """Queue the entries of the list; return their number."""
        frontier, lull = self._scheduler.frontier, self._lull
        entries = with_others = 0
        try:
            entries, with_others = await self._feeder.feed()
        except StorageLost as error:
            # The key has another type: the crawl continues without the list.
            self._say_once(logging.ERROR, "Pushed URLs cannot be read: %s", error)
        if lull.since is None:
            return entries
        if entries or self._has_worked():
            lull.end()
        else:
            counts = await frontier.with_retry(self._backend.counts)
            now = asyncio.get_running_loop().time()
            lull.looked(now, with_others, counts)
            if lull.is_over(now):
                # The list is empty and its entries are queued, so the check for the end of the crawl sees them.
                frontier.look_again()
        self._scheduler.wake()
        return entries

    def _has_worked(self) -> bool:
        """Return whether this process fetched or refused anything since the last call."""
        tally = self._scheduler.frontier.tally
        fetched = tally.pages + tally.robots + tally.sitemaps
        before, self._worked = self._worked, fetched + tally.failures + tally.refusals
        return self._worked != before

    # -- the end ---------------------------------------------------------------------------------------------

    def _idle(self) -> None:
        """Keep an idle crawl open unless it is finished."""
        if self._task is None or self._task.done() or self._scheduler.frontier.is_closing():
            return
        now = asyncio.get_running_loop().time()
        if self._lull.since is None:
            self._lull.begin(now)
            self._soon.set()
        if not self._lull.is_over(now):
            self._say_that_it_waits()
            raise DontCloseSpider

    def _say_that_it_waits(self) -> None:
        if self._lull.waits_for_first():
            self._say_once(
                logging.INFO, "Nothing to crawl yet: waiting for URLs to be pushed to %s", self._list.key
            )
        elif self._lull.is_quiet and self._lull.max_idle_seconds is not None:
            self._say_once(
                logging.INFO,
                "The crawl is finished; waiting for more URLs to be pushed to %s",
                self._list.key,
            )

    def _say_once(self, level: int, message: str, about: object) -> None:
        if message not in self._said:
            self._said.add(message)
            logger.log(level, message, about)


def _has_seeds(spider: Spider) -> bool:
    """Return whether the spider has seeds."""
    return any(getattr(spider, name, None) for name in ("seeds", "domains", "start_urls"))
