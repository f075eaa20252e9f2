"""The time that a stored crawl still takes: the growth of its queue, and the host whose queue takes longest."""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from webcrawl.config import Configuration
from webcrawl.control.steering import read_situation
from webcrawl.errors import CrawlError
from webcrawl.features.steering.kept_settings import settings_of_crawl
from webcrawl.reports.limiting import Longest, estimate, limiting, shrinkage
from webcrawl.reports.standing import CrawlState, crawl_state, situation
from webcrawl.storage.inspection import Activity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from scrapy.settings import BaseSettings

    from webcrawl.control.stored import StoredCrawl
    from webcrawl.features.timeseries.reading import Series
    from webcrawl.reports.limiting import Bottleneck, Estimate, Shrinkage
    from webcrawl.storage.inspection import CrawlStatus, HostSummary

QUEUE_SECONDS = 120.0
"""The longest time over which the course of the queue is looked at."""
STEP_SECONDS = 5.0
READ_SECONDS = 15.0
"""The hosts are read at most this often, and in at most a fiftieth of the time."""
_REST = 50
HOSTS_MAX = 100_000
"""A single look reads the hosts of crawls that have at most so many; of others the end is the least time."""


def find_longest(hosts: Iterable[Sequence[HostSummary]], min_delay: float) -> Longest | None:
    """Return the host whose queue takes longest; None if no host has URLs. ``min_delay``: of hosts that were not
    contacted yet, in seconds. Raises what ``hosts`` raises."""
    longest: Longest | None = None
    for some in hosts:
        for host in some:
            if not host.queued or host.activity is Activity.GIVEN_UP:
                continue
            candidate = Longest(host.key, host.queued, max(host.delay_seconds, min_delay))
            if longest is None or candidate.seconds > longest.seconds:
                longest = candidate
    return longest


def find_verdict(status: CrawlStatus) -> Bottleneck | None:
    """Return what limits a crawl, by the figures that its processes published last; None without these."""
    known = situation(status, crawl_state(status))
    return None if known is None else limiting(known)


class EstimatedCrawl(Protocol):
    """A stored crawl. Its methods block, and may raise CrawlError."""

    def hosts(self) -> Iterator[Sequence[HostSummary]]: ...

    def series(self, names: Sequence[str], from_: float | None, to: float | None, points: int) -> Series: ...


class Remaining:
    """Estimates the end of a running crawl: from its time series and one look after the other. One thread may call it
    at a time."""

    def __init__(self, crawl: EstimatedCrawl, clock: Callable[[], float] = time.monotonic) -> None:
        self._crawl = crawl
        self._clock = clock
        self._queue: deque[tuple[float, int]] = deque()
        """Times by the crawl's clock, and the queued URLs then."""
        self._longest: Longest | None = None
        self._read_at = -READ_SECONDS
        self._took = 0.0
        self._thread: threading.Thread | None = None

    def look(self, status: CrawlStatus, min_delay: float) -> Estimate | None:
        """Return the estimate for a crawl that runs; None if the end cannot be said. ``min_delay``: of hosts that
        were not contacted yet, in seconds. The hosts are read on a thread: the next look has what it finds."""
        queued, shrinking = self._course(status)
        if queued and shrinking.per_second:
            self._begin(min_delay)
        return estimate(queued, *shrinking, self._longest)

    def look_once(self, status: CrawlStatus, min_delay: float) -> Estimate | None:
        """Return the same from a single look. The hosts are read meanwhile, unless they are many."""
        queued, shrinking = self._course(status)
        if estimate(queued, *shrinking) is not None and status.counts.hosts <= HOSTS_MAX:
            self._read(min_delay)
        return estimate(queued, *shrinking, self._longest)

    def _course(self, status: CrawlStatus) -> tuple[int, Shrinkage]:
        """Return the queued URLs, and how fast they become fewer."""
        now, queue = status.now, self._queue
        queued = status.counts.queued - status.counts.given_up_urls
        if not queue:
            queue.extend(self._before(status))
        if not queue or now - queue[-1][0] >= STEP_SECONDS:
            queue.append((now, queued))
        while len(queue) > 2 and queue[1][0] <= now - QUEUE_SECONDS:
            queue.popleft()
        return queued, shrinkage([*queue, (now, queued)])

    def _before(self, status: CrawlStatus) -> Iterator[tuple[float, int]]:
        """Yield the times of the last two minutes and the URLs that were queued then, as far as the processes that
        run have recorded them."""
        started = [worker.started_at for worker in status.workers if worker.started_at is not None]
        since = max(status.now - QUEUE_SECONDS, min(started, default=status.now))
        try:
            series = self._crawl.series(["queued"], since, status.now, int(QUEUE_SECONDS // 10))
        except (CrawlError, OSError, ValueError):
            return
        for place, value in enumerate(series.values["queued"]):
            at = series.start + (place + 0.5) * series.step
            if value is not None and since <= at < status.now:
                yield at, round(value) - status.counts.given_up_urls

    def _begin(self, min_delay: float) -> None:
        """Read the hosts on a thread, if that was long ago: there may be a million of them."""
        now = self._clock()
        is_reading = self._thread is not None and self._thread.is_alive()
        if not is_reading and now - self._read_at >= max(READ_SECONDS, _REST * self._took):
            self._read_at = now
            self._thread = threading.Thread(
                target=self._read, args=(min_delay,), name="longest queue", daemon=True
            )
            self._thread.start()

    def _read(self, min_delay: float) -> None:
        begun_at = self._clock()
        try:
            self._longest = find_longest(self._crawl.hosts(), min_delay)
        except (CrawlError, OSError):
            # It is only an estimate; the next look says why the crawl cannot be read.
            self._longest = None
        self._took = self._clock() - begun_at


def estimate_end(crawl: StoredCrawl, status: CrawlStatus, settings: BaseSettings) -> Estimate | None:
    """Return when a crawl ends; None if it does not run, or that cannot be said. ``settings``: for a crawl that has
    not said with which values it was started. Blocks. :raises CrawlError: the crawl cannot be read"""
    if crawl_state(status) is not CrawlState.RUNNING:
        return None
    changes = read_situation(crawl)
    delay = Configuration.from_settings(settings_of_crawl(settings, changes.workers)).politeness_min_delay
    if (override := changes.overlay.get("POLITENESS_MIN_DELAY")) is not None:
        with suppress(ValueError):
            delay = float(override.value)
    return Remaining(crawl).look_once(status, delay)
