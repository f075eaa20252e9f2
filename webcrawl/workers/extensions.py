"""Extensions of a worker, in place of those of a crawl of one process: the parent prints their sentences, once."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import signals

from webcrawl import fetch_errors
from webcrawl.crawl.context import get_configuration, get_fatal_error
from webcrawl.extensions.crawl_log import CrawlLog
from webcrawl.extensions.errors import Errors
from webcrawl.extensions.metrics_reader import get_folder, get_frontier
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.extensions.summary import Summary
from webcrawl.rotated_log import PlainLines
from webcrawl.workers import figures
from webcrawl.workers.names import named

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.config import Configuration
    from webcrawl.extensions.metrics_reader import Countable

FIGURES_SECONDS = 1.0
LAST_ERRORS = 3


class WorkerSummary(Summary):
    """Records the run, and leaves the summary and the report to the parent."""

    def _tell(self, spider: str, reason: str, elapsed: float, report: Path | None) -> None:
        self._is_told = True

    async def _report(self, spider: str) -> Path | None:
        return None


class WorkerCrawlLog(CrawlLog):
    """Writes to the ``crawl.log`` of the whole crawl. Each line of text names the worker."""

    def _plain_lines(self) -> logging.Formatter:
        return PlainLines(named(PlainLines.FORM, self._configuration.worker_name))


class RecentErrors(logging.Handler):
    """Remembers the last errors of single URLs."""

    def __init__(self) -> None:
        super().__init__()
        self.last: deque[tuple[float, str, str]] = deque(maxlen=LAST_ERRORS)

    def emit(self, record: logging.LogRecord) -> None:
        self.last.append((time.time(), *fetch_errors.named_in(record)))


class Figures:
    """Writes the figures of this process for the parent while the spider is open, and when it has closed."""

    def __init__(self, crawler: Crawler, configuration: Configuration) -> None:
        self._crawler = crawler
        self._configuration = configuration
        self._path: Path | None = None
        self._frontier: Countable | None = None
        self._errors = RecentErrors()
        self._task = PeriodicTask(FIGURES_SECONDS, self._step)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler, get_configuration(crawler))
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    def spider_opened(self) -> None:
        folder = get_folder(self._crawler)
        self._frontier = get_frontier(self._crawler)
        if folder is None or self._frontier is None:
            return
        self._path = figures.path_of(folder, os.getpid())
        fetch_errors.LOGGER.addHandler(self._errors)
        self._task.begin()

    def spider_closed(self) -> None:
        fetch_errors.LOGGER.removeHandler(self._errors)
        if self._task.is_on:
            self._task.end()

    async def engine_stopped(self) -> None:
        await self._step()

    async def _step(self) -> None:
        if self._path is None or self._frontier is None:
            return
        now = self._read(self._frontier)
        # A full disk: the figures are not essential.
        with suppress(OSError):
            await asyncio.to_thread(figures.write, self._path, now)

    def _read(self, frontier: Countable) -> figures.WorkerFigures:
        count, errors = self._crawler.stats.get_value, self._crawler.get_extension(Errors)
        trouble = get_fatal_error(self._crawler)
        return figures.WorkerFigures(
            frontier.tally,
            frontier.snapshot(),
            count("item_scraped_count", 0),
            count("item_dropped_count", 0),
            0 if errors is None else errors.count,
            getattr(self._crawler.spider, "makes_requests", True),
            None if trouble is None else " ".join(str(trouble).split()),
            list(self._errors.last),
        )
