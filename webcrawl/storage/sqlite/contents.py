"""The content-seen test in a file of its own, ``contents.db``: about 100 bytes a page."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from webcrawl.features.content_seen.content_seen import Body, ContentLookup, Original
from webcrawl.storage.sqlite.file import SqliteFile

NAME = "contents.db"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS originals (
    digest BLOB PRIMARY KEY, url TEXT NOT NULL, at REAL NOT NULL, payload BLOB NOT NULL, kept INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (page INTEGER PRIMARY KEY, digest BLOB NOT NULL);
"""
_PUT = "INSERT OR REPLACE INTO originals VALUES (?, ?, ?, ?, ?)"


class SqliteContents:
    """A ``ContentStore`` in ``folder``, on a thread of its own.

    Pages lost in a power cut count as new again, so no write waits for the disk.
    """

    def __init__(self, folder: Path) -> None:
        self._file = SqliteFile(folder / NAME, _SCHEMA, "OFF", "the crawl goes on and meets all pages as new")

    async def open(self) -> None:
        """:raises JobdirDamaged: the file is no such database"""
        await self._file.open()

    async def check_and_add(self, bodies: Sequence[Body]) -> list[ContentLookup]:
        return await self._file.step(lambda connection: [_met(connection, body) for body in bodies])

    async def keep(self, bodies: Sequence[Body]) -> None:
        rows = [(body.digest, body.url, body.at, body.payload, 1) for body in bodies]
        await self._file.step(lambda connection: connection.executemany(_PUT, rows))

    async def close(self) -> None:
        await self._file.close()


def _met(connection: sqlite3.Connection, body: Body) -> ContentLookup:
    changed = None if body.page is None else _changed(connection, body)
    row = connection.execute(
        "SELECT url, at, payload, kept FROM originals WHERE digest = ?", (body.digest,)
    ).fetchone()
    if row is None or (row[0] == body.url and not row[3]):
        connection.execute(_PUT, (body.digest, body.url, body.at, body.payload, 0))
        return ContentLookup(changed=changed, first=True)
    url, at, payload, kept = row
    place = Original(url, at)
    return ContentLookup(
        None if url == body.url else place, changed, place if kept and payload == body.payload else None
    )


def _changed(connection: sqlite3.Connection, body: Body) -> bool | None:
    last = connection.execute("SELECT digest FROM pages WHERE page = ?", (body.page,)).fetchone()
    if last is not None and last[0] == body.digest:
        return False
    connection.execute("INSERT OR REPLACE INTO pages VALUES (?, ?)", (body.page, body.digest))
    return None if last is None else True
