"""Looks again and again whether the exclusion file has changed, so that a site owner's wish is obeyed in minutes."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from webcrawl.machine import machine_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.scope.exclusion import ExclusionList

logger = logging.getLogger(__name__)


class Exclusions:
    """Reads the changed file on a thread; what is queued already is asked about again before it is fetched."""

    def __init__(self, exclusions: ExclusionList, every_seconds: float, clock: Callable[[], float]) -> None:
        self._exclusions = exclusions
        self._every = every_seconds
        self._clock = clock
        self._task: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.get("EXCLUSION_FILE"):
            raise NotConfigured  # without a word: there being no file is nothing to be warned of
        machine = machine_of(crawler)
        assert machine.exclusions is not None
        extension = cls(machine.exclusions, machine.configuration.exclusion_check_seconds, machine.clock)
        crawler.signals.connect(extension._opened, signal=signals.spider_opened)
        crawler.signals.connect(extension._closed, signal=signals.spider_closed)
        return extension

    def _opened(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._watch())

    def _closed(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            refreshed = await asyncio.to_thread(self._exclusions.refresh, self._clock())
            for problem in refreshed.problems:
                logger.warning("Exclusion file: %s", problem)
            if refreshed.changed:
                logger.info(
                    "Exclusion file: %d entries now, version %s",
                    len(self._exclusions),
                    self._exclusions.version,
                )
