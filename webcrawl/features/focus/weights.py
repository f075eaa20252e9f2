"""Weights of features: logistic regression by stochastic gradient descent, with a separate step size for each.

Features are hashed into a table of fixed size (Weinberger et al. 2009), steps shrink as in AdaGrad (Duchi, Hazan &
Singer 2011). Written in plain Python; reasons: docs/decisions/0020-focus.md.
"""

from __future__ import annotations

import math
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal
from zlib import crc32

BITS = 18
SIZE = 1 << BITS
_MASK = SIZE - 1
STEP = 0.3
_FIRST = 0.3
"""Initial value of each sum of squares."""
BIAS = 0
"""Slot of the weight that every link has."""
_LOGIT_MAX = 30.0
_ORDER: Literal["little"] = "little"

Deltas = Mapping[int, tuple[float, float]]
"""Slot to the amounts added to its weight and to its sum of squared gradients."""


@lru_cache(1 << 16)
def slot(feature: str) -> int:
    """Return the slot of a feature, 1..SIZE-1."""
    return crc32(feature.encode("utf-8", "surrogatepass")) & _MASK or 1


def probability(logit: float) -> float:
    """Return the logistic function of a logit."""
    return 1.0 / (1.0 + math.exp(-min(max(logit, -_LOGIT_MAX), _LOGIT_MAX)))


class Weights:
    """One thread learns at a time; sums may be computed meanwhile, from a mixture of old and new weights."""

    def __init__(self) -> None:
        self._weights = array("f", bytes(4 * SIZE))
        self._squares = array("f", bytes(4 * SIZE))
        self.learned = 0
        """Number of examples, including those of other processes."""
        self._news: dict[int, tuple[float, float]] = {}
        self._new = 0

    def start_with(self, known: Mapping[str, float], bias: float) -> None:
        """Set the initial weights."""
        self._weights[BIAS] = bias
        for feature, weight in known.items():
            self._weights[slot(feature)] += weight

    @property
    def bias(self) -> float:
        return self._weights[BIAS]

    def sum(self, features: Iterable[str]) -> float:
        """Return the sum of the weights of features."""
        weights = self._weights
        return sum([weights[slot(feature)] for feature in features])

    def weight(self, feature: str) -> float:
        return self._weights[slot(feature)]

    def learn(self, slots: Sequence[int], worth: float) -> None:
        """Learn one example: the slots of its features and its worth, 0..1."""
        weights, squares, news = self._weights, self._squares, self._news
        error = worth - probability(weights[BIAS] + sum([weights[place] for place in slots]))
        square = error * error
        for place in (BIAS, *slots):
            total = squares[place] + square
            step = STEP * error / math.sqrt(total + _FIRST)
            squares[place] = total
            weights[place] += step
            known = news.get(place)
            news[place] = (step, square) if known is None else (known[0] + step, known[1] + square)
        self.learned += 1
        self._new += 1

    def take_news(self) -> tuple[dict[int, tuple[float, float]], int]:
        """Return the changes by examples learned here since the last call, and the number of these examples."""
        news, self._news = self._news, {}
        new, self._new = self._new, 0
        return news, new

    def give_back(self, news: Deltas, learned: int) -> None:
        """Return changes that could not be shared; the next ``take_news`` includes them."""
        for place, (step, square) in news.items():
            known = self._news.get(place, (0.0, 0.0))
            self._news[place] = known[0] + step, known[1] + square
        self._new += learned

    def add(self, deltas: Deltas, learned: int) -> None:
        """Add the changes that another process learned from ``learned`` examples. Slots that are none are ignored."""
        weights, squares = self._weights, self._squares
        for place, (step, square) in deltas.items():
            if place < SIZE:
                weights[place] += step
                squares[place] += square
        self.learned += learned

    def dump(self) -> bytes:
        """Return all weights, as ``load`` takes them."""
        parts = [_portable(self._weights), _portable(self._squares)]
        return self.learned.to_bytes(8, _ORDER) + zlib.compress(b"".join(parts), 1)

    def load(self, dumped: bytes) -> None:
        """Replace all weights. :raises ValueError: it is no dump"""
        try:
            whole = zlib.decompressobj().decompress(dumped[8:], 8 * SIZE + 1)
        except zlib.error as error:
            raise ValueError(f"no weights: {error}") from error
        if len(whole) != 8 * SIZE:
            raise ValueError(f"no weights: {len(whole)} bytes instead of {8 * SIZE}")
        self._weights = _local(whole[: 4 * SIZE])
        self._squares = _local(whole[4 * SIZE :])
        if not all(map(math.isfinite, self._weights)) or min(self._squares) < 0:
            raise ValueError("no weights: some are no numbers")
        self.learned = int.from_bytes(dumped[:8], _ORDER)
        self._news, self._new = {}, 0


def _portable(values: array[float]) -> bytes:
    if sys.byteorder == _ORDER:
        return values.tobytes()
    swapped = values[:]
    swapped.byteswap()
    return swapped.tobytes()


def _local(data: bytes) -> array[float]:
    values = array("f", data)
    if sys.byteorder != _ORDER:
        values.byteswap()
    return values
