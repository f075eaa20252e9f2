"""Requests seeds when they run low, one process at a time, and decides whether an idle crawl waits for an answer."""

from __future__ import annotations

import asyncio
import logging
from enum import Enum
from io import BytesIO
from typing import TYPE_CHECKING, Protocol

from webcrawl.errors import ContactMissing
from webcrawl.features.seed_refill.sources import NoAnswer
from webcrawl.urls.lists import printable
from webcrawl.urls.seeds import SeedsError, read_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webcrawl.features.seed_refill.sources import Source
    from webcrawl.storage.redis.seeds import SeedLists
    from webcrawl.urls.seeds import BadSeed, Seed


LIST = "asked for"
"""Name of the request for seeds among the lists of seeds, whose names are digests: one process at a time has it."""


class Turn(Enum):
    """Result of a process's attempt to take the turn."""

    ASK = "ask"
    REST = "rest"
    """The last answer is too recent."""
    WAIT = "wait"
    """Another process has the turn."""


class RefillTurns(Protocol):
    """Lets one process at a time ask, and none too soon after the last answer."""

    answered_at: float
    """When the last answer was queued, as far as this process knows; epoch seconds, 0 for never."""

    async def take(self) -> Turn:
        """Take or keep the turn: with ``ASK`` no other process has it until ``answered`` or for a lease time."""
        ...

    async def answered(self) -> None:
        """End the turn: the answer is queued, or there was none."""
        ...


class OwnTurns:
    """Turns of a crawl with a single process."""

    def __init__(self, every_seconds: float, clock: Callable[[], float]) -> None:
        self._every = every_seconds
        self._clock = clock
        self.answered_at = 0.0

    async def take(self) -> Turn:
        return Turn.ASK if self._clock() - self.answered_at >= self._every else Turn.REST

    async def answered(self) -> None:
        self.answered_at = self._clock()


class SharedTurns:
    """Turns of the workers of one crawl, kept among the lists of seeds, with the time of the last answer in place of
    a position."""

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


logger = logging.getLogger(__name__)


class Crawl(Protocol):
    """The parts of the crawl that are used here."""

    async def keys_at_hand(self, at_most: int) -> int:
        """Return the number of keys that have URLs or are active, counted up to ``at_most``."""
        ...

    async def take(self, seeds: Iterator[Seed | BadSeed]) -> bool:
        """Queue seeds durably. Return False if they cannot be made durable."""
        ...


class SeedRefill:
    """Takes a step every second or so. A separate task waits for the answer, while the crawl continues."""

    def __init__(
        self, crawl: Crawl, source: Source, turns: RefillTurns, low_keys: int, clock: Callable[[], float]
    ) -> None:
        """``low_keys``: if fewer keys have URLs, seeds are requested. ``clock``: epoch seconds."""
        self._crawl = crawl
        self._source = source
        self._turns = turns
        self._low = low_keys
        self._clock = clock
        self._asking: asyncio.Task[None] | None = None
        self._idle_since: float | None = None
        self._counted_at = 0.0
        self._is_low = True
        self._others = False
        """True if another process has the turn."""
        self._over = False
        """True if no more seeds are requested."""

    async def step(self) -> None:
        """Request seeds if it is time. Raises the errors of the storage."""
        if self._over:
            return
        if self._asking is not None:
            if not self._asking.done():
                await self._turns.take()  # keep the turn
                return
            asked, self._asking = self._asking, None
            await asked
        counted_at = self._clock()
        keys = await self._crawl.keys_at_hand(self._low)
        turn = await self._turns.take() if keys < self._low else Turn.REST
        self._counted_at, self._is_low, self._others = counted_at, keys < self._low, turn is Turn.WAIT
        if turn is Turn.ASK:
            self._asking = asyncio.get_running_loop().create_task(self._ask(keys))

    def idle(self) -> bool:
        """Record that the crawl has nothing to do. Return whether it should wait: until an answer since then brought
        nothing."""
        if self._idle_since is None:
            self._idle_since = self._clock()
        if self._over:
            return False
        if self._others or self._asking is not None or self._counted_at < self._idle_since:
            return True
        return self._is_low and self._turns.answered_at < self._idle_since

    def busy(self) -> None:
        """Record that the crawl has something to do."""
        self._idle_since = None

    async def end(self) -> None:
        """Cancel a pending request."""
        self._source.end()
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    async def _ask(self, keys: int) -> None:
        logger.info("%d domains have URLs, fewer than %d: asking for seeds", keys, self._low)
        try:
            answer = await self._source.ask(keys)
            if not await self._crawl.take(read_seeds("-", BytesIO(answer))):
                return
        except NoAnswer as error:
            logger.warning("Asked for seeds: %s", printable(str(error)))
        except SeedsError:
            logger.info("Asked for seeds: there are none")
        except ContactMissing as error:
            logger.error("Asked for seeds, and nobody is asked again: %s", error)
            self._over = True
        except Exception:
            # After a fault, the interval to the next request applies too.
            await self._turns.answered()
            raise
        await self._turns.answered()
