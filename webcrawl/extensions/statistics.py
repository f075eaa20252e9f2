"""A line of figures in the log at intervals; replaces Scrapy's LogStats."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from webcrawl.crawl.context import get_configuration
from webcrawl.extensions.metrics_reader import MetricsReader, get_frontier
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.extensions.progress import Progress

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.config import Configuration

logger = logging.getLogger(__name__)


class Statistics:
    """Logs a reading every ``STATISTICS_INTERVAL_SECONDS``, unless the live display shows the same figures on the
    same terminal.
    """

    def __init__(self, crawler: Crawler, configuration: Configuration) -> None:
        self._crawler = crawler
        self._configuration = configuration
        # Scrapy's looping call repeats a step when the loop's timer fires a millisecond early.
        self._task = PeriodicTask(configuration.statistics_interval_seconds, self._step)
        self._gauge: MetricsReader | None = None
        self._is_advised = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        configuration = get_configuration(crawler)
        if not configuration.statistics_interval_seconds:
            raise NotConfigured
        extension = cls(crawler, configuration)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        frontier = get_frontier(self._crawler)
        if frontier is None:
            return
        self._gauge = MetricsReader(frontier, self._configuration, self._crawler)
        self._task.begin()

    def spider_closed(self) -> None:
        self._task.end()

    async def _step(self) -> None:
        self.tell()

    def tell(self) -> None:
        """Log the current figures."""
        if self._gauge is None:
            return
        display = self._crawler.get_extension(Progress)
        if display is None or not display.holds_the_log:
            reading = self._gauge.read()
            logger.info("%s", reading.line())
            if reading.hint is not None and not self._is_advised:
                self._is_advised = True
                logger.info("%s", reading.hint)
