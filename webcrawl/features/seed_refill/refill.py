"""Asks for seeds when they run low, and says whether a crawl with nothing to do should wait for an answer.

Whose turn it is to ask for seeds, and when the last answer was in the crawl.
"""

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


logger = logging.getLogger(__name__)


class Crawl(Protocol):
    """What has to be known of the crawl, and done in it."""

    async def keys_at_hand(self, at_most: int) -> int:
        """How many keys have URLs or are active, counted up to ``at_most``."""
        ...

    async def take(self, seeds: Iterator[Seed | BadSeed]) -> bool:
        """Queue seeds durably. False: they cannot become so."""
        ...


class Replenishing:
    """One step every second or so. An answer is waited for in a task of its own, while the crawl goes on."""

    def __init__(
        self, crawl: Crawl, source: Source, turns: Turns, low_keys: int, clock: Callable[[], float]
    ) -> None:
        """``low_keys``: with fewer keys that have URLs it is asked. ``clock``: epoch seconds."""
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
        """Whether another process asks."""
        self._over = False
        """Whether nobody is asked any more."""

    async def step(self) -> None:
        """Ask if it is time. Raises what the storage raises."""
        if self._over:
            return
        if self._asking is not None:
            if not self._asking.done():
                await self._turns.take()  # it stays ours
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
        """The crawl has nothing to do. Whether it should wait: until an answer came since, and brought nothing."""
        if self._idle_since is None:
            self._idle_since = self._clock()
        if self._over:
            return False
        if self._others or self._asking is not None or self._counted_at < self._idle_since:
            return True
        return self._is_low and self._turns.answered_at < self._idle_since

    def busy(self) -> None:
        """The crawl has something to do."""
        self._idle_since = None

    async def end(self) -> None:
        """Let an answer that is under way be."""
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
            # A fault is no reason to ask again before it is time.
            await self._turns.answered()
            raise
        await self._turns.answered()
