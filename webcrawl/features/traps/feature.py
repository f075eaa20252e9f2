"""Quarantine of a running crawl: stored with the crawl, shared with its other processes, released on demand."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from webcrawl.errors import CrawlError, JobdirUnusable, StorageFull
from webcrawl.features.traps.detector import TrapDetector
from webcrawl.features.traps.quarantine import TrapRule, in_words
from webcrawl.frontier.records import State, UrlEntry
from webcrawl.reports import text
from webcrawl.storage.memory.traps import MemoryTraps
from webcrawl.storage.sqlite.traps import SqliteTraps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from webcrawl.config import Configuration
    from webcrawl.features.traps.quarantine import Withheld
    from webcrawl.features.traps.store import TrapStore
    from webcrawl.frontier.intake import Intake
    from webcrawl.storage.contract import Backend

logger = logging.getLogger(__name__)

REQUEUED_AT_ONCE = 500
CLAIM_SECONDS = 60.0
"""Time for which one process has the exclusive right to queue released URLs."""
LATE_SECONDS = 60.0
"""Time after a release during which processes that learn of it late may still withhold URLs."""


class Queue(Protocol):
    """Destination of URLs that were released."""

    async def add_seeds(self, entries: list[UrlEntry]) -> bool:
        """Queue URLs and wait until they are durable. Return False if they cannot be made durable."""
        ...


class TrapsFeature:
    """Synchronises the quarantine in memory with its store, so that all processes of a crawl agree within seconds."""

    def __init__(
        self, detector: TrapDetector, store: TrapStore, backend: Backend, configuration: Configuration
    ) -> None:
        self.detector = detector
        self._backend = backend
        self.rule = TrapRule(detector.quarantine)
        self._store = store
        self._withheld_max = configuration.traps_withheld_max
        self._worker = configuration.worker_name
        self._keeps_states = configuration.frontier_seen != "bloom"
        self._version: str | None = None
        self._released: dict[str, float] = {}
        """Released patterns that may still have URLs to be queued, with the time until which the store is asked for
        them."""
        self._failed = False

    async def begin(self, now: float) -> None:
        """Load the stored quarantine before anything is fetched. The first step queues URLs that were released.

        :raises webcrawl.errors.CrawlError: it cannot be read
        """
        for trap in await self._store.traps():
            if trap.released_at is not None:
                self._released[trap.pattern] = now
        await self._learn(now)
        if count := len(self.detector.quarantine):
            logger.info("%s in quarantine; see scrapy traps", text.things(count, "pattern"))

    async def step(self, queue: Queue, intake: Intake, now: float) -> None:
        """Store new local entries, load changes of other processes, and queue released URLs. A failed step is retried
        later."""
        try:
            await self.tell()
            if await self._learn(now):
                intake.forget()
            await self._pay(queue, intake, now)
        except (StorageFull, JobdirUnusable) as error:
            if not self._failed:
                logger.warning("The quarantine cannot be kept at the moment: %s", error)
            self._failed = True
        else:
            self._failed = False

    async def tell(self) -> None:
        """Store new local entries. :raises webcrawl.errors.CrawlError: the next call tries again"""
        quarantine = self.detector.quarantine
        new, kept = quarantine.take_news()
        try:
            await self._store.add(new)
            await self._store.withhold(kept, self._withheld_max)
        except CrawlError:
            quarantine.give_back(new, kept)
            raise

    async def _learn(self, now: float) -> bool:
        """Load changes from the store; return whether a pattern was released."""
        version = await self._store.version()
        if version == self._version:
            return False
        quarantine = self.detector.quarantine
        entered, left = quarantine.learn(await self._store.traps())
        if self._version is not None:
            for trap in entered:
                logger.warning("Trap: %s is in quarantine, another process found", in_words(trap.pattern))
        for trap in left:
            logger.info("Trap: %s was let go", in_words(trap.pattern))
            self._released[trap.pattern] = now + LATE_SECONDS
        self._version = version
        return bool(left)

    async def _pay(self, queue: Queue, intake: Intake, now: float) -> None:
        """Queue the withheld URLs of released patterns again."""
        for pattern, until in list(self._released.items()):
            if not await self._store.claim(self._worker, CLAIM_SECONDS):
                return
            count = 0
            while owed := await self._store.owed(pattern, REQUEUED_AT_ONCE):
                entries = [entry for one in owed if (entry := await self._entry(one, intake)) is not None]
                if not await queue.add_seeds(entries):
                    return
                await self._store.requeued(pattern, [one.url for one in owed])
                count += len(entries)
            if count:
                logger.info("Trap: %s of %s queued again", text.things(count, "URL"), in_words(pattern))
            if until <= now:
                del self._released[pattern]

    async def _entry(self, withheld: Withheld, intake: Intake) -> UrlEntry | None:
        """Return the URL as a queue entry; None if it is queued or done by now, or another rule refuses it."""
        entry = intake.one(withheld.url, withheld.depth, withheld.via)
        if not isinstance(entry, UrlEntry):
            return None
        state = await self._backend.state_of(entry.key, entry.fingerprint)
        if state not in (None, State.REFUSED):
            return None
        # The backend knows the URL: it was queued before its pattern came into quarantine.
        entry.repeat = state is State.REFUSED or not self._keeps_states
        return entry


def traps_feature_of(
    configuration: Configuration, clock: Callable[[], float], backend: Backend, folder: Path | None
) -> TrapsFeature | None:
    """Return the trap detection of a crawl; None if it is switched off. ``folder``: the JOBDIR."""
    if not configuration.traps_quarantine:
        return None
    detector = TrapDetector(
        clock,
        pages=configuration.traps_pages,
        new_share=configuration.traps_new_share,
        withheld_max=configuration.traps_withheld_max,
    )
    return TrapsFeature(detector, _store(configuration, backend, folder), backend, configuration)


def _store(configuration: Configuration, backend: Backend, folder: Path | None) -> TrapStore:
    if configuration.frontier_backend == "redis":
        # A crawl on one machine does not import the Redis backend.
        from webcrawl.storage.redis import RedisBackend
        from webcrawl.storage.redis.traps import RedisTraps

        assert isinstance(backend, RedisBackend)
        return RedisTraps(backend.server, backend.spider)
    if configuration.frontier_backend == "memory" or folder is None:
        return MemoryTraps()
    return SqliteTraps(folder)
