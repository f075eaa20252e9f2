"""The order of a crawl: which level and which place in it a URL gets when it enters its queue.

The front end's draw: from which priority levels the next keys become active (Mercator, section 4.3).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from webcrawl.frontier.records import Kind, UrlEntry

OrderName = Literal["breadth_first", "priority", "random", "best_first", "random_walk", "in_links", "opic"]

BEST_FIRST: frozenset[OrderName] = frozenset({"best_first", "random_walk"})
"""Orders in which levels also say which of the ready hosts comes first."""

_AT_RANDOM: frozenset[OrderName] = frozenset({"random", "random_walk"})
"""Orders in which positions are random."""

Prioritiser = Callable[[UrlEntry], int]
"""Gives a URL its level: any integer, higher is fetched sooner. Called once, before the URL is queued."""


class Scorer(Protocol):
    """Gives URLs their levels by what a crawl learns while it runs, and may think otherwise of them later.

    Asked on the event loop: about a page's links at once before they are queued, and again, some at a time, about
    what is queued when ``version`` has changed. A URL moves in its queue when its level does, so levels should be as
    coarse as what is known: some tens of them.
    """

    @property
    def version(self) -> int:
        """Another number whenever what is queued is to be scored again."""
        ...

    def levels(self, entries: Sequence[UrlEntry]) -> Sequence[int | None]:
        """The level of each, higher is fetched sooner; None leaves it at the one it has. Entries are not to be
        changed; of those that are not yet queued ``level`` is what was asked for."""
        ...


_POSITIONS = 1 << 62
_LEVELS = (1 << 40) - 1
"""Levels are kept within this, above and below nought: storable everywhere, and below that of robots.txt."""
FIRST, LAST = _LEVELS, -_LEVELS
"""Levels of what comes before and behind everything else, whatever a scorer thinks of it later."""


def by_path_depth(entry: UrlEntry) -> int:
    """The prioritiser of the order ``priority``: front pages before inner ones, short paths before long ones."""
    path = entry.url.split("?", 1)[0]
    segments = path.count("/") - 2 - path.endswith("/")
    return entry.level - max(segments, 0) - 2 * ("?" in entry.url)


class Order:
    """Places URLs. Positions grow through the whole life of a crawl, restarts included, so a level is FIFO.

    ``breadth_first``: levels as asked for (0 unless a Request says otherwise), first come, first served.
    ``priority``: the prioritiser's levels, first come, first served within one.
    ``random``: a random position, so that a queue gives a random one of its URLs each time: a random walk
    over all that is known, which ends when all of it was visited.
    ``best_first``: the levels of the scorer, or else of the prioritiser, or else as asked for.
    ``random_walk``: of the links of a page that are new one drawn at random goes a level up, so that it is the walk's
    next step; with the probability ``restart``, or when a page has none, no link does, and the walk jumps to a random
    one of all URLs that are known.
    ``in_links``, ``opic``: the levels of the scorer that counts links (``webcrawl/importance``).
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
        # A microsecond clock outruns any rate at which positions are given, so a restart starts above them
        # all.
        self._position = int(now * 1_000_000)

    def tell(self, now: float) -> None:
        """It is ``now`` (epoch seconds): what is placed from here on comes behind what any process placed before, as
        far as their clocks agree."""
        self._position = max(self._position, int(now * 1_000_000))

    def place_all(self, entries: list[UrlEntry]) -> list[UrlEntry]:
        """Give those of ``entries`` a level and a position that have none yet."""
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
        """A new position at the same level: where a URL goes that has to be tried again."""
        self._line_up([entry])
        return entry

    def _line_up(self, entries: Sequence[UrlEntry]) -> None:
        """A position for each, behind the one before or a random one."""
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

    def _step(self, found: Sequence[UrlEntry]) -> None:
        links = [entry for entry in found if entry.via is not None and entry.kind == Kind.PAGE]
        if links:
            step = self._random.choice(links)
            step.level = _within(step.level + 1)

    def levels(self, entries: Sequence[UrlEntry]) -> list[int]:
        """The levels that the scorer gives to ``entries`` by now."""
        assert self.scorer is not None
        return [
            entry.level if level is None or entry.level in (FIRST, LAST) else _within(level)
            for entry, level in zip(entries, self.scorer.levels(entries), strict=True)
        ]


def _within(level: int) -> int:
    return max(-_LEVELS, min(int(level), _LEVELS))


LEVELS_CONSIDERED = 16
"""The draw looks at this many of the highest levels that have idle keys; the rest wait for their turn."""


class LevelSampler:
    """A random draw of levels, biased to the high ones.

    The highest level present has weight 1, the next ``1 / bias``, the one after ``1 / bias**2`` and so on:
    with
    ``bias`` 1 all levels are alike, with a large one low levels are nearly starved, never quite.
    """

    def __init__(self, bias: float, seed: int | None = None) -> None:
        if bias < 1:
            raise ValueError(f"the draw's bias is {bias}; it must be at least 1")
        self._bias = bias
        self._random = random.Random(seed)

    def above(self, level: int) -> LevelSampler:
        """The same draw, of none but higher levels."""
        return _Above(self, level)

    def spread(self, levels: Sequence[int], count: int) -> dict[int, int]:
        """How many of ``count`` keys to take from each of ``levels``; levels that get none are left out."""
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
    def __init__(self, draw: LevelSampler, level: int) -> None:
        self._draw = draw
        self._level = level

    def spread(self, levels: Sequence[int], count: int) -> dict[int, int]:
        return self._draw.spread([level for level in levels if level > self._level], count)
