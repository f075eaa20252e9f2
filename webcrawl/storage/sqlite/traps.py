"""The quarantine in a file of its own in the JOBDIR, which commands read and write while the crawl runs.

Unlike the frontier's file it is not in WAL mode: two processes write it, seldom and little.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

from webcrawl.errors import JobdirUnusable
from webcrawl.features.traps.quarantine import Kept, Trap, Withheld
from webcrawl.features.traps.store import pack_trap, unpack_trap

if TYPE_CHECKING:
    from pathlib import Path

_T = TypeVar("_T")

NAME = "traps.db"
PATIENCE_SECONDS = 10.0
"""Time to wait for another process that has the file."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS traps (
    pattern     TEXT PRIMARY KEY,
    said        TEXT NOT NULL,                  -- JSON, as traps.store.pack_trap makes it
    since       REAL NOT NULL,                  -- epoch seconds
    withheld    INTEGER NOT NULL DEFAULT 0,     -- URLs in all
    released_at REAL                            -- epoch seconds; NULL while it is in quarantine
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS withheld (
    pattern     TEXT NOT NULL,
    url         TEXT NOT NULL,
    depth       INTEGER NOT NULL,
    via         TEXT,
    PRIMARY KEY (pattern, url)
) WITHOUT ROWID;
"""


class SqliteTraps:
    """A store of traps. Each step opens the file anew, on a thread, and is a transaction. The file is created with
    the first entry."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME

    async def version(self) -> str:
        return await self._read(_version, "")

    async def traps(self) -> list[Trap]:
        return await self._read(_traps, [])

    async def add(self, traps: Sequence[Trap]) -> None:
        rows = [(trap.pattern, pack_trap(trap), trap.since) for trap in traps]
        statement = "INSERT OR IGNORE INTO traps (pattern, said, since) VALUES (?, ?, ?)"
        if rows:
            await self._write(lambda connection: connection.executemany(statement, rows))

    async def withhold(self, kept: Mapping[str, Kept], most: int) -> None:
        if kept:
            await self._write(lambda connection: _withhold(connection, kept, most))

    async def release(self, patterns: Sequence[str], now: float) -> None:
        statement = "UPDATE traps SET released_at = ? WHERE pattern = ? AND released_at IS NULL"
        rows = [(now, pattern) for pattern in patterns]
        await self._write(lambda connection: connection.executemany(statement, rows))

    async def owed(self, pattern: str, most: int) -> list[Withheld]:
        statement = "SELECT url, depth, via FROM withheld WHERE pattern = ? LIMIT ?"

        def step(connection: sqlite3.Connection) -> list[Withheld]:
            if not _is_made(connection):
                return []
            return [Withheld(*row) for row in connection.execute(statement, (pattern, most))]

        return await self._read(step, [])

    async def requeued(self, pattern: str, urls: Sequence[str]) -> None:
        rows = [(pattern, url) for url in urls]
        statement = "DELETE FROM withheld WHERE pattern = ? AND url = ?"
        await self._write(lambda connection: connection.executemany(statement, rows))

    async def claim(self, who: str, seconds: float) -> bool:
        # Only the process that has the JOBDIR gets here.
        return True

    async def _read(self, step: Callable[[sqlite3.Connection], _T], nothing: _T) -> _T:
        def work() -> _T:
            return self._done(step) if self._path.exists() else nothing

        return await asyncio.to_thread(work)

    async def _write(self, step: Callable[[sqlite3.Connection], object]) -> None:
        await asyncio.to_thread(lambda: self._done(step, _SCHEMA))

    def _done(self, step: Callable[[sqlite3.Connection], _T], schema: str = "") -> _T:
        try:
            with closing(sqlite3.connect(self._path, timeout=PATIENCE_SECONDS)) as connection:
                if schema:
                    connection.executescript(schema)
                with connection:
                    return step(connection)
        except (sqlite3.Error, ValueError) as error:
            raise JobdirUnusable(f"{self._path} cannot be used: {error}") from error


def _version(connection: sqlite3.Connection) -> str:
    if not _is_made(connection):
        return ""
    count, released = connection.execute("SELECT count(*), count(released_at) FROM traps").fetchone()
    return f"{count} {released}"


def _traps(connection: sqlite3.Connection) -> list[Trap]:
    if not _is_made(connection):
        return []
    found = []
    statement = "SELECT said, withheld, released_at FROM traps ORDER BY since, pattern"
    for said, withheld, released_at in connection.execute(statement):
        trap = unpack_trap(said, withheld)
        found.append(trap if released_at is None else _released(trap, released_at))
    return found


def _withhold(connection: sqlite3.Connection, kept: Mapping[str, Kept], most: int) -> None:
    for pattern, one in kept.items():
        connection.execute("UPDATE traps SET withheld = withheld + ? WHERE pattern = ?", (one.count, pattern))
        [known] = connection.execute("SELECT count(*) FROM withheld WHERE pattern = ?", (pattern,)).fetchone()
        rows = [(pattern, url.url, url.depth, url.via) for url in one.urls[: max(most - known, 0)]]
        connection.executemany("INSERT OR IGNORE INTO withheld VALUES (?, ?, ?, ?)", rows)


def _released(trap: Trap, at: float) -> Trap:
    return Trap(trap.pattern, trap.why, trap.since, trap.looked, trap.samples, at, trap.withheld)


def _is_made(connection: sqlite3.Connection) -> bool:
    """Return True if both tables exist: the file may be there before its tables."""
    found = connection.execute("SELECT count(*) FROM sqlite_master WHERE name IN ('traps', 'withheld')")
    return bool(found.fetchone()[0] == 2)
