"""Retries of storage steps: a step that fails since a disk is full or Redis is away is repeated until it succeeds.
The module also keeps tasks that run on the event loop beside calls of the frontier."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from webcrawl.errors import StorageAway, StorageFull

_T = TypeVar("_T")

RETRY_SECONDS = 2.0
"""Time to wait after a full disk before the same step is tried again."""

AWAY_SECONDS = (0.1, 2.0)
"""Time to wait for a storage that is away: at first, and at most."""

logger = logging.getLogger(__name__)


class StorageRetry:
    """Repeats steps that found no room, or no storage. Logs once that it waits, and once that it goes on."""

    def __init__(self) -> None:
        self._waiting = 0
        self._away = 0
        self._full = StorageFull.shown

    @property
    def stalled(self) -> str | None:
        """The reason why nothing can be made durable at the moment, in words; None if all is well."""
        if self._away:
            return StorageAway.shown
        return self._full if self._waiting else None

    @property
    def away(self) -> bool:
        """True if the storage cannot be reached: leases there may end unnoticed."""
        return self._away > 0

    async def with_retry(self, step: Callable[[], Awaitable[_T]]) -> _T:
        """Repeat ``step`` until it does not raise StorageFull."""
        waits: StorageFull | None = None
        pause = AWAY_SECONDS[0]
        try:
            while True:
                try:
                    done = await step()
                except StorageFull as error:
                    waits = self._wait(waits, error)
                    if not isinstance(error, StorageAway):
                        await asyncio.sleep(RETRY_SECONDS)
                        continue
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, AWAY_SECONDS[1])
                else:
                    return done
        finally:
            if waits is not None:
                self._go_on(waits)

    def _wait(self, before: StorageFull | None, error: StorageFull) -> StorageFull:
        if not isinstance(error, StorageAway):
            self._full = error.shown
        if before is None:
            self._waiting += 1
            self._away += isinstance(error, StorageAway)
            if self._waiting == 1:
                logger.warning("%s: %s", _PAUSE[isinstance(error, StorageAway)], error)
            return error
        if isinstance(before, StorageAway) is not isinstance(error, StorageAway):
            self._away += 1 if isinstance(error, StorageAway) else -1
            return error
        return before

    def _go_on(self, waited: StorageFull) -> None:
        self._waiting -= 1
        self._away -= isinstance(waited, StorageAway)
        if not self._waiting:
            logger.warning("%s", _GO_ON[isinstance(waited, StorageAway)])


_PAUSE = {
    False: "No room left, the crawl pauses until there is",
    True: "The storage is away, the crawl pauses until it is back",
}
_GO_ON = {False: "There is room again, the crawl goes on", True: "The storage is back, the crawl goes on"}


class Tasks:
    """Starts work and keeps it until its end; ``broken`` is called with its error, so that none is lost."""

    def __init__(
        self, broken: Callable[[BaseException], None], ended: Callable[[], None] = lambda: None
    ) -> None:
        """``ended`` is called after each."""
        self._broken = broken
        self._ended = ended
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """Number of tasks under way."""
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finish)

    async def all_ended(self) -> None:
        """Wait for all tasks, including those that are started meanwhile."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._broken(error)
        self._ended()
