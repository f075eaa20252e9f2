"""The course of a feature that has beliefs: they are loaded, what changes is noted and stored, what other processes
changed is learned, and withheld URLs of beliefs that were undone are queued again."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from webcrawl.crawl import request_codec
from webcrawl.crawl.feature import Feature, stop
from webcrawl.errors import CrawlError, StorageFull, StorageLost
from webcrawl.features.beliefs.belief import Belief
from webcrawl.frontier.records import QUEUED, RELEASED, Kind, State, UrlEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.http import Response

    from webcrawl.crawl.feature import CrawlContext
    from webcrawl.crawl.running import RunningCrawl
    from webcrawl.features.beliefs.store import BeliefStore
    from webcrawl.frontier.intake import Intake
    from webcrawl.frontier.records import UrlRecord
    from webcrawl.storage.contract import Backend, Counts

logger = logging.getLogger(__name__)

SECONDS = 1.0
"""Interval between two steps, unless one is urgent."""
LATE_SECONDS = 60.0
"""Time after which processes that learn late that a belief was undone withhold nothing more."""

Held = TypeVar("Held", bound=Belief)


class BeliefFeature(Feature, Generic[Held]):
    """Keeps all processes of a crawl in agreement by the store of their beliefs, in one step a second."""

    what: ClassVar[str]
    """The plural of its beliefs in messages, such as "DUST rules"."""

    def __init__(self, store: BeliefStore[Held], clock: Callable[[], float], worker: str) -> None:
        self._beliefs = store
        self._clock = clock
        self._worker = worker
        self._context: CrawlContext | None = None
        self._version: str | None = None
        self._changed: dict[str, Held] = {}
        """Beliefs that are to be stored, by their ids."""
        self._being_stored: set[str] = set()
        self._undone: dict[str, tuple[Held, float]] = {}
        """Undone beliefs that may still have URLs to be queued, each with the time until which it is looked."""
        self._is_urgent = asyncio.Event()
        """Set to begin the next step at once."""
        self._failed = self._stepped = self._is_idle = False
        self._task: asyncio.Task[None] | None = None

    @property
    def context(self) -> CrawlContext:
        """The context of the crawl, once it has begun."""
        assert self._context is not None
        return self._context

    async def open(self, counts: Counts) -> None:
        """Load what is stored before anything is fetched. The first step queues URLs of beliefs that were undone.

        :raises webcrawl.errors.CrawlError: it cannot be read
        """
        await self._learn(self._clock())

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        self._context = context
        self._task = scheduler.run_beside(self._watch(context, scheduler))

    async def before_close(self) -> None:
        await stop(self._task)
        try:
            await self._store_last()
        except CrawlError as error:
            logger.warning(
                "What the last moments said of %s cannot be stored and is lost: %s", self.what, error
            )

    async def step(self, context: CrawlContext, scheduler: RunningCrawl, now: float) -> None:
        """Store what is new, load changes of other processes, and queue URLs that are owed. A failed step is repeated
        later."""
        try:
            await self._take_step(context, scheduler, now)
        except (StorageFull, StorageLost) as error:
            self._tell_failure(error)
        else:
            self._failed = False

    async def _watch(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        while True:
            is_idle = self._is_idle
            self._is_urgent.clear()
            await self.step(context, scheduler, self._clock())
            if is_idle or not self._stepped:
                self._stepped = True
                scheduler.wake()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pause()):
                    await self._is_urgent.wait()

    def _ends_soon(self) -> bool:
        """Return whether its task has ended, so that it keeps no crawl open."""
        return self._task is None or self._task.done()

    def _pause(self) -> float:
        """Return the seconds until the next step."""
        return SECONDS

    def _undo(self, belief: Held, until: float) -> None:
        """Take note that a belief was undone: its withheld URLs are queued again until then, and later."""
        self._undone[belief.id] = (belief, until)

    async def _learn(self, now: float) -> bool:
        """Load changes from the store; return whether a belief is not used any more."""
        version = await self._beliefs.version()
        if version == self._version:
            return False
        before = self._being_stored.union(self._changed)
        stored = await self._beliefs.beliefs()
        mine = before.union(self._changed, self._being_stored)
        left = self._load(stored, mine, now, is_first=self._version is None)
        self._version = version
        return left

    async def _store_changed(self) -> None:
        changed, self._changed = self._changed, {}
        self._being_stored = set(changed)
        try:
            await self._beliefs.put(list(changed.values()))
        except BaseException:
            # Also when it is cancelled, at the end of the crawl.
            self._changed = changed | self._changed
            raise
        finally:
            self._being_stored = set()
        for belief in changed.values():
            self._note_stored(belief)

    def _note_stored(self, belief: Held) -> None:
        """Take note that a belief was stored."""

    def _tell_failure(self, error: CrawlError) -> None:
        if not self._failed:
            what = self.what[:1].upper() + self.what[1:]
            logger.warning("%s cannot be stored at the moment: %s", what, error)
        self._failed = True

    @abstractmethod
    async def _take_step(self, context: CrawlContext, scheduler: RunningCrawl, now: float) -> None:
        """Take one step."""

    @abstractmethod
    async def _store_last(self) -> None:
        """Store what is new at the end of the crawl."""

    @abstractmethod
    def _load(self, stored: Sequence[Held], mine: set[str], now: float, *, is_first: bool) -> bool:
        """Take what is stored. ``mine``: ids of beliefs that changed here meanwhile. Return whether one is not used
        any more."""


async def queued_again(
    url: str, depth: int, via: str | None, intake: Intake, backend: Backend, *, keeps_states: bool
) -> UrlEntry | UrlRecord | str | None:
    """Return a withheld URL as a queue entry; ``QUEUED`` if it is queued, the name of the rule that refuses it, None
    if it is done by now. ``keeps_states``: whether the storage has the states of URLs."""
    entry = intake.link_entry(url, depth, via)
    if not isinstance(entry, UrlEntry):
        return entry
    record = await backend.url_record(entry.key, entry.fingerprint)
    if record is not None and record.state is not State.REFUSED:
        return QUEUED if record.state is State.QUEUED else None
    # The storage has the URL if it was queued before it was withheld.
    entry.repeat = record is not None or not keeps_states
    entry.listed = RELEASED
    return entry


def is_plain_page(entry: UrlEntry, response: Response) -> bool:
    """Return whether a page is whole, and that of a link: other Requests may have header fields that change it."""
    if entry.kind != Kind.PAGE or entry.embed_hops or "truncated" in response.flags:
        return False
    return 200 <= response.status < 300 and not request_codec.is_explicit(entry.payload)
