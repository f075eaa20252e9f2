"""Lines of the fetch log as typed values, and the logs of several workers merged in order of time."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from webcrawl.reports.counting import number_in
from webcrawl.urls.politeness_key import get_host, get_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from webcrawl.politeness.host_record import Pauses


WAITING_MAX = 400_000
"""The largest number of items that wait for their turn, in some 200 MB."""
STRETCH = 4_096
"""The number of items of a log that are read and sorted at a time."""


T = TypeVar("T")


class LogMerger(Generic[T]):
    """Merges several logs in the order in which their items started.

    A log is in the order in which requests were settled, some time after each had ended. Items wait here until all
    logs have been read ``window_seconds`` beyond their start, but no more than ``waiting_max`` of them; one that
    comes still later in its log is yielded at once, out of order.
    """

    def __init__(
        self,
        logs: Sequence[Iterable[T]],
        window_seconds: float,
        *,
        start: Callable[[T], float],
        end: Callable[[T], float],
        waiting_max: int = WAITING_MAX,
    ) -> None:
        """``start`` and ``end`` return when an item began and ended, in epoch seconds."""
        self._logs = [iter(log) for log in logs]
        self._window = window_seconds
        self._start, self._end = start, end
        self._waiting_max = waiting_max
        self._given_at = -math.inf
        self.late = 0
        """The number of items yielded out of order."""

    def __iter__(self) -> Iterator[T]:
        waiting: list[T] = []
        stretch = min(STRETCH, self._waiting_max)
        enough = stretch
        # The log that is farthest behind is read first, so that no item waits long.
        behind = [(-math.inf, number) for number in range(len(self._logs))]
        heapify(behind)
        while behind:
            read_to, number = behind[0]
            requests = list(islice(self._logs[number], stretch))
            if not requests:
                heappop(behind)
            else:
                waiting += requests
                heapreplace(behind, (max(read_to, max(map(self._end, requests))), number))
            if behind and len(waiting) < enough:
                continue
            ready = self._ready(waiting, behind[0][0] - self._window if behind else math.inf)
            if ready:
                self.late += bisect_left(waiting, self._given_at, hi=ready, key=self._start)
                self._given_at = max(self._given_at, self._start(waiting[ready - 1]))
                yield from waiting[:ready]
                del waiting[:ready]
            # Waiting items are sorted again when their number has doubled, so that each one is sorted only a few
            # times.
            enough = min(max(stretch, 2 * len(waiting)), self._waiting_max + 1)

    def _ready(self, waiting: list[T], complete_to: float) -> int:
        """Sort the waiting items; return how many of the first have waited long enough, or must be yielded."""
        waiting.sort(key=self._start)
        ready = bisect_right(waiting, complete_to, key=self._start)
        too_many = len(waiting) > self._waiting_max
        return max(ready, len(waiting) - self._waiting_max // 2) if too_many else ready


_FOREVER = 1e11
"""Epoch seconds later than any clock shows."""


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """The outcome of a request for a robots.txt, as the crawl interpreted it. Older logs do not have it."""

    origin: str
    """The origin for which it was requested; the target of a redirect may be elsewhere."""
    state: str | None
    """A value of ``robots.answer.RobotsState``."""
    until: float | None
    """The time from which it must be requested again, in epoch seconds."""
    crawl_delay: float | None
    digest: str | None
    """Digest of the payload, as in the WARC record."""


@dataclass(slots=True)
class LoggedRequest:
    """One finished request; never changed. Times are epoch seconds."""

    start: float
    end: float
    url: str
    key: str
    kind: str
    status: int | None
    error: str | None
    bytes: int
    worker: str
    delay: float | None
    """The pause owed after ``end``; None in older logs, and if ``lost_at`` is set."""
    number: int | None
    """The number of the request among those of its key."""
    lost_at: float | None
    """The time at which its worker lost the key to others while the request was open; nothing came after that."""
    origin: str | None
    """The origin of the URL; None if no robots.txt applies to it."""
    robots: RobotsAnswer | None = None
    ip: str | None = None
    clocks: Pauses = field(default_factory=dict)
    """The clocks that its crawl shared among keys and waited for, each with the pause owed on it afterwards."""
    cached: bool = False
    """True if the response came from a cache, without a contact of the host."""

    @property
    def host(self) -> str:
        """The host of the URL; empty if it has none."""
        return "" if self.origin is None else get_host(self.url)

    @property
    def result(self) -> str:
        """The status, or the word for the failure."""
        return str(self.status) if self.status is not None else self.error or "unknown"


def parse_request(line: Mapping[str, Any]) -> LoggedRequest | None:
    """Return the request of a line of the log; None if a required field is missing or of another type."""
    start, end = number_in(line.get("start")), number_in(line.get("end"))
    url, key, kind = line.get("url"), line.get("key"), line.get("kind")
    texts = isinstance(url, str) and isinstance(key, str) and isinstance(kind, str)
    if start is None or end is None or not texts or not 0 <= start < _FOREVER or not end < _FOREVER:
        return None
    assert isinstance(url, str)
    status, error, size = line.get("status"), line.get("error"), line.get("bytes")
    origin = _origin(url, str(key))
    return LoggedRequest(
        start,
        max(start, end),
        url,
        str(key),
        str(kind),
        status if isinstance(status, int) else None,
        error if isinstance(error, str) else None,
        size if isinstance(size, int) else 0,
        str(line.get("worker")),
        number_in(line.get("delay")),
        number if isinstance(number := line.get("number"), int) else None,
        number_in(line.get("lost_at")),
        origin,
        _robots(line, origin) if kind == "robots" else None,
        ip if isinstance(ip := line.get("ip"), str) else None,
        _clocks(line.get("clocks")),
        line.get("cached") is True and line.get("delay") is None,
    )


class MergedRequests(LogMerger[LoggedRequest]):
    """Requests of several logs in the order in which they started."""

    def __init__(
        self,
        logs: Sequence[Iterable[Mapping[str, Any]]],
        window_seconds: float,
        *,
        waiting_max: int = WAITING_MAX,
    ) -> None:
        super().__init__(
            [self._requests(log) for log in logs],
            window_seconds,
            start=attrgetter("start"),
            end=attrgetter("end"),
            waiting_max=waiting_max,
        )
        self.unreadable = 0
        """The number of lines that are no request."""

    def _requests(self, log: Iterable[Mapping[str, Any]]) -> Iterator[LoggedRequest]:
        for line in log:
            request = parse_request(line)
            if request is not None:
                yield request
            else:
                self.unreadable += 1


def _clocks(value: object) -> Pauses:
    if not isinstance(value, dict):
        return {}
    return {name: pause for name, seconds in value.items() if (pause := number_in(seconds)) is not None}


def _robots(line: Mapping[str, Any], origin: str | None) -> RobotsAnswer | None:
    asked_for, state, digest = line.get("origin"), line.get("robots"), line.get("digest")
    owner = asked_for if isinstance(asked_for, str) else origin
    if owner is None:
        return None
    return RobotsAnswer(
        owner,
        state if isinstance(state, str) else None,
        number_in(line.get("until")),
        number_in(line.get("crawl_delay")),
        digest if isinstance(digest, str) else None,
    )


def _origin(url: str, key: str) -> str | None:
    """Return the origin of a URL; None if its key is its scheme (``data:``), to which no rules of hosts apply."""
    try:
        return None if key.endswith(":") else get_origin(url)
    except ValueError:
        return None
