"""The pauses between requests to one politeness key, against what was owed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webcrawl.reports.clocks import NOTHING_SENT
from webcrawl.reports.histogram import SECONDS_EDGES, Histogram

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KEYS_MAX = 300_000
"""Keys whose last request is remembered, in some 100 MB; those longest not asked are forgotten."""
TOLERANCE_SECONDS = 0.01
"""By so much clocks may differ and a pause is not called short, as in an audit."""
_FOREVER = 1e11


class Turn(NamedTuple):
    """A request, as far as clocks go. Epoch seconds."""

    start: float
    end: float
    """Or when its worker lost the key, and it was broken off."""
    key: str
    delay: float | None
    """What was owed afterwards; None where the log does not tell."""


def turn_of(line: Mapping[str, Any]) -> Turn | None:
    """The turn that a line tells of; None when it lacks something, or when nothing was sent."""
    start, end, key = line.get("start"), line.get("end"), line.get("key")
    if not isinstance(start, int | float) or not isinstance(end, int | float) or not isinstance(key, str):
        return None
    if not 0 < start < _FOREVER or not 0 < end < _FOREVER:
        return None
    lost, delay = line.get("lost_at"), line.get("delay")
    if isinstance(lost, int | float):
        if line.get("error") == NOTHING_SENT:
            return None
        end = min(end, lost)
    return Turn(
        float(start), float(max(start, end)), key, float(delay) if isinstance(delay, int | float) else None
    )


class Gaps:
    """Takes turns in the order of their starts.

    A gap runs from the end of a request to the start of the next to the same key; what was owed is the delay behind
    the request that ended last. What is longer is politeness left unused: the key might have been asked, if it had
    URLs.
    """

    def __init__(self, keys_max: int = KEYS_MAX) -> None:
        self._keys_max = keys_max
        self._last: dict[str, tuple[Turn, Turn]] = {}
        """Of each key the turn that ends last, and the one that was taken last."""
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
        self.lengths = Histogram(SECONDS_EDGES)
        self.unused = Histogram(SECONDS_EDGES)
        self.grid: dict[tuple[int, int], int] = {}
        """How many gaps there are by the bins of what was owed and of their own length."""

    def take(self, turn: Turn) -> None:
        known = self._last.pop(turn.key, None)
        ends_last = turn
        if known is not None:
            before, latest = known
            if turn == latest:  # the same line, in a copy of the log
                self._last[turn.key] = known
                return
            self._measure(before, turn)
            if turn.end < before.end:
                ends_last = before
        self._last[turn.key] = ends_last, turn
        if len(self._last) > self._keys_max:
            del self._last[next(iter(self._last))]
            self.forgotten += 1

    def _measure(self, before: Turn, turn: Turn) -> None:
        owed, gap = before.delay, turn.start - before.end
        if owed is None:
            self.unknown += 1
            return
        self.measured += 1
        self.short += gap < owed - TOLERANCE_SECONDS
        unused = max(gap - owed, 0.0)
        self.owed_seconds += owed
        self.waited_seconds += max(gap, 0.0)
        self.unused_seconds += unused
        if (each := owed + before.end - before.start) > 0:
            self.would_fit += unused / each
        self.lengths.add(gap)
        self.unused.add(unused)
        place = (self.lengths.bin_of(owed), self.lengths.bin_of(gap))
        self.grid[place] = self.grid.get(place, 0) + 1
