"""Wiring of pushed URLs: reads their list while the crawl runs, and decides whether an idle crawl waits for more."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.crawl.feature import Feature, stop
from webcrawl.errors import StorageLost
from webcrawl.features.pushed_urls.feed import PushedUrlFeed, take_over
from webcrawl.storage.contract import SharedBackend

if TYPE_CHECKING:
    from scrapy import Spider

    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import RunningCrawl
    from webcrawl.storage.contract import Counts

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.5
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

    def record_read(self, now: float, entries: int, counts: Counts) -> None:
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


class PushedUrlsFeature(Feature):
    """Reads the list every half second, from the opening of the spider until the crawl is closed."""

    def __init__(self, backend: SharedBackend) -> None:
        self._backend = backend
        self._task: asyncio.Task[None] | None = None
        self._soon = asyncio.Event()
        self._over = False
        self._worked = 0
        self._logged: set[str] = set()

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        spider = scheduler.spider
        options = take_over(spider, context.configuration)
        self._context, self._scheduler = context, scheduler
        self._list = self._backend.start_list(options.key)
        self._idle = IdleDetector(options.max_idle_seconds, _has_seeds(spider))
        self._feeder = PushedUrlFeed(self._list, context, scheduler, spider, options)
        # Without this task, pushed URLs would wait for ever.
        self._task = scheduler.run_beside(self._feed_on())

    async def before_close(self) -> None:
        """Queue the entries that were taken, and take no more."""
        self._over = True
        if self._task is None:
            return
        # Entries that are not queued by then are given out again later.
        await asyncio.wait([self._task], timeout=GRACE_SECONDS if self._feeder.busy else 0)
        await stop(self._task)
        if self._feeder.taken or self._feeder.wrong:
            logger.info("%d pushed URLs taken, %d wrong", self._feeder.taken, self._feeder.wrong)

    async def _feed_on(self) -> None:
        while not self._over:
            self._soon.clear()
            if not await self._look():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._soon.wait(), POLL_SECONDS)

    async def _look(self) -> int:
        """Queue the entries of the list; return their number."""
        frontier, idle = self._context.frontier, self._idle
        entries = with_others = 0
        try:
            entries, with_others = await self._feeder.feed()
        except StorageLost as error:
            # The key has another type: the crawl continues without the list.
            self._log_once(logging.ERROR, "Pushed URLs cannot be read: %s", error)
        if idle.since is None:
            return entries
        if entries or self._has_worked():
            idle.end()
        else:
            counts = await frontier.with_retry(self._backend.read_counts)
            now = asyncio.get_running_loop().time()
            idle.record_read(now, with_others, counts)
            if idle.is_over(now):
                # The list is empty and its entries are queued, so the check for the end of the crawl sees them.
                frontier.forget_idle_times()
        self._scheduler.wake()
        return entries

    def _has_worked(self) -> bool:
        """Return whether this process fetched or refused anything since the last call."""
        tally = self._context.tally
        fetched = tally.pages + tally.robots + tally.sitemaps
        before, self._worked = self._worked, fetched + tally.failures + tally.refusals
        return self._worked != before

    # -- the end ---------------------------------------------------------------------------------------------

    def keeps_open(self) -> bool:
        """Return whether an idle crawl waits for URLs."""
        if self._task is None or self._task.done() or self._context.frontier.is_closing():
            return False
        now = asyncio.get_running_loop().time()
        if self._idle.since is None:
            self._idle.begin(now)
            self._soon.set()
        if self._idle.is_over(now):
            return False
        self._log_wait()
        return True

    def _log_wait(self) -> None:
        if self._idle.waits_for_first():
            self._log_once(
                logging.INFO, "Nothing to crawl yet: waiting for URLs to be pushed to %s", self._list.key
            )
        elif self._idle.is_quiet and self._idle.max_idle_seconds is not None:
            self._log_once(
                logging.INFO,
                "The crawl is finished; waiting for more URLs to be pushed to %s",
                self._list.key,
            )

    def _log_once(self, level: int, message: str, about: object) -> None:
        if message not in self._logged:
            self._logged.add(message)
            logger.log(level, message, about)


def build(parts: Parts) -> PushedUrlsFeature:
    """Return the reader of the list in Redis."""
    assert isinstance(parts.backend, SharedBackend)
    return PushedUrlsFeature(parts.backend)


def _has_seeds(spider: Spider) -> bool:
    """Return whether the spider has seeds."""
    return any(getattr(spider, name, None) for name in ("seeds", "domains", "start_urls"))
