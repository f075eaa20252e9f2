"""Wiring of seed refill: requests more seeds when the crawl runs low on domains; a crawl with nothing left waits for
them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object

from webcrawl.crawl.feature import Feature
from webcrawl.crawl.seeding import Seeding
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.features.seed_refill.refill import OwnTurns, SeedRefill, SharedTurns
from webcrawl.features.seed_refill.sources import CommandRunner, Hook
from webcrawl.storage.contract import SharedBackend

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.config import Configuration
    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import RunningCrawl
    from webcrawl.features.seed_refill.refill import RefillTurns
    from webcrawl.features.seed_refill.sources import Source
    from webcrawl.urls.seeds import BadSeed, Seed

STEP_SECONDS = 1.0


class SeedRefillFeature(Feature):
    """Takes its steps from the opening of the spider until the crawl is closed."""

    def __init__(self) -> None:
        self._worked = 0
        self._ticking = PeriodicTask(STEP_SECONDS, self._step)

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        self._context, self._scheduler = context, scheduler
        self._refill = SeedRefill(
            _Crawl(context, scheduler),
            _source(context.configuration),
            _turns(context),
            context.configuration.seed_refill_threshold,
            context.clock,
        )
        self._ticking.begin()

    async def _step(self) -> None:
        await self._refill.step()
        # The engine checks again whether the crawl may end.
        self._scheduler.wake()

    def _has_worked(self) -> bool:
        """Return whether this process fetched or refused anything since the last call."""
        tally = self._context.tally
        before, self._worked = self._worked, tally.pages + tally.robots + tally.failures + tally.refusals
        return self._worked != before

    def keeps_open(self) -> bool:
        """Return whether the crawl waits for seeds."""
        if not self._ticking.is_on or self._context.frontier.is_closing():
            return False
        if self._has_worked():
            self._refill.busy()
        return self._refill.idle()

    async def before_close(self) -> None:
        if self._ticking.is_on:
            self._ticking.end()
            await self._refill.end()


def build(parts: Parts) -> SeedRefillFeature:
    """Return the refill of a crawl that has a source of seeds."""
    return SeedRefillFeature()


def _source(configuration: Configuration) -> Source:
    if configuration.seeds_hook is not None:
        return Hook(load_object(configuration.seeds_hook))
    return CommandRunner(configuration.seeds_command)


def _turns(context: CrawlContext) -> RefillTurns:
    every = context.configuration.seeds_ask_seconds
    if isinstance(context.backend, SharedBackend):
        return SharedTurns(every, context.clock, context.backend.seed_lists())
    return OwnTurns(every, context.clock)


class _Crawl:
    """The parts of the crawl that concern seeds."""

    def __init__(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        self._backend = context.backend
        self._frontier = context.frontier
        self._seeding = Seeding(context, scheduler, None, None)

    async def count_available_keys(self, at_most: int) -> int:
        return await self._frontier.with_retry(lambda: self._backend.count_available_keys(at_most))

    async def take(self, seeds: Iterator[Seed | BadSeed]) -> bool:
        return await self._seeding.take(seeds)
