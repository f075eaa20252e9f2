"""The front end's draw: from which priority levels the next keys become active (Mercator, section 4.3)."""

from __future__ import annotations

import random
from collections.abc import Sequence

LEVELS_CONSIDERED = 16
"""The draw looks at this many of the highest levels that have idle keys; the rest wait for their turn."""


class Draw:
    """A random draw of levels, biased to the high ones.

    The highest level present has weight 1, the next ``1 / bias``, the one after ``1 / bias**2`` and so on:
    with
    ``bias`` 1 all levels are alike, with a large one low levels are nearly starved, never quite.
    """

    def __init__(self, bias: float, seed: int | None = None) -> None:
        if bias < 1:
            raise ValueError(f"the draw's bias is {bias}; it must be at least 1")
        self._bias = bias
        self._random = random.Random(seed)

    def above(self, level: int) -> Draw:
        """The same draw, of none but higher levels."""
        return _Above(self, level)

    def spread(self, levels: Sequence[int], count: int) -> dict[int, int]:
        """How many of ``count`` keys to take from each of ``levels``; levels that get none are left out."""
        if not levels or count <= 0:
            return {}
        ordered = sorted(set(levels), reverse=True)[:LEVELS_CONSIDERED]
        if len(ordered) == 1:
            return {ordered[0]: count}
        weights = [self._bias**-rank for rank in range(len(ordered))]
        taken: dict[int, int] = {}
        for level in self._random.choices(ordered, weights, k=count):
            taken[level] = taken.get(level, 0) + 1
        return taken


class _Above(Draw):
    def __init__(self, draw: Draw, level: int) -> None:
        self._draw = draw
        self._level = level

    def spread(self, levels: Sequence[int], count: int) -> dict[int, int]:
        return self._draw.spread([level for level in levels if level > self._level], count)
