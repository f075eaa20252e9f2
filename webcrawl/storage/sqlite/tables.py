"""The tables of a crawl in SQLite files: one file for each ``TableSpec.file``, with a thread of its own.

A step reads the rows that it needs one by one, and writes all changed rows together at its end. So it knows which
rows are new, and counts rows without triggers, which would make a new row cost half as much again.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from webcrawl.storage.sqlite.file import Synchronous, TablesFile
from webcrawl.storage.tables import (
    HEADER,
    Change,
    DuePartition,
    Durability,
    Row,
    RowId,
    TableSpec,
    TableStatus,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from pathlib import Path

_T = TypeVar("_T")

SUFFIX = ".db"

_SYNCHRONOUS: dict[Durability, Synchronous] = {
    Durability.NONE: "OFF",
    Durability.PROCESS: "NORMAL",
    Durability.POWER: "FULL",
}

_TOTALS = """
CREATE TABLE IF NOT EXISTS totals (
    name        TEXT PRIMARY KEY,
    rows        INTEGER NOT NULL        -- without headers
) WITHOUT ROWID;
"""
_ROWS = """
CREATE TABLE IF NOT EXISTS {name} (
    partition   BLOB NOT NULL,          -- UTF-8
    id          BLOB NOT NULL,
    value       BLOB NOT NULL,
    at          REAL,                   -- epoch seconds, in a timed table
    PRIMARY KEY (partition, id)
) WITHOUT ROWID;
"""
_TIMES = """
CREATE INDEX IF NOT EXISTS {name}_by_time ON {name} (partition, at) WHERE at IS NOT NULL;
CREATE TABLE IF NOT EXISTS {name}_partitions (
    partition   BLOB PRIMARY KEY,
    due_at      REAL,                   -- the first time of a row, but not before not_before; NULL: no row has a time
    not_before  REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS {name}_due ON {name}_partitions (due_at, partition) WHERE due_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS {name}_resting ON {name}_partitions (not_before) WHERE not_before > 0;
"""
_BEFORE_ALL = (-1.0, b"")
"""A time and a partition before the first one that can be due."""

_Place = tuple[bytes, bytes]
"""Partition and id of a row, as they are stored."""


_FIRST = itemgetter(0)


def _packed(partition: str) -> bytes:
    """Return the name of a partition as it is stored; the order of the bytes is that of the characters."""
    return partition.encode("utf-8", "surrogatepass")


class _Statements:
    """The statements on one table."""

    def __init__(self, name: str) -> None:
        partitions, condition = f"{name}_partitions", "partition = ? AND id = ?"
        self.value = f"SELECT value FROM {name} WHERE {condition}"
        self.row = f"SELECT id, value, at FROM {name} WHERE {condition}"
        self.insert = f"INSERT INTO {name} VALUES (?, ?, ?, ?)"
        self.update = f"UPDATE {name} SET value = ?, at = ? WHERE {condition}"
        self.delete = f"DELETE FROM {name} WHERE {condition}"
        scan = f"SELECT id, value, at FROM {name} WHERE partition = ? AND id > ?"
        self.scan = f"{scan} ORDER BY id LIMIT ?"
        self.scan_before = f"{scan} AND id < ? ORDER BY id LIMIT ?"
        self.count = (
            f"INSERT INTO totals VALUES ('{name}', ?) ON CONFLICT DO UPDATE SET rows = rows + excluded.rows"
        )
        self.counted = f"SELECT coalesce(sum(rows), 0) FROM totals WHERE name = '{name}'"
        self.any = f"SELECT 1 FROM {name} WHERE partition = ? LIMIT 1"
        first = f"SELECT min(at) FROM {name} WHERE partition = :partition AND at IS NOT NULL"
        self.times = (
            f"SELECT ({first}), due_at, not_before "
            f"FROM (SELECT :partition AS wanted) LEFT JOIN {partitions} ON partition = wanted"
        )
        self.insert_partition = f"INSERT INTO {partitions} (due_at, not_before, partition) VALUES (?, ?, ?)"
        self.update_partition = f"UPDATE {partitions} SET due_at = ?, not_before = ? WHERE partition = ?"
        self.delete_partition = f"DELETE FROM {partitions} WHERE partition = ?"
        self.due_partitions = (
            f"SELECT due_at, partition FROM {partitions} WHERE due_at <= ? AND (due_at, partition) > (?, ?) "
            "ORDER BY due_at, partition LIMIT ?"
        )
        self.due_rows = (
            f"SELECT id, value, at FROM {name} WHERE partition = ? AND at <= ? ORDER BY at, id LIMIT ?"
        )
        # Also of partitions that rest; those are later than the time of their first row.
        self.due_count = (
            f"SELECT count(*) FROM (SELECT 1 FROM ("
            f"SELECT partition FROM {partitions} WHERE due_at <= :now UNION ALL SELECT partition FROM "
            f"(SELECT partition FROM {partitions} WHERE not_before > :now AND not_before > 0 LIMIT :most)"
            f") CROSS JOIN {name} USING (partition) WHERE at <= :now LIMIT :most)"
        )
        self.next_at = f"SELECT min(due_at) FROM {partitions} WHERE due_at IS NOT NULL"


class _Step:
    """The changes of a table in one transaction."""

    def __init__(self, connection: sqlite3.Connection, statements: _Statements, *, timed: bool) -> None:
        self._cursor = connection.cursor()
        self._statements = statements
        self._timed = timed
        self._forget()

    def _forget(self) -> None:
        self._values: dict[_Place, bytes | None] = {}
        """Values as far as they are known, with the changes so far; None: no such row."""
        self._stored: set[_Place] = set()
        """The places whose rows the file had before."""
        self._changed: dict[_Place, Row | None] = {}
        """Rows as they are to be written; None: deleted."""
        self._not_before: dict[bytes, float] = {}
        self._thinned: set[bytes] = set()
        """Partitions of which rows were deleted."""

    def _value(self, place: _Place) -> bytes | None:
        if place in self._values:
            return self._values[place]
        row = self._cursor.execute(self._statements.value, place).fetchone()
        if row is None:
            self._values[place] = None
            return None
        self._stored.add(place)
        self._values[place] = value = row[0]
        return value  # type: ignore[no-any-return]

    def put(self, rows: Sequence[tuple[str, Row]], *, only_new: bool) -> list[bytes | None]:
        values = []
        for partition, row in rows:
            place = (_packed(partition), row[0])
            before = self._value(place)
            if before is None or not only_new:
                self._values[place] = row[1]
                self._changed[place] = row
            values.append(before)
        return values

    def update(self, change: Change) -> bool:
        partition = _packed(change.partition)
        if partition in self._thinned:
            # If no row is left, the partition forgets its not_before.
            self.write()
        for row_id, value in change.expected.items():
            if self._value((partition, row_id)) != value:
                return False
        for row in change.put:
            place = (partition, row[0])
            self._value(place)
            self._values[place] = row[1]
            self._changed[place] = row
        for row_id in change.delete:
            place = (partition, row_id)
            if self._value(place) is not None:
                self._values[place] = self._changed[place] = None
                self._thinned.add(partition)
        if change.not_before is not None:
            self._not_before[partition] = change.not_before
        return True

    def write(self) -> None:
        """Write all changes."""
        stored = self._stored
        # Neighbours in the file are written one after the other.
        changed = sorted(self._changed.items(), key=_FIRST)
        inserts = [place + row[1:] for place, row in changed if row and place not in stored]
        updates = [row[1:] + place for place, row in changed if row and place in stored]
        deletes = [place for place, row in changed if row is None and place in stored]
        for statement, rows in (
            (self._statements.delete, deletes),
            (self._statements.update, updates),
            (self._statements.insert, inserts),
        ):
            if rows:
                self._cursor.executemany(statement, rows)
        count = sum(row[1] != HEADER for row in inserts) - sum(place[1] != HEADER for place in deletes)
        if count:
            self._cursor.execute(self._statements.count, (count,))
        if self._timed:
            for partition in sorted({place[0] for place, _ in changed} | self._not_before.keys()):
                self._set_due(partition)
        self._forget()

    def _set_due(self, partition: bytes) -> None:
        """Update the time from which a partition is due; forget a partition without rows."""
        execute, statements = self._cursor.execute, self._statements
        first, due_at, stored = execute(statements.times, {"partition": partition}).fetchone()
        not_before = self._not_before.get(partition, stored or 0.0)
        due = None if first is None else max(first, not_before)
        if first is None and execute(statements.any, (partition,)).fetchone() is None:
            if stored is not None:
                execute(statements.delete_partition, (partition,))
        elif stored is not None:
            if (due, not_before) != (due_at, stored):
                execute(statements.update_partition, (due, not_before, partition))
        elif due is not None or not_before:
            execute(statements.insert_partition, (due, not_before, partition))


class SqliteTable:
    """A ``Table`` in a file."""

    def __init__(self, spec: TableSpec, file: TablesFile) -> None:
        self._timed = spec.is_timed
        self._file = file
        self._statements = _Statements(spec.name)
        schema = _ROWS + _TIMES if spec.is_timed else _ROWS
        file.include(spec.name, schema.format(name=spec.name), _SYNCHRONOUS[spec.durability])

    async def get(self, ids: Sequence[RowId]) -> list[Row | None]:
        statement = self._statements.row

        def work(connection: sqlite3.Connection) -> list[Row | None]:
            cursor = connection.cursor()
            rows = (cursor.execute(statement, (_packed(partition), row)).fetchone() for partition, row in ids)
            return [None if row is None else Row(*row) for row in rows]

        return await self._file.read(work)

    async def add(self, rows: Sequence[tuple[str, Row]]) -> list[bytes | None]:
        return await self._write(lambda step: step.put(rows, only_new=True))

    async def swap(self, rows: Sequence[tuple[str, Row]]) -> list[bytes | None]:
        return await self._write(lambda step: step.put(rows, only_new=False))

    async def update(self, changes: Sequence[Change]) -> list[bool]:
        return await self._write(lambda step: [step.update(change) for change in changes])

    async def _write(self, work: Callable[[_Step], list[_T]]) -> list[_T]:
        def write(connection: sqlite3.Connection) -> list[_T]:
            step = _Step(connection, self._statements, timed=self._timed)
            result = work(step)
            step.write()
            return result

        return await self._file.write(write)

    async def scan(
        self, partition: str, most: int, after: bytes = HEADER, before: bytes | None = None
    ) -> list[Row]:
        statement = self._statements.scan if before is None else self._statements.scan_before
        limits = [_packed(partition), after, *(() if before is None else (before,)), most]
        return await self._file.read(
            lambda connection: [Row(*row) for row in connection.execute(statement, limits)]
        )

    async def due_partitions(
        self, now: float, most: int, after: DuePartition | None = None
    ) -> list[DuePartition]:
        last = _BEFORE_ALL if after is None else (after.at, _packed(after.partition))
        limits = (now, *last, most)

        def work(connection: sqlite3.Connection) -> list[DuePartition]:
            due = connection.execute(self._statements.due_partitions, limits)
            return [DuePartition(at, partition.decode("utf-8", "surrogatepass")) for at, partition in due]

        return await self._file.read(work)

    async def due_rows(self, partitions: Sequence[str], now: float, most: int) -> list[list[Row]]:
        statement = self._statements.due_rows

        def work(connection: sqlite3.Connection) -> list[list[Row]]:
            cursor = connection.cursor()
            return [
                [Row(*row) for row in cursor.execute(statement, (_packed(partition), now, most))]
                for partition in partitions
            ]

        return await self._file.read(work)

    async def status(self, now: float, most: int) -> TableStatus:
        statements = self._statements

        def work(connection: sqlite3.Connection) -> TableStatus:
            (rows,) = connection.execute(statements.counted).fetchone()
            if not self._timed:
                return TableStatus(rows)
            (due,) = connection.execute(statements.due_count, {"now": now, "most": most}).fetchone()
            (next_at,) = connection.execute(statements.next_at).fetchone()
            return TableStatus(rows, due, next_at)

        return await self._file.read(work)


class SqliteTables:
    """The ``Tables`` of a crawl in a folder. A file is created with the first row in it."""

    def __init__(self, folder: Path, *, reading: bool = False) -> None:
        """``reading``: never create or change a file."""
        self._folder = folder
        self._reading = reading
        self._files: dict[str, TablesFile] = {}
        self._tables: dict[str, SqliteTable] = {}

    def table(self, spec: TableSpec) -> SqliteTable:
        if spec.name not in self._tables:
            if spec.file not in self._files:
                path = self._folder / f"{spec.file}{SUFFIX}"
                file = self._files[spec.file] = TablesFile(path, spec.without, reading=self._reading)
                file.include("totals", _TOTALS, "OFF")
            self._tables[spec.name] = SqliteTable(spec, self._files[spec.file])
        return self._tables[spec.name]

    async def open(self) -> None:
        """Open all files that exist.

        :raises JobdirVersion: another version of webcrawl made a file
        :raises JobdirDamaged: a file is no database
        :raises JobdirUnusable: a file cannot be opened
        """
        try:
            for file in self._files.values():
                await file.open()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        while self._files:
            _, file = self._files.popitem()
            await file.close()

    async def lock(self, name: str, holder: str, seconds: float) -> bool:
        return True
