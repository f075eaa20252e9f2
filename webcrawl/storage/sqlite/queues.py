"""The statements on queues and on robots answers.

Each is one statement on many rows: SQLite takes them in one step, and Python's other threads run during all of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from webcrawl.frontier.queue_head import QueuePosition, expected_place
from webcrawl.frontier.records import NOTHING_CARRIED, Kind, UrlEntry, carried_values
from webcrawl.politeness.host_record import RobotsRecord
from webcrawl.storage.contract import Loaded, Move, ScanCursor, ScanResult
from webcrawl.storage.sqlite.entries import COLUMNS, entry_columns, row_to_entry

Value = int | float | str | None

SIZES = (512, 128, 32, 8, 2, 1)
"""Numbers of rows that a statement is prepared for: any number of rows is a sum of a few of these."""


class Rows:
    """A statement whose rows are bound as parameters: values are not formatted, so each stays as it is.

    ``executemany`` makes a step of each row, and takes Python's lock after each, which competes with a busy event
    loop. Figures are in docs/decisions/0006-frontier.md.
    """

    def __init__(self, cursor: sqlite3.Cursor, statement: str, row: str) -> None:
        """``statement`` has ``{rows}`` where its rows go; ``row`` is one of them, with its number at ``{nth}``."""
        self._cursor = cursor
        self._width = row.count("?")
        self._texts = {size: _written(statement, row, size) for size in SIZES}

    @property
    def texts(self) -> list[str]:
        """The text of the statement for each number of rows."""
        return list(self._texts.values())

    def run(self, values: Sequence[Value]) -> None:
        """Execute it on rows whose values are given one after the other."""
        for _, text, part in self._parts(values):
            self._cursor.execute(text, part)

    def numbers(self, values: Sequence[Value]) -> list[int]:
        """Return all numbers of rows that the statement selects, with commas between them."""
        [column] = self.columns(values, 1)
        return column

    def columns(self, values: Sequence[Value], columns: int) -> list[list[int]]:
        """Return the numbers in each of the ``columns`` columns that the statement selects."""
        lists: list[list[int]] = [[] for _ in range(columns)]
        for first, text, part in self._parts(values):
            row = self._cursor.execute(text, part).fetchone()
            for numbers, listed in zip(lists, row, strict=True):
                if listed is not None:
                    numbers += [first + int(number) for number in listed.split(",")]
        return lists

    def _parts(self, values: Sequence[Value]) -> Iterator[tuple[int, str, Sequence[Value]]]:
        """Yield the number of the first row, the statement and the values of each part."""
        width, first, left = self._width, 0, len(values) // self._width
        for size in SIZES:
            while left >= size:
                yield first, self._texts[size], values[first * width : (first + size) * width]
                first += size
                left -= size


def _written(statement: str, row: str, size: int) -> str:
    rows = ", ".join(row.replace("{nth}", str(nth)) for nth in range(size))
    return statement.replace("{rows}", rows)


_FIRST: QueuePosition = (-(1 << 63), -(1 << 63))


_INSERT = f"INSERT INTO queue ({', '.join(COLUMNS)}) VALUES {{rows}}"
_PAGE = Kind.PAGE.value
_USUAL = (_PAGE, 0, 0, 0, *NOTHING_CARRIED)
"""The values of the last columns that most entries have in common."""


class Queues:
    """The tables ``queue`` and ``robots``. All methods run on the store's thread inside a transaction."""

    def __init__(self, connection: sqlite3.Connection, robots_max: int) -> None:
        self._cursor = cursor = connection.cursor()
        usual = ", ".join("NULL" if value is None else repr(value) for value in _USUAL)
        self._push = Rows(cursor, _INSERT, f"({', '.join('?' * len(COLUMNS))})")
        self._push_plain = Rows(cursor, _INSERT, f"({'?, ' * (len(COLUMNS) - len(_USUAL))}{usual})")
        self._entry = entry_columns(connection)
        self._loaded_entry = entry_columns(connection, "?")
        self._vacant = Rows(
            cursor,
            "WITH place (nth, host, rank, position) AS (VALUES {rows}) SELECT group_concat(nth) FROM place "
            "WHERE NOT EXISTS (SELECT 1 FROM queue WHERE host_id = place.host AND queue.rank = place.rank "
            "AND queue.position = place.position)",
            "({nth}, ?, ?, ?)",
        )
        self._remove = Rows(
            cursor,
            "WITH place (host, rank, position) AS (VALUES {rows}) DELETE FROM queue "
            "WHERE (host_id, rank, position) IN (SELECT host, rank, position FROM place)",
            "(?, ?, ?)",
        )
        self._move = Rows(
            cursor,
            "WITH new (host, rank, position, goal) AS (VALUES {rows}) UPDATE OR IGNORE queue SET rank = new.goal "
            "FROM new WHERE host_id = new.host AND queue.rank = new.rank AND queue.position = new.position",
            "(?, ?, ?, ?)",
        )
        self._robots_max = robots_max

    def push(self, rows: Iterable[tuple[int, UrlEntry]]) -> None:
        plain: list[Value] = []
        other: list[Value] = []
        for host_id, entry in rows:
            carried = carried_values(entry)
            if (
                carried == NOTHING_CARRIED
                and entry.kind == _PAGE
                and not (entry.redirects or entry.attempts or entry.repeat)
            ):
                values = plain
            else:
                values = other
            values += (host_id, -entry.level, entry.position, entry.fingerprint)
            values += (entry.url, entry.depth, entry.via)
            if values is other:
                values += (str(entry.kind), entry.redirects, entry.attempts, int(entry.repeat), *carried)
        self._push_plain.run(plain)
        self._push.run(other)

    def remove(self, places: Sequence[tuple[int, int, int]]) -> set[tuple[int, int, int]]:
        """Remove the entries at (host id, rank, position). Returns the places that had an entry (it may have been
        pruned meanwhile)."""
        values = list(chain.from_iterable(places))
        queued = set(places)
        queued.difference_update([places[number] for number in self._vacant.numbers(values)])
        self._remove.run(values)
        return queued

    def move(self, moves: Sequence[Move], ids: Mapping[str, int]) -> list[Move]:
        """Carry out those of ``moves`` whose keys have numbers in ``ids``. Returns the moves carried out."""
        there = [move for move in moves if move.entry.key in ids]
        places = [(ids[move.entry.key], *expected_place(move.entry)) for move in there]
        before = set(self._vacant.numbers(list(chain.from_iterable(places))))
        self._move.run(
            [value for place, move in zip(places, there, strict=True) for value in (*place, -move.level)]
        )
        after = self._vacant.numbers(list(chain.from_iterable(places)))
        return [there[number] for number in after if number not in before]

    def scan(self, cursor: ScanCursor | None, count: int) -> ScanResult:
        rows = self._cursor.execute(
            f"SELECT {self._entry}, host_id FROM (SELECT * FROM queue WHERE (host_id, rank, position) > (?, ?, ?) "
            "ORDER BY host_id, rank, position LIMIT ?) JOIN hosts ON id = host_id "
            "ORDER BY host_id, rank, position",
            (*(cursor or (0, *_FIRST)), count),
        ).fetchall()
        entries = [row_to_entry(row[:-1]) for row in rows]
        return ScanResult(
            entries, (rows[-1][-1], *expected_place(entries[-1])) if len(rows) == count else None
        )

    def load(self, host_id: int, key: str, after: QueuePosition | None, count: int) -> Loaded:
        rank, position = after or _FIRST
        rows = self._cursor.execute(
            f"SELECT {self._loaded_entry} FROM queue WHERE host_id = ? AND (rank, position) > (?, ?) "
            "ORDER BY rank, position LIMIT ?",
            (key, host_id, rank, position, count + 1),
        ).fetchall()
        entries = [row_to_entry(row) for row in rows[:count]]
        return Loaded(entries, more=len(rows) > count, robots=self._robots_of_all(entries))

    def length(self, host_id: int) -> int:
        """Return the number of queued URLs that is stored with the key."""
        row = self._cursor.execute("SELECT queued FROM hosts WHERE id = ?", (host_id,)).fetchone()
        return row[0] if row else 0

    def prune(self, host_id: int, queue_max: int) -> list[tuple[QueuePosition, int, bool]]:
        """Cut the queue to ``queue_max``, lowest level and last come first. Returns (place, fingerprint, repeat) of
        the entries removed."""
        length = self.length(host_id)
        if length <= queue_max:
            return []
        rows = self._cursor.execute(
            "SELECT rank, position, fingerprint, repeat FROM queue WHERE host_id = ? "
            "ORDER BY rank DESC, position DESC LIMIT ?",
            (host_id, length - queue_max),
        ).fetchall()
        self._remove.run([value for rank, position, _, _ in rows for value in (host_id, rank, position)])
        return [((rank, position), fingerprint, bool(repeat)) for rank, position, fingerprint, repeat in rows]

    def store_robots(self, records: Sequence[RobotsRecord], stored: int) -> int:
        """Store answers; ``stored`` is the number of stored ones. Returns by how many it grew."""
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
            # A tenth more than necessary goes, so that not every commit has to prune.
            excess = stored + grown - self._robots_max + self._robots_max // 10
            self._cursor.execute(
                "DELETE FROM robots WHERE origin IN (SELECT origin FROM robots ORDER BY expires_at LIMIT ?)",
                (excess,),
            )
            grown -= self._cursor.rowcount
        return grown

    def read_robots(self, origin: str) -> RobotsRecord | None:
        row = self._cursor.execute(
            "SELECT origin, state, fetched_at, expires_at, text, crawl_delay_seconds, attempts "
            "FROM robots WHERE origin = ?",
            (origin,),
        ).fetchone()
        return RobotsRecord(*row) if row else None

    def _robots_of_all(self, entries: Sequence[UrlEntry]) -> list[RobotsRecord]:
        origins = {origin for entry in entries if (origin := entry.origin) is not None}
        return [record for origin in origins if (record := self.read_robots(origin)) is not None]
