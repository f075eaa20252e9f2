"""What a visit is worth, and how visits are allotted to pages so that as many as possible are fresh.

A page that changes at a rate r and is visited each I seconds is fresh for (1 - exp(-r I)) / (r I) of the time. By
how much that grows with the visits a second is what one visit is worth: (1 - (1 + r I) exp(-r I)) / r, in seconds
of freshness. With a given number of visits most is fresh when the last visit of each page is worth the same, the
price (Cho and Garcia-Molina, "Effective page refresh policies for Web crawlers", ACM TODS 28(4), 2003; Azar,
Horvitz, Lubetzky, Peres and Shahaf, "Tractable near-optimal policies for crawling", PNAS 115(32), 2018). A visit is
never worth more than 1/r: a page that changes too fast is not worth the price at any interval, as it is stale again
soon after a visit.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

from webcrawl.visits.estimate import RATES, dot

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEPS = 64


class Allotment:
    """Intervals from a shortest to a longest, with what they come to at each rate. Never changed once it is made."""

    def __init__(self, least_seconds: float, most_seconds: float) -> None:
        """:raises ValueError: not 0 < ``least_seconds`` <= ``most_seconds``"""
        if not 0 < least_seconds <= most_seconds:
            raise ValueError(f"no intervals lie between {least_seconds:g} and {most_seconds:g} seconds")
        self._least = least_seconds
        self._step = max(math.log(most_seconds / least_seconds), 1e-9) / _STEPS
        self._intervals = [least_seconds * math.exp(self._step * number) for number in range(_STEPS + 1)]
        self._worths = [[_worth(rate * interval) / rate for rate in RATES] for interval in self._intervals]
        self._by_rate = list(zip(*self._worths, strict=True))
        self._fresh = [
            [-math.expm1(-r * interval) / (r * interval) for r in RATES] for interval in self._intervals
        ]

    def interval(self, weights: Sequence[float], price: float) -> float:
        """After how many seconds a visit is worth ``price``, at a rate as probable as ``weights`` say; the longest
        interval where it never is.
        """
        low, high = -1, _STEPS + 1
        below = above = 0.0
        while high - low > 1:
            middle = (low + high) // 2
            worth = dot(weights, self._worths[middle])
            if worth < price:
                low, below = middle, worth
            else:
                high, above = middle, worth
        return self._between(low, below, high, above, price)

    def visits(self, price: float) -> list[float]:
        """How many visits a second a page gets at that price, at each of ``RATES``."""
        found = []
        for worths in self._by_rate:
            high = bisect_left(worths, price)
            below, above = worths[max(high - 1, 0)], worths[min(high, _STEPS)]
            found.append(1 / self._between(high - 1, below, high, above, price))
        return found

    def gains(self, visits: Sequence[float], price: float) -> list[float]:
        """What pages of each rate gain by so many visits a second: the part of time for which they are fresh, less
        what the visits cost."""
        return [
            -math.expm1(-rate / often) / (rate / often) - price * often
            for rate, often in zip(RATES, visits, strict=True)
        ]

    def gain(self, weights: Sequence[float], interval: float, price: float) -> float:
        """The same for one page that is visited each ``interval`` seconds."""
        number = min(max(round(math.log(interval / self._least) / self._step), 0), _STEPS)
        return dot(weights, self._fresh[number]) - price / self._intervals[number]

    def _between(self, low: int, below: float, high: int, above: float, price: float) -> float:
        """Between two neighbouring intervals, by what they are worth."""
        if low < 0:
            return self._intervals[0]
        if high > _STEPS:
            return self._intervals[-1]
        return self._intervals[low] * math.exp(self._step * (price - below) / (above - below))


def _worth(changes: float) -> float:
    """Of a visit before which so many changes are expected, times the rate."""
    if changes < 1e-3:
        # The difference below would be lost in rounding.
        return changes * changes * (0.5 - changes / 3)
    return 1 - (1 + changes) * math.exp(-changes)
