"""The time that a stored crawl still takes: the growth of its queue, and the host whose queue takes longest."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from webcrawl.errors import CrawlError
from webcrawl.reports.limiting import Longest, Situation, estimate, limiting
from webcrawl.storage.inspection import Activity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from webcrawl.reports.limiting import Estimate, Verdict
    from webcrawl.storage.inspection import CrawlStatus, HostSummary

QUEUE_SECONDS = 120.0
"""The time over which the growth of the queue is measured."""
STEP_SECONDS = 5.0
READ_SECONDS = 15.0
"""The hosts are read at most this often, and in at most a fiftieth of the time."""
_REST = 50


def longest_of(hosts: Iterable[Sequence[HostSummary]], min_delay: float) -> Longest | None:
    """Return the host whose queue takes longest; None if no host has URLs. ``min_delay``: of hosts that were not
    contacted yet, in seconds. Raises what ``hosts`` raises."""
    longest: Longest | None = None
    for some in hosts:
        for one in some:
            if not one.queued or one.activity is Activity.GIVEN_UP:
                continue
            found = Longest(one.key, one.queued, max(one.delay_seconds, min_delay))
            if longest is None or found.seconds > longest.seconds:
                longest = found
    return longest


def verdict_of(status: CrawlStatus) -> Verdict | None:
    """Return what limits a crawl, by the figures that its processes published last; None without these. Rates are not
    known from one look."""
    figures = [worker.figures for worker in status.workers if "open_max" in worker.figures]
    if not figures:
        return None

    def total(name: str) -> float:
        return sum(one.get(name, 0.0) for one in figures)

    counts = status.counts
    return limiting(
        Situation(
            queued=counts.queued,
            hosts=counts.hosts,
            with_urls=int(total("active")),
            ready=total("ready"),
            open=total("open"),
            open_max=total("open_max"),
            unsettled=total("unsettled"),
            parked=counts.parked_hosts,
            bandwidth_used=total("bandwidth_used"),
            bandwidth_limit=max(one.get("bandwidth_limit", 0.0) for one in figures),
            stalled="it is full or cannot be reached" if all(one.get("stalled") for one in figures) else None,
            is_paused=any(one.get("paused") for one in figures),
        )
    )


class Remaining:
    """Estimates the end of a running crawl from one look after the other. One thread may call it at a time."""

    def __init__(
        self,
        hosts: Callable[[], Iterator[Sequence[HostSummary]]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``hosts``: yields all hosts of the crawl, some at a time, and may raise CrawlError."""
        self._hosts = hosts
        self._clock = clock
        self._queue: deque[tuple[float, int]] = deque()
        self._longest: Longest | None = None
        self._read_at = -READ_SECONDS
        self._took = 0.0
        self._thread: threading.Thread | None = None

    def look(self, queued: int, min_delay: float) -> Estimate | None:
        """Return the estimate with ``queued`` URLs now; None if the end cannot be said."""
        now, queue = self._clock(), self._queue
        if not queue or now - queue[-1][0] >= STEP_SECONDS:
            queue.append((now, queued))
        while len(queue) > 2 and queue[1][0] <= now - QUEUE_SECONDS:
            queue.popleft()
        then, had = queue[0]
        shrinking = (had - queued) / (now - then) if now > then else None
        if queued and shrinking is not None and shrinking > 0:
            self._begin(now, min_delay)
        return estimate(queued, shrinking, now - then, self._longest)

    def _begin(self, now: float, min_delay: float) -> None:
        """Read the hosts on a thread, if that was long ago: there may be a million of them."""
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
            self._longest = longest_of(self._hosts(), min_delay)
        except (CrawlError, OSError):
            # It is only an estimate; the next look says why the crawl cannot be read.
            self._longest = None
        self._took = self._clock() - begun_at
