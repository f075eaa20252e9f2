"""Which paths led to something: a page is worth what it is, or what it led to.

Of a page that was fetched, and whose links were, the worth is the larger of its own relevance and ``DISCOUNT`` times
the mean worth of those links that were followed; so a hub, or a page on the way to relevant ones, is rewarded later,
and its own page with it (the delayed reward of Rennie & McCallum 1999, backed up as in Q-learning: Watkins & Dayan
1992).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

DISCOUNT = 0.6
PAGES_MAX = 20_000
"""Pages that are remembered, those that led to something lately; 1 kB each."""
STEPS_MAX = 4
"""Pages back that hear of one."""
CHANGE = 0.05
"""A worth that changed by less is not told."""


class Example(NamedTuple):
    """What is to be learned: places of a link's features, and what it was worth."""

    slots: Sequence[int]
    worth: float


@dataclass(slots=True)
class _Page:
    slots: Sequence[int]
    relevance: float
    via: int | None
    total: float = 0.0
    """Of the worths of those that were reached from here."""
    count: int = 0
    told: float = 0.0

    @property
    def worth(self) -> float:
        return max(self.relevance, DISCOUNT * self.total / (self.count + 1))


class Credit:
    """Remembers the pages of one process that were fetched lately."""

    def __init__(self, most: int = PAGES_MAX) -> None:
        self._pages: OrderedDict[int, _Page] = OrderedDict()
        self._most = most

    def fetched(self, page: int, via: int | None, slots: Sequence[int], relevance: float) -> list[Example]:
        """A page was judged: what follows for its link and for those that led to it. ``page`` and ``via``: any
        numbers that stand for it and for the page it was found on. Seeds have no ``slots``.
        """
        self._pages[page] = _Page(slots, relevance, via, told=relevance)
        if len(self._pages) > self._most:
            self._pages.popitem(last=False)
        examples = [Example(slots, relevance)] if slots else []
        gain, count = relevance, 1
        for _ in range(STEPS_MAX):
            led = None if via is None else self._pages.get(via)
            if led is None or via is None:
                break
            self._pages.move_to_end(via)
            led.total += gain
            led.count += count
            gain, count = led.worth - led.told, 0
            if abs(gain) < CHANGE:
                break
            led.told = led.worth
            if led.slots:
                examples.append(Example(led.slots, led.told))
            via = led.via
        return examples
