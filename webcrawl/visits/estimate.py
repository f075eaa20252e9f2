"""How often a page changes, from what its visits found.

A page is taken to change as a Poisson process does (Cho and Garcia-Molina, "Estimating frequency of change", ACM
TOIT 3(3), 2003). At a rate r an interval t without a change has the likelihood exp(-r t), one with changes at times
that are not known 1 - exp(-r t), and one whose last change lies a before its end r exp(-r a). Intervals may be of
any length. However often a page changed between two visits, it shows as one change; the likelihood takes that into
account, where counting changes would make fast pages slow.

The likeliest rate of a page that changed at every visit is infinite, and that of one that never did is nought. So
rates are weighed over a grid, what is known of all pages goes in as the prior, and the estimate is the mean of what
remains probable: without bias over pages whose rates are spread as the prior says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.visits.history import LONGEST, MEMORY_VISITS, SHORTEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.visits.history import History

RATES = tuple(2 ** (number / 2) / (20 * 366 * 86_400) for number in range(40))
"""Changes a second, from one in twenty years to one in 14 minutes: two steps for each doubling."""
LOGARITHMS = tuple(map(math.log, RATES))


_LOG_CHANGED = {
    power: tuple(math.log(-math.expm1(-rate * 2**power)) for rate in RATES)
    for power in range(SHORTEST, LONGEST + 1)
}


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    """The sum of products."""
    return sum(map(float.__mul__, one, other))


def posterior(history: History, prior: Sequence[float]) -> tuple[float, ...]:
    """How probable each rate is after all visits. ``prior``: how probable it was before, more than 0 for each."""
    dated, quiet = history.dated, history.quiet_seconds
    if history.modified_seconds is not None and history.is_dated and history.visits <= MEMORY_VISITS:
        dated, quiet = dated + 1, quiet + history.modified_seconds
    likely = [dated * logarithm - rate * quiet for rate, logarithm in zip(RATES, LOGARITHMS, strict=True)]
    for power, weight in history.changed_within.items():
        table = _LOG_CHANGED[power]
        likely = [before + weight * one for before, one in zip(likely, table, strict=True)]
    most = max(likely)
    weights = [before * math.exp(one - most) for before, one in zip(prior, likely, strict=True)]
    total = sum(weights)
    return tuple([weight / total for weight in weights])


def typical_rate(weights: Sequence[float]) -> float:
    """The geometric mean, in changes a second: as probably too high by some factor as too low by it."""
    return math.exp(dot(weights, LOGARITHMS))


def quantile(weights: Sequence[float], part: float) -> float:
    """The rate up to which ``part`` of the probability lies."""
    below = 0.0
    for rate, weight in zip(RATES, weights, strict=True):
        below += weight
        if below >= part:
            return rate
    return RATES[-1]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What is to be expected of a copy some time after its page was visited."""

    unchanged: float
    """How probable it is that the page is still the same: from 0 to 1."""
    age_seconds: float
    """For how long the copy has been stale on average, 0 where it is not (Cho and Garcia-Molina call it age)."""


def expected(weights: Sequence[float], seconds: float) -> Expectation:
    """So long after a visit, at a rate as probable as ``weights`` say."""
    unchanged = fresh = 0.0
    for weight, rate in zip(weights, RATES, strict=True):
        changed = -math.expm1(-rate * seconds)
        unchanged += weight * (1 - changed)
        fresh += weight * changed / rate
    return Expectation(min(unchanged, 1.0), max(seconds - fresh, 0.0))


def log_normal(median: float, deviation: float) -> tuple[float, ...]:
    """Rates whose natural logarithms are normal. ``median``: changes a second."""
    center = math.log(median)
    weights = [math.exp(-(((one - center) / deviation) ** 2) / 2) for one in LOGARITHMS]
    total = sum(weights)
    return tuple([weight / total for weight in weights])
