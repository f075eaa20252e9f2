"""Configures Python's garbage collector for the crawls of a process.

A crawl creates many objects per page and few cycles. With the usual threshold of 700 new objects the collector
traverses the young ones several times per page and frees next to nothing; that took about a seventh of a crawl's CPU
time.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, ClassVar

from scrapy import signals

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

THRESHOLDS = (10_000, 3, 2_500)
"""The second generation has some 40,000 objects when it is collected, which takes 10 to 30 ms; two millions blocked
the event loop for a third of a second. The third is collected as rarely as with fewer and larger ones.
"""


class Interpreter:
    """Sets the thresholds when the first crawl of the process starts, and restores them when the last one stops."""

    _crawls: ClassVar[int] = 0
    """The number of crawls that run."""
    _before: ClassVar[tuple[int, int, int]]

    def __init__(self) -> None:
        self._is_running = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        interpreter = cls()
        crawler.signals.connect(interpreter._started, signal=signals.engine_started)
        crawler.signals.connect(interpreter._stopped, signal=signals.engine_stopped)
        return interpreter

    def _started(self) -> None:
        self._is_running = True
        Interpreter._crawls += 1
        if Interpreter._crawls > 1:
            # A full collection would block the event loop for those that run.
            return
        Interpreter._before = gc.get_threshold()
        # Objects that exist now stay until the end: the collector need not traverse them again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*THRESHOLDS)

    def _stopped(self) -> None:
        if not self._is_running:
            return
        self._is_running = False
        Interpreter._crawls -= 1
        if not Interpreter._crawls:
            gc.set_threshold(*Interpreter._before)
            gc.unfreeze()
