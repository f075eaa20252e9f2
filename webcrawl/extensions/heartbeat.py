"""A heartbeat every few seconds: the modification time of the JOBDIR's lock file.

It serves monitors that have no connection to the crawl: a container's health check, a service manager, a person with
``ls -l``. The file is younger than two beats exactly while the event loop runs and the JOBDIR is writable; if a crawl
is frozen, hangs, has ended or has lost its disk, the file grows old.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from webcrawl.crawl.context import get_context
from webcrawl.extensions.periodic_task import PeriodicTask

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.crawl.jobdir import Jobdir

logger = logging.getLogger(__name__)

SECONDS = 5.0
"""Seconds between two beats."""


class Heartbeat:
    """Beats from the moment in which the scheduler locks the JOBDIR until it is released."""

    def __init__(self, jobdir: Jobdir, every_seconds: float = SECONDS) -> None:
        self._jobdir = jobdir
        self._task = PeriodicTask(every_seconds, self._beat, at_once=True)
        self._lasting = True

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        jobdir = get_context(crawler).jobdir
        if jobdir is None:
            raise NotConfigured  # without a message: a crawl in memory has no file
        extension = cls(jobdir)
        crawler.signals.connect(extension.end, signal=signals.spider_closed)
        return extension

    def begin(self) -> None:
        self._task.begin()

    def end(self) -> None:
        self._task.end()

    async def _beat(self) -> None:
        try:
            # On a thread: a disk that hangs must not block the event loop.
            await asyncio.to_thread(self._jobdir.touch)
            self._lasting = True
        except OSError as error:
            if self._lasting:
                logger.warning("The heartbeat in the JOBDIR cannot be written: %s", error)
            self._lasting = False
