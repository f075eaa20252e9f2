"""Counters with bounded memory: frequent items, histograms and sums over time; and the numbers of a log line.

``HeavyHitters`` counts the most frequent items approximately; ``Histogram`` counts values between given edges;
``TimeLine`` sums over equal periods of time. ``external_sort.Gathered`` is exact for any number of keys.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import add
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


LARGEST = 1e18
"""A number of this size in a log line is no valid value."""


def number_in(value: object, least: float = -LARGEST, below: float = LARGEST) -> float | None:
    """Return the number that a field of a log line holds; None for another type or a number outside the limits."""
    if type(value) is float:
        return value if least <= value < below else None
    return float(value) if type(value) is int and least <= value < below else None


Sums = tuple[int, ...]


def summed(one: Sums, other: Sums) -> Sums:
    """Return the elementwise sum of two tuples of one length."""
    return tuple(map(add, one, other))


Thing = TypeVar("Thing", bound="Hashable")


class HeavyHitters(Generic[Thing]):
    """Counts of up to ``capacity`` items, sure to hold the frequent ones (lossy counting, Manku & Motwani 2002).

    Whenever twice as many are held, the rarer half is discarded. ``forgotten_most`` is the largest count that was
    ever discarded: an item's true count is between the shown count and that much more, and 0 means exact.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._counts: dict[Thing, int] = {}
        self.forgotten_most = 0
        self.total = 0

    def add(self, thing: Thing, amount: int = 1) -> None:
        """Count ``thing`` once more, or ``amount`` times."""
        self.total += amount
        counts = self._counts
        if thing in counts:
            counts[thing] += amount
            return
        counts[thing] = amount
        if len(counts) >= 2 * self._capacity:
            self._forget()

    def most(self, number: int) -> list[tuple[Thing, int]]:
        """Return the ``number`` most frequent items, the most frequent first."""
        return sorted(self._counts.items(), key=lambda item: (-item[1], str(item[0])))[:number]

    def __len__(self) -> int:
        """The number of different items that are held; of all items, if none was discarded."""
        return len(self._counts)

    def _forget(self) -> None:
        ordered = sorted(self._counts.items(), key=lambda item: -item[1])
        self.forgotten_most = max(self.forgotten_most, ordered[self._capacity][1])
        self._counts = dict(ordered[: self._capacity])


SIZE_EDGES = (0, 1, *(round(2 ** (step / 2)) for step in range(2, 81)))
"""Edges in bytes: two for each doubling, up to a terabyte."""
SECONDS_EDGES = (0.0, *(10 ** (step / 4) for step in range(-12, 29)))
"""Edges in seconds: four for each power of ten, from a millisecond to four months."""


class Histogram:
    """Exact counts of values. Bin ``n`` holds values from ``edges[n]`` on that are less than ``edges[n + 1]``.

    The first bin also holds smaller values, the last also larger ones.
    """

    def __init__(self, edges: Sequence[float]) -> None:
        self.edges = edges
        self.counts = [0] * len(edges)
        self.total = 0

    def add(self, value: float) -> None:
        self.counts[(bisect_right(self.edges, value) or 1) - 1] += 1
        self.total += 1

    def bin_index(self, value: float) -> int:
        return (bisect_right(self.edges, value) or 1) - 1

    def part_below(self, part: float) -> tuple[float, float]:
        """Return the edges between which the quantile ``part`` lies."""
        counted = 0
        for number, count in enumerate(self.counts):
            counted += count
            if counted >= part * self.total:
                return self.edges[number], self.edges[min(number + 1, len(self.edges) - 1)]
        return self.edges[-1], self.edges[-1]

    def span(self) -> range:
        """The bins from the first to the last that is not empty."""
        held = [number for number, count in enumerate(self.counts) if count]
        return range(held[0], held[-1] + 1) if held else range(0)


BINS = 240
"""A time line has between half of these bins and all."""


class TimeLine:
    """Sums over equal periods of time, which double in length whenever there would be too many."""

    def __init__(self, width: int, bins: int = BINS) -> None:
        """``width``: how many numbers are summed up."""
        self._nothing: Sums = (0,) * width
        self._bins_max = bins
        self._bins: dict[int, list[int]] = {}
        self.step_seconds = 1

    def add(self, at: float, *amounts: int) -> None:
        """Add amounts for an event that ended ``at`` epoch seconds."""
        number = int(at) // self.step_seconds
        sums = self._bins.get(number)
        if sums is None:
            sums = self._begun(number)
        for place, amount in enumerate(amounts):
            if amount:
                sums[place] += amount

    def bins(self) -> list[Sums]:
        """Return all periods from the first to the last, empty ones in between included."""
        if not self._bins:
            return []
        numbers = range(min(self._bins), max(self._bins) + 1)
        return [tuple(self._bins.get(number, self._nothing)) for number in numbers]

    @property
    def starts_at(self) -> float:
        return min(self._bins, default=0) * self.step_seconds

    def _begun(self, number: int) -> list[int]:
        """Return the sums of a new period, which may be one of twice the length now."""
        self._bins[number] = list(self._nothing)
        while max(self._bins) - min(self._bins) >= self._bins_max:
            self._double()
            number //= 2
        return self._bins[number]

    def _double(self) -> None:
        self.step_seconds *= 2
        halves, self._bins = self._bins, {}
        for number, half in halves.items():
            whole = self._bins.setdefault(number // 2, list(self._nothing))
            for place, amount in enumerate(half):
                whole[place] += amount
