"""The log formatter: Scrapy's messages per URL are not formatted below the log level.

Scrapy's root logger accepts every level and leaves it to the handler to drop records, so a message for each page is
created and discarded. This formatter omits them if the log level excludes them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy.exceptions import DownloadFailedError, IgnoreRequest
from scrapy.logformatter import LogFormatter, LogFormatterResult
from scrapy.utils.log import get_scrapy_root_handler

from webcrawl import fetch_errors
from webcrawl.errors import StorageFull, StorageLost
from webcrawl.fetching.failures import LocalShortageError, failure_word

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

_ANTICIPATED = (DownloadFailedError, IgnoreRequest, StorageFull, StorageLost)
"""The exceptions of a request that was not answered, sent or kept, for a reason that is no error in the code."""
_SCRAPER = "scrapy.core.scraper"
"""The logger of Scrapy's download errors, which are logged with a traceback in any case."""
_INVENTORY = ("scrapy.addons", "scrapy.crawler", "scrapy.middleware", "scrapy.utils.log")
_LISTS = ("Scrapy %", "Versions:", "Overridden settings:", "Enabled ")
"""The beginnings of messages that list the versions, settings and components of a crawl."""


_following: list[logging.Handler] = []
"""Handlers beside Scrapy's that have the level of ``LOG_LEVEL``."""


def follow_level(handler: logging.Handler) -> None:
    """Give a handler the levels of ``set_level`` from now on."""
    _following.append(handler)


def unfollow_level(handler: logging.Handler) -> None:
    """End ``follow_level``."""
    if handler in _following:
        _following.remove(handler)


def set_level(level: int | str) -> None:
    """Change the level of the log on the terminal or in LOG_FILE, of ``crawl.log`` and of the logs of components,
    while the crawl runs. ``level``: as LOG_LEVEL. Raises ValueError for a name that is no level.
    """
    number = level if isinstance(level, int) else logging.getLevelNamesMapping().get(level)
    if number is None:
        raise ValueError(f"no level of messages: {level!r}")
    handler = get_scrapy_root_handler()
    for log_handler in (*_following, *([] if handler is None else [handler])):
        log_handler.setLevel(number)
    for formatter in _formatters:
        formatter.level = number


class OneLine(str):
    """A message whose record is logged without its traceback."""

    __slots__ = ()


class WithoutTraceback(logging.Filter):
    """Removes the traceback of records whose message is OneLine; drops none."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.msg, OneLine):
            record.exc_info = None
        return True


class WithoutInventory(logging.Filter):
    """Drops the lists of versions, settings and components."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno != logging.INFO or not str(record.msg).startswith(_LISTS)


def hush_inventory(level: int) -> None:
    """Log the lists of versions, settings and components, which Scrapy logs at each start, only at the level
    DEBUG.
    """
    if level <= logging.DEBUG:
        return
    for name in _INVENTORY:
        # A filter, since Scrapy's set-up of the logging resets levels.
        _add_once(logging.getLogger(name), WithoutInventory())


def _add_once(target: logging.Logger, new_filter: logging.Filter) -> None:
    if not any(type(other) is type(new_filter) for other in target.filters):
        target.addFilter(new_filter)


_formatters: WeakSet[QuietLogFormatter] = WeakSet()


class QuietLogFormatter(LogFormatter):
    """Crawled and scraped messages are logged at DEBUG and not formatted above; a failed download is one
    line.
    """

    def __init__(self, level: int) -> None:
        self.level = level
        _formatters.add(self)
        _add_once(logging.getLogger(_SCRAPER), WithoutTraceback())

    @property
    def _is_telling(self) -> bool:
        return self.level <= logging.DEBUG

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(log_level(crawler.settings))

    # Scrapy's engine accepts None for no message; its annotations do not say so.
    def crawled(self, request: Request, response: Response, spider: Spider) -> LogFormatterResult:
        return super().crawled(request, response, spider) if self._is_telling else None  # type: ignore[return-value]

    def scraped(self, item: Any, response: Response | Failure | None, spider: Spider) -> LogFormatterResult:
        return super().scraped(item, response, spider) if self._is_telling else None  # type: ignore[return-value]

    def dropped(
        self, item: Any, exception: BaseException, response: Response | Failure | None, spider: Spider
    ) -> LogFormatterResult:
        message = super().dropped(item, exception, response, spider)
        return message if message["level"] >= self.level else None  # type: ignore[return-value]

    def download_error(
        self, failure: Failure, request: Request, spider: Spider, errmsg: str | None = None
    ) -> LogFormatterResult:
        """Log an anticipated error: in its own log, or as one line here if that log is not kept."""
        word = failure_word(failure.value) if failure.value is not None else "other"
        if word == "other" and not isinstance(failure.value, _ANTICIPATED):
            # An error in the code of a middleware or of a handler: with its traceback, as in Scrapy.
            return super().download_error(failure, request, spider, errmsg)
        why = " ".join((errmsg or f"{type(failure.value).__name__}: {failure.getErrorMessage()}").split())
        if not isinstance(failure.value, LocalShortageError):
            fetch_errors.note(word, request.url, detail=why)
        return {
            "level": logging.DEBUG if fetch_errors.is_kept() else logging.INFO,
            "msg": OneLine("Not fetched: %(request)s (%(why)s)"),
            "args": {"request": request, "why": why},
        }


def log_level(settings: BaseSettings) -> int:
    """Return the lowest level of messages that are kept, as logging's number; above all levels if none is."""
    if not settings.getbool("LOG_ENABLED") and not settings.get("LOG_FILE"):
        return logging.CRITICAL + 1
    level = settings["LOG_LEVEL"]
    number = logging.getLevelNamesMapping().get(str(level))
    return int(level) if number is None else number
