"""How often a page changes, from what its visits found.

A page is taken to change as a Poisson process does (Cho and Garcia-Molina, "Estimating frequency of change", ACM
TOIT 3(3), 2003). At a rate r an interval t without a change has the likelihood exp(-r t), one with changes at times
that are not known 1 - exp(-r t), and one whose last change lies a before its end r exp(-r a). Intervals may be of
any length. However often a page changed between two visits, it shows as one change; the likelihood takes that into
account, where counting changes would make fast pages slow.

The likeliest rate of a page that changed at every visit is infinite, and that of one that never did is nought. So
rates are weighed over a grid, what is known of all pages goes in as the prior, and the estimate is the mean of what
remains probable: without bias over pages whose rates are spread as the prior says.

What the visits of a page said of how often it changes, boiled down to a few numbers.

A visit tells of a change or of none since the visit before: how many changes there were, and when, stays unknown,
unless the server says when the page was last modified and is consistent about it. Intervals between visits are as
irregular as they come. For pages that change as a Poisson process does, what is kept here suffices to estimate the
rate (``estimate``), but for the lengths of intervals with a change, which are kept by powers of two.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


MEMORY_VISITS = 64
"""What was seen fades: a visit counts a third after so many further ones, so that an estimate follows a page that
changes its ways."""
FADED = 0.05
"""What counts for less is forgotten."""
SHORTEST, LONGEST = 4, 30
"""Powers of two (seconds) between which intervals are told apart: 16 seconds, 34 years."""
DATED_FROM_SECONDS = 60.0
"""A modification so shortly before the response is the making of the response, and says nothing."""
DATED_FOR_MISDATED = 4
"""Dates are believed while so many of changes came for each that proved false; then not before that has faded."""


@dataclass(frozen=True, slots=True)
class History:
    """The visits of one page. Times are epoch seconds. Only visits that brought the page, or the word that it is
    the same, are visits here.
    """

    first_at: float
    last_at: float
    visits: int = 1
    changes: int = 0
    """Visits that found a change."""
    changed_at: float | None = None
    """The last visit that found a change."""
    interval_seconds: float | None = None
    """Between the last two visits."""
    modified_seconds: float | None = None
    """How long before the first visit the page was modified, as its server says."""
    quiet_seconds: float = 0.0
    """All stretches without a change: of intervals without one the whole, of intervals with one whose time is known
    what came after it. Fades."""
    dated: float = 0.0
    """Changes whose time is known. Fades."""
    misdated: float = 0.0
    """Visits at which the server's date of the last modification proved false. Fades."""
    changed_within: Mapping[int, float] = field(default_factory=dict)
    """Intervals with a change of unknown time, by the power of two that their length is: one that lies between two is
    divided among them. Fades."""

    @classmethod
    def first(cls, at: float, modified_at: float | None = None) -> History:
        """A page that was fetched for the first time."""
        at = round(at, 3)
        age = None if modified_at is None else round(at - modified_at, 3)
        return cls(at, at, modified_seconds=age if age is not None and age >= DATED_FROM_SECONDS else None)

    @property
    def has_just_changed(self) -> bool:
        """Whether the last visit found a change."""
        return self.changed_at == self.last_at

    @property
    def is_dated(self) -> bool:
        """Whether the dates of its server are believed."""
        return self.dated >= DATED_FOR_MISDATED * self.misdated

    def visited(self, at: float, changed: bool, modified_at: float | None = None) -> History:
        """The history with one more visit; unchanged where it is not later than the last, as one that is told twice.

        ``modified_at``: when the server says that the page was last modified, as ``dates.modified_at`` reads it.
        """
        at = round(at, 3)
        if at <= self.last_at:
            return self
        kept = 1.0 if self.visits <= MEMORY_VISITS else 1.0 - 1.0 / MEMORY_VISITS
        older = {power: weight * kept for power, weight in self.changed_within.items()}
        interval = at - self.last_at
        is_false = modified_at is not None and changed != (modified_at > self.last_at)
        told = replace(
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
            _with_interval(told, interval, changed, None if modified_at is None else at - modified_at)
        )

    def text(self) -> str:
        """The history as JSON of at most 500 characters, without fields that say nothing."""
        weights = [
            part for power in sorted(self.changed_within) for part in (power, self.changed_within[power])
        ]
        values = [getattr(self, name) for name in _FIELDS]
        return json.dumps([*values, weights], separators=(",", ":"))

    @classmethod
    def of(cls, text: str) -> History:
        """What ``text()`` wrote. Raises ValueError for anything else."""
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
"""What may be None."""


def _with_interval(history: History, interval: float, changed: bool, age: float | None) -> History:
    """With what an interval proved. ``age``: of the last modification at its end, as the server says."""
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
