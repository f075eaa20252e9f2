"""Several logs as one, in order of time, with no more of them in memory than it takes."""

from __future__ import annotations

import itertools
import math
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

WAITING_MAX = 400_000
"""What waits for its turn at most, in some 200 MB."""


class Timed(Protocol):
    """What took some time. Epoch seconds."""

    @property
    def start(self) -> float: ...

    @property
    def end(self) -> float: ...


T = TypeVar("T", bound=Timed)


class InOrder(Generic[T]):
    """What several logs tell, in the order in which it started.

    A log is in the order in which requests were settled, a while after each had ended. Things wait here until all
    logs have been read ``window_seconds`` beyond their start, but no more than ``waiting_max`` of them; one that
    comes still later in its log is given at once, behind its time.
    """

    def __init__(
        self, logs: Sequence[Iterable[T]], window_seconds: float, *, waiting_max: int = WAITING_MAX
    ) -> None:
        self._logs = [iter(log) for log in logs]
        self._window = window_seconds
        self._waiting_max = waiting_max
        self._given_at = -math.inf
        self.late = 0
        """Given behind their time."""

    def __iter__(self) -> Iterator[T]:
        waiting: list[tuple[float, int, T]] = []
        order = itertools.count()
        # The log that is farthest behind is read first, so that none is long waited for.
        behind = [(-math.inf, number) for number in range(len(self._logs))]
        heapify(behind)
        while behind:
            read_to, number = behind[0]
            found = next(self._logs[number], None)
            if found is None:
                heappop(behind)
            else:
                heappush(waiting, (found.start, next(order), found))
                heapreplace(behind, (max(read_to, found.end), number))
            complete_to = behind[0][0] - self._window if behind else math.inf
            while waiting and (waiting[0][0] <= complete_to or len(waiting) > self._waiting_max):
                yield self._given(heappop(waiting)[2])

    def _given(self, found: T) -> T:
        if found.start < self._given_at:
            self.late += 1
        else:
            self._given_at = found.start
        return found
