"""Makes the signals of the process known to the crawl, and says what the crawl waits for while it is being closed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy import signals

from webcrawl.crawl.context import get_context
from webcrawl.engine.shutdown import POLL_SECONDS, signals_of_process
from webcrawl.extensions.summary import Summary

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler


LAST_STEP = "feeds and extensions"
"""The last thing that a crawl waits for, when its state is closed."""


class Stopping:
    """A crawl whose process gets signals: see ``engine/shutdown.py``."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._is_open = self._has_closed = self._has_stopped = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension._opened, signal=signals.spider_opened)
        crawler.signals.connect(extension._closed, signal=signals.spider_closed)
        crawler.signals.connect(extension._stopped, signal=signals.engine_stopped)
        signals_of_process().add(extension)
        return extension

    def _opened(self) -> None:
        self._is_open = True

    def _closed(self) -> None:
        self._has_closed = True

    def _stopped(self) -> None:
        self._has_stopped = True
        context = get_context(self._crawler)
        if context.doing == LAST_STEP:
            context.doing = None

    def is_between(self) -> bool:
        crawler = self._crawler
        is_running = self._is_open and crawler.crawling and not self._has_closed
        return is_running and not crawler.engine.running

    def waits(self) -> str | None:
        context = get_context(self._crawler)
        if self._has_closed:
            if self._has_stopped and context.doing is None:
                return None
            return context.doing or LAST_STEP
        scheduler = self._crawler.engine.scheduler
        waits = getattr(scheduler, "waits", None)
        return None if waits is None else str(waits())

    def stopping_since(self) -> float | None:
        return getattr(self._crawler.engine.scheduler, "stopping_since", None)

    async def release(self) -> None:
        scheduler = self._crawler.engine.scheduler
        if not self._is_open or self._has_closed or scheduler is None:
            return
        if get_context(self._crawler).doing is None:
            await scheduler.release()  # type: ignore[attr-defined]
        # It is being closed: that may be a matter of moments.
        while get_context(self._crawler).doing is not None and not self._has_closed:  # noqa: ASYNC110
            await asyncio.sleep(POLL_SECONDS)

    def has_ended(self) -> bool:
        return self._has_stopped

    def told_by_force(self) -> None:
        if self._is_open and (summary := self._crawler.get_extension(Summary)) is not None:
            summary.forced()
