"""A crawler that can be turned away at the door: a start that is refused is an answer, not a traceback.

Scrapy's engine closes a spider that could not be opened as if it had been open, and logs what fails on the
way. Here the engine forgets the spider that the scheduler refused, so that there is nothing to close and
nothing to log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.crawler import Crawler

from webcrawl.core.engine import DirectEngine
from webcrawl.wiring.refused_start import REFUSALS, answered, closing, let_go

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class RefusableCrawler(Crawler):
    """A crawler with such an engine, whose refusal the command tells that made it."""

    def _create_engine(self) -> RefusableEngine:
        answered(self)
        return RefusableEngine(self, lambda _: self.stop_async())


class RefusableEngine(DirectEngine):
    """An engine that lets go of a spider whose start was refused. Uses ``_start`` of Scrapy's."""

    async def open_spider_async(self, *, close_if_idle: bool = True) -> None:
        try:
            await super().open_spider_async(close_if_idle=close_if_idle)
        except REFUSALS:
            let_go(self)
            raise
        if self._start is not None:
            self._start = self._watched(self._start)

    async def _watched(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """The spider's start; what it refuses ends the crawl without a traceback."""
        try:
            async for output in start:
                yield output
        except REFUSALS as error:
            raise closing(self.crawler, error) from error
