"""Asks for more seeds when the crawl runs low on domains; a crawl with nothing left waits for the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import DontCloseSpider, NotConfigured
from scrapy.utils.misc import load_object

from webcrawl.extensions.ticking import Ticking
from webcrawl.machine import machine_of
from webcrawl.replenishing.replenishing import Replenishing
from webcrawl.replenishing.sources import Command, Hook
from webcrawl.replenishing.turns import OwnTurns, SharedTurns
from webcrawl.scheduler import Scheduler
from webcrawl.wiring.seeding import Seeding

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.machine import Machine
    from webcrawl.replenishing.sources import Source
    from webcrawl.replenishing.turns import Turns
    from webcrawl.urls.seeds import BadSeed, Seed

STEP_SECONDS = 1.0


class Replenish:
    """Takes its steps from the opening of the spider until the crawl is closed."""

    def __init__(self, crawler: Crawler, machine: Machine) -> None:
        self._crawler = crawler
        self._machine = machine
        self._worked = 0
        self._ticking = Ticking(STEP_SECONDS, self._step)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        machine = machine_of(crawler)
        if not machine.configuration.asks_for_seeds or machine.segment is not None:
            raise NotConfigured  # without a word: nobody is to be asked
        extension = cls(crawler, machine)
        crawler.signals.connect(extension._opened, signal=signals.spider_opened)
        crawler.signals.connect(extension._idle, signal=signals.spider_idle)
        return extension

    def _opened(self) -> None:
        scheduler: object = self._crawler.engine.scheduler
        if not isinstance(scheduler, Scheduler):
            return
        configuration, clock = self._machine.configuration, self._machine.clock
        self._scheduler = scheduler
        self._replenishing = Replenishing(
            _Crawl(self._machine, scheduler),
            self._source(),
            self._turns(),
            configuration.seeds_low_keys,
            clock,
        )
        scheduler.before_close(self._end)
        self._ticking.begin()

    def _source(self) -> Source:
        configuration = self._machine.configuration
        if configuration.seeds_hook is not None:
            return Hook(load_object(configuration.seeds_hook))
        return Command(configuration.seeds_command)

    def _turns(self) -> Turns:
        machine, every = self._machine, self._machine.configuration.seeds_ask_seconds
        if machine.configuration.frontier_backend != "redis":
            return OwnTurns(every, machine.clock)
        # Who crawls alone does not wait for what he does not need.
        from webcrawl.frontier.backends.redis import RedisBackend

        assert isinstance(machine.backend, RedisBackend)
        return SharedTurns(every, machine.clock, machine.backend.seed_lists())

    async def _step(self) -> None:
        await self._replenishing.step()
        # Whether the crawl may end is asked again.
        self._scheduler.wake()

    def _has_worked(self) -> bool:
        """Whether this process fetched or refused anything since it was asked last."""
        tally = self._scheduler.frontier.tally
        before, self._worked = self._worked, tally.pages + tally.robots + tally.failures + tally.refusals
        return self._worked != before

    def _idle(self) -> None:
        """The engine has nothing to do and would end the crawl."""
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
    """The crawl, as far as seeds go."""

    def __init__(self, machine: Machine, scheduler: Scheduler) -> None:
        self._backend = machine.backend
        self._frontier = scheduler.frontier
        self._seeding = Seeding(machine, scheduler, None, None)

    async def keys_at_hand(self, at_most: int) -> int:
        return await self._frontier.insist(lambda: self._backend.keys_at_hand(at_most))

    async def take(self, seeds: Iterator[Seed | BadSeed]) -> bool:
        return await self._seeding.take(seeds)
