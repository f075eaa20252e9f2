"""The trust in the hints of sites in a file of its own in the JOBDIR, ``hints.db``: about 500 bytes for each site
that gives hints."""

from __future__ import annotations

from pathlib import Path

from webcrawl.errors import StorageLost
from webcrawl.features.hints.trust import Trust
from webcrawl.storage.sqlite.file import SqliteFile

NAME = "hints.db"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS trust (
    key     TEXT PRIMARY KEY,       -- politeness key
    said    TEXT NOT NULL           -- JSON, as hints.trust writes it
) WITHOUT ROWID
"""


class SqliteTrust:
    """A store on a thread of its own. Trust lost in a power cut is learnt anew, so no write waits for the disk."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._file = SqliteFile(self._path, _SCHEMA, "OFF", "the crawl goes on, and trusts all sites alike")

    async def open(self) -> None:
        """:raises JobdirDamaged: the file is no such database"""
        await self._file.open()

    async def load(self, key: str) -> Trust:
        statement = "SELECT said FROM trust WHERE key = ?"
        row = await self._file.step(lambda connection: connection.execute(statement, (key,)).fetchone())
        try:
            return Trust() if row is None else Trust.of(row[0])
        except ValueError as error:
            raise StorageLost(f"{self._path}: {error}") from error

    async def save(self, key: str, trust: Trust) -> None:
        row = key, trust.text()
        statement = "INSERT OR REPLACE INTO trust VALUES (?, ?)"
        await self._file.step(lambda connection: connection.execute(statement, row))

    async def close(self) -> None:
        await self._file.close()
