"""The one place where changes become durable: archive first, then state, in groups.

Changes are collected while a commit is under way and go together in the next one, so that they share the cost of a
commit. Groups have a limit, or the whole crawl would fetch and store in turn. A full disk stops the committer without
filling the memory: the group is kept and tried again, and since the frontier counts results that are not durable as
open, no new requests start meanwhile.

The archive has a thread of its own: compression, digests and fdatasync never block the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from webcrawl.archive.capture import ArchiveEntry
from webcrawl.archive.repair import RepairReport
from webcrawl.frontier.policies import FrontierLimits
from webcrawl.frontier.records import UrlEntry
from webcrawl.frontier.storage_retry import StorageRetry
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.storage.contract import Backend, Batch, Committed, Counted, Settled

GROUP_BYTES = 16 << 20
"""The bytes of bodies with which a group is full: data for the archive is in memory more than once on its way."""


class Store(Protocol):
    """The store of pages and of the fetch log. ``append`` returns when everything given to it is durable."""

    async def append(self, entries: Sequence[ArchiveEntry]) -> None:
        """:raises StorageFull: nothing was written; the same entries may be given again."""
        ...


@dataclass(slots=True)
class FrontierChange:
    """The changes of one event; a part of a group."""

    discovered: list[UrlEntry] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)
    robots: list[RobotsRecord] = field(default_factory=list)
    host: HostRecord | None = None
    entry: ArchiveEntry | None = None
    archived: Callable[[], None] | None = None
    """Called when ``entry``, if there is one, is in the archive: its body is not needed from then on."""
    then: Callable[[], object] | None = None
    """Called when it is durable."""


class Committer:
    """Takes changes from the event loop and makes them durable, in the order they came."""

    def __init__(
        self,
        backend: Backend,
        store: Store | None,
        committed: Callable[[Committed | None], None],
        failed: Callable[[BaseException], None],
        limits: FrontierLimits,
        retry: StorageRetry,
        clock: Callable[[], float],
        drained: Callable[[], None] = lambda: None,
        counted: Callable[[], Counted | None] = lambda: None,
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """``committed`` is called when a group is durable, with None if it changed nothing of the state; ``drained``
        when nothing is left to do, which may be the last thing a crawl waits for. ``counted`` returns what this
        process has counted, for each commit. ``prepare`` stores what must be durable before the states of URLs
        are."""
        self._backend = backend
        self._store = store
        self._committed = committed
        self._failed = failed
        self.set_limits(limits)
        self._pending: list[FrontierChange] = []
        self._broken = False
        self._task: asyncio.Task[None] | None = None
        self._waiting: list[asyncio.Event] = []
        self.busy = False
        """True if anything is not yet durable."""
        self.archiving = 0
        """The number of pages and log lines that are being written to the archive."""
        self._committing = 0
        self._retry = retry
        self._clock = clock
        self._drained = drained
        self._counted = counted
        self._prepare = prepare

    @property
    def committing(self) -> int:
        """The number of changes on their way to the backend."""
        return self._committing + len(self._pending)

    def set_limits(self, limits: FrontierLimits) -> None:
        """Apply other limits."""
        self._interval = limits.commit_interval_seconds
        self._group_max = limits.group_max

    def add(self, change: FrontierChange) -> None:
        if self._broken:
            return
        self._pending.append(change)
        self.busy = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def drain(self) -> bool:
        """Wait until all changes so far are durable. Returns False if they cannot become durable."""
        if self.busy:
            reached = asyncio.Event()
            self._waiting.append(reached)
            self.add(FrontierChange(then=reached.set))
            try:
                await reached.wait()
            finally:
                self._waiting.remove(reached)
        return not self._broken

    async def _run(self) -> None:
        committing: asyncio.Task[None] | None = None
        try:
            while self._pending or committing is not None:
                if self._pending:
                    group = self._next_group()
                    await self._archive(group)
                    if committing is not None:
                        await committing
                    self._committing = len(group)
                    committing = asyncio.get_running_loop().create_task(self._commit(group))
                if len(self._pending) >= self._group_max:
                    continue
                if self._pending:
                    await asyncio.sleep(self._interval)
                elif committing is not None:
                    await committing
                    committing = None
        except Exception as error:
            # The crawl ends if its state cannot be kept: report it to the code that can end it.
            self._broken = True
            if committing is not None:
                # The group before may still wait for room, or have failed too: nothing will await it again.
                committing.cancel()
                await asyncio.gather(committing, return_exceptions=True)
            for reached in self._waiting:
                reached.set()
            self._failed(error)
        self.busy = False
        self._drained()

    def _next_group(self) -> list[FrontierChange]:
        """Take pending changes that may become durable together."""
        size = number = 0
        while number < min(len(self._pending), self._group_max) and size < GROUP_BYTES:
            entry = self._pending[number].entry
            if entry is not None and entry.capture is not None:
                size += len(entry.capture.payload)
            number += 1
        group, self._pending = self._pending[:number], self._pending[number:]
        return group

    async def _archive(self, group: list[FrontierChange]) -> None:
        entries = [change.entry for change in group if change.entry is not None]
        if entries and self._store is not None:
            store = self._store
            self.archiving = len(entries)
            await self._retry.with_retry(lambda: store.append(entries))
            self.archiving = 0
        for change in group:
            change.entry = None
            if change.archived is not None:
                change.archived()

    async def _commit(self, group: list[FrontierChange]) -> None:
        """Settle the URLs of a group, whose pages are durable. The next group is archived meanwhile."""
        if self._prepare is not None:
            await self._retry.with_retry(self._prepare)
        batch = Batch(at=self._clock(), counted=self._counted())
        hosts: dict[str, HostRecord] = {}
        for change in group:
            batch.discovered += change.discovered
            batch.settled += change.settled
            batch.robots += change.robots
            if change.host is not None:
                hosts[change.host.key] = change.host
        batch.hosts = list(hosts.values())
        committed = await self._retry.with_retry(lambda: self._backend.commit(batch)) if batch else None
        if committed is not None:
            again = sum(result.again is not None for result in batch.settled)
            committed.offered = len(batch.discovered) + again
        for change in group:
            if change.then is not None:
                change.then()
        self._committing = 0
        self._committed(committed)


class BlockingArchive(Protocol):
    """``webcrawl.archive.store.Archive``, or one in a process of its own; its calls block."""

    wants_links: bool
    wants_fields: bool
    bytes_written: int

    def open(self) -> RepairReport: ...

    def append(self, entries: Sequence[ArchiveEntry]) -> None: ...

    def close(self) -> None: ...


class ArchiveThread:
    """The ``Store`` of the committer on a ``BlockingArchive``."""

    def __init__(self, archive: BlockingArchive) -> None:
        self._archive = archive
        self.wants_links = archive.wants_links
        """True if a store wants the links of pages, in ``ArchiveEntry.links``."""
        self.wants_fields = archive.wants_fields
        """True if a store wants the fields that processing finds in pages, in ``ArchiveEntry.fields``."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="archive")

    @property
    def bytes_written(self) -> int:
        """Bytes written since it was opened."""
        return self._archive.bytes_written

    async def open(self) -> RepairReport:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._archive.open)

    async def append(self, entries: Sequence[ArchiveEntry]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._archive.append, entries)
        for entry in entries:
            if entry.kept is not None:
                entry.kept()

    async def close(self) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._archive.close)
        finally:
            self._thread.shutdown()
