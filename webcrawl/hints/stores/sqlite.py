"""The trust in sites in a file of its own in the JOBDIR, ``hints.db``: some 500 bytes for each that makes claims."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from webcrawl.errors import JobdirDamaged, StorageFull, StorageLost
from webcrawl.hints.trust import Trust

NAME = "hints.db"

_T = TypeVar("_T")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS trust (
    key     TEXT PRIMARY KEY,       -- politeness key
    said    TEXT NOT NULL           -- JSON, as hints.trust writes it
) WITHOUT ROWID
"""
_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}


class SqliteTrust:
    """On a thread of its own. What a power cut takes is learnt anew, so nothing waits for the disk."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hints")
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        """:raises JobdirDamaged: the file is no such database"""
        try:
            await self._do(self._open)
        except StorageLost as error:
            raise JobdirDamaged(
                f"{error}; without it the crawl goes on, and trusts all sites alike"
            ) from error

    def _open(self) -> None:
        self._connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute(_SCHEMA)

    async def load(self, key: str) -> Trust:
        row = await self._do(
            lambda: self._connected().execute("SELECT said FROM trust WHERE key = ?", (key,)).fetchone()
        )
        try:
            return Trust() if row is None else Trust.of(row[0])
        except ValueError as error:
            raise StorageLost(f"{self._path}: {error}") from error

    async def save(self, key: str, trust: Trust) -> None:
        row = key, trust.text()
        await self._do(lambda: self._connected().execute("INSERT OR REPLACE INTO trust VALUES (?, ?)", row))

    async def close(self) -> None:
        await self._do(self._close)
        self._thread.shutdown()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> sqlite3.Connection:
        assert self._connection is not None
        return self._connection

    async def _do(self, step: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._translated, step)

    def _translated(self, step: Callable[[], _T]) -> _T:
        try:
            return step()
        except sqlite3.DatabaseError as error:
            if (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _FULL:
                raise StorageFull(f"{self._path}: {error}") from error
            raise StorageLost(f"{self._path} cannot be used: {error}") from error
