"""The policy that allots visits so that as many pages as possible are fresh.

Why it is as it is, and what it was measured at: docs/decisions/0017-revisit-policy.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from webcrawl.reports.units import duration, things
from webcrawl.visits.allotment import Allotment
from webcrawl.visits.census import Census
from webcrawl.visits.estimate import expected, posterior, quantile, typical_rate
from webcrawl.visits.policies import DAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.visits.estimate import Expectation
    from webcrawl.visits.history import History
    from webcrawl.visits.policies import Pace

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
