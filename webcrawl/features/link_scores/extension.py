"""Extension that synchronises the link counts with their file and with other workers, until the crawl ends."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from webcrawl.crawl.context import context_of
from webcrawl.errors import CrawlError
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.scheduler import Scheduler

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.features.link_scores.scorer import LinkScoreStore

logger = logging.getLogger(__name__)

SECONDS = 1.0
"""Interval between two steps."""


class LinkScores:
    """Runs from the start of a crawl in the orders ``in_links`` and ``opic`` until it is closed."""

    def __init__(self, crawler: Crawler, keeping: LinkScoreStore) -> None:
        self._crawler = crawler
        self._keeping = keeping
        self._clock = context_of(crawler).clock
        self._ticking = PeriodicTask(SECONDS, self._step, at_once=True)
        self._begun = False
        self._failed = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        ranking = context_of(crawler).ranking
        if ranking is None:
            raise NotConfigured  # no log message: nothing is counted
        extension = cls(crawler, ranking.keeping)
        crawler.signals.connect(extension._opened, signal=signals.spider_opened)
        return extension

    def _opened(self) -> None:
        scheduler: object = self._crawler.engine.scheduler
        if isinstance(scheduler, Scheduler):
            scheduler.before_close(self._end)
            self._ticking.begin()

    async def _step(self, *, last: bool = False) -> None:
        try:
            if not self._begun:
                await self._keeping.begin(self._clock())
                self._begun = True
            await self._keeping.step(self._clock(), last=last)
        except CrawlError as error:
            if not self._failed:
                logger.warning("What is counted of links cannot be kept at the moment: %s", error)
            self._failed = True
        else:
            self._failed = False

    async def _end(self) -> None:
        self._ticking.end()
        await self._step(last=True)
