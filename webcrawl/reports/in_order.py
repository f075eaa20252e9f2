"""Several logs as one, in order of time, with no more of them in memory than it takes."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from heapq import heapify, heappop, heapreplace
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

WAITING_MAX = 400_000
"""What waits for its turn at most, in some 200 MB."""
STRETCH = 4_096
"""So many things of a log are read at a time: they are put in order together."""


T = TypeVar("T")


class InOrder(Generic[T]):
    """What several logs tell, in the order in which it started.

    A log is in the order in which requests were settled, a while after each had ended. Things wait here until all
    logs have been read ``window_seconds`` beyond their start, but no more than ``waiting_max`` of them; one that
    comes still later in its log is given at once, behind its time.
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
        """``start`` and ``end`` tell when a thing began and ended, in epoch seconds."""
        self._logs = [iter(log) for log in logs]
        self._window = window_seconds
        self._start, self._end = start, end
        self._waiting_max = waiting_max
        self._given_at = -math.inf
        self.late = 0
        """Given behind their time."""

    def __iter__(self) -> Iterator[T]:
        waiting: list[T] = []
        stretch = min(STRETCH, self._waiting_max)
        enough = stretch
        # The log that is farthest behind is read first, so that none is long waited for.
        behind = [(-math.inf, number) for number in range(len(self._logs))]
        heapify(behind)
        while behind:
            read_to, number = behind[0]
            found = list(islice(self._logs[number], stretch))
            if not found:
                heappop(behind)
            else:
                waiting += found
                heapreplace(behind, (max(read_to, max(map(self._end, found))), number))
            if behind and len(waiting) < enough:
                continue
            ready = self._ready(waiting, behind[0][0] - self._window if behind else math.inf)
            if ready:
                self.late += bisect_left(waiting, self._given_at, hi=ready, key=self._start)
                self._given_at = max(self._given_at, self._start(waiting[ready - 1]))
                yield from waiting[:ready]
                del waiting[:ready]
            # What waits is put in order again when it has doubled, so that each thing is a few times.
            enough = min(max(stretch, 2 * len(waiting)), self._waiting_max + 1)

    def _ready(self, waiting: list[T], complete_to: float) -> int:
        """Put what waits in order. How many of the first have waited long enough, or must go."""
        waiting.sort(key=self._start)
        ready = bisect_right(waiting, complete_to, key=self._start)
        too_many = len(waiting) > self._waiting_max
        return max(ready, len(waiting) - self._waiting_max // 2) if too_many else ready
