"""Interface of revisit policies, which decide when a page is due, and the two policies that use only the page's
history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from webcrawl.reports.text import duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.features.revisits.estimate import Expectation, History

DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Pace:
    """Settings of the intervals between visits, for any policy."""

    interval_seconds: float = 7 * DAY_SECONDS
    """Interval between two visits of a page; for policies that distinguish pages, the mean interval that defines
    their budget."""
    least_seconds: float = 3600.0
    most_seconds: float = 90 * DAY_SECONDS
    """All intervals are between ``least_seconds`` and ``most_seconds``."""
    faster: float = 0.5
    slower: float = 1.5
    """Factors of an interval after a change and after none, for policies that use them."""
    pages_per_day: float | None = None
    """The budget as a number, in place of ``interval_seconds``, for policies with a budget."""

    def within(self, seconds: float) -> float:
        """Return ``seconds`` limited to the range from the least to the most."""
        return min(max(seconds, self.least_seconds), self.most_seconds)


class RevisitPolicy(Protocol):
    """Decides when a page is due. Built from a ``Pace``; called by one thread at a time, for each page that is
    visited or queried, so it must not wait for a storage."""

    def next_visit_at(self, history: History, now: float) -> float:
        """Return epoch seconds, later than ``now``. ``history`` includes the visit that has just ended."""

    def explain(self, history: History, now: float) -> str:
        """Return the reason for that time in a sentence or a few, for people."""


@runtime_checkable
class LearningPolicy(RevisitPolicy, Protocol):
    """A policy that learns from all pages. Its owner stores its learned state (``lessons``) and shares it among
    workers."""

    def learn(self, history: History, now: float) -> None:
        """Add a visit; called once for each visit, before the page's next visit is computed."""

    def lessons(self) -> str:
        """Return the state learned by this worker since its first run, a text of some 700 characters."""

    def recall(self, own: str | None, others: Iterable[str] = (), pages: int = 0) -> None:
        """Load results of ``lessons``: ``own`` replaces the state of this worker, None leaves it, and ``others``
        replace those of the other workers. ``pages``: number of pages of the whole crawl, for a budget in pages per
        day."""

    def expected(self, history: History, now: float) -> Expectation:
        """Return the expectation of the copy of a page whose last visit is that of ``history``."""


class FixedPolicy:
    """Visits every page at the same interval."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace

    def next_visit_at(self, history: History, now: float) -> float:
        return now + self._seconds

    def explain(self, history: History, now: float) -> str:
        return f"every page is visited each {duration(self._seconds)}"

    @property
    def _seconds(self) -> float:
        return self._pace.within(self._pace.interval_seconds)


class MultiplicativePolicy:
    """Uses the last interval, shortened if the page had changed in it and lengthened if not.

    It is the actual interval, not the planned one: the time that a page waited for its request is included.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace

    def next_visit_at(self, history: History, now: float) -> float:
        return now + self._seconds(history)

    def explain(self, history: History, now: float) -> str:
        interval = duration(self._seconds(history))
        if history.interval_seconds is None:
            return f"it was visited once, and is looked at again after {interval}"
        article, factor = ("a", self._pace.faster) if history.has_just_changed else ("no", self._pace.slower)
        last = duration(history.interval_seconds)
        return f"the last visit, after {last}, found {article} change: times {factor:g}, within bounds, is {interval}"

    def _seconds(self, history: History) -> float:
        if history.interval_seconds is None:
            return self._pace.within(self._pace.interval_seconds)
        factor = self._pace.faster if history.has_just_changed else self._pace.slower
        return self._pace.within(history.interval_seconds * factor)
