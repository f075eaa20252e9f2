"""Lets Python's cyclic garbage collector run less often: a crawl makes many objects a page and few cycles.

With the usual threshold of 700 new objects the collector walks the young ones several times a page and finds
next to nothing; about a seventh of a crawl's CPU time went there.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from scrapy import signals

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

THRESHOLDS = (20_000, 20, 50)


class Collector:
    """Sets the thresholds when the engine starts and puts them back when it stops."""

    def __init__(self) -> None:
        self._before = gc.get_threshold()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        collector = cls()
        crawler.signals.connect(collector._started, signal=signals.engine_started)
        crawler.signals.connect(collector._stopped, signal=signals.engine_stopped)
        return collector

    def _started(self) -> None:
        self._before = gc.get_threshold()
        # What was loaded until now stays until the end: the collector need not look at it again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*THRESHOLDS)

    def _stopped(self) -> None:
        gc.set_threshold(*self._before)
        gc.unfreeze()
