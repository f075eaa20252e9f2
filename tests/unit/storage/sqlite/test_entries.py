"""Columns of carried values: a crawl of earlier code gets those that it lacks, and that of later code is refused."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from webcrawl.errors import JobdirVersion
from webcrawl.frontier.records import CARRIED, QUEUED, UrlEntry
from webcrawl.storage.contract import Batch, Settled
from webcrawl.storage.sqlite.entries import COLUMNS, entry_columns, queue_columns, row_to_entry
from webcrawl.storage.sqlite.frontier import SqliteBackend, SqliteOptions
from webcrawl.storage.sqlite.inspection import open_url_states, read_queue
from webcrawl.storage.sqlite.opening import open_database, open_stored
from webcrawl.storage.sqlite.whole import open_whole

DATA = Path(__file__).parents[3] / "data"
STORED = [UrlEntry(**one["entry"]) for one in json.loads((DATA / "stored_entries.json").read_text("utf-8"))]
"""The queue of ``frontier_version_4.sql``, in which the columns of three carried values were written by hand."""
IN_ORDER = sorted(STORED, key=lambda one: (-one.level, one.position))
KEY = "a.test"


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """The database of a crawl of earlier code."""
    path = tmp_path / "frontier.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((DATA / "frontier_version_4.sql").read_text("utf-8"))
    return path


def readings(path: Path) -> Iterator[list[UrlEntry]]:
    """The queue as each reader shows it."""
    yield read_queue(path, KEY, 100)
    with open_url_states(path) as reader:
        yield list(reader.queued())
    with open_whole(path) as whole:
        yield [one for some in whole.queue(KEY, 3) for one in some]


def gone_on_with(path: Path, *found: UrlEntry) -> list[UrlEntry]:
    """The queue, after ``found`` was added and its first entry was tried once."""

    async def run() -> list[UrlEntry]:
        backend = SqliteBackend(path.parent, SqliteOptions(), {"POLITENESS_KEY": "host"})
        await backend.open(1_700_000_000.0)
        first = (await backend.read_queue(KEY, None, 1)).entries[0]
        again = replace(first, attempts=first.attempts + 1)
        await backend.commit(Batch(discovered=list(found), settled=[Settled(first, QUEUED, again)]))
        loaded = await backend.read_queue(KEY, None, 100)
        await backend.close()
        return loaded.entries

    return asyncio.run(run())


def test_the_schema_has_a_column_for_each_value(tmp_path: Path) -> None:
    with closing(open_database(tmp_path / "frontier.db", 1 << 20, {})) as connection:
        there = [row[1] for row in connection.execute("PRAGMA table_info(queue)")]
    assert there == list(COLUMNS)


def test_a_crawl_of_earlier_code_is_read(earlier: Path) -> None:
    assert list(readings(earlier)) == [IN_ORDER] * 3


def test_a_crawl_of_earlier_code_is_gone_on_with(earlier: Path) -> None:
    new = UrlEntry("http://a.test/new", KEY, 1, -9, 99, **dict.fromkeys(CARRIED, "new"))
    first, *others = IN_ORDER
    assert gone_on_with(earlier, new) == [replace(first, attempts=first.attempts + 1), *others, new]
    with closing(sqlite3.connect(earlier)) as connection:
        assert connection.execute("SELECT state, count(*) FROM seen GROUP BY state").fetchall() == [
            (0, 10),
            (1, 1),
        ]


@pytest.mark.parametrize("name", CARRIED)
def test_a_value_that_earlier_code_did_not_have_is_none_and_is_stored_from_now_on(
    earlier: Path, name: str
) -> None:
    with closing(sqlite3.connect(earlier)) as connection:
        if CARRIED[name] in queue_columns(connection):
            connection.execute(f"ALTER TABLE queue DROP COLUMN {CARRIED[name]}")
    without = [replace(one, **{name: None}) for one in IN_ORDER]
    # What only reads changes nothing.
    assert list(readings(earlier)) == [without] * 3
    new = UrlEntry("http://a.test/new", KEY, 1, -9, 99, **dict.fromkeys(CARRIED, "new"))
    first, *others = without
    assert gone_on_with(earlier, new) == [replace(first, attempts=first.attempts + 1), *others, new]
    assert next(readings(earlier))[-1] == new


def test_a_crawl_of_later_code_is_refused_since_its_values_would_be_lost(earlier: Path) -> None:
    with closing(sqlite3.connect(earlier)) as connection:
        connection.execute("ALTER TABLE queue ADD COLUMN mood TEXT")
    for opened in (lambda: open_database(earlier, 1 << 20, {}), lambda: open_stored(earlier).__enter__()):
        with pytest.raises(
            JobdirVersion, match="made by a later webcrawl, which stores 'mood' with queued URLs"
        ):
            opened()


def test_an_entry_is_selected_in_the_order_of_its_fields(earlier: Path) -> None:
    with closing(sqlite3.connect(earlier)) as connection:
        statement = f"SELECT {entry_columns(connection, '?')} FROM queue ORDER BY position"
        assert [row_to_entry(row) for row in connection.execute(statement, (KEY,))] == STORED
