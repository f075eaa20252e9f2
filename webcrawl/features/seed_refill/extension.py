"""Extension that requests more seeds when the crawl runs low on domains; a crawl with nothing left waits for the
answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.utils.misc import load_object

from webcrawl.crawl.context import context_of
from webcrawl.crawl.seeding import Seeding
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.features.seed_refill.refill import OwnTurns, SeedRefill, SharedTurns
from webcrawl.features.seed_refill.sources import Command, Hook
from webcrawl.scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.crawl.context import CrawlContext
    from webcrawl.features.seed_refill.refill import RefillTurns
    from webcrawl.features.seed_refill.sources import Source
    from webcrawl.urls.seeds import BadSeed, Seed

STEP_SECONDS = 1.0


class SeedRefillExtension:
    """Takes its steps from the opening of the spider until the crawl is closed."""

    def __init__(self, crawler: Crawler, context: CrawlContext) -> None:
        self._crawler = crawler
        self._context = context
        self._worked = 0
        self._ticking = PeriodicTask(STEP_SECONDS, self._step)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        context = context_of(crawler)
        if not context.configuration.asks_for_seeds or context.segment is not None:
            raise NotConfigured  # no log message: there is no source of seeds
        extension = cls(crawler, context)
        crawler.signals.connect(extension._opened, signal=signals.spider_opened)
        crawler.signals.connect(extension._idle, signal=signals.spider_idle)
        return extension

    def _opened(self) -> None:
        scheduler: object = self._crawler.engine.scheduler
        if not isinstance(scheduler, Scheduler):
            return
        configuration, clock = self._context.configuration, self._context.clock
        self._scheduler = scheduler
        self._replenishing = SeedRefill(
            _Crawl(self._context, scheduler),
            self._source(),
            self._turns(),
            configuration.seed_refill_threshold,
            clock,
        )
        scheduler.before_close(self._end)
        self._ticking.begin()

    def _source(self) -> Source:
        configuration = self._context.configuration
        if configuration.seeds_hook is not None:
            return Hook(load_object(configuration.seeds_hook))
        return Command(configuration.seeds_command)

    def _turns(self) -> RefillTurns:
        context, every = self._context, self._context.configuration.seeds_ask_seconds
        if context.configuration.frontier_backend != "redis":
            return OwnTurns(every, context.clock)
        # A crawl on one machine does not import the Redis backend.
        from webcrawl.storage.redis import RedisBackend

        assert isinstance(context.backend, RedisBackend)
        return SharedTurns(every, context.clock, context.backend.seed_lists())

    async def _step(self) -> None:
        await self._replenishing.step()
        # The engine checks again whether the crawl may end.
        self._scheduler.wake()

    def _has_worked(self) -> bool:
        """Return whether this process fetched or refused anything since the last call."""
        tally = self._scheduler.frontier.tally
        before, self._worked = self._worked, tally.pages + tally.robots + tally.failures + tally.refusals
        return self._worked != before

    def _idle(self) -> None:
        """Keep an idle crawl open while it waits for seeds."""
        if not self._ticking.is_on or self._scheduler.frontier.is_closing():
            return
        if self._has_worked():
            self._replenishing.busy()
        if self._replenishing.idle():
            raise DontCloseSpider

    async def _end(self) -> None:
        self._ticking.end()
        await self._replenishing.end()


class _Crawl:
    """The parts of the crawl that concern seeds."""

    def __init__(self, context: CrawlContext, scheduler: Scheduler) -> None:
        self._backend = context.backend
        self._frontier = scheduler.frontier
        self._seeding = Seeding(context, scheduler, None, None)

    async def keys_at_hand(self, at_most: int) -> int:
        return await self._frontier.with_retry(lambda: self._backend.keys_at_hand(at_most))

    async def take(self, seeds: Iterator[Seed | BadSeed]) -> bool:
        return await self._seeding.take(seeds)
