"""Statements on many rows: as many rows as are given, and none of them by way of a whole table."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from webcrawl.storage.sqlite.keys import Keys
from webcrawl.storage.sqlite.opening import open_database
from webcrawl.storage.sqlite.queues import SIZES, Queues, Rows
from webcrawl.storage.sqlite.seen import ExactSeen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        made.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, text)")
        yield made


@pytest.fixture
def insert(connection: sqlite3.Connection) -> Rows:
    return Rows(connection.cursor(), "INSERT INTO kept VALUES {rows}", "(?, ?)")


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 31, 129, SIZES[0], 2 * SIZES[0] + 3])
def test_each_row_is_taken_once_and_in_its_order(
    connection: sqlite3.Connection, insert: Rows, count: int
) -> None:
    rows = [(number - 5, f"row {number}") for number in range(count)]
    insert.run([value for row in rows for value in row])
    assert connection.execute("SELECT * FROM kept ORDER BY rowid").fetchall() == rows


@pytest.mark.parametrize("value", ["", "a\0b", "\U0001f577 ü", '"\\', -(1 << 63), (1 << 63) - 1, 1.5, None])
def test_a_value_stays_what_it_is(connection: sqlite3.Connection, insert: Rows, value: object) -> None:
    insert.run([1, value])  # type: ignore[list-item]
    assert connection.execute("SELECT text FROM kept").fetchone() == (value,)


def test_what_is_no_unicode_is_refused_and_not_stored_as_what_cannot_be_read(insert: Rows) -> None:
    with pytest.raises(UnicodeEncodeError):
        insert.run([1, "half a pair \ud800"])


def test_rows_are_found_by_their_numbers(connection: sqlite3.Connection, insert: Rows) -> None:
    count = SIZES[0] + SIZES[1] + 3
    insert.run([value for number in range(0, count, 3) for value in (number, "")])
    known = Rows(
        connection.cursor(),
        "WITH one (nth, number) AS (VALUES {rows}) SELECT group_concat(nth) FROM one "
        "WHERE EXISTS (SELECT 1 FROM kept WHERE kept.number = one.number)",
        "({nth}, ?)",
    )
    assert sorted(known.numbers(range(count))) == list(range(0, count, 3))
    assert known.numbers([1, 2]) == []


def test_no_statement_of_the_frontier_looks_through_a_table(tmp_path: Path) -> None:
    """However many rows they are given: what a commit costs must not grow with the crawl."""
    with closing(open_database(tmp_path / "frontier.db", 1 << 20, {})) as connection:
        users = (Keys(connection, 0.0), Queues(connection, 0), ExactSeen(connection, prunes=True))
        statements = [rows for user in users for rows in vars(user).values() if isinstance(rows, Rows)]
        assert len(statements) >= 10
        for rows in statements:
            for text in rows.texts:
                plan = connection.execute(f"EXPLAIN QUERY PLAN {text}", [0] * text.count("?")).fetchall()
                scanned = {step[3].split()[1] for step in plan if step[3].startswith("SCAN ")}
                assert not scanned & {"queue", "seen", "hosts"}, (text[:200], plan)
