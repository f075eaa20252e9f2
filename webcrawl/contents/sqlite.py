"""The content-seen test in a file of its own, ``contents.db``: some 100 bytes a page."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from webcrawl.contents.seen import Body, Met, Original
from webcrawl.errors import JobdirDamaged, StorageFull

NAME = "contents.db"

_T = TypeVar("_T")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS originals (
    digest BLOB PRIMARY KEY, url TEXT NOT NULL, at REAL NOT NULL, payload BLOB NOT NULL, kept INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (page INTEGER PRIMARY KEY, digest BLOB NOT NULL);
"""
_PUT = "INSERT OR REPLACE INTO originals VALUES (?, ?, ?, ?, ?)"
_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}


class SqliteContents:
    """A ``ContentStore`` in ``folder``, on a thread of its own.

    What a power cut takes away of it is met as new again, so nothing waits for the disk.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="contents")
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        """:raises JobdirDamaged: the file is no such database"""
        await self._do(self._open)

    async def meet(self, bodies: Sequence[Body]) -> list[Met]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._meet, bodies)

    async def keep(self, bodies: Sequence[Body]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._keep, bodies)

    async def close(self) -> None:
        await self._do(self._close)
        self._thread.shutdown()

    async def _do(self, step: object) -> None:
        assert callable(step)
        await asyncio.get_running_loop().run_in_executor(self._thread, step)

    def _open(self) -> None:
        try:
            self._connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = OFF")
            self._connection.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise JobdirDamaged(
                f"{self._path} cannot be used: {error}; without it the crawl goes on and meets all pages as new"
            ) from error

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _meet(self, bodies: Sequence[Body]) -> list[Met]:
        return self._in_one_step(lambda connection: [_met(connection, body) for body in bodies])

    def _keep(self, bodies: Sequence[Body]) -> None:
        rows = [(body.digest, body.url, body.at, body.payload, 1) for body in bodies]
        self._in_one_step(lambda connection: connection.executemany(_PUT, rows))

    def _in_one_step(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        connection = self._connection
        assert connection is not None
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                done = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as error:
            if (error.sqlite_errorcode & 0xFF) in _FULL:
                raise StorageFull(f"{self._path}: {error}") from error
            raise
        return done


def _met(connection: sqlite3.Connection, body: Body) -> Met:
    changed = None if body.page is None else _changed(connection, body)
    row = connection.execute(
        "SELECT url, at, payload, kept FROM originals WHERE digest = ?", (body.digest,)
    ).fetchone()
    if row is None or (row[0] == body.url and not row[3]):
        connection.execute(_PUT, (body.digest, body.url, body.at, body.payload, 0))
        return Met(changed=changed, first=True)
    url, at, payload, kept = row
    place = Original(url, at)
    return Met(
        None if url == body.url else place, changed, place if kept and payload == body.payload else None
    )


def _changed(connection: sqlite3.Connection, body: Body) -> bool | None:
    last = connection.execute("SELECT digest FROM pages WHERE page = ?", (body.page,)).fetchone()
    if last is not None and last[0] == body.digest:
        return False
    connection.execute("INSERT OR REPLACE INTO pages VALUES (?, ?)", (body.page, body.digest))
    return None if last is None else True
