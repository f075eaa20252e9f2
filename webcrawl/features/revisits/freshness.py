"""The policy that allots visits so that as many pages as possible are fresh.

Why it is as it is, and what it was measured at: docs/decisions/0017-revisit-policy.md.

What a visit is worth, and how visits are allotted to pages so that as many as possible are fresh.

A page that changes at a rate r and is visited each I seconds is fresh for (1 - exp(-r I)) / (r I) of the time. By
how much that grows with the visits a second is what one visit is worth: (1 - (1 + r I) exp(-r I)) / r, in seconds
of freshness. With a given number of visits most is fresh when the last visit of each page is worth the same, the
price (Cho and Garcia-Molina, "Effective page refresh policies for Web crawlers", ACM TODS 28(4), 2003; Azar,
Horvitz, Lubetzky, Peres and Shahaf, "Tractable near-optimal policies for crawling", PNAS 115(32), 2018). A visit is
never worth more than 1/r: a page that changes too fast is not worth the price at any interval, as it is stale again
soon after a visit.

How the rates of all pages are spread, and how many visits they ask for, from the visits as they come.

Each visit brings what is known of its page from then on, and counts for as long as that will hold: until the next
visit. So pages count alike, whether they are visited often or seldom. What is older counts less, by a weight that
grows with time instead of sums that shrink (forward decay: Cormode, Shkapenyuk, Srivastava and Xu, ICDE 2009), so
that the censuses of several workers are simply added.

Which policy an operator chose.
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


HALF_LIFE_SECONDS = 180 * 86_400.0
_EPOCH = 1_577_836_800.0
"""2020. Weights have doubled some 500 times by the year 2270, and are still numbers."""

START = log_normal(1 / (30 * 86_400), 2.0)
"""What is taken for the spread before anything is known: two pages of three change each four days to seven months."""
START_VISITS = 20
"""For so many visits that counts."""
START_LEAST = 0.02
"""And never for a smaller part, so that no rate becomes impossible."""


class Census:
    """Sums over visits. ``take`` puts censuses of others beside the own one."""

    def __init__(self) -> None:
        self._own = [0.0] * (3 + len(RATES))
        self._others = [0.0] * (3 + len(RATES))

    def add(self, weights: Sequence[float], interval: float, foreseen: float, now: float) -> None:
        """A visit: how probable each rate of its page is, after how many seconds it is visited again, and how many
        visits a second were foreseen for such a page."""
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
        """How probable each rate is for a page of which nothing is known; each more than 0."""
        counted = [own + other for own, other in zip(self._own[3:], self._others[3:], strict=True)]
        total = sum(counted)
        if not total:
            return list(START)
        part = max(START_VISITS / (START_VISITS + self.visits), START_LEAST)
        return [part * start + (1 - part) * one / total for start, one in zip(START, counted, strict=True)]

    def asked(self, visits: Sequence[float]) -> float:
        """How many visits a second a page asks for on average, if pages whose rates are known get ``visits``.

        Their rates are known in part only, and some are visited to know them better, so they ask for more or less
        than that: it is made good by the proportion so far.
        """
        planned, foreseen = self._own[1] + self._others[1], self._own[2] + self._others[2]
        return dot(self.spread(), visits) * (planned / foreseen if foreseen else 1.0)

    def text(self) -> str:
        """The own census, as JSON of some 700 characters."""
        return json.dumps([float(f"{one:.5g}") for one in self._own], separators=(",", ":"))

    def take(self, own: str | None, others: Iterable[str]) -> None:
        """Go on from what ``text()`` gave: ``own`` in place of what was counted here, if there is any, ``others`` in
        place of the others'. What is no census counts for nothing.
        """
        if own is not None:
            self._own = _read(own)
        found = [_read(text) for text in others]
        self._others = [sum(column) for column in zip(*found, strict=True)] or [0.0] * len(self._own)


def _read(text: str) -> list[float]:
    try:
        values = [float(value) for value in json.loads(text)]
    except (ValueError, TypeError):
        values = []
    if len(values) != 3 + len(RATES) or not all(0 <= value < float("inf") for value in values):
        return [0.0] * (3 + len(RATES))
    return values


HORIZON_SECONDS = 2 * 366 * DAY_SECONDS
"""What is found out about a page is taken to be good for so long."""
TELLING_CHANGES = 2.5
"""A visit before which so many changes are expected tells much about the rate. At 1.6 it would tell most, but keep
less fresh besides."""
LONGEST_FOR_FAST = 4.0
"""Times the mean interval: no page is left alone for longer because it changes too fast. It may be where new links
appear, and costs the others little."""
_TURNS = 50
_CHEAPEST, _DEAREST = 1e-6, 1e10
"""Seconds of freshness."""
_RECKONED_AGAIN = 1.1
_RECKONED_LEAST = 20


@dataclass(frozen=True, slots=True)
class _Plan:
    """For one page: how probable each rate is, and after how long it is visited again."""

    history: History
    weights: tuple[float, ...]
    interval: float
    allotted: float
    """What the interval would be if there were nothing to find out."""


class FreshnessPolicy:
    """A visit goes where it keeps most fresh, or where it tells most about a page of which too little is known.

    The budget is as many visits as there would be if each page were visited at the interval of the ``Pace``, or its
    pages a day. What a visit must be worth, the price, is reckoned from all pages so that visits match the budget,
    and again as the number of visits grows. Workers that ``recall`` each other's lessons have the same price.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._allotment = Allotment(
            max(pace.least_seconds, 1.0), max(pace.most_seconds, pace.least_seconds, 1.0)
        )
        self._census = Census()
        self._pages = 0
        self._last: _Plan | None = None
        self._reckon()

    def learn(self, history: History, now: float) -> None:
        """A page was visited; once for each visit, before its next one is asked for."""
        plan = self._plan(history)
        foreseen = sum(often * weight for often, weight in zip(self._visits, plan.weights, strict=True))
        self._census.add(plan.weights, plan.interval, foreseen, now)
        if self._census.visits >= self._reckon_at:
            self._reckon()

    def next_visit_at(self, history: History, now: float) -> float:
        return now + self._plan(history).interval

    def expected(self, history: History, now: float) -> Expectation:
        return expected(posterior(history, self._prior), max(now - history.last_at, 0.0))

    def lessons(self) -> str:
        """What was learnt here, to be kept, and to be given to others."""
        return self._census.text()

    def recall(self, own: str | None, others: Iterable[str] = (), pages: int = 0) -> None:
        """Go on from the ``lessons`` that were kept, and take those of others; ``pages``: of the whole crawl, for
        which a budget in pages a day is."""
        self._census.take(own, others)
        self._pages = pages
        self._reckon()

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

    def _reckon(self) -> None:
        """The price at which pages ask for as many visits as there are."""
        self._last = None
        self._prior = self._census.spread()
        mean = self._pace.interval_seconds
        if self._pace.pages_per_day is not None and self._pages:
            mean = self._pages / self._pace.pages_per_day * DAY_SECONDS
        self._longest_for_fast = self._pace.within(LONGEST_FOR_FAST * mean)
        cheap, dear = _CHEAPEST, _DEAREST
        for _ in range(_TURNS):
            price = sqrt(cheap * dear)
            if self._census.asked(self._allotment.visits(price)) * mean > 1:
                cheap = price
            else:
                dear = price
        self._price = sqrt(cheap * dear)
        self._visits = self._allotment.visits(self._price)
        self._gains = self._allotment.gains(self._visits, self._price)
        self._reckon_at = max(self._census.visits * _RECKONED_AGAIN, self._census.visits + _RECKONED_LEAST)


POLICIES: Mapping[str, Callable[[Pace], RevisitPolicy]] = {
    "fixed": FixedPolicy,
    "multiplicative": MultiplicativePolicy,
    "freshness": FreshnessPolicy,
}


def policy_of(name: str, pace: Pace) -> RevisitPolicy:
    """The policy of that name, or what the import path ``package.module.Class`` names, built from ``pace``.

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
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"the policy {path!r} cannot be imported: {error}") from error
    if not callable(found):
        raise ValueError(f"{path!r} is no class of policies")
    return cast("Callable[[Pace], RevisitPolicy]", found)
