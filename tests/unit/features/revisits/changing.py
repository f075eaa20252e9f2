"""Pages that change at known rates in a time of their own, and a crawl that visits them under a budget."""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.features.revisits.estimate import History
from webcrawl.features.revisits.policies import LearningPolicy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.features.revisits.policies import RevisitPolicy

T0 = 1_790_000_000.0
DAY = 86_400.0
YEAR = 366 * DAY
MEDIAN = 1 / (math.sqrt(365) * DAY)
DEVIATION = math.log(365) / 4
"""Rates are log-normal. Between daily and yearly lie all but a page in twenty: two deviations to either side."""


class ChangingPage:
    """A page that changes as a Poisson process does, the same for every policy: it is drawn from its seed."""

    def __init__(self, seed: str, *, dated_part: float, deviation: float = DEVIATION) -> None:
        self._draw = random.Random(seed)
        self.rate = math.exp(self._draw.gauss(math.log(MEDIAN), deviation))
        """Changes a second."""
        self.is_dated = self._draw.random() < dated_part
        """Whether its server sends Last-Modified."""
        self.changed_at = T0 - self._draw.expovariate(self.rate)
        self.changes_at = T0 + self._draw.expovariate(self.rate)
        """The first change after what ``visit`` saw last."""
        self.stale_at = math.inf
        """Since when the copy is stale."""
        self.visited_at: float | None = None
        self.history: History | None = None

    def visit(self, at: float) -> History:
        before = self.changed_at
        while self.changes_at <= at:
            self.changed_at = self.changes_at
            self.changes_at += self._draw.expovariate(self.rate)
        self.visited_at, self.stale_at = at, self.changes_at
        modified_at = self.changed_at if self.is_dated else None
        if self.history is None:
            self.history = History.first(at, modified_at)
        else:
            self.history = self.history.visited(at, self.changed_at != before, modified_at)
        return self.history


@dataclass(slots=True)
class Outcome:
    """What a crawl came to in the measured time."""

    pages: Sequence[ChangingPage]
    visits: int = 0
    fresh_seconds: float = 0.0
    page_seconds: float = 0.0

    @property
    def freshness(self) -> float:
        """How much of the time copies were as their pages, on average over all pages."""
        return self.fresh_seconds / self.page_seconds


@dataclass(frozen=True, slots=True)
class Web:
    """Pages, and how many visits there are: as many as if each page were visited at the mean interval."""

    seed: int
    pages: int = 100
    mean_interval_seconds: float = 90 * DAY
    dated_part: float = 0.5
    deviation: float = DEVIATION
    years: float = 8.0
    measured_from_years: float = 4.0
    hurried: bool = True
    """No visit of the budget is left out: if no page is due, the one that will be next is visited before its time."""

    def crawl(self, policy: RevisitPolicy) -> Outcome:
        pages = [
            ChangingPage(f"{self.seed} {number}", dated_part=self.dated_part, deviation=self.deviation)
            for number in range(self.pages)
        ]
        outcome = Outcome(pages)
        begins, ends = T0 + self.measured_from_years * YEAR, T0 + self.years * YEAR
        outcome.page_seconds = len(pages) * (ends - begins)
        step = self.mean_interval_seconds / self.pages
        due = [(T0, number) for number in range(self.pages)]
        for slot in range(1, int((ends - T0) / step) + 1):
            now = T0 + slot * step
            if due[0][0] > now and not self.hurried:
                continue
            number = heapq.heappop(due)[1]
            page = pages[number]
            outcome.fresh_seconds += _fresh_seconds(page, now, begins)
            outcome.visits += now >= begins
            history = page.visit(now)
            if isinstance(policy, LearningPolicy):
                policy.learn(history, now)
            heapq.heappush(due, (policy.next_visit_at(history, now), number))
        outcome.fresh_seconds += sum(_fresh_seconds(page, ends, begins) for page in pages)
        return outcome


def _fresh_seconds(page: ChangingPage, until: float, begins: float) -> float:
    """For how long its copy was fresh since its last visit and since ``begins``."""
    if page.visited_at is None:
        return 0.0
    return max(min(page.stale_at, until) - max(page.visited_at, begins), 0.0)
