"""A Scrapy extension that measures a crawl from the inside, the same way for every crawler that is compared."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro

from tests.bench import cpu


@dataclass(frozen=True, slots=True)
class Figures:
    """What a Meter writes. Times in seconds."""

    pages: int
    wall: float
    cpu: float
    """User and system, all threads, and the processes that the crawl has started."""
    first_response_at: float
    """Epoch seconds."""
    peak_memory_bytes: int
    callback_p50: float
    """How long one callback of the event loop took; 0 where the loop is uvloop, which cannot be asked."""
    callback_p999: float
    callback_max: float
    cpu_by_place: dict[str, float]
    """As ``cpu.seconds_by_place``, in the time that was measured."""
    began_at: float = 0.0
    """Epoch seconds at which the measurement began."""

    @property
    def per_second(self) -> float:
        return self.pages / self.wall

    @property
    def cpu_ms(self) -> float:
        return self.cpu / self.pages * 1000


class Meter:
    """Writes METER_FILE when METER_SECONDS have passed since METER_WARM_UP pages were there, or when METER_PAGES more
    are there, and stops the crawl.

    Figures are of the time after the warm-up. With METER_GO, a file, it says that it is warm by METER_FILE.warm and
    begins when that file is there: so several crawls are measured at the same time.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._file = Path(crawler.settings["METER_FILE"])
        self._warm_up = int(crawler.settings["METER_WARM_UP"] or 500)
        self._seconds = float(crawler.settings["METER_SECONDS"] or 20)
        self._most = int(crawler.settings["METER_PAGES"] or 0)
        go = crawler.settings["METER_GO"]
        self._go = Path(go) if go else None
        self._pages = 0
        self._first_at = 0.0
        self._start: tuple[float, float] | None = None
        self._began_at = 0.0
        self._by_place: dict[str, float] = {}
        self._callbacks: list[float] = []
        self._done = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        meter = cls(crawler)
        meter._time_callbacks()
        crawler.signals.connect(meter._response, signal=signals.response_received)
        return meter

    def _response(self, **_: Any) -> None:
        self._pages += 1
        self._first_at = self._first_at or time.time()
        if self._start is None and self._pages >= self._warm_up and self._may_begin():
            self._by_place = cpu.seconds_by_place()
            self._start = (time.perf_counter(), cpu.seconds())
            self._began_at = time.time()
            self._pages = 0
        elif self._start is not None and (
            time.perf_counter() - self._start[0] >= self._seconds or 0 < self._most <= self._pages
        ):
            self._finish(*self._start)

    def _may_begin(self) -> bool:
        if self._go is None:
            return True
        self._file.with_suffix(".warm").touch()
        return self._go.exists()

    def _time_callbacks(self) -> None:
        """Take the time of every callback that asyncio's own loop runs."""
        run = asyncio.Handle._run

        def timed(handle: asyncio.Handle) -> None:
            started = time.perf_counter()
            run(handle)
            if self._start is not None and not self._done:
                self._callbacks.append(time.perf_counter() - started)

        asyncio.Handle._run = timed  # type: ignore[method-assign]

    def _finish(self, wall: float, used: float) -> None:
        if self._done:
            return
        self._done = True
        took = sorted(self._callbacks) or [0.0]
        figures = Figures(
            self._pages,
            time.perf_counter() - wall,
            cpu.seconds() - used,
            self._first_at,
            _peak_memory_bytes(),
            took[len(took) // 2],
            took[int(len(took) * 0.999)],
            took[-1],
            {
                place: all_of - self._by_place.get(place, 0.0)
                for place, all_of in cpu.seconds_by_place().items()
            },
            self._began_at,
        )
        self._file.write_text(json.dumps(asdict(figures)))
        deferred_from_coro(self._crawler.engine.close_spider_async(reason="measured"))


def _peak_memory_bytes() -> int:
    """The most memory that was resident, in this process and those it started, each at its own time.

    Linux counts what a process's parent had when it was made into ru_maxrss.
    """
    statuses = [Path("/proc/self/status"), *(path / "status" for path in cpu.children())]
    try:
        return sum(_peak_of(status.read_text()) for status in statuses)
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _peak_of(status: str) -> int:
    [peak] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(peak) * 1024
