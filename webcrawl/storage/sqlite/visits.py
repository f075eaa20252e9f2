"""The pages to revisit in a file of its own in the JOBDIR, ``visits.db``, which others may read meanwhile."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from webcrawl.errors import JobdirUnusable
from webcrawl.features.revisits.estimate import History
from webcrawl.features.revisits.page import Page
from webcrawl.features.revisits.store import DOUBLINGS, DUE_COUNTED, DueKey, Hint, Lookup, RevisitStatus
from webcrawl.storage.sqlite.file import SqliteFile

if TYPE_CHECKING:
    from pathlib import Path

    from webcrawl.features.revisits.page import PageId

NAME = "visits.db"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS pages (
    key            TEXT NOT NULL,       -- politeness key
    fingerprint    INTEGER NOT NULL,    -- of the canonical form of the URL
    next_at        REAL NOT NULL,       -- epoch seconds of the next visit; of one that is out, when it is due again
    is_out         INTEGER NOT NULL,    -- 1: it was taken to be visited
    url            TEXT NOT NULL,
    history        TEXT NOT NULL,       -- JSON, as visits.history writes it
    digest         BLOB NOT NULL,       -- of the content that came last
    came_at        REAL NOT NULL,       -- epoch seconds when that was asked for
    etag           TEXT,
    last_modified  TEXT,
    kind           TEXT NOT NULL,
    depth          INTEGER NOT NULL,
    via            TEXT,
    payload        TEXT,                -- JSON of an ordinary Request
    gone           INTEGER NOT NULL,    -- visits in a row that found it gone
    failed         INTEGER NOT NULL,    -- visits in a row that failed or were refused
    PRIMARY KEY (key, fingerprint)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS pages_due ON pages (key, next_at);
CREATE INDEX IF NOT EXISTS pages_out ON pages (key, next_at) WHERE is_out = 1;
CREATE TABLE IF NOT EXISTS keys (
    key            TEXT PRIMARY KEY,
    at             REAL NOT NULL,       -- epoch seconds when pages of it may be taken
    untold         INTEGER NOT NULL     -- how often some were taken since something was heard of one
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS keys_due ON keys (at, key);
CREATE TABLE IF NOT EXISTS lessons (worker TEXT PRIMARY KEY, learnt TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS totals (pages INTEGER NOT NULL);
INSERT INTO totals SELECT 0 WHERE NOT EXISTS (SELECT * FROM totals);
CREATE TRIGGER IF NOT EXISTS one_more AFTER INSERT ON pages BEGIN UPDATE totals SET pages = pages + 1; END;
CREATE TRIGGER IF NOT EXISTS one_less AFTER DELETE ON pages BEGIN UPDATE totals SET pages = pages - 1; END;
"""
_COLUMNS = (
    "key, fingerprint, url, history, next_at, digest, came_at, "
    "etag, last_modified, kind, depth, via, payload, gone, failed"
)
_KEEP = f"""
INSERT INTO pages ({_COLUMNS}, is_out) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
ON CONFLICT (key, fingerprint) DO UPDATE SET
    url = excluded.url, history = excluded.history, next_at = excluded.next_at, digest = excluded.digest,
    came_at = excluded.came_at, etag = excluded.etag, last_modified = excluded.last_modified,
    kind = excluded.kind, depth = excluded.depth, via = excluded.via, payload = excluded.payload,
    gone = excluded.gone, failed = excluded.failed, is_out = 0
"""
_TOLD = """
UPDATE keys SET untold = 0 WHERE key = ? AND untold > 0
    AND EXISTS (SELECT 1 FROM pages WHERE key = keys.key AND fingerprint = ? AND is_out = 1)
"""
_ONE = f"SELECT {_COLUMNS} FROM pages WHERE key = ? AND fingerprint = ?"
_DUE = f"SELECT {_COLUMNS} FROM pages WHERE key = ? AND next_at <= ? ORDER BY next_at, fingerprint LIMIT ?"
_DUE_COUNT = """
SELECT count(*) FROM (
    SELECT 1 FROM (SELECT key FROM keys WHERE at <= ?1 UNION SELECT key FROM pages WHERE is_out = 1)
        JOIN pages USING (key) WHERE next_at <= ?1 LIMIT ?2
)
"""


class SqliteVisits:
    """A ``VisitStore`` in ``folder``, on a thread of its own. A page that was kept is on the disk."""

    def __init__(self, folder: Path) -> None:
        # The frontier marks a page done after this, and only pages stored here are revisited.
        without = "the crawl goes on, and what was fetched before is not visited again"
        self._file = SqliteFile(folder / NAME, _SCHEMA, "FULL", without)
        self._step = self._file.step

    async def open(self) -> None:
        """:raises JobdirDamaged: the file is no such database"""
        await self._file.open()

    async def close(self) -> None:
        await self._file.close()

    async def find(self, ids: Sequence[PageId]) -> list[Page | None]:
        return await self._step(lambda connection: [_find(connection, one) for one in ids])

    async def keep(self, pages: Sequence[Page], dropped: Sequence[PageId] = ()) -> None:
        await self._step(lambda connection: _keep(connection, pages, dropped))

    async def due_keys(self, now: float, most: int, after: DueKey | None = None) -> list[DueKey]:
        behind = after or (-1.0, "")
        statement = "SELECT at, key FROM keys WHERE at <= ? AND (at, key) > (?, ?) ORDER BY at, key LIMIT ?"

        def step(connection: sqlite3.Connection) -> list[DueKey]:
            return [DueKey(*row) for row in connection.execute(statement, (now, *behind, most))]

        return await self._step(step)

    async def take(self, keys: Sequence[str], now: float, seconds: float, most: int) -> list[Page]:
        def step(connection: sqlite3.Connection) -> list[Page]:
            return [page for key in keys for page in _take(connection, key, now, seconds, most)]

        return await self._step(step)

    async def hint(self, hints: Sequence[Hint]) -> list[bool]:
        return await self._step(lambda connection: _hint(connection, hints))

    async def learnt(self, worker: str, lessons: str) -> None:
        statement = "INSERT OR REPLACE INTO lessons VALUES (?, ?)"
        await self._step(lambda connection: connection.execute(statement, (worker, lessons)))

    async def lessons(self) -> dict[str, str]:
        return await self._step(
            lambda connection: dict(connection.execute("SELECT * FROM lessons").fetchall())
        )

    async def standing(self, now: float) -> RevisitStatus:
        return await self._step(lambda connection: standing(connection, now))


def looked_up(folder: Path, one: PageId) -> Lookup:
    """Look up a page in ``folder``, perhaps of a crawl that runs. :raises JobdirUnusable: it cannot be read"""
    path = folder / NAME
    if not path.is_file():
        return Lookup()
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            (pages,) = connection.execute("SELECT pages FROM totals").fetchone()
            lessons = connection.execute("SELECT learnt FROM lessons").fetchall()
            return Lookup(_find(connection, one), tuple(learnt for (learnt,) in lessons), pages)
    except (sqlite3.Error, ValueError) as error:
        raise JobdirUnusable(f"{path} cannot be read: {error}") from error


def standing(connection: sqlite3.Connection, now: float) -> RevisitStatus:
    """Return the number of pages that are remembered, and of those that are due."""
    (pages,) = connection.execute("SELECT pages FROM totals").fetchone()
    (next_at,) = connection.execute("SELECT min(at) FROM keys").fetchone()
    (due,) = connection.execute(_DUE_COUNT, (now, DUE_COUNTED)).fetchone()
    return RevisitStatus(pages, due, next_at)


def _find(connection: sqlite3.Connection, one: PageId) -> Page | None:
    row = connection.execute(_ONE, one).fetchone()
    return None if row is None else _page(row)


def _page(row: Sequence[Any]) -> Page:
    key, fingerprint, url, history, *rest = row
    return Page(key, fingerprint, url, History.of(history), *rest)


def _row(page: Page) -> tuple[Any, ...]:
    known = (*page.id, page.url, page.history.text(), page.next_visit_at, page.digest, page.came_at)
    asked = (page.etag, page.last_modified, page.kind, page.depth, page.via, page.payload)
    return *known, *asked, page.gone, page.failed


def _keep(connection: sqlite3.Connection, pages: Sequence[Page], dropped: Sequence[PageId]) -> None:
    ids = [*(page.id for page in pages), *dropped]
    told = {key for key, _ in ids}
    connection.executemany(_TOLD, ids)
    connection.executemany(_KEEP, map(_row, pages))
    connection.executemany("DELETE FROM pages WHERE key = ? AND fingerprint = ?", dropped)
    for key in told:
        _reckon(connection, key)


def _reckon(connection: sqlite3.Connection, key: str) -> None:
    """Update the time from which pages of the key may be taken; delete a key without pages."""
    (at,) = connection.execute("SELECT min(next_at) FROM pages WHERE key = ?", (key,)).fetchone()
    if at is None:
        connection.execute("DELETE FROM keys WHERE key = ?", (key,))
    else:
        statement = "INSERT INTO keys VALUES (?, ?, 0) ON CONFLICT (key) DO UPDATE SET at = excluded.at"
        connection.execute(statement, (key, at))


def _take(connection: sqlite3.Connection, key: str, now: float, seconds: float, most: int) -> list[Page]:
    asked = "SELECT count(*), min(next_at) FROM pages WHERE key = ? AND is_out = 1 AND next_at > ?"
    (out, _) = connection.execute(asked, (key, now)).fetchone()
    room = max(most - out, 0)
    taken = [_page(row) for row in connection.execute(_DUE, (key, now, room)).fetchall()]
    if taken:
        (unacknowledged,) = connection.execute("SELECT untold FROM keys WHERE key = ?", (key,)).fetchone()
        until = now + seconds * 2.0 ** min(unacknowledged, DOUBLINGS)
        statement = "UPDATE pages SET is_out = 1, next_at = ? WHERE key = ? AND fingerprint = ?"
        connection.executemany(statement, [(until, *page.id) for page in taken])
        connection.execute("UPDATE keys SET untold = untold + 1 WHERE key = ?", (key,))
    _reckon(connection, key)
    if len(taken) == room:
        (_, at) = connection.execute(asked, (key, now)).fetchone()
        connection.execute("UPDATE keys SET at = ? WHERE key = ?", (at, key))
    return taken


def _hint(connection: sqlite3.Connection, hints: Sequence[Hint]) -> list[bool]:
    known, moved = [], set()
    look = "SELECT next_at, is_out FROM pages WHERE key = ? AND fingerprint = ?"
    move = "UPDATE pages SET next_at = ? WHERE key = ? AND fingerprint = ?"
    for key, fingerprint, at in hints:
        row = connection.execute(look, (key, fingerprint)).fetchone()
        known.append(row is not None)
        if row is not None and not row[1] and at < row[0]:
            connection.execute(move, (at, key, fingerprint))
            moved.add(key)
    for key in moved:
        _reckon(connection, key)
    return known
