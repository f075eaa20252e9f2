"""The URLs of the crawl in a database, listed without changing anything in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from webcrawl.frontier.backends.books import Known
from webcrawl.frontier.backends.sqlite.standing import looking_at
from webcrawl.frontier.records import State, UrlEntry

_QUEUED = (
    "SELECT url, key, fingerprint, -rank, position, depth, via, kind, redirects, attempts, repeat, payload, "
    "listed, traits "
    "FROM hosts JOIN queue ON host_id = id WHERE hosts.queued > 0 AND kind NOT IN ('robots', 'websub') "
    "ORDER BY host_id, rank, position"
)
_AT_ONCE = 10_000


@contextmanager
def books_of(path: Path) -> Iterator[SqliteBooks]:
    """Open ``path``, also while its crawl runs. All that is told is of one moment.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    with looking_at(path) as connection:
        yield SqliteBooks(connection)


class SqliteBooks:
    """``Books`` of a database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._ask = connection.execute
        row = self._ask("SELECT value FROM meta WHERE name = 'FRONTIER_SEEN'").fetchone()
        self.states_kept = row != ("bloom",)

    def queued(self) -> Iterator[UrlEntry]:
        for row in self._ask(_QUEUED):
            entry = UrlEntry(*row)
            entry.repeat = bool(entry.repeat)
            yield entry

    def known(self, key: str, fingerprints: Sequence[int]) -> Mapping[int, Known]:
        host = self._ask("SELECT id FROM hosts WHERE key = ?", (key,)).fetchone()
        if host is None:
            return {}
        asked = ",".join("?" * len(fingerprints))
        rows = self._ask(
            f"SELECT fingerprint, state, rule FROM seen WHERE host_id = ? AND fingerprint IN ({asked})",
            (host[0], *fingerprints),
        )
        return {fingerprint: Known(State(state), rule) for fingerprint, state, rule in rows}

    def refused(self) -> Iterator[Sequence[int]]:
        rows = self._ask("SELECT fingerprint FROM seen WHERE state = ?", (State.REFUSED,))
        while some := rows.fetchmany(_AT_ONCE):
            yield [fingerprint for (fingerprint,) in some]
