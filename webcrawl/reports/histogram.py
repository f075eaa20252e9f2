"""How many values lie between given edges."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZE_EDGES = (0, 1, *(round(2 ** (step / 2)) for step in range(2, 81)))
"""Bytes: two steps for each doubling, to a terabyte."""
SECONDS_EDGES = (0.0, *(10 ** (step / 4) for step in range(-12, 29)))
"""Four steps for each power of ten, from a millisecond to four months."""


class Histogram:
    """Exact counts. Bin ``n`` holds values from ``edges[n]`` on that are less than ``edges[n + 1]``.

    The first also holds what is less, the last also what is more.
    """

    def __init__(self, edges: Sequence[float]) -> None:
        self.edges = edges
        self.counts = [0] * len(edges)
        self.total = 0

    def add(self, value: float) -> None:
        self.counts[(bisect_right(self.edges, value) or 1) - 1] += 1
        self.total += 1

    def bin_of(self, value: float) -> int:
        return (bisect_right(self.edges, value) or 1) - 1

    def part_below(self, part: float) -> tuple[float, float]:
        """Between which edges the value lies of which ``part`` of all are not larger."""
        counted = 0
        for number, count in enumerate(self.counts):
            counted += count
            if counted >= part * self.total:
                return self.edges[number], self.edges[min(number + 1, len(self.edges) - 1)]
        return self.edges[-1], self.edges[-1]

    def span(self) -> range:
        """The bins from the first that holds something to the last."""
        held = [number for number, count in enumerate(self.counts) if count]
        return range(held[0], held[-1] + 1) if held else range(0)
