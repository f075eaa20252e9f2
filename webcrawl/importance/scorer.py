"""Levels by the links to a URL: how many there are, or how much comes with them (OPIC)."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from webcrawl.frontier.records import Kind
from webcrawl.importance.table import Table

if TYPE_CHECKING:
    from webcrawl.frontier.records import UrlEntry

LEVELS_PER_DOUBLING = 2
"""Twice the worth is two levels more."""
LOWEST = -60
PAGES_FIRST, GROWTH = 100, 1.25
"""What is queued is scored again after so many pages, and then whenever so many times as many were counted."""


class Importance:
    """A ``frontier.order.Scorer``.

    In-links: each page adds 1 to each URL that it links to. OPIC (Abiteboul, Preda and Cobena 2003, "Adaptive on-line
    page importance computation"): a page that is fetched has the cash that came to it and 1 of its own, as if a
    virtual page linked to all, and shares it out evenly among its links. A URL's level grows with the logarithm.
    """

    def __init__(self, table: Table, *, cash: bool) -> None:
        """``cash``: OPIC, or else in-links."""
        self.table = table
        self._cash = cash
        self.pages = 0
        """That were counted, by this process and those it heard of."""
        self._next = PAGES_FIRST
        self.version = 0
        self.news: dict[int, float] | None = None
        """What was added since it was last taken, for other processes; None where there are none."""

    def linked(self, page: int, links: Collection[int]) -> None:
        """A page links to these; all as fingerprints."""
        others = set(links)
        others.discard(page)
        self._count(1)
        if not others:
            return
        worth = 1.0
        if self._cash:
            had = self.table.take(page)
            worth = (1.0 + had) / len(others)
            self._tell((page,), -had)
        self.table.add_to_all(others, worth)
        self._tell(others, worth)

    def heard(self, worths: dict[int, float], pages: int) -> None:
        """What another process added, by so many pages."""
        self.table.add(worths)
        self._count(pages)

    def levels(self, entries: Sequence[UrlEntry]) -> list[int | None]:
        return [self._level(entry) if is_ranked(entry) else None for entry in entries]

    def _level(self, entry: UrlEntry) -> int:
        worth = self.table.worth(entry.fingerprint)
        return max(math.floor(LEVELS_PER_DOUBLING * math.log2(worth)), LOWEST) if worth > 0 else LOWEST

    def _count(self, pages: int) -> None:
        self.pages += pages
        if self.pages >= self._next:
            self.version += 1
            self._next = int(self.pages * GROWTH)

    def _tell(self, marks: Collection[int], worth: float) -> None:
        if self.news is not None and worth:
            for mark in marks:
                self.news[mark] = self.news.get(mark, 0.0) + worth


def is_ranked(entry: UrlEntry) -> bool:
    """Whether a URL has its level by the links to it: a page that was found by one."""
    return entry.via is not None and entry.payload is None and entry.kind == Kind.PAGE and not entry.repeat
