"""All that a JOBDIR keeps of a crawl, read host by host, so that another storage can take it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from webcrawl.errors import JobdirDamaged
from webcrawl.frontier.records import State, UrlEntry, UrlRecord
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.storage.contract import Counted, Counts
from webcrawl.storage.sqlite.entries import entry_columns, row_to_entry
from webcrawl.storage.sqlite.keys import parse
from webcrawl.storage.sqlite.opening import open_stored, read_counted, read_only
from webcrawl.storage.sqlite.tables import SUFFIX
from webcrawl.storage.tables import Change, Row, TableSpec

_QUEUE = (
    "SELECT {entry} FROM hosts JOIN queue ON host_id = id "
    "WHERE key = ? AND kind NOT IN ('robots', 'websub') ORDER BY rank, position"
)
_LEFT_OUT = "SELECT count(*) FROM queue WHERE kind IN ('robots', 'websub')"
_HOSTS = "SELECT key, record, active, delay_seconds FROM hosts ORDER BY id"
_SETTLED = "SELECT fingerprint, state, rule, status FROM hosts JOIN seen ON host_id = id WHERE key = ? AND state != 0"
_ROBOTS = "SELECT origin, state, fetched_at, expires_at, text, crawl_delay_seconds, attempts FROM robots"


@contextmanager
def open_whole(path: Path) -> Iterator[SqliteWhole]:
    """Open the crawl whose database is ``path``. All results but those of tables are of one moment.

    :raises webcrawl.errors.StartRefused: it holds no crawl, or one that this version cannot read
    """
    with open_stored(path) as connection:
        yield SqliteWhole(path.parent, connection)


class SqliteWhole:
    """The ``WholeCrawl`` of a JOBDIR."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self._folder = folder
        self._connection = connection
        self._execute = connection.execute
        self.begun_with: Mapping[str, str] = dict(self._execute("SELECT name, value FROM meta"))
        self.states_kept = self.begun_with.get("FRONTIER_SEEN") != "bloom"
        self.left_out = 0

    def counts(self) -> Counts:
        return Counts(*self._execute("SELECT queued, done, failed, refused, hosts FROM totals").fetchone())

    def hosts(self, now: float) -> Iterator[HostRecord]:
        (self.left_out,) = self._execute(_LEFT_OUT).fetchone()
        for key, record, is_active, delay in self._execute(_HOSTS):
            host = parse(record) if record else HostRecord(key, delay_seconds=delay)
            if is_active:
                host.next_fetch_at = max(host.next_fetch_at, now + delay)
            yield host

    def queue(self, key: str, at_once: int) -> Iterator[Sequence[UrlEntry]]:
        statement = _QUEUE.format(entry=entry_columns(self._connection))
        for rows in self._some(statement, (key,), at_once):
            yield [row_to_entry(row) for row in rows]

    def settled(self, key: str, at_once: int) -> Iterator[Sequence[tuple[int, UrlRecord]]]:
        for rows in self._some(_SETTLED, (key,), at_once):
            yield [(fingerprint, UrlRecord(State(state), *rest)) for fingerprint, state, *rest in rows]

    def robots(self, at_once: int) -> Iterator[Sequence[RobotsRecord]]:
        for rows in self._some(_ROBOTS, (), at_once):
            yield [RobotsRecord(*row) for row in rows]

    def robots_count(self) -> int:
        return int(self._execute("SELECT count(*) FROM robots").fetchone()[0])

    def row_count(self, spec: TableSpec) -> int:
        with self._opened(spec) as connection:
            if connection is None:
                return 0
            statement = f"SELECT count(*) FROM {spec.name} WHERE id != x''"
            return int(connection.execute(statement).fetchone()[0])

    def counted(self) -> Sequence[Counted]:
        return read_counted(self._connection)

    def rows(self, spec: TableSpec, at_once: int) -> Iterator[Change]:
        with self._opened(spec) as connection:
            if connection is not None:
                yield from _changes(connection, spec, at_once)

    @contextmanager
    def _opened(self, spec: TableSpec) -> Iterator[sqlite3.Connection | None]:
        """Open the file of a table; None if it has no such table."""
        path = self._folder / f"{spec.file}{SUFFIX}"
        if not path.exists():
            yield None
            return
        try:
            with closing(read_only(path)) as connection:
                # The file may be that of another table of it alone.
                there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (spec.name,))
                yield connection if there.fetchone() else None
        except sqlite3.DatabaseError as error:
            raise JobdirDamaged(f"{path} cannot be read: {error}") from error

    def _some(
        self, statement: str, values: tuple[object, ...], at_once: int
    ) -> Iterator[Sequence[tuple[Any, ...]]]:
        rows = self._execute(statement, values)
        while some := rows.fetchmany(at_once):
            yield some


def _changes(connection: sqlite3.Connection, spec: TableSpec, at_once: int) -> Iterator[Change]:
    """Yield the rows of a table as changes of an empty one, each of at most ``at_once`` rows."""
    resting: dict[bytes, float] = {}
    if spec.is_timed:
        resting = dict(connection.execute(f"SELECT partition, not_before FROM {spec.name}_partitions"))
    rows = connection.execute(f"SELECT partition, id, value, at FROM {spec.name} ORDER BY partition, id")
    for packed, some in groupby(rows, itemgetter(0)):
        partition = bytes(packed).decode("utf-8", "surrogatepass")
        put: list[Row] = []
        for _, place, value, at in some:
            put.append(Row(bytes(place), bytes(value), at))
            if len(put) >= at_once:
                yield Change(partition, put)
                put = []
        yield Change(partition, put, not_before=resting.get(packed) or None)
