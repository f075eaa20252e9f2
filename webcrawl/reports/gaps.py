"""The pauses between requests to one politeness key, against what was owed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webcrawl.reports.clocks import NOTHING_SENT
from webcrawl.reports.histogram import SECONDS_EDGES, Histogram

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KEYS_MAX = 300_000
"""Keys whose last request is remembered, in some 100 MB; those longest not asked are forgotten."""
TOLERANCE_SECONDS = 0.01
"""By so much clocks may differ and a pause is not called short, as in an audit."""


Turn = tuple[float, float, str, float | None]
"""A request, as far as clocks go: when it started; when it ended, or its worker lost the key and it was broken off
(epoch seconds); its key; what was owed afterwards, None where the log does not tell. A plain tuple: there is one for
each line of a log, and the garbage collector looks at no tuple of numbers twice."""


def turn_of(line: Mapping[str, Any], start: float, end: float) -> Turn | None:
    """The turn that a line tells of, whose times are given; None when it lacks a key, or when nothing was sent."""
    key, delay = line.get("key"), line.get("delay")
    if not isinstance(key, str):
        return None
    if "lost_at" in line and isinstance(lost := line["lost_at"], int | float):
        if line.get("error") == NOTHING_SENT:
            return None
        end = min(end, lost)
    return start, max(start, end), key, float(delay) if isinstance(delay, int | float) else None


class Gaps:
    """Takes turns in the order of their starts.

    A gap runs from the end of a request to the start of the next to the same key; what was owed is the delay behind
    the request that ended last. What is longer is politeness left unused: the key might have been asked, if it had
    URLs.
    """

    def __init__(self, keys_max: int = KEYS_MAX) -> None:
        self._keys_max = keys_max
        self._last: dict[str, tuple[float, float, float | None, float, float, float | None]] = {}
        """Of each key start, end and delay of the turn that ends last, and of the one that was taken last. Plain
        numbers, which the garbage collector need not look at again and again."""
        self.measured = 0
        self.unknown = 0
        """Gaps after requests of which the log does not tell what was owed."""
        self.forgotten = 0
        """Keys that were forgotten: at most so many gaps are not counted."""
        self.short = 0
        """Gaps that were shorter than owed."""
        self.owed_seconds = 0.0
        self.waited_seconds = 0.0
        self.unused_seconds = 0.0
        self.would_fit = 0.0
        """Requests for which there was room in the unused time."""
        self.unused = Histogram(SECONDS_EDGES)
        self.grid: dict[tuple[int, int], int] = {}
        """How many gaps there are by the bins of what was owed and of their own length, as in ``unused``."""

    def take(self, turn: Turn) -> None:
        start, end, key, delay = turn
        last = self._last
        known = last.pop(key, None)
        if known is None:
            last[key] = start, end, delay, start, end, delay
            if len(last) > self._keys_max:
                del last[next(iter(last))]
                self.forgotten += 1
            return
        before_start, before_end, owed, latest_start, latest_end, latest_delay = known
        if latest_start == start and latest_end == end and latest_delay == delay:  # in a copy of the log
            last[key] = known
            return
        self._measure(start - before_end, owed, before_end - before_start)
        if end < before_end:
            last[key] = before_start, before_end, owed, start, end, delay
        else:
            last[key] = start, end, delay, start, end, delay

    def _measure(self, gap: float, owed: float | None, took: float) -> None:
        """``took``: how long the request before was under way."""
        if owed is None:
            self.unknown += 1
            return
        self.measured += 1
        self.short += gap < owed - TOLERANCE_SECONDS
        unused = gap - owed if gap > owed else 0.0
        self.owed_seconds += owed
        if gap > 0:
            self.waited_seconds += gap
        self.unused_seconds += unused
        if (each := owed + took) > 0:
            self.would_fit += unused / each
        self.unused.add(unused)
        place = self.unused.bin_of(owed), self.unused.bin_of(gap)
        self.grid[place] = self.grid.get(place, 0) + 1
