"""The order of a crawl: the level and position of a URL in its queue, and the random draw of the priority levels from
which the next keys become active (Mercator, section 4.3)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from webcrawl.frontier.records import Kind, UrlEntry

OrderName = Literal["breadth_first", "priority", "random", "best_first", "random_walk", "in_links", "opic"]

BEST_FIRST: frozenset[OrderName] = frozenset({"best_first", "random_walk"})
"""Orders in which levels also decide which of the ready hosts comes first."""

_AT_RANDOM: frozenset[OrderName] = frozenset({"random", "random_walk"})
"""Orders in which positions are random."""

Prioritiser = Callable[[UrlEntry], int]
"""Gives a URL its level: any integer, higher is fetched sooner. Called once, before the URL is queued."""


class Scorer(Protocol):
    """Gives URLs their levels by what a crawl learns while it runs, and may change them later.

    Called on the event loop: for all links of a page before they are queued, and again, some at a time, for queued
    entries when ``version`` has changed. A URL moves in its queue when its level does, so levels should be as coarse
    as the knowledge: some tens of them.
    """

    @property
    def version(self) -> int:
        """A number that changes whenever queued entries are to be scored again."""
        ...

    def levels(self, entries: Sequence[UrlEntry]) -> Sequence[int | None]:
        """Return the level of each, higher is fetched sooner; None leaves it unchanged. Entries must not be changed;
        ``level`` of those that are not yet queued is the requested one."""
        ...


_POSITIONS = 1 << 62
_LEVELS = (1 << 40) - 1
"""Levels are kept within this, above and below 0: storable everywhere, and below that of robots.txt."""
FIRST, LAST = _LEVELS, -_LEVELS
"""Levels of entries that come before and after everything else, whatever a scorer decides later."""


def by_path_depth(entry: UrlEntry) -> int:
    """The prioritiser of the order ``priority``: front pages before inner ones, short paths before long ones."""
    path = entry.url.split("?", 1)[0]
    segments = path.count("/") - 2 - path.endswith("/")
    return entry.level - max(segments, 0) - 2 * ("?" in entry.url)


class Order:
    """Places URLs. Positions grow through the whole life of a crawl, restarts included, so a level is FIFO.

    * ``breadth_first``: the requested levels (0 unless a Request has another), first come, first served.
    * ``priority``: the prioritiser's levels, first come, first served within one.
    * ``random``: a random position, so that a queue gives a random one of its URLs each time: a random walk over all
      known URLs, which ends when all of them were visited.
    * ``best_first``: the levels of the scorer, or else of the prioritiser, or else the requested ones.
    * ``random_walk``: of the new links of a page one drawn at random goes a level up, so that it is the walk's next
      step; with the probability ``restart``, or if a page has none, no link does, and the walk jumps to a random one
      of all known URLs.
    * ``in_links``, ``opic``: the levels of the scorer that counts links (``features/link_scores``).
    """

    def __init__(
        self,
        name: OrderName,
        prioritiser: Prioritiser | None,
        now: float,
        seed: int | None = None,
        scorer: Scorer | None = None,
        restart: float = 0.15,
    ) -> None:
        """``scorer`` has the last word on levels."""
        self._name = name
        self._restart = restart
        self.scorer = scorer
        self._prioritiser = prioritiser or (by_path_depth if name == "priority" else None)
        self._random = random.Random(seed)
        # A microsecond clock is faster than positions are given, so a restart starts above them all.
        self._position = int(now * 1_000_000)

    def set_time(self, now: float) -> None:
        """Set the time (epoch seconds): entries placed from here on come after those that any process placed before,
        as far as their clocks agree."""
        self._position = max(self._position, int(now * 1_000_000))

    def place_all(self, entries: list[UrlEntry]) -> list[UrlEntry]:
        """Give a level and a position to those of ``entries`` that have none yet."""
        new = [entry for entry in entries if not entry.position]
        if self._prioritiser is not None:
            for entry in new:
                entry.level = int(self._prioritiser(entry))
        self._line_up(new)
        if self._name == "random_walk" and new and self._random.random() >= self._restart:
            self._step(new)
        if self.scorer is not None and new:
            for entry, level in zip(new, self.levels(new), strict=True):
                entry.level = level
        return entries

    def place_again(self, entry: UrlEntry) -> UrlEntry:
        """Give a URL that is tried again a new position at the same level."""
        self._line_up([entry])
        return entry

    def _line_up(self, entries: Sequence[UrlEntry]) -> None:
        """Give each entry a position, after the one before or a random one."""
        at_random, position = self._name in _AT_RANDOM, self._position
        for entry in entries:
            if entry.level:
                entry.level = _within(entry.level)
            if at_random:
                entry.position = self._random.randrange(_POSITIONS)
            else:
                position += 1
                entry.position = position
        self._position = position

    def _step(self, entries: Sequence[UrlEntry]) -> None:
        links = [entry for entry in entries if entry.via is not None and entry.kind == Kind.PAGE]
        if links:
            step = self._random.choice(links)
            step.level = _within(step.level + 1)

    def levels(self, entries: Sequence[UrlEntry]) -> list[int]:
        """Return the present levels of ``entries`` by the scorer."""
        assert self.scorer is not None
        return [
            entry.level if level is None or entry.level in (FIRST, LAST) else _within(level)
            for entry, level in zip(entries, self.scorer.levels(entries), strict=True)
        ]


def _within(level: int) -> int:
    return max(-_LEVELS, min(int(level), _LEVELS))


LEVELS_CONSIDERED = 16
"""The sampler looks at this many of the highest levels that have idle keys; the rest wait for their turn."""


class LevelSampler:
    """Draws levels at random, biased to the high ones.

    The highest level present has weight 1, the next ``1 / bias``, the one after ``1 / bias**2`` and so on: with
    ``bias`` 1 all levels are alike, with a large one low levels are nearly starved, never quite.
    """

    def __init__(self, bias: float, seed: int | None = None) -> None:
        if bias < 1:
            raise ValueError(f"the bias of the level sampler is {bias}; it must be at least 1")
        self._bias = bias
        self._random = random.Random(seed)

    def above(self, level: int) -> LevelSampler:
        """Return the same sampler, restricted to higher levels."""
        return _Above(self, level)

    def spread(self, levels: Sequence[int], count: int) -> dict[int, int]:
        """Return how many of ``count`` keys to take from each of ``levels``; levels that get none are left out."""
        if not levels or count <= 0:
            return {}
        ordered = sorted(set(levels), reverse=True)[:LEVELS_CONSIDERED]
        if len(ordered) == 1:
            return {ordered[0]: count}
        weights = [self._bias**-rank for rank in range(len(ordered))]
        taken: dict[int, int] = {}
        for level in self._random.choices(ordered, weights, k=count):
            taken[level] = taken.get(level, 0) + 1
        return taken


class _Above(LevelSampler):
    def __init__(self, sampler: LevelSampler, level: int) -> None:
        self._sampler = sampler
        self._level = level

    def spread(self, levels: Sequence[int], count: int) -> dict[int, int]:
        return self._sampler.spread([level for level in levels if level > self._level], count)
