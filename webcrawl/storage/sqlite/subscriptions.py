"""WebSub subscriptions in a file of their own in the JOBDIR, ``websub.db``, on a thread of its own."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from webcrawl.errors import JobdirUnusable, StorageLost
from webcrawl.features.websub.store import KEY_BYTES, pack, unpack
from webcrawl.features.websub.subscription import Subscription
from webcrawl.storage.sqlite.file import SqliteFile

NAME = "websub.db"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS subscriptions (
    token   TEXT PRIMARY KEY,       -- the last part of the callback URL
    topic   TEXT NOT NULL,
    key     TEXT NOT NULL,          -- politeness key of the topic
    due_at  REAL NOT NULL,          -- epoch seconds
    said    TEXT NOT NULL           -- JSON, as websub.store.pack makes it
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_topic ON subscriptions (topic);
CREATE INDEX IF NOT EXISTS by_key ON subscriptions (key);
CREATE INDEX IF NOT EXISTS by_time ON subscriptions (due_at);
CREATE TABLE IF NOT EXISTS own (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""
_COUNTED = "SELECT count(*) FROM subscriptions"


def listed(folder: Path) -> list[Subscription]:
    """Return all subscriptions in ``folder``, perhaps of a crawl that runs. :raises JobdirUnusable: it cannot be
    read"""
    path = folder / NAME
    if not path.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return [unpack(said) for (said,) in connection.execute("SELECT said FROM subscriptions")]
    except (sqlite3.Error, ValueError) as error:
        raise JobdirUnusable(f"{path} cannot be read: {error}") from error


class SqliteSubscriptions:
    """A store of subscriptions. Each step is a transaction, kept across the death of the process."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._file = SqliteFile(self._path, _SCHEMA, "NORMAL", "the crawl goes on, and subscribes anew")

    async def open(self) -> None:
        """:raises JobdirDamaged: the file is no such database"""
        await self._file.open()
        await self._done("INSERT OR IGNORE INTO own VALUES ('key', ?)", secrets.token_bytes(KEY_BYTES))

    async def key(self) -> bytes:
        [(key,)] = await self._asked("SELECT value FROM own WHERE name = 'key'")
        return bytes(key)  # type: ignore[call-overload, no-any-return]

    async def get(self, token: str) -> Subscription | None:
        found = await self._found("WHERE token = ?", token)
        return found[0] if found else None

    async def of_topics(self, topics: Sequence[str]) -> list[Subscription]:
        return await self._found("WHERE topic IN (SELECT value FROM json_each(?))", json.dumps(topics))

    async def due(self, now: float, most: int) -> list[Subscription]:
        return await self._found("WHERE due_at <= ? ORDER BY due_at, token LIMIT ?", now, most)

    async def some(self, after: str, most: int) -> list[Subscription]:
        return await self._found("WHERE token > ? ORDER BY token LIMIT ?", after, most)

    async def count(self, key: str | None = None) -> int:
        of_key = () if key is None else (key,)
        [(count,)] = await self._asked(_COUNTED + " WHERE key = ?" * bool(of_key), *of_key)
        return int(count)  # type: ignore[call-overload, no-any-return]

    async def change(self, before: Subscription | None, after: Subscription | None) -> bool:
        if before is None:
            assert after is not None
            statement = "INSERT OR IGNORE INTO subscriptions VALUES (?, ?, ?, ?, ?)"
            values: tuple[object, ...] = (after.token, after.topic, after.key, after.due_at, pack(after))
        elif after is None:
            statement = "DELETE FROM subscriptions WHERE token = ? AND said = ?"
            values = (before.token, pack(before))
        else:
            statement = "UPDATE subscriptions SET due_at = ?, said = ? WHERE token = ? AND said = ?"
            values = (after.due_at, pack(after), before.token, pack(before))
        return await self._done(statement, *values) == 1

    async def close(self) -> None:
        await self._file.close()

    async def _found(self, which: str, *values: object) -> list[Subscription]:
        rows = await self._asked(f"SELECT said FROM subscriptions {which}", *values)
        try:
            return [unpack(str(said)) for (said,) in rows]
        except ValueError as error:
            raise StorageLost(f"{self._path}: {error}") from error

    async def _asked(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        return await self._file.step(lambda connection: connection.execute(statement, values).fetchall())

    async def _done(self, statement: str, *values: object) -> int:
        """Execute a statement. Returns the number of rows changed."""
        return await self._file.step(lambda connection: connection.execute(statement, values).rowcount)
