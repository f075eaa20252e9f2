"""Quarantine of a running crawl: stored with the crawl, shared with its other processes, released on demand."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from webcrawl.crawl import request_codec
from webcrawl.crawl.feature import Feature, stop
from webcrawl.errors import CrawlError, StorageFull, StorageLost
from webcrawl.features.beliefs.feature import LATE_SECONDS, queued_again
from webcrawl.features.traps.detector import TrapDetector
from webcrawl.features.traps.novelty import page_shingles
from webcrawl.features.traps.pattern import place_and_segments
from webcrawl.features.traps.quarantine import TrapRule, in_words
from webcrawl.features.traps.shared_evidence import SharedEvidence
from webcrawl.features.traps.store import TrapStore
from webcrawl.frontier.records import QUEUED, UrlEntry
from webcrawl.parsing.mime import HTML_TYPES
from webcrawl.reports import text
from webcrawl.storage.tables import HEADER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from scrapy.http import Response

    from webcrawl.config import Configuration
    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import InFlightRequest, RunningCrawl
    from webcrawl.features.traps.detector import TrapEvidence
    from webcrawl.frontier.intake import Intake
    from webcrawl.items import Page
    from webcrawl.storage.contract import Backend, Counts

logger = logging.getLogger(__name__)

SECONDS = 1.0
"""Interval between two synchronisations."""
REQUEUED_AT_ONCE = 500
CLAIM_SECONDS = 60.0
"""Time for which one process has the exclusive right to queue released URLs."""
LOOK_AGAIN_SECONDS = 5.0
"""Interval at which the released URLs are looked at that are queued: a process that learns late may refuse them."""


class SeedQueue(Protocol):
    """Destination of URLs that were released."""

    async def add_seeds(self, entries: list[UrlEntry]) -> bool:
        """Queue URLs and wait until they are durable. Return False if they cannot be made durable."""
        ...


class TrapsFeature(Feature):
    """Shows pages to the detector, and synchronises the quarantine in memory with its store once a second, so that
    all processes of a crawl agree."""

    def __init__(
        self,
        detector: TrapDetector,
        store: TrapStore,
        backend: Backend,
        configuration: Configuration,
        clock: Callable[[], float],
        evidence: SharedEvidence | None = None,
    ) -> None:
        """``evidence``: of a crawl that several processes share."""
        self.detector = detector
        self._evidence = evidence
        self._backend = backend
        self.rule, self.withhold = TrapRule(detector.quarantine), detector.withheld
        self._store = store
        self._clock = clock
        self._withheld_max = configuration.traps_withheld_max
        self._worker = configuration.worker_name
        self._keeps_states = configuration.frontier_seen != "bloom"
        self._version: str | None = None
        self._released: dict[str, float] = {}
        """Released patterns that may still have URLs to be queued, with the time until which the store is queried for
        them."""
        self._look_at = 0.0
        self._is_owing = False
        """True if released URLs were queued when they were looked at last, and may still be refused."""
        self._store_first: Callable[[], Awaitable[None]] = self.before_commit
        """Stores what rules have withheld, those of other features too."""
        self._storing = asyncio.Lock()
        self._failed = False
        self._stepped = False
        self._task: asyncio.Task[None] | None = None

    async def open(self, counts: Counts) -> None:
        """Load the stored quarantine before anything is fetched. The first step queues URLs that were released.

        :raises webcrawl.errors.CrawlError: it cannot be read
        """
        now = self._clock()
        for trap in await self._store.beliefs():
            if trap.released_at is not None:
                self._released[trap.pattern] = now
        await self._learn(now)
        if count := len(self.detector.quarantine):
            logger.info("%s in quarantine; see scrapy traps", text.things(count, "pattern"))

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        # Without this task, withheld URLs would no longer be stored.
        self._store_first = context.features.find_before_commit() or self.before_commit
        self._task = scheduler.run_beside(self._watch(context.intake, scheduler))

    async def page(
        self,
        page: Page,
        response: Response,
        flight: InFlightRequest,
        discovered: Sequence[UrlEntry],
        beside: Mapping[str, str],
    ) -> None:
        entry = flight.lease.entry
        # A revisited page has the content that it had before, which is no sign of a trap.
        if page.mime not in HTML_TYPES or request_codec.read_revisit(entry.payload) is not None:
            return
        if self._evidence is None:
            self._evaluate(page, response, entry, discovered)
            return
        place, _ = place_and_segments(entry.url)
        await self._evidence.hold(place, flight.lease.fence)
        learned = self._evaluate(page, response, entry, discovered)
        if learned is not None:
            await self._evidence.keep(learned)

    def _evaluate(
        self, page: Page, response: Response, entry: UrlEntry, discovered: Sequence[UrlEntry]
    ) -> TrapEvidence | None:
        body, encoding = response.body, page.encoding or "utf-8"
        return self.detector.page(
            entry.url,
            entry.via,
            lambda: page_shingles(body, encoding, entry.url),
            discovered,
            len(body),
            body,
        )

    def keeps_open(self) -> bool:
        """Return True until the URLs that were released are queued, and fetched or refused for good."""
        if self._task is None or self._task.done():
            return False
        self._look_at = 0.0
        return not self._stepped or self._is_owing

    async def before_close(self) -> None:
        await stop(self._task)
        try:
            await self.store_news()
        except CrawlError as error:
            logger.warning("The URLs that were withheld last cannot be stored and are lost: %s", error)

    async def _watch(self, intake: Intake, scheduler: RunningCrawl) -> None:
        while True:
            was_owing = self._is_owing
            await self.step(scheduler, intake, self._clock())
            if not self._stepped or was_owing:
                self._stepped = True
                scheduler.wake()
            await asyncio.sleep(SECONDS)

    async def step(self, queue: SeedQueue, intake: Intake, now: float) -> None:
        """Store new local entries, load changes of other processes, and queue released URLs. A failed step is retried
        later."""
        try:
            await self.store_news()
            if await self._learn(now):
                intake.forget()
            await self._requeue(queue, intake, now)
        except (StorageFull, StorageLost) as error:
            self._tell_failure(error)
        else:
            self._failed = False

    async def before_commit(self) -> None:
        """Store what was withheld before the pages that link to it are settled, and before the URLs are whose turn
        it was: if the process is killed then, they could not be released."""
        if not self.detector.quarantine.has_news() and not self._storing.locked():
            return
        try:
            await self.store_news()
        except StorageLost as error:
            self._tell_failure(error)

    def _tell_failure(self, error: CrawlError) -> None:
        if not self._failed:
            logger.warning("The quarantine cannot be stored at the moment: %s", error)
        self._failed = True

    async def store_news(self) -> None:
        """Store new local entries. :raises webcrawl.errors.CrawlError: the next call tries again"""
        quarantine = self.detector.quarantine
        async with self._storing:
            new, kept = quarantine.take_news()
            try:
                await self._store.put(new)
                await self._store.withhold(kept, self._withheld_max)
            except BaseException:
                # Also when it is cancelled, at the end of the crawl.
                quarantine.give_back(new, kept)
                raise

    async def _learn(self, now: float) -> bool:
        """Load changes from the store; return whether a pattern was released."""
        version = await self._store.version()
        if version == self._version:
            return False
        quarantine = self.detector.quarantine
        entered, left = quarantine.learn(await self._store.beliefs())
        if self._version is not None:
            for trap in entered:
                logger.warning("Trap: %s is in quarantine; another process found it", in_words(trap.pattern))
        for trap in left:
            logger.info("Trap: %s was released", in_words(trap.pattern))
            self._released[trap.pattern], self._look_at = now + LATE_SECONDS, 0.0
        self._version = version
        return bool(left)

    async def _requeue(self, queue: SeedQueue, intake: Intake, now: float) -> None:
        """Queue the withheld URLs of released patterns again. Those that are queued already stay in the store as long
        as a process that does not know of the release may refuse them."""
        if now < self._look_at or not self._released:
            return
        if not await self._store.claim(self._worker, CLAIM_SECONDS):
            self._is_owing = False
            return
        self._look_at, is_owing = now + LOOK_AGAIN_SECONDS, False
        for pattern, until in list(self._released.items()):
            count = waiting = 0
            after: bytes | None = HEADER
            while after is not None:
                owed, after = await self._store.owed(pattern, after, REQUEUED_AT_ONCE)
                entries, gone = [], []
                for withheld in owed:
                    place = withheld.url, withheld.depth, withheld.via
                    entry = await queued_again(*place, intake, self._backend, keeps_states=self._keeps_states)
                    if entry is QUEUED and until > now:
                        waiting += 1
                        continue
                    gone.append(withheld.url)
                    if isinstance(entry, UrlEntry):
                        entries.append(entry)
                if entries and not await queue.add_seeds(entries):
                    return
                if gone:
                    # Those that another rule refuses are withheld by that.
                    await self._store_first()
                    await self._store.requeued(pattern, gone)
                count += len(entries)
            if count:
                logger.info("Trap: %s of %s queued again", text.things(count, "URL"), in_words(pattern))
            is_owing = is_owing or waiting > 0
            if until <= now:
                del self._released[pattern]
        self._is_owing = is_owing


def build(parts: Parts) -> TrapsFeature:
    """Return the trap detection of a crawl."""
    configuration, backend, clock = parts.configuration, parts.backend, parts.clock
    detector = TrapDetector(
        clock,
        pages=configuration.traps_pages,
        new_share=configuration.traps_new_share,
        withheld_max=configuration.traps_withheld_max,
        is_shared=configuration.storage.is_shared,
    )
    evidence = SharedEvidence(backend.tables, detector) if configuration.storage.is_shared else None
    return TrapsFeature(detector, TrapStore(backend.tables), backend, configuration, clock, evidence)
