"""Writes ``progress.jsonl`` into the JOBDIR, for the report; see ``reports/progress_log.py``."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured

from webcrawl.crawl.context import get_configuration
from webcrawl.extensions.metrics_reader import Countable, get_folder, get_frontier
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.frontier.figures import LOGGED, read_figures
from webcrawl.processes import cpu_seconds, memory
from webcrawl.reports import progress_log

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.config import Configuration

logger = logging.getLogger(__name__)


class ProgressLog:
    """Writes a line every ``PROGRESS_LOG_SECONDS``, and one when the spider closes.

    If a line cannot be written that is logged once, and the line is lost: it is not essential data of a crawl.
    """

    def __init__(self, crawler: Crawler, configuration: Configuration) -> None:
        self._crawler = crawler
        self._configuration = configuration
        self._began_at = round(time.time(), 3)
        self._cpu_before = cpu_seconds()
        self._path: Path | None = None
        self._frontier: Countable | None = None
        self._task = PeriodicTask(configuration.progress_log_seconds, self._step)
        self._complained = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        configuration = get_configuration(crawler)
        if not configuration.progress_log_seconds:
            raise NotConfigured
        extension = cls(crawler, configuration)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        self._frontier = get_frontier(self._crawler)
        directory = get_folder(self._crawler) if self._frontier is not None else None
        if directory is not None:
            self._path = directory / progress_log.NAME
            self._task.begin()

    async def spider_closed(self) -> None:
        if self._task.is_on:
            self._task.end()
            await self._step()

    async def _step(self) -> None:
        try:
            # A disk that hangs must not block the event loop.
            await asyncio.to_thread(self._write, self._line())
        except OSError as error:
            if not self._complained:
                logger.warning("No line in %s: %s", progress_log.NAME, error)
            self._complained = True

    def _line(self) -> dict[str, Any]:
        """Return the current state. :raises OSError: the system does not report the used resources now"""
        frontier = self._frontier
        assert frontier is not None
        tally, stands = frontier.tally, frontier.snapshot()
        line = {
            "at": round(time.time(), 3),
            "worker": self._configuration.worker_name,
            "run": self._began_at,
            **read_figures(LOGGED, tally, stands),
            "cpu_seconds": round(cpu_seconds() - self._cpu_before, 3),
            "longest_hold": round(tally.longest_hold_seconds, 3),
        }
        if (used := memory()) is not None:
            line["memory"] = used.by_name
        return line if stands.workers is None else line | {"workers": stands.workers}

    def _write(self, line: dict[str, Any]) -> None:
        assert self._path is not None
        if self._path.parent.is_dir():
            progress_log.append(self._path, line)
