"""A SQLite database in the JOBDIR beside the frontier's: one connection, on a thread of its own."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, TypeVar

from webcrawl.errors import JobdirDamaged, StorageAway, StorageFull, StorageLost

_T = TypeVar("_T")

_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
"""Another program uses the file."""


class SqliteFile:
    """Steps on one database, each a transaction, one after the other. Others may read the file meanwhile."""

    def __init__(
        self, path: Path, schema: str, synchronous: Literal["OFF", "NORMAL", "FULL"], without: str
    ) -> None:
        """``schema``: statements that create missing tables. ``synchronous``: SQLite's PRAGMA synchronous, which
        decides what a power cut may lose. ``without``: how the crawl would go on without this file, for error
        messages."""
        self._path = path
        self._schema = schema
        self._synchronous = synchronous
        self._without = without
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=path.stem)
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        """:raises JobdirDamaged: the file is no such database"""
        await self._do(self._open)

    async def close(self) -> None:
        await self._do(self._close)
        self._thread.shutdown()

    async def step(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do ``work`` wholly or not at all.

        :raises StorageFull: nothing was changed, and it may be tried again.
        :raises StorageLost: waiting does not help
        """
        return await self._do(lambda: self._in_one_step(work))

    async def _do(self, step: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, step)

    def _open(self) -> None:
        try:
            self._connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            self._connection.executescript(self._schema)
        except sqlite3.DatabaseError as error:
            raise JobdirDamaged(
                f"{self._path} cannot be used: {error}; without it {self._without}"
            ) from error

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _in_one_step(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        connection = self._connection
        assert connection is not None
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                done = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in _FULL:
                raise StorageFull(f"{self._path}: {error}") from error
            if code in _LOCKED:
                raise StorageAway(f"{self._path}: {error}") from error
            raise StorageLost(f"{self._path} cannot be used: {error}") from error
        return done
