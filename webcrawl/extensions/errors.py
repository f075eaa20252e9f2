"""Two logs of errors in the JOBDIR, anticipated and unanticipated, and a stop of the crawl if the latter are too
many.

``errors.log`` has a line for each URL that failed in one of the usual ways. ``unanticipated.log`` has the traceback
of each uncaught exception: in a spider, a pipeline, a middleware, or in the crawler itself. Many of those in a short
time mean a persistent fault, so the crawl is stopped cleanly.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import deque
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.defer import deferred_from_coro

from webcrawl import fetch_errors
from webcrawl.crawl.context import get_configuration
from webcrawl.extensions.metrics_reader import get_log_folder
from webcrawl.rotated_log import RotatedLog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler

ANTICIPATED = "errors.log"
UNANTICIPATED = "unanticipated.log"
REASON = "unanticipated_errors"
"""The close reason of a crawl that was stopped."""


logger = logging.getLogger(__name__)


class Brake:
    """Detects more than ``most`` events within ``window_seconds``. Times are monotonic."""

    def __init__(self, most: int, window_seconds: float) -> None:
        self._most = most
        self._window = window_seconds
        self._events: deque[float] = deque()

    def event(self, now: float) -> bool:
        """Count an event; return True if that is one too many."""
        self._events.append(now)
        while self._events[0] < now - self._window:
            self._events.popleft()
        return len(self._events) > self._most


class ErrorFile(RotatedLog):
    """A log of errors."""

    def __init__(self, path: Path, roll_bytes: int, keep_days: float) -> None:
        super().__init__(path, roll_bytes=roll_bytes, keep_days=keep_days, is_daily=False)
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S%z"))


class Tracebacks(logging.Filter):
    """Passes records at ERROR and above that have an exception."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.ERROR and bool(record.exc_info and record.exc_info[0])


def is_no_abandoned_lookup(record: logging.LogRecord) -> bool:
    """Return False for the failed look-up of a host name whose caller had given up.

    uvloop cannot cancel a look-up. When a connection attempt times out, its look-up fails later, and asyncio logs at
    ERROR that nobody takes the exception. The caller has reported its time-out already. While a Redis is away, and
    its name with it, these would be enough to stop the crawl.
    """
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, socket.gaierror) and "never retrieved" in record.getMessage())


class Counting(logging.Handler):
    """Calls a function for each record, on whatever thread it was logged."""

    def __init__(self, called: Callable[[], None]) -> None:
        super().__init__(logging.ERROR)
        self._called = called
        self.addFilter(Tracebacks())

    def emit(self, record: logging.LogRecord) -> None:
        self._called()


class Errors:
    """Opens both logs with the spider and closes them with the engine; stops the crawl after too many exceptions."""

    def __init__(self, crawler: Crawler, brake: Brake, roll_bytes: int, keep_days: float) -> None:
        self._crawler = crawler
        self._roll_bytes = roll_bytes
        self._keep_days = keep_days
        self._brake = brake
        self._stopping = False
        self.count = 0
        """The number of unanticipated errors since the spider was opened."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._anticipated: ErrorFile | None = None
        self._handlers: list[logging.Handler] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        configuration = get_configuration(crawler)
        brake = Brake(configuration.errors_unanticipated_max, configuration.errors_window_seconds)
        extension = cls(crawler, brake, configuration.crawl_log_roll_bytes, configuration.crawl_log_keep_days)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    def spider_opened(self) -> None:
        self._loop = asyncio.get_running_loop()
        logging.getLogger("asyncio").addFilter(is_no_abandoned_lookup)
        self._handlers = [Counting(self._count)]
        if (directory := get_log_folder(self._crawler)) is not None:
            unanticipated = ErrorFile(directory / UNANTICIPATED, self._roll_bytes, self._keep_days)
            unanticipated.addFilter(Tracebacks())
            self._handlers.append(unanticipated)
            self._anticipated = ErrorFile(directory / ANTICIPATED, self._roll_bytes, self._keep_days)
            fetch_errors.keep(self._anticipated)
        for handler in self._handlers:
            logging.root.addHandler(handler)

    def engine_stopped(self) -> None:
        logging.getLogger("asyncio").removeFilter(is_no_abandoned_lookup)
        if self._anticipated is not None:
            fetch_errors.leave(self._anticipated)
            self._anticipated = None
        for handler in self._handlers:
            logging.root.removeHandler(handler)
            handler.close()
        self._handlers.clear()

    def _count(self) -> None:
        self.count += 1
        if self._brake.event(time.monotonic()) and not self._stopping and self._loop is not None:
            self._stopping = True
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if self._crawler.engine.spider is None:
            return
        logger.critical(
            "Too many unanticipated errors in a short time: the crawl stops; see %s", UNANTICIPATED
        )
        deferred_from_coro(self._crawler.engine.close_spider_async(reason=REASON))
