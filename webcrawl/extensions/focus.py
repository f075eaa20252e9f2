"""Keeps what a focused crawl learns in step with its store: once a second while it runs, and when it ends."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from webcrawl.machine import machine_of
from webcrawl.scheduler import Scheduler

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.focusing import Focusing

logger = logging.getLogger(__name__)

SECONDS = 1.0
"""Between two steps."""


class Focus:
    """Runs from the start of the crawl until it is closed."""

    def __init__(self, crawler: Crawler, focusing: Focusing) -> None:
        self._crawler = crawler
        self._focusing = focusing
        self._task: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        focusing = machine_of(crawler).focusing
        if focusing is None:
            raise NotConfigured  # without a word: nothing is looked for
        extension = cls(crawler, focusing)
        crawler.signals.connect(extension._opened, signal=signals.spider_opened)
        return extension

    def _opened(self) -> None:
        scheduler: object = self._crawler.engine.scheduler
        if isinstance(scheduler, Scheduler):
            scheduler.before_close(self._end)
            self._task = asyncio.get_running_loop().create_task(self._watch())
            self._task.add_done_callback(self._stopped)

    @staticmethod
    def _stopped(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("What is learned is kept no more: %s", error, exc_info=error)

    async def _watch(self) -> None:
        clock = machine_of(self._crawler).clock
        while True:
            await self._focusing.step(clock())
            await asyncio.sleep(SECONDS)

    async def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._focusing.step(machine_of(self._crawler).clock(), last=True)
