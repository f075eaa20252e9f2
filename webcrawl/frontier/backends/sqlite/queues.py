"""The statements on queues and on robots answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from webcrawl.frontier.backend import Loaded
from webcrawl.frontier.queue_head import Place
from webcrawl.frontier.records import UrlEntry, web_origin
from webcrawl.hosts.record import RobotsRecord

_FIRST: Place = (-(1 << 63), -(1 << 63))


class Queues:
    """The tables ``queue`` and ``robots``. All methods run on the store's thread inside a transaction."""

    def __init__(self, connection: sqlite3.Connection, robots_max: int) -> None:
        self._cursor = connection.cursor()
        self._robots_max = robots_max

    def push(self, rows: Iterable[tuple[int, UrlEntry]]) -> None:
        self._cursor.executemany(
            "INSERT INTO queue VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    host_id,
                    -entry.level,
                    entry.position,
                    entry.fingerprint,
                    entry.url,
                    entry.depth,
                    entry.via,
                    entry.kind,
                    entry.redirects,
                    entry.attempts,
                    entry.repeat,
                    entry.payload,
                )
                for host_id, entry in rows
            ],
        )

    def remove(self, host_id: int, entry: UrlEntry) -> bool:
        """True when the entry was still queued (it may have been pruned meanwhile)."""
        self._cursor.execute(
            "DELETE FROM queue WHERE host_id = ? AND rank = ? AND position = ?",
            (host_id, -entry.level, entry.position),
        )
        return self._cursor.rowcount == 1

    def load(self, host_id: int, key: str, after: Place | None, count: int) -> Loaded:
        rank, position = after or _FIRST
        rows = self._cursor.execute(
            "SELECT url, fingerprint, rank, position, depth, via, kind, redirects, attempts, repeat, payload "
            "FROM queue WHERE host_id = ? AND (rank, position) > (?, ?) ORDER BY rank, position LIMIT ?",
            (host_id, rank, position, count + 1),
        ).fetchall()
        entries = [
            UrlEntry(
                url,
                key,
                fingerprint,
                -rank,
                position,
                depth,
                via,
                kind,
                redirects,
                attempts,
                bool(repeat),
                payload,
            )
            for url, fingerprint, rank, position, depth, via, kind, redirects, attempts, repeat, payload in rows[
                :count
            ]
        ]
        return Loaded(entries, more=len(rows) > count, robots=self._robots_of(entries))

    def prune(self, host_id: int, queue_max: int) -> list[tuple[Place, int, bool]]:
        """Cut the queue to ``queue_max``, lowest level and last come first; (place, fingerprint, repeat) of
        what went.
        """
        row = self._cursor.execute("SELECT queued FROM hosts WHERE id = ?", (host_id,)).fetchone()
        if row is None or row[0] <= queue_max:
            return []
        rows = self._cursor.execute(
            "SELECT rank, position, fingerprint, repeat FROM queue WHERE host_id = ? "
            "ORDER BY rank DESC, position DESC LIMIT ?",
            (host_id, row[0] - queue_max),
        ).fetchall()
        self._cursor.executemany(
            "DELETE FROM queue WHERE host_id = ? AND rank = ? AND position = ?",
            [(host_id, rank, position) for rank, position, _, _ in rows],
        )
        return [((rank, position), fingerprint, bool(repeat)) for rank, position, fingerprint, repeat in rows]

    def store_robots(self, records: Sequence[RobotsRecord], stored: int) -> int:
        """Store answers; ``stored`` is how many there are. Returns by how many the number grew."""
        grown = 0
        for record in records:
            self._cursor.execute("SELECT 1 FROM robots WHERE origin = ?", (record.origin,))
            grown += self._cursor.fetchone() is None
            self._cursor.execute(
                "INSERT OR REPLACE INTO robots VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    record.origin,
                    record.state,
                    record.fetched_at,
                    record.expires_at,
                    record.text,
                    record.crawl_delay_seconds,
                    record.attempts,
                ),
            )
        if stored + grown > self._robots_max:
            # A tenth more than must go, so that not every commit has to prune.
            excess = stored + grown - self._robots_max + self._robots_max // 10
            self._cursor.execute(
                "DELETE FROM robots WHERE origin IN (SELECT origin FROM robots ORDER BY expires_at LIMIT ?)",
                (excess,),
            )
            grown -= self._cursor.rowcount
        return grown

    def _robots_of(self, entries: Sequence[UrlEntry]) -> list[RobotsRecord]:
        records = []
        for origin in {web_origin(entry.url) for entry in entries} - {None}:
            row = self._cursor.execute(
                "SELECT origin, state, fetched_at, expires_at, text, crawl_delay_seconds, attempts "
                "FROM robots WHERE origin = ?",
                (origin,),
            ).fetchone()
            if row:
                records.append(RobotsRecord(*row))
        return records
