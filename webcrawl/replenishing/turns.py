"""Whose turn it is to ask for seeds, and when the last answer was in the crawl."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawl.frontier.backends.redis.seed_lists import SeedLists

LIST = "asked for"
"""What asking is called among the lists of seeds, which are called by digests: one process at a time is at it."""


class Turn(Enum):
    """What a process that would ask is to do."""

    ASK = "ask"
    REST = "rest"
    """The last answer was not long ago."""
    WAIT = "wait"
    """Another process asks."""


class Turns(Protocol):
    """Lets one process at a time ask, and nobody too soon after the last answer."""

    answered_at: float
    """When the last answer was in the crawl, as far as is known here; epoch seconds, 0 for never."""

    async def take(self) -> Turn:
        """Ask for the turn, or keep it: with ``ASK`` nobody else has it, until ``answered`` or for a lease time."""
        ...

    async def answered(self) -> None:
        """What came is in the crawl, or nothing came."""
        ...


class OwnTurns:
    """Those of a process that shares its crawl with nobody."""

    def __init__(self, every_seconds: float, clock: Callable[[], float]) -> None:
        self._every = every_seconds
        self._clock = clock
        self.answered_at = 0.0

    async def take(self) -> Turn:
        return Turn.ASK if self._clock() - self.answered_at >= self._every else Turn.REST

    async def answered(self) -> None:
        self.answered_at = self._clock()


class SharedTurns:
    """Those of the workers of one crawl, kept among the lists of seeds, with a time for a length."""

    def __init__(self, every_seconds: float, clock: Callable[[], float], lists: SeedLists) -> None:
        self._every = every_seconds
        self._clock = clock
        self._lists = lists
        self.answered_at = 0.0

    async def take(self) -> Turn:
        turn, answered_at = await self._lists.read_on(LIST)
        self.answered_at = float(answered_at)
        if turn is not turn.OURS:
            return Turn.WAIT
        if self._clock() - self.answered_at >= self._every:
            return Turn.ASK
        await self._lists.give_up(LIST, answered_at)
        return Turn.REST

    async def answered(self) -> None:
        self.answered_at = float(int(self._clock()))
        await self._lists.give_up(LIST, int(self.answered_at))
