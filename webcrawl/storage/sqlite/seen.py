"""The seen test of the SQLite backend: a table (exact), or a Bloom filter with a journal."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain, compress
from pathlib import Path
from typing import Any, Protocol

from webcrawl.errors import JobdirDamaged
from webcrawl.frontier.records import State, UrlRecord
from webcrawl.frontier.seen import Seen
from webcrawl.storage.contract import QUEUE_FULL
from webcrawl.storage.sqlite.queues import Rows

JOURNAL_MAX = 500_000
"""Number of additions after which the filter's file is written anew, and the most that a restart has to add again."""


Mark = tuple[int, int]
"""The number of a URL's key, and its fingerprint."""

Ends = dict[Mark, UrlRecord]
"""The new records of URLs."""

Answers = dict[Mark, int]
"""The statuses of responses to requests that leave the other parts of the record as they are."""

_COLUMNS = "state, rule, status"
"""The columns of ``seen`` that hold a record, in the order of its fields."""


def read_records(
    execute: Callable[..., Iterable[Any]], host_id: int, fingerprints: Sequence[int]
) -> dict[int, UrlRecord]:
    """Return the records of the known ones among some URLs of a key. ``execute`` executes a statement."""
    places = ",".join("?" * len(fingerprints))
    rows = execute(
        f"SELECT fingerprint, {_COLUMNS} FROM seen WHERE host_id = ? AND fingerprint IN ({places})",
        (host_id, *fingerprints),
    )
    return {fingerprint: UrlRecord(State(state), *rest) for fingerprint, state, *rest in rows}


class SeenTest(Protocol):
    """The seen test of the backend. Called on the store's thread, inside a transaction unless stated otherwise."""

    keeps_states: bool

    def add(self, marks: Sequence[Mark]) -> tuple[Sequence[bool], Sequence[int]]:
        """Add URLs. Returns for each whether it was new, and the indices of those that were pruned from a full queue.
        If one comes several times, only the first is new."""
        ...

    def settle(self, ends: Ends, answers: Answers) -> None:
        """Store records, then statuses. A URL that gets no status keeps its own, unless it is pruned."""
        ...

    def record(self, host_id: int, fingerprint: int) -> UrlRecord | None: ...

    def committed(self) -> None:
        """The transaction was committed. Called outside of it."""
        ...

    def rolled_back(self) -> None:
        """The transaction was rolled back. Called outside of it."""
        ...

    def save(self) -> None:
        """Make the state that is only in memory durable. Called outside of a transaction."""
        ...


class ExactSeen:
    """The table ``seen``: no errors, and the state of every URL."""

    keeps_states = True

    def __init__(self, connection: sqlite3.Connection, *, prunes: bool) -> None:
        """``prunes``: True if queues have or had a limit, so that pruned URLs are worth looking for."""
        self._cursor = cursor = connection.cursor()
        # The row of a known URL is read anyway: its rule costs no further statement, and needs no index.
        pruned = (
            f", group_concat(nth) FILTER (WHERE rule = '{QUEUE_FULL}' AND state = 3)" if prunes else ", NULL"
        )
        self._known = Rows(
            cursor,
            f"WITH mark (nth, host, fingerprint) AS (VALUES {{rows}}) SELECT group_concat(nth){pruned} FROM mark "
            "CROSS JOIN seen ON host_id = mark.host AND seen.fingerprint = mark.fingerprint",
            "({nth}, ?, ?)",
        )
        self._add = Rows(cursor, "INSERT INTO seen (host_id, fingerprint) VALUES {rows}", "(?, ?)")
        self._settle = Rows(
            cursor,
            "WITH one (host, fingerprint, state, rule, status) AS (VALUES {rows}) UPDATE seen "
            "SET state = one.state, rule = one.rule, "
            f"status = iif(one.rule = '{QUEUE_FULL}', NULL, coalesce(one.status, seen.status)) FROM one "
            "WHERE host_id = one.host AND seen.fingerprint = one.fingerprint",
            "(?, ?, ?, ?, ?)",
        )
        self._answer = Rows(
            cursor,
            "WITH one (host, fingerprint, status) AS (VALUES {rows}) UPDATE seen SET status = one.status FROM one "
            "WHERE host_id = one.host AND seen.fingerprint = one.fingerprint "
            f"AND rule IS NOT '{QUEUE_FULL}'",
            "(?, ?, ?)",
        )

    def add(self, marks: Sequence[Mark]) -> tuple[Sequence[bool], Sequence[int]]:
        values = list(chain.from_iterable(marks))
        new = [True] * len(marks)
        known, pruned = self._known.columns(values, 2)
        for number in known:
            new[number] = False
        # Comparing fingerprints alone is faster than comparing marks; two equal ones are rare.
        if len(set(values[1::2])) < len(marks):
            marks_before: set[Mark] = set()
            for number, mark in enumerate(marks):
                new[number] = new[number] and mark not in marks_before
                marks_before.add(mark)
        self._add.run(list(chain.from_iterable(compress(marks, new))))
        return new, pruned

    def settle(self, ends: Ends, answers: Answers) -> None:
        self._settle.run([value for mark, record in ends.items() for value in (*mark, *record)])
        self._answer.run([value for mark, status in answers.items() for value in (*mark, status)])

    def record(self, host_id: int, fingerprint: int) -> UrlRecord | None:
        return read_records(self._cursor.execute, host_id, [fingerprint]).get(fingerprint)

    def committed(self) -> None:
        pass

    def rolled_back(self) -> None:
        pass

    def save(self) -> None:
        pass


class BloomSeen:
    """A Bloom filter in memory, in a file that is written now and then, and a journal of the additions since.

    The file's name has a generation that the database names: whichever of the two a crash or a checkpoint leaves
    older, filter and journal together hold every URL that was added.
    """

    keeps_states = False

    def __init__(
        self, connection: sqlite3.Connection, directory: Path, capacity: int, error_rate: float
    ) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._to_journal = Rows(self._cursor, "INSERT INTO seen_journal VALUES {rows}", "(?)")
        self._directory = directory
        row = self._cursor.execute("SELECT value FROM meta WHERE name = 'bloom_generation'").fetchone()
        self._generation = int(row[0]) if row else 0
        self._seen = self._read() if self._generation else Seen(capacity, error_rate)
        self._journal = 0
        for (fingerprint,) in self._cursor.execute("SELECT fingerprint FROM seen_journal"):
            self._seen.add(fingerprint)
            self._journal += 1
        # The filter cannot forget, so URLs that a rolled-back transaction added must still count as new.
        self._added: set[int] = set()
        self._undone: set[int] = set()

    def add(self, marks: Sequence[Mark]) -> tuple[Sequence[bool], Sequence[int]]:
        new = [self._is_new(fingerprint) for _, fingerprint in marks]
        self._to_journal.run([fingerprint for _, fingerprint in compress(marks, new)])
        return new, ()

    def _is_new(self, fingerprint: int) -> bool:
        if fingerprint in self._added:
            return False
        if not self._seen.add(fingerprint) and fingerprint not in self._undone:
            return False
        self._added.add(fingerprint)
        return True

    def settle(self, ends: Ends, answers: Answers) -> None:
        pass

    def record(self, host_id: int, fingerprint: int) -> UrlRecord | None:
        return None

    def committed(self) -> None:
        self._journal += len(self._added)
        # URLs of other rolled-back transactions may still come: only those that this one added are settled.
        self._undone -= self._added
        self._added.clear()
        if self._journal >= JOURNAL_MAX:
            # A full disk loses nothing here: the journal still holds what the file lacks.
            with suppress(OSError, sqlite3.OperationalError):
                self.save()

    def rolled_back(self) -> None:
        self._undone |= self._added
        self._added.clear()

    def save(self) -> None:
        if not self._journal or self._undone:
            # A filter written now would know URLs that no queue holds: file and journal so far are right.
            return
        generation = self._generation + 1
        self._seen.save(self._path(generation))
        with self._connection:
            self._cursor.execute("BEGIN IMMEDIATE")
            self._cursor.execute(
                "INSERT OR REPLACE INTO meta VALUES ('bloom_generation', ?)", (str(generation),)
            )
            self._cursor.execute("DELETE FROM seen_journal")
        # The generation before stays: a checkpoint taken a moment ago may name it.
        self._path(generation - 2).unlink(missing_ok=True)
        self._generation = generation
        self._journal = 0

    def _path(self, generation: int) -> Path:
        return self._directory / f"seen-{generation}.bloom"

    def _read(self) -> Seen:
        path = self._path(self._generation)
        try:
            return Seen.load(path)
        except (OSError, ValueError) as error:
            raise JobdirDamaged(
                f"the seen filter {path} cannot be read ({error}); restore it or the whole JOBDIR from a "
                "checkpoint"
            ) from error
