"""A frontier on a stage: time, disk and event loop do only what the test says, and nothing is left to chance.

The store's thread is replaced by the loop's own turns, so a run is the same each time it is played.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

from webcrawl.errors import StorageFull

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from webcrawl.archive.capture import ArchiveEntry
    from webcrawl.frontier.order import LevelSampler
    from webcrawl.frontier.queue_head import QueuePosition
    from webcrawl.frontier.records import UrlRecord
    from webcrawl.politeness.host_record import HostRecord, RobotsRecord
    from webcrawl.storage.contract import (
        Activated,
        Backend,
        Batch,
        Committed,
        Counts,
        Idle,
        Loaded,
        Move,
        ScanCursor,
        ScanResult,
        Unavailable,
    )

PATIENT_TURNS = 3000
"""After so many turns of the loop without coming to rest something runs in circles."""


class Clock:
    """Epoch seconds that pass when they are told to."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class AtOnce(Executor):
    """Takes the place of a thread: what it is given is done before the caller goes on."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


class Loop:
    """An event loop that takes turns one by one."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call what is no coroutine but needs a running loop."""

        async def calling() -> Any:
            return function(*args)

        return self.run(calling())

    def turn(self, turns: int) -> None:
        async def turning() -> None:
            for _ in range(turns):
                await asyncio.sleep(0)

        self.run(turning())

    def settle_down(self, enough: Callable[[], bool]) -> None:
        """Take turns until nothing is under way, or only what waits for something outside (``enough``)."""

        async def settling() -> None:
            for _ in range(PATIENT_TURNS):
                if len(asyncio.all_tasks()) == 1 or enough():
                    return
                await asyncio.sleep(0)
            raise AssertionError(f"the frontier does not come to rest: {asyncio.all_tasks()}")

        self.run(settling())

    def kill(self) -> None:
        """End everything that is under way where it stands: not a step more of it is taken."""
        tasks = asyncio.all_tasks(self.runner.get_loop())
        for task in tasks:
            task.cancel()

        async def ending() -> None:
            await asyncio.gather(*tasks, return_exceptions=True)

        self.run(ending())

    def close(self) -> None:
        self.runner.close()


class Disk:
    """Where the archive and the state live: full or not."""

    def __init__(self) -> None:
        self.archive_full = False
        self.state_full = False
        self.archived: list[ArchiveEntry] = []

    @property
    def full(self) -> bool:
        return self.archive_full or self.state_full

    async def append(self, entries: Sequence[ArchiveEntry]) -> None:
        """As the archive's store does it."""
        await asyncio.sleep(0)
        if self.archive_full:
            raise StorageFull("no room for pages")
        self.archived += entries
        await asyncio.sleep(0)


class Slow:
    """A backend that takes its time, and finds no room when the disk is full."""

    def __init__(self, backend: Backend, disk: Disk) -> None:
        self._backend = backend
        self._disk = disk

    async def _do(self, work: Callable[[], Coroutine[Any, Any, Any]], *, writes: bool = True) -> Any:
        await asyncio.sleep(0)
        if writes and self._disk.state_full:
            raise StorageFull("no room for state")
        return await work()

    async def open(self, now: float) -> Counts:
        return await self._backend.open(now)

    async def close(self) -> None:
        await self._backend.close()

    async def activate_keys(self, count: int, now: float, sampler: LevelSampler) -> list[Activated]:
        activated = await self._do(lambda: self._backend.activate_keys(count, now, sampler))
        await asyncio.sleep(0)
        return activated

    async def acquire_key(self, key: str, now: float, *, given_up: bool = False) -> Activated | Unavailable:
        found = await self._do(lambda: self._backend.acquire_key(key, now, given_up=given_up))
        await asyncio.sleep(0)
        return found

    async def read_queue(self, key: str, after: QueuePosition | None, count: int) -> Loaded:
        loaded = await self._do(lambda: self._backend.read_queue(key, after, count), writes=False)
        await asyncio.sleep(0)
        return loaded

    async def scan_queues(self, cursor: ScanCursor | None, count: int) -> ScanResult:
        walked = await self._do(lambda: self._backend.scan_queues(cursor, count), writes=False)
        await asyncio.sleep(0)
        return walked

    async def change_levels(self, moves: Sequence[Move]) -> list[Move]:
        moved = await self._do(lambda: self._backend.change_levels(moves))
        await asyncio.sleep(0)
        return moved

    async def commit(self, batch: Batch) -> Committed:
        committed = await self._do(lambda: self._backend.commit(batch))
        await asyncio.sleep(0)
        return committed

    async def release_keys(self, records: Sequence[HostRecord]) -> None:
        await self._do(lambda: self._backend.release_keys(records))
        await asyncio.sleep(0)

    async def end_robots_wait(self, keys: Sequence[str]) -> None:
        await self._do(lambda: self._backend.end_robots_wait(keys))
        await asyncio.sleep(0)

    async def read_idle_times(self) -> Idle:
        return await self._do(lambda: self._backend.read_idle_times(), writes=False)

    async def read_counts(self) -> Counts:
        return await self._do(lambda: self._backend.read_counts(), writes=False)

    async def read_robots(self, origin: str, key: str) -> RobotsRecord | None:
        return await self._do(lambda: self._backend.read_robots(origin, key), writes=False)

    async def url_record(self, key: str, fingerprint: int) -> UrlRecord | None:
        return await self._do(lambda: self._backend.url_record(key, fingerprint), writes=False)
