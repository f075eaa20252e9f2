"""Extension that synchronises what a focused crawl learns with its store, once a second and when the crawl ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from webcrawl.crawl.context import context_of
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.scheduler import Scheduler

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.features.focus.feature import FocusFeature

SECONDS = 1.0
"""Interval between two steps."""


class Focus:
    """Runs from the start of the crawl until it is closed."""

    def __init__(self, crawler: Crawler, focusing: FocusFeature) -> None:
        self._crawler = crawler
        self._focusing = focusing
        self._clock = context_of(crawler).clock
        self._ticking = PeriodicTask(SECONDS, self._step, at_once=True)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        focusing = context_of(crawler).focusing
        if focusing is None:
            raise NotConfigured  # no log message: the crawl has no focus
        extension = cls(crawler, focusing)
        crawler.signals.connect(extension._opened, signal=signals.spider_opened)
        return extension

    def _opened(self) -> None:
        scheduler: object = self._crawler.engine.scheduler
        if isinstance(scheduler, Scheduler):
            scheduler.before_close(self._end)
            self._ticking.begin()

    async def _step(self) -> None:
        await self._focusing.step(self._clock())

    async def _end(self) -> None:
        self._ticking.end()
        await self._focusing.step(self._clock(), last=True)
