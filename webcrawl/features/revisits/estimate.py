"""Estimates how often a page changes from the results of its visits.

A visit shows that the page changed since the visit before, or that it did not. How many changes there were, and when,
stays unknown, unless the server sends consistent times of the last modification. ``History`` keeps these results in a
few numbers. For pages that change as a Poisson process does, they suffice to estimate the rate, except that the
lengths of intervals with a change are rounded to powers of two.

Pages are modelled as Poisson processes (Cho and Garcia-Molina, "Estimating frequency of change", ACM TOIT 3(3),
2003). At a rate r, an interval t without a change has the likelihood exp(-r t), one with changes at unknown times 1 -
exp(-r t), and one whose last change is a before its end r exp(-r a). Intervals may have any length. Several changes
between two visits show as one; the likelihood takes that into account, while counting changes would underestimate
fast pages.

The maximum likelihood rate of a page that changed at every visit is infinite, and that of one that never changed is
zero. So rates are weighted over a grid, the distribution over all pages is the prior, and the estimate is the mean of
the posterior: unbiased over pages whose rates are distributed as the prior.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


MEMORY_VISITS = 64
"""Weights of earlier visits decay: to a third after so many further visits, so that the estimate follows a page whose
rate changes."""
FADED = 0.05
"""Weights below this are dropped."""
SHORTEST, LONGEST = 4, 30
"""Range of powers of two (seconds) by which interval lengths are distinguished: 16 seconds to 34 years."""
DATED_FROM_SECONDS = 60.0
"""A modification less than this before the response is the generation of the response, and is ignored."""
DATED_FOR_MISDATED = 4
"""Dates are trusted while there are at least so many dated changes for each false date; after that not until the
false ones have decayed."""


@dataclass(frozen=True, slots=True)
class History:
    """Visits of one page. Times are epoch seconds. Only visits that returned the page or confirmed that it is
    unchanged are counted."""

    first_at: float
    last_at: float
    visits: int = 1
    changes: int = 0
    """Number of visits that found a change."""
    changed_at: float | None = None
    """Time of the last visit that found a change."""
    interval_seconds: float | None = None
    """Interval between the last two visits."""
    modified_seconds: float | None = None
    """Time between the page's last modification, as its server sent it, and the first visit."""
    quiet_seconds: float = 0.0
    """Total time without a change: intervals without a change, and of intervals with a change at a known time the
    part after it. Decays."""
    dated: float = 0.0
    """Number of changes at known times. Decays."""
    misdated: float = 0.0
    """Number of visits at which the server's modification time proved false. Decays."""
    changed_within: Mapping[int, float] = field(default_factory=dict)
    """Weights of intervals with a change at an unknown time, by the power of two of their length; an interval between
    two powers is divided among them. Decays."""

    @classmethod
    def first(cls, at: float, modified_at: float | None = None) -> History:
        """Return the history of a page after its first fetch."""
        at = round(at, 3)
        age = None if modified_at is None else round(at - modified_at, 3)
        return cls(at, at, modified_seconds=age if age is not None and age >= DATED_FROM_SECONDS else None)

    @property
    def has_just_changed(self) -> bool:
        """True if the last visit found a change."""
        return self.changed_at == self.last_at

    @property
    def is_dated(self) -> bool:
        """True if the modification times of its server are trusted."""
        return self.dated >= DATED_FOR_MISDATED * self.misdated

    def visited(self, at: float, changed: bool, modified_at: float | None = None) -> History:
        """Return the history with one more visit; unchanged if the visit is not later than the last, such as a visit
        reported twice.

        ``modified_at``: time of the last modification as ``page.modified_at`` returns it.
        """
        at = round(at, 3)
        if at <= self.last_at:
            return self
        kept = 1.0 if self.visits <= MEMORY_VISITS else 1.0 - 1.0 / MEMORY_VISITS
        older = {power: weight * kept for power, weight in self.changed_within.items()}
        interval = at - self.last_at
        is_false = modified_at is not None and changed != (modified_at > self.last_at)
        counted = replace(
            self,
            last_at=at,
            visits=self.visits + 1,
            changes=self.changes + changed,
            changed_at=at if changed else self.changed_at,
            interval_seconds=round(interval, 3),
            quiet_seconds=round(self.quiet_seconds * kept, 3),
            dated=round(self.dated * kept, 3),
            misdated=round(self.misdated * kept + is_false, 3),
            changed_within=older,
        )
        return _rounded(
            _with_interval(counted, interval, changed, None if modified_at is None else at - modified_at)
        )

    def text(self) -> str:
        """Return the history as JSON of at most 500 characters."""
        weights = [
            part for power in sorted(self.changed_within) for part in (power, self.changed_within[power])
        ]
        values = [getattr(self, name) for name in _FIELDS]
        return json.dumps([*values, weights], separators=(",", ":"))

    @classmethod
    def of(cls, text: str) -> History:
        """Parse the result of ``text()``. Raises ValueError for anything else."""
        values = json.loads(text)
        if (
            not isinstance(values, list)
            or len(values) != len(_FIELDS) + 1
            or not isinstance(values[-1], list)
        ):
            raise ValueError(f"no history of a page: {text[:80]!r}")
        weights = values.pop()
        plain = dict(zip(_FIELDS, values, strict=True))
        needed = [value for name, value in plain.items() if value is not None or name not in _UNKNOWN]
        known = range(SHORTEST, LONGEST + 1)
        if not all(map(_is_number, [*needed, *weights])) or any(power not in known for power in weights[::2]):
            raise ValueError(f"no history of a page: {text[:80]!r}")
        plain["changed_within"] = dict(zip(weights[::2], weights[1::2], strict=True))
        return cls(**plain)


_FIELDS = tuple(name for name in History.__slots__ if name != "changed_within")
_UNKNOWN = ("changed_at", "interval_seconds", "modified_seconds")
"""Fields that may be None."""


def _with_interval(history: History, interval: float, changed: bool, age: float | None) -> History:
    """Return the history with the result of an interval. ``age``: of the last modification at its end, as the server
    sent it."""
    if not changed:
        return replace(history, quiet_seconds=history.quiet_seconds + interval)
    if age is not None and DATED_FROM_SECONDS <= age < interval and history.is_dated:
        return replace(history, dated=history.dated + 1, quiet_seconds=history.quiet_seconds + age)
    weights = dict(history.changed_within)
    place = min(max(math.log2(interval), SHORTEST), LONGEST)
    power = min(int(place), LONGEST - 1)
    for neighbour, weight in ((power, power + 1 - place), (power + 1, place - power)):
        weights[neighbour] = weights.get(neighbour, 0.0) + weight
    return replace(history, changed_within=weights)


def _rounded(history: History) -> History:
    weights = {power: round(weight, 3) for power, weight in history.changed_within.items()}
    return replace(
        history,
        quiet_seconds=round(history.quiet_seconds, 3),
        dated=round(history.dated, 3),
        misdated=history.misdated if history.misdated >= FADED else 0.0,
        changed_within={power: weight for power, weight in weights.items() if weight >= FADED},
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


RATES = tuple(2 ** (number / 2) / (20 * 366 * 86_400) for number in range(40))
"""Grid of rates in changes per second, from one in twenty years to one in 14 minutes: two steps for each doubling."""
LOGARITHMS = tuple(map(math.log, RATES))


_LOG_CHANGED = {
    power: tuple(math.log(-math.expm1(-rate * 2**power)) for rate in RATES)
    for power in range(SHORTEST, LONGEST + 1)
}


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the sum of products."""
    return sum(map(float.__mul__, one, other))


def posterior(history: History, prior: Sequence[float]) -> tuple[float, ...]:
    """Return the probability of each rate after all visits. ``prior``: its probability before them, more than 0 for
    each."""
    dated, quiet = history.dated, history.quiet_seconds
    if history.modified_seconds is not None and history.is_dated and history.visits <= MEMORY_VISITS:
        dated, quiet = dated + 1, quiet + history.modified_seconds
    likely = [dated * logarithm - rate * quiet for rate, logarithm in zip(RATES, LOGARITHMS, strict=True)]
    for power, weight in history.changed_within.items():
        table = _LOG_CHANGED[power]
        likely = [before + weight * likelihood for before, likelihood in zip(likely, table, strict=True)]
    most = max(likely)
    weights = [before * math.exp(likelihood - most) for before, likelihood in zip(prior, likely, strict=True)]
    total = sum(weights)
    return tuple([weight / total for weight in weights])


def typical_rate(weights: Sequence[float]) -> float:
    """Return the geometric mean, in changes per second: errors by a factor up or down are equally probable."""
    return math.exp(dot(weights, LOGARITHMS))


def quantile(weights: Sequence[float], part: float) -> float:
    """Return the rate at which the cumulative probability reaches ``part``."""
    below = 0.0
    for rate, weight in zip(RATES, weights, strict=True):
        below += weight
        if below >= part:
            return rate
    return RATES[-1]


@dataclass(frozen=True, slots=True)
class Expectation:
    """Expected state of a copy some time after its page was visited."""

    unchanged: float
    """Probability that the page is unchanged: from 0 to 1."""
    age_seconds: float
    """Mean time for which the copy has been stale, 0 while it is not (called age by Cho and Garcia-Molina)."""


def expected(weights: Sequence[float], seconds: float) -> Expectation:
    """Return the expectation ``seconds`` after a visit, for rates with the probabilities ``weights``."""
    unchanged = fresh = 0.0
    for weight, rate in zip(weights, RATES, strict=True):
        changed = -math.expm1(-rate * seconds)
        unchanged += weight * (1 - changed)
        fresh += weight * changed / rate
    return Expectation(min(unchanged, 1.0), max(seconds - fresh, 0.0))


def log_normal(median: float, deviation: float) -> tuple[float, ...]:
    """Return a distribution of rates whose natural logarithms are normal. ``median``: changes per second."""
    center = math.log(median)
    weights = [math.exp(-(((logarithm - center) / deviation) ** 2) / 2) for logarithm in LOGARITHMS]
    total = sum(weights)
    return tuple([weight / total for weight in weights])
