"""The archive behind a thread of its own: compression, digests and fdatasync never hold the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from webcrawl.archive.capture import Entry
from webcrawl.archive.repair import RepairReport


class Archive(Protocol):
    """``webcrawl.archive.store.Archive``, or one that is kept by a process of its own; calls wait."""

    wants_links: bool
    wants_fields: bool

    def open(self) -> RepairReport: ...

    def append(self, entries: Sequence[Entry]) -> None: ...

    def close(self) -> None: ...


class ArchiveThread:
    """The ``Store`` of the committer on an ``Archive``."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self.wants_links = archive.wants_links
        """Whether a store wants the links of pages, in ``Entry.links``."""
        self.wants_fields = archive.wants_fields
        """Whether a store wants what processing finds in pages, in ``Entry.fields``."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="archive")

    async def open(self) -> RepairReport:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._archive.open)

    async def append(self, entries: Sequence[Entry]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._archive.append, entries)
        for entry in entries:
            if entry.kept is not None:
                entry.kept()

    async def close(self) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._archive.close)
        finally:
            self._thread.shutdown()
