"""Tables in SQLite files: when files are created and read, which files are refused, and what a killed process and a
second one leave behind."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.samples import NOW
from webcrawl.errors import JobdirDamaged, JobdirUnusable, JobdirVersion, StorageAway, StorageFull
from webcrawl.features.checkpoints.checkpoint import take
from webcrawl.storage.contract import Counts
from webcrawl.storage.memory.frontier import MemoryBackend
from webcrawl.storage.sqlite.frontier import SqliteBackend, SqliteOptions
from webcrawl.storage.sqlite.tables import SqliteTables
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
    from collections.abc import Callable, Iterator

    Open = Callable[..., SqliteTables]

WITHOUT = "the crawl goes on without things"
PLAIN = TableSpec("plain", "things", WITHOUT)
TIMED = TableSpec("timed", "things", WITHOUT, is_timed=True, is_ordered=True)
OTHER = TableSpec("other", "others", "the crawl goes on without others")
A = "a.test"


@pytest.fixture
def open_files(runner: asyncio.Runner, tmp_path: Path) -> Iterator[Open]:
    """Opens the tables in the test's folder."""
    made: list[SqliteTables] = []

    def one(*specs: TableSpec, reading: bool = False) -> SqliteTables:
        tables = SqliteTables(tmp_path, reading=reading)
        for spec in specs:
            tables.table(spec)
        runner.run(tables.open())
        made.append(tables)
        return tables

    yield one
    for tables in made:
        runner.run(tables.close())


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# -- files -------------------------------------------------------------------------------------------------------


def test_files_are_created_when_they_are_opened(
    open_files: Open, runner: asyncio.Runner, tmp_path: Path
) -> None:
    tables = open_files(PLAIN, TIMED, OTHER)
    plain, timed = tables.table(PLAIN), tables.table(TIMED)
    assert runner.run(plain.get([RowId(A, b"1")])) == [None]
    assert runner.run(timed.status(NOW, 10)) == TableStatus()
    assert runner.run(timed.due_partitions(NOW, 10)) == []
    assert {name for name in names(tmp_path) if name.endswith(".db")} == {"things.db", "others.db"}
    runner.run(plain.swap([(A, Row(b"1", b"one"))]))
    assert runner.run(plain.get([RowId(A, b"1")])) == [Row(b"1", b"one")]


def test_rows_that_another_process_was_the_first_to_write_are_read(
    open_files: Open, runner: asyncio.Runner
) -> None:
    crawl, command = open_files(PLAIN), open_files(PLAIN)
    asked = [RowId(A, b"1")]
    assert runner.run(crawl.table(PLAIN).get(asked)) == [None]
    runner.run(command.table(PLAIN).swap([(A, Row(b"1", b"one"))]))
    assert runner.run(crawl.table(PLAIN).get(asked)) == [Row(b"1", b"one")]
    runner.run(crawl.table(PLAIN).swap([(A, Row(b"1", b"two"))]))
    assert runner.run(command.table(PLAIN).get(asked)) == [Row(b"1", b"two")]


def test_a_table_is_added_to_a_file_that_lacks_it(open_files: Open, runner: asyncio.Runner) -> None:
    runner.run(open_files(PLAIN).table(PLAIN).swap([(A, Row(b"1", b"one"))]))
    tables = open_files(TIMED, PLAIN)
    runner.run(tables.table(TIMED).swap([(A, Row(b"1", b"one", NOW))]))
    assert runner.run(tables.table(TIMED).due_partitions(NOW, 10)) == [DuePartition(NOW, A)]
    assert runner.run(tables.table(PLAIN).status(NOW, 10)).rows == 1


@pytest.mark.parametrize(
    ("durabilities", "synchronous"),
    [
        ([Durability.NONE], 0),
        ([Durability.PROCESS], 1),
        ([Durability.POWER], 2),
        ([Durability.NONE, Durability.POWER, Durability.PROCESS], 2),
    ],
)
def test_a_file_is_as_durable_as_the_table_that_needs_it_most(
    open_files: Open, runner: asyncio.Runner, durabilities: list[Durability], synchronous: int
) -> None:
    specs = [TableSpec(f"things_{one}", "things", WITHOUT, one) for one in durabilities]
    tables = open_files(*specs)
    runner.run(tables.table(specs[0]).swap([(A, Row(b"1", b"one"))]))
    assert tables._files["things"]._connection is not None
    [found] = tables._files["things"]._connection.execute("PRAGMA synchronous").fetchone()
    assert found == synchronous


def test_a_backend_opens_and_closes_its_tables(runner: asyncio.Runner, tmp_path: Path) -> None:
    asked = [RowId(A, b"1")]
    for row in (None, Row(b"1", b"one")):
        backend = SqliteBackend(tmp_path, SqliteOptions(), {})
        table = backend.tables.table(PLAIN)
        assert runner.run(backend.open(NOW)) == Counts()
        assert runner.run(table.get(asked)) == [row]
        runner.run(table.swap([(A, Row(b"1", b"one"))]))
        runner.run(backend.close())
        assert names(tmp_path) == {"frontier.db", "things.db"}


def test_a_backend_whose_tables_are_refused_changes_nothing(runner: asyncio.Runner, tmp_path: Path) -> None:
    (tmp_path / "things.db").write_bytes(b"no database, and long enough to be looked at" * 50)
    backend = SqliteBackend(tmp_path, SqliteOptions(), {})
    backend.tables.table(PLAIN)
    with pytest.raises(JobdirDamaged):
        runner.run(backend.open(NOW))
    assert names(tmp_path) == {"things.db"}


def test_the_tables_of_a_backend_in_memory_last_as_long_as_it(runner: asyncio.Runner) -> None:
    backend = MemoryBackend()
    table = backend.tables.table(PLAIN)
    runner.run(backend.open(NOW))
    runner.run(table.swap([(A, Row(b"1", b"one"))]))
    runner.run(backend.close())
    runner.run(backend.open(NOW))
    assert runner.run(backend.tables.table(PLAIN).get([RowId(A, b"1")])) == [Row(b"1", b"one")]


# -- files that are refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("reading", [False, True])
def test_a_file_of_another_version_is_refused_and_stays_as_it_is(
    open_files: Open, tmp_path: Path, reading: bool
) -> None:
    path = tmp_path / "things.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE plain (digest BLOB PRIMARY KEY)")
    before = path.read_bytes()
    with pytest.raises(JobdirVersion) as refused:
        open_files(PLAIN, reading=reading)
    assert str(refused.value) == (
        f"{path} was made by another version of webcrawl, in a format that this one does not read; go on with the "
        f"version that made it, or delete the file, without which {WITHOUT}"
    )
    assert path.read_bytes() == before
    assert names(tmp_path) == {"things.db"}


def test_a_file_of_a_later_version_is_refused(
    open_files: Open, runner: asyncio.Runner, tmp_path: Path
) -> None:
    tables = open_files(PLAIN)
    runner.run(tables.table(PLAIN).swap([(A, Row(b"1", b"one"))]))
    with closing(sqlite3.connect(tmp_path / "things.db")) as connection:
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(JobdirVersion):
        open_files(PLAIN)


@pytest.mark.parametrize("reading", [False, True])
def test_a_file_that_is_no_database_is_refused_and_closed(
    open_files: Open, tmp_path: Path, reading: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def remember(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **kwargs))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", remember)
    path = tmp_path / "things.db"
    path.write_bytes(b"no database, and long enough to be looked at" * 50)
    with pytest.raises(JobdirDamaged) as refused:
        open_files(PLAIN, reading=reading)
    assert str(refused.value) == f"{path} cannot be used: file is not a database; without it {WITHOUT}"
    assert opened
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            _ = connection.total_changes


def test_a_file_that_cannot_be_opened_is_named(open_files: Open, tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    path.mkdir()
    with pytest.raises(JobdirUnusable) as refused:
        open_files(PLAIN)
    assert str(refused.value) == f"{path} cannot be opened: unable to open database file"


def test_an_empty_file_counts_as_new(open_files: Open, runner: asyncio.Runner, tmp_path: Path) -> None:
    (tmp_path / "things.db").touch()
    assert runner.run(open_files(PLAIN, reading=True).table(PLAIN).status(NOW, 1)) == TableStatus()
    runner.run(open_files(PLAIN).table(PLAIN).swap([(A, Row(b"1", b"one"))]))
    assert runner.run(open_files(PLAIN).table(PLAIN).status(NOW, 1)).rows == 1


# -- reading from outside ----------------------------------------------------------------------------------------


def test_reading_creates_no_file(open_files: Open, runner: asyncio.Runner, tmp_path: Path) -> None:
    table = open_files(TIMED, reading=True).table(TIMED)
    assert runner.run(table.get([RowId(A, HEADER)])) == [None]
    assert runner.run(table.scan(A, 10)) == []
    assert runner.run(table.due_partitions(NOW, 10)) == []
    assert runner.run(table.due_rows([A], NOW, 10)) == [[]]
    assert runner.run(table.status(NOW, 10)) == TableStatus()
    assert names(tmp_path) == set()


def test_a_running_crawl_is_read(open_files: Open, runner: asyncio.Runner) -> None:
    crawl = open_files(TIMED).table(TIMED)
    runner.run(crawl.swap([(A, Row(b"1", b"one", NOW))]))
    reader = open_files(PLAIN, TIMED, reading=True)
    assert runner.run(reader.table(TIMED).due_rows([A], NOW, 10)) == [[Row(b"1", b"one", NOW)]]
    assert runner.run(reader.table(PLAIN).status(NOW, 10)) == TableStatus()
    runner.run(crawl.swap([(A, Row(b"1", b"two", NOW))]))
    assert runner.run(reader.table(TIMED).scan(A, 10)) == [Row(b"1", b"two", NOW)]


def test_a_stopped_crawl_is_read_on_a_medium_that_cannot_be_written(
    runner: asyncio.Runner, tmp_path: Path, open_files: Open
) -> None:
    crawl = SqliteTables(tmp_path)
    table = crawl.table(TIMED)
    runner.run(crawl.open())
    runner.run(table.swap([(A, Row(b"1", b"one", NOW))]))
    runner.run(crawl.close())
    path = tmp_path / "things.db"
    before = path.read_bytes()
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        reader = open_files(PLAIN, TIMED, reading=True)
        assert runner.run(reader.table(TIMED).scan(A, 10)) == [Row(b"1", b"one", NOW)]
        assert runner.run(reader.table(PLAIN).get([RowId(A, b"1")])) == [None]
        assert path.read_bytes() == before
    finally:
        tmp_path.chmod(0o700)


def test_a_copy_of_a_running_crawl_is_opened_like_the_crawl(
    open_files: Open, runner: asyncio.Runner, tmp_path: Path
) -> None:
    table = open_files(TIMED).table(TIMED)
    runner.run(table.swap([(A, Row(b"1", b"one", NOW))]))
    with closing(sqlite3.connect(tmp_path / "frontier.db")) as frontier:
        frontier.execute("CREATE TABLE meta (name TEXT, value TEXT)")
    take(tmp_path, tmp_path / "copy")
    runner.run(table.swap([(A, Row(b"2", b"two", NOW))]))
    copy = SqliteTables(tmp_path / "copy")
    copied = copy.table(TIMED)
    runner.run(copy.open())
    assert runner.run(copied.scan(A, 10)) == [Row(b"1", b"one", NOW)]
    runner.run(copied.swap([(A, Row(b"3", b"three", NOW))]))
    assert runner.run(copied.status(NOW, 10)).rows == 2
    runner.run(copy.close())


# -- accidents ---------------------------------------------------------------------------------------------------


def test_a_change_that_finds_no_room_changes_nothing(open_files: Open, runner: asyncio.Runner) -> None:
    tables = open_files(TIMED)
    table = tables.table(TIMED)
    runner.run(table.swap([(A, Row(b"1", b"one", NOW))]))
    connection = tables._files["things"]._connection
    assert connection is not None
    connection.execute("PRAGMA max_page_count = 1")
    rows = [Row(bytes([number]), b"long" * 1000, NOW - 1) for number in range(100, 150)]
    with pytest.raises(StorageFull, match=r"things\.db"):
        runner.run(table.update([Change(A, rows, [b"1"])]))
    assert runner.run(table.scan(A, 100)) == [Row(b"1", b"one", NOW)]
    assert runner.run(table.status(NOW, 100)) == TableStatus(1, 1, NOW)
    connection.execute("PRAGMA max_page_count = 1000000")
    assert runner.run(table.update([Change(A, rows, [b"1"])])) == [True]
    assert runner.run(table.status(NOW, 100)) == TableStatus(50, 50, NOW - 1)


def test_changes_that_are_made_at_once_share_a_transaction(open_files: Open, runner: asyncio.Runner) -> None:
    tables = open_files(PLAIN, TIMED)
    plain, timed = tables.table(PLAIN), tables.table(TIMED)
    runner.run(plain.swap([(A, Row(b"1", b"one"))]))
    connection = tables._files["things"]._connection
    assert connection is not None
    statements: list[str] = []
    connection.set_trace_callback(statements.append)

    async def at_once() -> list[list[Any]]:
        return await asyncio.gather(
            plain.swap([(A, Row(b"1", b"two"))]),
            timed.add([(A, Row(b"1", b"one", NOW))]),
            plain.get([RowId(A, b"1")]),
            plain.swap([(A, Row(b"1", b"three"))]),
        )

    assert runner.run(at_once()) == [[b"one"], [None], [Row(b"1", b"two")], [b"two"]]
    begun = [statement for statement in statements if statement.startswith("BEGIN")]
    assert begun == ["BEGIN IMMEDIATE", "BEGIN", "BEGIN IMMEDIATE"]


def test_of_changes_that_are_made_at_once_only_those_fail_that_find_no_room(
    open_files: Open, runner: asyncio.Runner
) -> None:
    tables = open_files(PLAIN)
    table = tables.table(PLAIN)
    runner.run(table.swap([(A, Row(b"1", b"one"))]))
    connection = tables._files["things"]._connection
    assert connection is not None
    connection.execute("PRAGMA max_page_count = 1")

    async def at_once() -> list[Any]:
        values = (b"two", b"long" * 10_000, b"three")
        calls = [table.swap([(A, Row(b"1", value))]) for value in values]
        return await asyncio.gather(*calls, table.status(NOW, 1), return_exceptions=True)

    first, second, third, status = runner.run(at_once())
    assert (first, third, status) == ([b"one"], [b"two"], TableStatus(1))
    assert isinstance(second, StorageFull)
    assert runner.run(table.get([RowId(A, b"1")])) == [Row(b"1", b"three")]


def test_a_caller_that_is_cancelled_keeps_no_other_from_its_answer(
    open_files: Open, runner: asyncio.Runner
) -> None:
    table = open_files(PLAIN).table(PLAIN)

    async def at_once() -> list[bytes | None]:
        cancelled, other = (
            asyncio.ensure_future(table.swap([(A, Row(b"1", value))])) for value in (b"one", b"two")
        )
        await asyncio.sleep(0)
        cancelled.cancel()
        return await other

    assert runner.run(at_once()) == [b"one"]


def test_a_change_waits_for_another_process_only_so_long(
    open_files: Open, runner: asyncio.Runner, tmp_path: Path
) -> None:
    tables = open_files(PLAIN)
    table = tables.table(PLAIN)
    runner.run(table.swap([(A, Row(b"1", b"one"))]))
    connection = tables._files["things"]._connection
    assert connection is not None
    assert connection.execute("PRAGMA busy_timeout").fetchone() == (10_000,)
    connection.execute("PRAGMA busy_timeout = 1")
    with closing(sqlite3.connect(tmp_path / "things.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageAway, match=r"things\.db"):
            runner.run(table.swap([(A, Row(b"1", b"two"))]))
        assert runner.run(table.get([RowId(A, b"1")])) == [Row(b"1", b"one")]
        other.execute("ROLLBACK")
    assert runner.run(table.swap([(A, Row(b"1", b"two"))])) == [b"one"]


class Contended(sqlite3.Connection):
    """Another process creates the file at the same moment."""

    refusals = 3

    def execute(self, statement: str, values: Any = (), /) -> sqlite3.Cursor:
        if "journal_mode" in statement and Contended.refusals:
            Contended.refusals -= 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise error
        return super().execute(statement, values)


def test_a_file_that_another_process_creates_at_the_same_moment_is_opened(
    open_files: Open, runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Contended))
    assert runner.run(open_files(PLAIN).table(PLAIN).swap([(A, Row(b"1", b"one"))])) == [None]
    assert Contended.refusals == 0


WRITER = f"""
import asyncio, os, signal, sys
from pathlib import Path
from webcrawl.storage.sqlite.tables import SqliteTables
from webcrawl.storage.tables import HEADER, Change, Durability, Row, RowId, TableSpec

SPEC = TableSpec("timed", "things", "", Durability.PROCESS, is_timed=True, is_ordered=True)

async def main(name, rounds, ends):
    tables = SqliteTables(Path(sys.argv[1]))
    table = tables.table(SPEC)
    await tables.open()
    done = 0
    while done < rounds:
        # A counter that all processes increase, and a row of this one.
        [header] = await table.get([RowId("{A}", HEADER)])
        before = header and header.value
        put = [Row(HEADER, b"%d" % (int(before or 0) + 1)), Row(b"%s%d" % (name, done), b"", {NOW} + done)]
        [made] = await table.update([Change("{A}", put, expected={{HEADER: before}})])
        done += made
    if ends:
        await tables.close()
    else:
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main(sys.argv[2].encode(), int(sys.argv[3]), sys.argv[4] == "ends"))
"""


def writer(folder: Path, name: str, rounds: int, then: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", WRITER, str(folder), name, str(rounds), then]
    return subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})


def test_processes_that_write_at_the_same_time_lose_no_change(
    open_files: Open, runner: asyncio.Runner, tmp_path: Path
) -> None:
    rounds = 100
    writers = [writer(tmp_path, name, rounds, "ends") for name in ("x", "y")]
    assert [one.wait(60) for one in writers] == [0, 0]
    table = open_files(TIMED).table(TIMED)
    [header] = runner.run(table.get([RowId(A, HEADER)]))
    assert header == Row(HEADER, str(2 * rounds).encode())
    assert len(runner.run(table.scan(A, 1000))) == 2 * rounds
    assert runner.run(table.status(NOW + 1e6, 1000)) == TableStatus(2 * rounds, 2 * rounds, NOW)


def test_a_killed_process_loses_no_change(open_files: Open, runner: asyncio.Runner, tmp_path: Path) -> None:
    assert writer(tmp_path, "x", 20, "dies").wait(60) < 0
    reader = open_files(TIMED, reading=True).table(TIMED)
    assert len(runner.run(reader.scan(A, 100))) == 20
    table = open_files(TIMED).table(TIMED)
    assert runner.run(table.due_partitions(NOW, 10)) == [DuePartition(NOW, A)]
    assert runner.run(table.status(NOW + 4, 100)) == TableStatus(20, 5, NOW)
    runner.run(table.swap([(A, Row(b"y", b"", NOW - 1))]))
    assert runner.run(table.status(NOW, 100)) == TableStatus(21, 2, NOW - 1)
