"""Re-ordering of queued entries: when the scorer changes its scores, URLs move to their new levels.

A walk through all queues in the background, a part at a time, and never more of the time than its share: it competes
with fetching.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from webcrawl.errors import StorageFull
from webcrawl.frontier.moves import Mover
from webcrawl.frontier.order import Order
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.frontier.storage_retry import Tasks
from webcrawl.storage.contract import Backend, Move, uptime

STRETCH = 1000
"""Entries that are read at a time."""
MOVED_AT_ONCE = 100
"""Number of these that are moved in one step, which takes about 3 ms, in which a Redis server does nothing else."""
SCORED_AT_ONCE = 50
"""Entries that are scored while the event loop waits: about as many as a page has links."""
CHECK_SECONDS = 1.0
"""Interval at which to check if scores have changed."""
FULL_SECONDS = 5.0
"""Time for which a storage that is full or away is left alone."""


class Reordering:
    """Scores queued entries again whenever the scorer's version changes. All methods run on the event loop."""

    def __init__(
        self,
        order: Order,
        backend: Backend,
        mover: Mover,
        drain: Callable[[], Coroutine[Any, Any, object]],
        broken: Callable[[BaseException], None],
        share: float,
    ) -> None:
        """``order`` has a scorer. ``drain`` waits until every change so far is durable and the keys have it.
        ``share``: the share of time that this may take, 0 to 1."""
        assert order.scorer is not None
        self._scorer = order.scorer
        self._order = order
        self._backend = backend
        self._mover = mover
        self._drain = drain
        self._share = share
        self._tasks = Tasks(broken)
        self._ending = asyncio.Event()
        self._scored = self._scorer.version
        """The version by which all queued entries are scored."""

    def begin(self) -> None:
        self._tasks.start(self._run())

    async def end(self) -> None:
        """Stop; no entry is moved any more when this returns."""
        self._ending.set()
        await self._tasks.all_ended()

    async def rescore_queues(self) -> bool:
        """Walk once through all queues, unless all entries are scored by the scorer's version. Returns True if there
        was need.
        :raises webcrawl.errors.StorageFull: some URLs may have been moved
        """
        version = self._scorer.version
        if version == self._scored:
            return False
        cursor = None
        while not self._ending.is_set():
            began = uptime()
            walked = await self._backend.scan_queues(cursor, STRETCH)
            changed = await self._changed(walked.entries)
            worked = uptime() - began
            if changed:
                # An entry that its key does not know yet could be offered to it at a position that it has left.
                await self._drain()
                began = uptime()
                for first in range(0, len(changed), MOVED_AT_ONCE):
                    await self._mover.change_levels(changed[first : first + MOVED_AT_ONCE])
                worked += uptime() - began
            if (cursor := walked.cursor) is None:
                self._scored = version
                break
            await self._pause(worked * (1 / self._share - 1) if self._share else 0.0)
        return True

    async def _changed(self, entries: Sequence[UrlEntry]) -> list[Move]:
        """Return moves for those that have another level now."""
        changed: list[Move] = []
        pages = [entry for entry in entries if entry.kind != Kind.ROBOTS]
        for first in range(0, len(pages), SCORED_AT_ONCE):
            part = pages[first : first + SCORED_AT_ONCE]
            levels = self._order.levels(part)
            changed += [
                Move(entry, level) for entry, level in zip(part, levels, strict=True) if level != entry.level
            ]
            await asyncio.sleep(0)
        return changed

    async def _run(self) -> None:
        while not self._ending.is_set():
            try:
                await self.rescore_queues()
                await self._pause(CHECK_SECONDS)
            except StorageFull:
                await self._pause(FULL_SECONDS)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ending.wait(), seconds)
