"""Samples the figures of this process while the crawl runs, publishes them, and keeps their time series."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import socket
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from webcrawl.archive.disk import disk_usage
from webcrawl.crawl.feature import Feature, stop
from webcrawl.errors import CrawlError
from webcrawl.extensions.metrics_reader import cache_figures, cores
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.features.timeseries.archives import ARCHIVES, Recorder
from webcrawl.features.timeseries.reading import SAVE_SECONDS, Slot
from webcrawl.features.timeseries.runs import ProcessRun, RunStore, killed
from webcrawl.features.timeseries.store import Latest, SeriesStore
from webcrawl.fetching.tls_sessions import get_tls_sessions
from webcrawl.frontier.figures import FIGURES, read_figures
from webcrawl.processes import cpu_seconds, memory
from webcrawl.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import RunningCrawl

TICK_SECONDS = 0.5
"""Interval at which the delay of the event loop is measured."""
SAMPLE_SECONDS = 2.0
"""Interval at which figures are published, and recorded."""
SLOW_SECONDS = 10.0
"""Interval at which figures are read that cost more: the memory of processes, the disk, the capacity."""
FEW_HOSTS = 2000
"""Up to this number of hosts with URLs, the capacity is read for each sample."""
SIZE_SECONDS = 60.0
"""Shortest interval at which the size of the JOBDIR is measured; the longest is as long as 500 measurements."""
END_SECONDS = 3.0
"""The longest time that the end of a crawl waits for its last sample to be stored."""

logger = logging.getLogger(__name__)


class TimeSeriesFeature(Feature):
    """The figures of one process. While nothing can be stored they are kept in memory, and the crawl goes on."""

    def __init__(self, parts: Parts) -> None:
        self._worker = parts.configuration.worker_name
        self._folder = parts.folder
        self._clock = parts.clock
        self._store = SeriesStore(parts.backend.tables)
        self._runs = RunStore(parts.backend.tables)
        self._holder = f"{self._worker} {uuid4().hex}"
        self._place: Slot | None = None
        self._recorder: Recorder | None = None
        self._recorder_before: Recorder | None = None
        """The recorder of the slot that this process had before."""
        self._is_kept = parts.configuration.keeps_time_series
        self.begun_at = 0.0
        """The start of this process, in epoch seconds."""
        self.latest: dict[str, float] | None = None
        """The last sample; None before the first one."""
        self._ticking = PeriodicTask(TICK_SECONDS, self._tick)
        self._measuring: asyncio.Task[None] | None = None
        self._gauges: dict[str, float] = {}
        """Figures that are not read for each sample."""
        self._cpu_before = self._loop_before = 0.0
        self._cores = cores()
        self._lag = 0.0
        self._ticked_at = 0.0
        self._sampled_at = self._slow_at = -SLOW_SECONDS
        self._saved_at = [0.0] * len(ARCHIVES)

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        self._context, self._scheduler = context, scheduler
        self.begun_at = self._clock()
        self._loop_before = time.thread_time()
        with suppress(OSError):
            self._cpu_before = cpu_seconds()
        self._ticked_at = time.monotonic()
        self._ticking.begin()
        if self._folder is not None:
            self._measuring = asyncio.get_running_loop().create_task(self._measure(self._folder))

    async def before_close(self) -> None:
        await stop(self._measuring)

    async def drained(self) -> None:
        """Store the last sample: what was counted until now is all of it."""
        if not self._ticking.is_on:
            return
        self._ticking.end()
        if not self._is_kept:
            return
        try:
            async with asyncio.timeout(END_SECONDS):
                await self._end()
        except (CrawlError, TimeoutError) as error:
            logger.debug("The last sample of the time series is not stored: %s", error)

    # -- steps ---------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        now = time.monotonic()
        self._lag = max(self._lag, now - self._ticked_at - TICK_SECONDS)
        try:
            if now - self._sampled_at >= SAMPLE_SECONDS - TICK_SECONDS / 2:
                self._sampled_at = now
                if now - self._slow_at >= SLOW_SECONDS - TICK_SECONDS / 2:
                    self._slow_at = now
                    await self._read_slow()
                await self._sample()
        finally:
            self._ticked_at = time.monotonic()

    async def _sample(self) -> None:
        at, figures = self._clock(), self._figures()
        self.latest, self._lag = figures, 0.0
        if not self._is_kept:
            return
        if self._recorder is None:
            await self._take_slot(at)
        recorder, slot = self._recorder, self._place
        if recorder is None or slot is None:
            return
        recorder.sample(at, figures)
        # Caches have no series.
        published = figures | cache_figures(self._scheduler.crawler)
        await self._store.publish(slot.number, self._latest(at, published))
        due = [
            index
            for index, seconds in enumerate(SAVE_SECONDS)
            if at // seconds != self._saved_at[index] // seconds
        ]
        if due:
            await self._save(recorder, slot, due)

    async def _take_slot(self, at: float) -> None:
        """Take a slot, with the blocks that the process before left in it. Counters count from the beginning."""
        number = await self._store.take(self._holder)
        if number is None:
            return
        if (gone := await self._store.published(number)) is not None:
            # Those that end take back what they published.
            await self._runs.end(killed(gone))
        await self._runs.begin(self._run())
        before = self._recorder_before
        start = min(self.begun_at if before is None else before.at, at)
        slot, blocks = await self._store.recall(number, start)
        self._place = slot or Slot(number, start, [start] * len(ARCHIVES))
        self._place.worker = self._worker
        self._recorder = Recorder(start, blocks, before)
        self._saved_at = [start] * len(ARCHIVES)

    async def _save(self, recorder: Recorder, slot: Slot, archives: list[int]) -> None:
        if not await self._store.renew(slot.number, self._holder):
            # This process was frozen, and another one has the slot now: begin anew in another.
            self._recorder_before, self._recorder, self._place = recorder, None, None
            return
        rows = recorder.rows(archives)
        until = [recorder.at if index in archives else before for index, before in enumerate(slot.until)]
        await self._store.save(Slot(slot.number, slot.first, until, slot.worker), rows)
        recorder.stored(archives)
        slot.until = until
        for index in archives:
            self._saved_at[index] = recorder.at

    async def _end(self) -> None:
        await self._read_slow()
        at, figures = self._clock(), self._figures()
        if self._recorder is None:
            await self._take_slot(at)
        recorder, slot = self._recorder, self._place
        if recorder is None or slot is None:
            return
        recorder.sample(at, figures)
        await self._runs.end(replace(self._run(), ended_at=at, reason=self._scheduler.close_reason))
        await self._save(recorder, slot, list(range(len(ARCHIVES))))
        await self._store.retract(slot.number)

    def _run(self) -> ProcessRun:
        return ProcessRun(self._worker, round(self.begun_at, 3))

    # -- figures -------------------------------------------------------------------------------------------

    def _figures(self) -> dict[str, float]:
        """Return the figures of this moment."""
        frontier, stats = self._context.frontier, self._scheduler.crawler.stats
        snapshot = frontier.snapshot()
        values = read_figures(FIGURES, frontier.tally, snapshot)
        values["items"] = stats.get_value("item_scraped_count", 0) if stats is not None else 0
        archive, parsers = self._context.archive, getattr(self._scheduler.spider, "pages_in_parsers", None)
        values["archive_bytes"] = 0 if archive is None else archive.bytes_written
        values["parsing"] = parsers() if callable(parsers) else 0
        bandwidth = self._context.bandwidth
        values |= {"bandwidth_limit": bandwidth.limit, "bandwidth_used": round(bandwidth.used, 1)}
        tls = get_tls_sessions(self._scheduler.crawler)
        values |= {"tls_connections": tls.connections, "tls_resumed": tls.resumed}
        values |= {"open_max": frontier.open_max, "cores": self._cores}
        # This runs on the event loop.
        values["loop_seconds"] = round(time.thread_time() - self._loop_before, 3)
        values |= {"loop_lag": round(self._lag, 4)} | self._gauges
        if snapshot.active_hosts <= FEW_HOSTS:
            values["capacity"] = round(frontier.capacity(), 3)
        return values

    def _latest(self, at: float, figures: dict[str, float]) -> Latest:
        return Latest(
            self._worker,
            round(at, 3),
            round(self.begun_at, 3),
            socket.gethostname(),
            os.getpid(),
            __version__,
            figures,
        )

    async def _read_slow(self) -> None:
        self._gauges["capacity"] = round(self._context.frontier.capacity(), 3)
        # A shortage of files or a disk that hangs: the values stay as they were.
        with suppress(OSError):
            self._gauges |= await asyncio.to_thread(self._resources)

    def _resources(self) -> dict[str, float]:
        """:raises OSError: the system does not say now"""
        values: dict[str, float] = {"cpu_seconds": round(cpu_seconds() - self._cpu_before, 3)}
        if (used := memory()) is not None:
            values |= {"rss": used.own, "rss_all": used.all}
        if self._folder is not None:
            disk = shutil.disk_usage(self._folder)
            values |= {"disk_free": disk.free, "disk_total": disk.total}
        return values

    async def _measure(self, folder: Path) -> None:
        """Measure the size of the JOBDIR at intervals, which are long if it takes long."""
        while True:
            began_at = time.monotonic()
            self._gauges["crawl_bytes"] = await asyncio.to_thread(disk_usage, folder)
            await asyncio.sleep(max(SIZE_SECONDS, 500 * (time.monotonic() - began_at)))


def build(parts: Parts) -> TimeSeriesFeature:
    """Return the figures and time series of a crawl whose storage is lasting."""
    return TimeSeriesFeature(parts)
