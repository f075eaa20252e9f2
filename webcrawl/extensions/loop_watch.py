"""Reports what blocked the event loop: in the log, and in the tally for the figures."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from webcrawl.crawl.context import get_configuration
from webcrawl.engine.loop_watch import Hold, Holds, LoopWatch
from webcrawl.extensions.metrics_reader import Countable, get_frontier

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 60.0
"""Seconds between two lines about the same place in the code."""


class LoopWatchdog:
    """Watches from the start of the engine until it has stopped."""

    def __init__(self, crawler: Crawler, threshold_seconds: float) -> None:
        self._crawler = crawler
        self._frontier: Countable | None = None
        self._holds = Holds(PAUSE_SECONDS)
        self._watch = LoopWatch(threshold_seconds, self._held)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        threshold = get_configuration(crawler).loop_held_seconds
        if not threshold:
            raise NotConfigured
        extension = cls(crawler, threshold)
        crawler.signals.connect(extension._started, signal=signals.engine_started)
        crawler.signals.connect(extension._stopped, signal=signals.engine_stopped)
        return extension

    def _started(self) -> None:
        self._frontier = get_frontier(self._crawler)
        # In the next turn: the preparations of other components in this one should not count.
        asyncio.get_running_loop().call_soon(self._watch.begin)

    def _stopped(self) -> None:
        self._watch.end()

    def _held(self, hold: Hold) -> None:
        if self._frontier is not None:
            self._frontier.tally.count_blocked_loop(hold.cpu_seconds)
        if line := self._holds.add(hold, time.monotonic()):
            logger.warning("%s", line)
