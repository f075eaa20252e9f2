"""Revisit policies by name, and the freshness policy, which allots visits so that as many pages as possible are
fresh.

A page that changes at a rate r and is visited every I seconds is fresh for (1 - exp(-r I)) / (r I) of the time. The
derivative of that by the visits per second is the worth of one visit: (1 - (1 + r I) exp(-r I)) / r, in seconds of
freshness. For a given number of visits, freshness is greatest if the last visit of each page is worth the same, the
price (Cho and Garcia-Molina, "Effective page refresh policies for Web crawlers", ACM TODS 28(4), 2003; Azar, Horvitz,
Lubetzky, Peres and Shahaf, "Tractable near-optimal policies for crawling", PNAS 115(32), 2018). A visit is never
worth more than 1/r: a page that changes too fast is not worth the price at any interval, since it is stale again soon
after a visit. ``Allotment`` computes intervals and worths.

``Census`` estimates from the visits how the rates of all pages are distributed, and how many visits they need. A
visit adds the rates of its page, weighted by the time until the next visit, so that pages count equally at any
interval. Older visits count less: weights grow with time instead of sums being reduced (forward decay: Cormode,
Shkapenyuk, Srivastava and Xu, ICDE 2009), so that the censuses of several workers can be added.

Reasons and measurements: docs/decisions/0017-revisit-policy.md.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from dataclasses import dataclass
from importlib import import_module
from math import sqrt
from typing import TYPE_CHECKING, cast

from webcrawl.features.revisits.estimate import (
    RATES,
    dot,
    expected,
    log_normal,
    posterior,
    quantile,
    typical_rate,
)
from webcrawl.features.revisits.policies import DAY_SECONDS, FixedPolicy, MultiplicativePolicy
from webcrawl.reports.text import duration, things

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from webcrawl.features.revisits.estimate import Expectation, History
    from webcrawl.features.revisits.policies import Pace, RevisitPolicy


_STEPS = 64


class Allotment:
    """Intervals from a shortest to a longest, with the worth of a visit at each rate. Immutable."""

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
        """Return the interval in seconds at which a visit is worth ``price``, for rates with the probabilities
        ``weights``; the longest interval if it never is."""
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
        """Return the visits per second that a page gets at that price, for each of ``RATES``."""
        rates = []
        for worths in self._by_rate:
            high = bisect_left(worths, price)
            below, above = worths[max(high - 1, 0)], worths[min(high, _STEPS)]
            rates.append(1 / self._between(high - 1, below, high, above, price))
        return rates

    def gains(self, visits: Sequence[float], price: float) -> list[float]:
        """Return the gain of pages of each rate from so many visits per second: the share of time for which they are
        fresh, minus the cost of the visits."""
        return [
            -math.expm1(-rate / often) / (rate / often) - price * often
            for rate, often in zip(RATES, visits, strict=True)
        ]

    def gain(self, weights: Sequence[float], interval: float, price: float) -> float:
        """Return the gain of one page that is visited every ``interval`` seconds."""
        number = min(max(round(math.log(interval / self._least) / self._step), 0), _STEPS)
        return dot(weights, self._fresh[number]) - price / self._intervals[number]

    def _between(self, low: int, below: float, high: int, above: float, price: float) -> float:
        """Interpolate between two adjacent intervals by their worths."""
        if low < 0:
            return self._intervals[0]
        if high > _STEPS:
            return self._intervals[-1]
        return self._intervals[low] * math.exp(self._step * (price - below) / (above - below))


def _worth(changes: float) -> float:
    """Return the worth of a visit before which so many changes are expected, multiplied by the rate."""
    if changes < 1e-3:
        # The difference below would be lost in rounding.
        return changes * changes * (0.5 - changes / 3)
    return 1 - (1 + changes) * math.exp(-changes)


HALF_LIFE_SECONDS = 180 * 86_400.0
_EPOCH = 1_577_836_800.0
"""The year 2020. Weights double some 500 times until the year 2270, which floats can still represent."""

START = log_normal(1 / (30 * 86_400), 2.0)
"""Distribution of rates before anything is known: two pages of three change every four days to seven months."""
START_VISITS = 20
"""Weight of ``START``, in visits."""
START_LEAST = 0.02
"""Minimum share of ``START``, so that no rate becomes impossible."""


class Census:
    """Sums over visits, those of this worker and those of others (``take``)."""

    def __init__(self) -> None:
        self._own = [0.0] * (3 + len(RATES))
        self._others = [0.0] * (3 + len(RATES))

    def add(self, weights: Sequence[float], interval: float, foreseen: float, now: float) -> None:
        """Add a visit: the probability of each rate of its page, the interval in seconds to its next visit, and the
        visits per second that were foreseen for such a page."""
        counts_for = interval * 2 ** ((now - _EPOCH) / HALF_LIFE_SECONDS)
        own = self._own
        own[0] += 1
        own[1] += counts_for / interval
        own[2] += counts_for * foreseen
        own[3:] = [before + counts_for * weight for before, weight in zip(own[3:], weights, strict=True)]

    @property
    def visits(self) -> int:
        return int(self._own[0] + self._others[0])

    def spread(self) -> list[float]:
        """Return the probability of each rate for an unknown page; each is more than 0."""
        counted = [own + other for own, other in zip(self._own[3:], self._others[3:], strict=True)]
        total = sum(counted)
        if not total:
            return list(START)
        part = max(START_VISITS / (START_VISITS + self.visits), START_LEAST)
        return [
            part * start + (1 - part) * count / total for start, count in zip(START, counted, strict=True)
        ]

    def visits_needed(self, visits: Sequence[float]) -> float:
        """Return the visits per second that a page needs on average, if pages of known rates get ``visits``.

        Rates are known only in part, and some pages are visited to learn them better, so pages need more or less than
        that: the result is corrected by the proportion so far.
        """
        planned, foreseen = self._own[1] + self._others[1], self._own[2] + self._others[2]
        return dot(self.spread(), visits) * (planned / foreseen if foreseen else 1.0)

    def text(self) -> str:
        """Return the census of this worker, as JSON of some 700 characters."""
        return json.dumps([float(f"{count:.5g}") for count in self._own], separators=(",", ":"))

    def take(self, own: str | None, others: Iterable[str]) -> None:
        """Load results of ``text()``: ``own`` replaces the counts of this worker, if given; ``others`` replace those
        of the others. An invalid census counts as empty."""
        if own is not None:
            self._own = _read(own)
        counts = [_read(text) for text in others]
        self._others = [sum(column) for column in zip(*counts, strict=True)] or [0.0] * len(self._own)


def _read(text: str) -> list[float]:
    try:
        values = [float(value) for value in json.loads(text)]
    except (ValueError, TypeError):
        values = []
    if len(values) != 3 + len(RATES) or not all(0 <= value < float("inf") for value in values):
        return [0.0] * (3 + len(RATES))
    return values


HORIZON_SECONDS = 2 * 366 * DAY_SECONDS
"""Time for which knowledge about a page is assumed to be valid."""
TELLING_CHANGES = 2.5
"""Number of expected changes before a visit that makes it informative about the rate. 1.6 would be most informative,
but keep fewer pages fresh."""
LONGEST_FOR_FAST = 4.0
"""Multiple of the mean interval that is the longest for pages that change too fast. New links may appear on them, and
these visits cost the others little."""
_TURNS = 50
_CHEAPEST, _DEAREST = 1e-6, 1e10
"""Range of prices, in seconds of freshness."""
_PRICED_AGAIN = 1.1
_PRICED_LEAST = 20


@dataclass(frozen=True, slots=True)
class _Plan:
    """Plan for one page: the probability of each rate, and the interval to its next visit."""

    history: History
    weights: tuple[float, ...]
    interval: float
    allotted: float
    """The interval if there were nothing to learn."""


class FreshnessPolicy:
    """Policy that allots visits where they keep most pages fresh, or where they are most informative about a
    little-known page.

    The budget is the number of visits that there would be if each page were visited at the interval of the ``Pace``,
    or its pages per day. The price, the minimum worth of a visit, is computed from all pages so that visits match the
    budget, and again as the number of visits grows. Workers that ``recall`` each other's learned state have the same
    price."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._allotment = Allotment(
            max(pace.least_seconds, 1.0), max(pace.most_seconds, pace.least_seconds, 1.0)
        )
        self._census = Census()
        self._pages = 0
        self._last: _Plan | None = None
        self._set_price()

    def learn(self, history: History, now: float) -> None:
        """Add a visit; called once for each visit, before the page's next visit is computed."""
        plan = self._plan(history)
        foreseen = sum(often * weight for often, weight in zip(self._visits, plan.weights, strict=True))
        self._census.add(plan.weights, plan.interval, foreseen, now)
        if self._census.visits >= self._price_again_at:
            self._set_price()

    def next_visit_at(self, history: History, now: float) -> float:
        return now + self._plan(history).interval

    def expected(self, history: History, now: float) -> Expectation:
        return expected(posterior(history, self._prior), max(now - history.last_at, 0.0))

    def lessons(self) -> str:
        """Return the state learned by this worker, to be stored and shared."""
        return self._census.text()

    def recall(self, own: str | None, others: Iterable[str] = (), pages: int = 0) -> None:
        """Load results of ``lessons`` of this worker and of others; ``pages``: number of pages of the whole crawl,
        for a budget in pages per day."""
        self._census.take(own, others)
        self._pages = pages
        self._set_price()

    def explain(self, history: History, now: float) -> str:
        plan = self._plan(history)
        slow, fast = (duration(1 / quantile(plan.weights, part)) for part in (0.16, 0.84))
        fresh = expected(plan.weights, plan.interval).unchanged
        return (
            f"by {things(history.visits, 'visit')} with {things(history.changes, 'change')} it changes about each "
            f"{duration(1 / typical_rate(plan.weights))} (probably {fast} to {slow}); {self._reason(plan)} it is "
            f"visited after {duration(plan.interval)}, when it is still the same with a chance of {fresh:.0%}"
        )

    def _reason(self, plan: _Plan) -> str:
        if plan.interval < plan.allotted:
            return f"to know that better, and not only after {duration(plan.allotted)},"
        is_fast = typical_rate(plan.weights) * plan.interval > 1
        if is_fast and plan.interval >= 0.99 * self._longest_for_fast:
            return "that is so often that other pages gain more by visits:"
        if plan.interval >= 0.99 * self._pace.most_seconds:
            return "like any page at the latest,"
        return "so that visits keep most pages fresh,"

    def _plan(self, history: History) -> _Plan:
        if self._last is None or self._last.history is not history:
            self._last = self._planned(history)
        return self._last

    def _planned(self, history: History) -> _Plan:
        weights = posterior(history, self._prior)
        rate = typical_rate(weights)
        best = allotted = self._allotment.interval(weights, self._price)
        if rate * self._longest_for_fast > 1:
            allotted = min(best, self._longest_for_fast)
        telling = max(TELLING_CHANGES / rate, self._pace.least_seconds)
        if telling < allotted:
            known = sum(gain * weight for gain, weight in zip(self._gains, weights, strict=True))
            lost = known - self._allotment.gain(weights, best, self._price)
            if lost * HORIZON_SECONDS > self._price:
                return _Plan(history, weights, telling, allotted)
        return _Plan(history, weights, allotted, allotted)

    def _set_price(self) -> None:
        """Compute the price at which pages need as many visits as the budget has."""
        self._last = None
        self._prior = self._census.spread()
        mean = self._pace.interval_seconds
        if self._pace.pages_per_day is not None and self._pages:
            mean = self._pages / self._pace.pages_per_day * DAY_SECONDS
        self._longest_for_fast = self._pace.within(LONGEST_FOR_FAST * mean)
        cheap, dear = _CHEAPEST, _DEAREST
        for _ in range(_TURNS):
            price = sqrt(cheap * dear)
            if self._census.visits_needed(self._allotment.visits(price)) * mean > 1:
                cheap = price
            else:
                dear = price
        self._price = sqrt(cheap * dear)
        self._visits = self._allotment.visits(self._price)
        self._gains = self._allotment.gains(self._visits, self._price)
        self._price_again_at = max(self._census.visits * _PRICED_AGAIN, self._census.visits + _PRICED_LEAST)


POLICIES: Mapping[str, Callable[[Pace], RevisitPolicy]] = {
    "fixed": FixedPolicy,
    "multiplicative": MultiplicativePolicy,
    "freshness": FreshnessPolicy,
}


def build_policy(name: str, pace: Pace) -> RevisitPolicy:
    """Return the policy of that name, or of the import path ``package.module.Class``, built from ``pace``.

    :raises ValueError: there is none, or it does not take the pace
    """
    built = POLICIES.get(name)
    if built is None:
        built = _imported(name)
    policy = built(pace)
    if not callable(getattr(policy, "next_visit_at", None)) or not callable(getattr(policy, "explain", None)):
        raise ValueError(
            f"{name} makes no policy: next_visit_at(history, now) and explain(history, now) are needed"
        )
    return policy


def _imported(path: str) -> Callable[[Pace], RevisitPolicy]:
    module, _, attribute = path.rpartition(".")
    if not module:
        raise ValueError(
            f"there is no policy {path!r}; there are {', '.join(POLICIES)}, or an import path of yours"
        )
    try:
        policy = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the policy {path!r} cannot be imported: {error}") from error
    if not callable(policy):
        raise ValueError(f"{path!r} is no class of policies")
    return cast("Callable[[Pace], RevisitPolicy]", policy)
