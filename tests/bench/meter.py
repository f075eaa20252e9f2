"""A Scrapy extension that measures a crawl from the inside, the same way for every crawler that is compared."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler


class Meter:
    """Writes METER_FILE: pages, wall and CPU seconds (user and system, all threads) after METER_WARM_UP
    pages.

    With METER_SECONDS it stops the crawl that long after the warm-up; else the crawl's own limits do.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._file = Path(crawler.settings["METER_FILE"])
        self._warm_up = crawler.settings.getint("METER_WARM_UP", 500)
        self._seconds = crawler.settings.getfloat("METER_SECONDS", 20.0)
        self._pages = 0
        self._start: tuple[float, float] | None = None
        self._end: tuple[float, float] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        meter = cls(crawler)
        crawler.signals.connect(meter._response, signal=signals.response_received)
        crawler.signals.connect(meter._closed, signal=signals.spider_closed)
        return meter

    def _response(self, **_: Any) -> None:
        if self._end is not None:
            return
        self._pages += 1
        now = time.perf_counter()
        if self._start is None and self._pages == self._warm_up:
            self._start = (now, time.process_time())
            self._pages = 0
        elif self._start is not None and now - self._start[0] >= self._seconds:
            self._end = (now, time.process_time())
            self._stop()

    def _stop(self) -> None:
        from scrapy.utils.defer import deferred_from_coro

        deferred_from_coro(self._crawler.engine.close_spider_async(reason="measured"))

    def _closed(self) -> None:
        if self._start is None:
            return
        end = self._end or (time.perf_counter(), time.process_time())
        wall, cpu = end[0] - self._start[0], end[1] - self._start[1]
        self._file.write_text(json.dumps({"pages": self._pages, "wall": wall, "cpu": cpu}))
