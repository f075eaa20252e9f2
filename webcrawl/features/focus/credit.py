"""Delayed reward: the worth of a page is its own relevance, or the worth of the pages it led to.

Once links of a fetched page were fetched, its worth is the larger of its own relevance and ``DISCOUNT`` times the
mean worth of these links. So a hub, or a page on the way to relevant ones, is rewarded later, and so is the page that
led to it (the delayed reward of Rennie & McCallum 1999, backed up as in Q-learning: Watkins & Dayan 1992).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

DISCOUNT = 0.6
PAGES_MAX = 20_000
"""Maximum number of remembered pages, the most recent that led to others; 1 kB each."""
STEPS_MAX = 4
"""Maximum number of preceding pages that are updated."""
CHANGE = 0.05
"""Minimum change of a worth that is passed on."""


class Example(NamedTuple):
    """A training example: slots of a link's features, and its worth."""

    slots: Sequence[int]
    worth: float


@dataclass(slots=True)
class _CreditedPage:
    slots: Sequence[int]
    relevance: float
    via: int | None
    total: float = 0.0
    """Sum of the worths of pages reached from here."""
    count: int = 0
    passed_on: float = 0.0
    """The part of its worth that the pages that led to it have received."""

    @property
    def worth(self) -> float:
        return max(self.relevance, DISCOUNT * self.total / (self.count + 1))


class Credit:
    """Remembers the most recent pages of one process."""

    def __init__(self, most: int = PAGES_MAX) -> None:
        self._pages: OrderedDict[int, _CreditedPage] = OrderedDict()
        self._most = most

    def fetched(self, page: int, via: int | None, slots: Sequence[int], relevance: float) -> list[Example]:
        """Add a rated page; return the examples for its link and for those that led to it. ``page`` and ``via``: any
        numbers that identify the page and the page it was found on. Seeds have no ``slots``."""
        self._pages[page] = _CreditedPage(slots, relevance, via, passed_on=relevance)
        if len(self._pages) > self._most:
            self._pages.popitem(last=False)
        examples = [Example(slots, relevance)] if slots else []
        gain, count = relevance, 1
        for _ in range(STEPS_MAX):
            parent = None if via is None else self._pages.get(via)
            if parent is None or via is None:
                break
            self._pages.move_to_end(via)
            parent.total += gain
            parent.count += count
            gain, count = parent.worth - parent.passed_on, 0
            if abs(gain) < CHANGE:
                break
            parent.passed_on = parent.worth
            if parent.slots:
                examples.append(Example(parent.slots, parent.passed_on))
            via = parent.via
        return examples
