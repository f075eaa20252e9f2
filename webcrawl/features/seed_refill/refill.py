"""Requests seeds when they run low, one process at a time, and decides whether an idle crawl waits for them."""

from __future__ import annotations

import asyncio
import logging
from enum import Enum
from io import BytesIO
from typing import TYPE_CHECKING, Protocol

from webcrawl.errors import ContactMissing
from webcrawl.features.seed_refill.sources import SourceError
from webcrawl.urls.lists import printable
from webcrawl.urls.seeds import SeedsError, read_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webcrawl.features.seed_refill.sources import Source
    from webcrawl.storage.shared_parts import SeedLists
    from webcrawl.urls.seeds import BadSeed, Seed


LIST = "asked for"
"""Name of the request for seeds among the lists of seeds, whose names are digests: one process at a time has it."""


class TurnResult(Enum):
    """Result of a process's attempt to take the turn."""

    REQUEST = "request"
    REST = "rest"
    """The last request ended too recently."""
    WAIT = "wait"
    """Another process has the turn."""


class RefillTurns(Protocol):
    """Lets one process at a time request seeds, and none too soon after the last request."""

    finished_at: float
    """The time at which the seeds of the last request were queued, as far as known to this process; epoch
    seconds, 0 for never."""

    async def take(self) -> TurnResult:
        """Take or keep the turn: with ``REQUEST`` no other process has it until ``finish`` or for a lease time."""
        ...

    async def finish(self) -> None:
        """End the turn: the seeds are queued, or there were none."""
        ...


class OwnTurns:
    """Turns of a crawl with a single process."""

    def __init__(self, every_seconds: float, clock: Callable[[], float]) -> None:
        self._every = every_seconds
        self._clock = clock
        self.finished_at = 0.0

    async def take(self) -> TurnResult:
        return TurnResult.REQUEST if self._clock() - self.finished_at >= self._every else TurnResult.REST

    async def finish(self) -> None:
        self.finished_at = self._clock()


class SharedTurns:
    """Turns of the workers of one crawl, kept among the lists of seeds, with the time of the last request in place of
    a position."""

    def __init__(self, every_seconds: float, clock: Callable[[], float], lists: SeedLists) -> None:
        self._every = every_seconds
        self._clock = clock
        self._lists = lists
        self.finished_at = 0.0

    async def take(self) -> TurnResult:
        turn, finished_at = await self._lists.request_turn(LIST)
        self.finished_at = float(finished_at)
        if turn is not turn.OURS:
            return TurnResult.WAIT
        if self._clock() - self.finished_at >= self._every:
            return TurnResult.REQUEST
        await self._lists.give_up(LIST, finished_at)
        return TurnResult.REST

    async def finish(self) -> None:
        self.finished_at = float(int(self._clock()))
        await self._lists.give_up(LIST, int(self.finished_at))


logger = logging.getLogger(__name__)


class SeedConsumer(Protocol):
    """The parts of the crawl that are used here."""

    async def count_available_keys(self, at_most: int) -> int:
        """Return the number of keys that have URLs or are active, counted up to ``at_most``."""
        ...

    async def take(self, seeds: Iterator[Seed | BadSeed]) -> bool:
        """Queue seeds durably. Return False if they cannot be made durable."""
        ...


class SeedRefill:
    """Takes a step every second or so. A separate task waits for the seeds, while the crawl continues."""

    def __init__(
        self,
        crawl: SeedConsumer,
        source: Source,
        turns: RefillTurns,
        low_keys: int,
        clock: Callable[[], float],
    ) -> None:
        """``low_keys``: if fewer keys have URLs, seeds are requested. ``clock``: epoch seconds."""
        self._crawl = crawl
        self._source = source
        self._turns = turns
        self._low = low_keys
        self._clock = clock
        self._request: asyncio.Task[None] | None = None
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
        if self._request is not None:
            if not self._request.done():
                await self._turns.take()  # keep the turn
                return
            request, self._request = self._request, None
            await request
        counted_at = self._clock()
        keys = await self._crawl.count_available_keys(self._low)
        turn = await self._turns.take() if keys < self._low else TurnResult.REST
        self._counted_at, self._is_low, self._others = counted_at, keys < self._low, turn is TurnResult.WAIT
        if turn is TurnResult.REQUEST:
            self._request = asyncio.get_running_loop().create_task(self._request_seeds(keys))

    def idle(self) -> bool:
        """Record that the crawl has nothing to do. Return whether it should wait: until a request since then brought
        nothing."""
        if self._idle_since is None:
            self._idle_since = self._clock()
        if self._over:
            return False
        if self._others or self._request is not None or self._counted_at < self._idle_since:
            return True
        return self._is_low and self._turns.finished_at < self._idle_since

    def busy(self) -> None:
        """Record that the crawl has something to do."""
        self._idle_since = None

    async def end(self) -> None:
        """Cancel a pending request."""
        self._source.end()
        if self._request is not None:
            self._request.cancel()
            await asyncio.gather(self._request, return_exceptions=True)

    async def _request_seeds(self, keys: int) -> None:
        logger.info("%d domains have URLs, fewer than %d: requesting seeds", keys, self._low)
        try:
            seeds = await self._source.fetch(keys)
            if not await self._crawl.take(read_seeds("-", BytesIO(seeds))):
                return
        except SourceError as error:
            logger.warning("No seeds: %s", printable(str(error)))
        except SeedsError:
            logger.info("The source of seeds returned none")
        except ContactMissing as error:
            logger.error("No more seeds are requested: %s", error)
            self._over = True
        except Exception:
            # After a fault, the interval to the next request applies too.
            await self._turns.finish()
            raise
        await self._turns.finish()
