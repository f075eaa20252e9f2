"""``crawl.log`` in the JOBDIR: the messages of the crawl, also those of its start, if CRAWL_LOG is set."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from webcrawl.crawl.context import get_configuration
from webcrawl.extensions.metrics_reader import get_folder, get_log_folder
from webcrawl.logs import follow_level, log_level, unfollow_level
from webcrawl.rotated_log import JsonLines, PlainLines, RotatedLog

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.config import Configuration

NAME = "crawl.log"
STARTING_MOST = 1000
"""Messages of the start that are remembered until the folder is this crawl's."""


class Starting(logging.Handler):
    """Remembers the messages of the start."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.records: deque[logging.LogRecord] = deque(maxlen=STARTING_MOST)

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


class CrawlLog:
    """Writes from the opening of the spider, when the JOBDIR is locked, until the engine has stopped."""

    def __init__(self, crawler: Crawler, configuration: Configuration) -> None:
        self._crawler = crawler
        self._configuration = configuration
        self._handler: logging.Handler | None = None
        self._begin(Starting(log_level(crawler.settings)))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        configuration = get_configuration(crawler)
        if not configuration.crawl_log or get_folder(crawler) is None:
            raise NotConfigured  # without a message: it was not requested
        extension = cls(crawler, configuration)
        crawler.signals.connect(extension._opened, signal=signals.spider_opened)
        crawler.signals.connect(extension._stopped, signal=signals.engine_stopped)
        return extension

    def _opened(self) -> None:
        directory, configuration, starting = (
            get_log_folder(self._crawler),
            self._configuration,
            self._handler,
        )
        assert directory is not None
        assert isinstance(starting, Starting)
        file = RotatedLog(
            directory / NAME,
            roll_bytes=configuration.crawl_log_roll_bytes,
            keep_days=configuration.crawl_log_keep_days,
            level=starting.level,
        )
        is_json = configuration.crawl_log_format == "json"
        file.setFormatter(JsonLines(configuration.worker_name) if is_json else self._plain_lines())
        file.open()
        self._stopped()
        self._begin(file)
        for record in starting.records:
            file.handle(record)

    def _plain_lines(self) -> logging.Formatter:
        return PlainLines()

    def _begin(self, handler: logging.Handler) -> None:
        self._handler = handler
        logging.root.addHandler(handler)
        follow_level(handler)

    def _stopped(self) -> None:
        if self._handler is not None:
            unfollow_level(self._handler)
            logging.root.removeHandler(self._handler)
            self._handler.close()
            self._handler = None
