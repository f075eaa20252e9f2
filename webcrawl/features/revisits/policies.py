"""When a page is due again: what a policy is, and the two that look at nothing but the page itself."""

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
    """How often pages are to be visited, for any policy."""

    interval_seconds: float = 7 * DAY_SECONDS
    """Between two visits of a page; where policies tell pages apart, what their budget would give to each."""
    least_seconds: float = 3600.0
    most_seconds: float = 90 * DAY_SECONDS
    """No interval is shorter than ``least_seconds`` or longer than ``most_seconds``."""
    faster: float = 0.5
    slower: float = 1.5
    """By what an interval is multiplied after a change and after none, where a policy does so."""
    pages_per_day: float | None = None
    """The budget as a number, in place of ``interval_seconds``, where a policy has a budget."""

    def within(self, seconds: float) -> float:
        """``seconds``, but not less than the least and not more than the most."""
        return min(max(seconds, self.least_seconds), self.most_seconds)


class RevisitPolicy(Protocol):
    """Says when a page is due. Built from a ``Pace``; called by one thread at a time, for each page that was visited
    or is asked about, so it answers from memory.
    """

    def next_visit_at(self, history: History, now: float) -> float:
        """Epoch seconds, later than ``now``. ``history`` has the visit that has just ended."""

    def explain(self, history: History, now: float) -> str:
        """Why then, in a sentence or a few, for people."""


@runtime_checkable
class LearningPolicy(RevisitPolicy, Protocol):
    """One that learns from all pages. What it learnt is kept by its owner, and shared among workers."""

    def learn(self, history: History, now: float) -> None:
        """A page was visited; told once for each visit, before its next one is asked for."""

    def lessons(self) -> str:
        """What was learnt by this worker, from its first run on; a text of some 700 characters."""

    def recall(self, own: str | None, others: Iterable[str] = (), pages: int = 0) -> None:
        """Go on from the ``lessons`` that were kept: ``own`` replaces what was learnt here, None leaves it, and
        ``others`` replace those of the other workers. ``pages``: of the whole crawl, for a budget in pages a day.
        """

    def expected(self, history: History, now: float) -> Expectation:
        """What is to be expected of the copy of a page that was visited last as ``history`` says."""


class FixedPolicy:
    """Every page after the same time."""

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
    """The last interval once more, shorter if the page had changed in it and longer if not.

    It is the interval as it was, not as it was planned: a page that waited for its turn counts as waited for.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace = pace

    def next_visit_at(self, history: History, now: float) -> float:
        return now + self._seconds(history)

    def explain(self, history: History, now: float) -> str:
        interval = duration(self._seconds(history))
        if history.interval_seconds is None:
            return f"it was visited once, and is looked at again after {interval}"
        found, factor = ("a", self._pace.faster) if history.has_just_changed else ("no", self._pace.slower)
        last = duration(history.interval_seconds)
        return f"the last visit, after {last}, found {found} change: times {factor:g}, within bounds, is {interval}"

    def _seconds(self, history: History) -> float:
        if history.interval_seconds is None:
            return self._pace.within(self._pace.interval_seconds)
        factor = self._pace.faster if history.has_just_changed else self._pace.slower
        return self._pace.within(history.interval_seconds * factor)
