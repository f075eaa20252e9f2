"""State that cannot be used is refused with the right error and a sentence that says what to do."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.contract.samples import entry, found, pages
from webcrawl.errors import (
    JobdirDamaged,
    JobdirUnusable,
    JobdirVersion,
    StartRefused,
    StorageAway,
    StorageLost,
)
from webcrawl.frontier.records import State, UrlRecord
from webcrawl.storage.contract import Batch, Settled
from webcrawl.storage.sqlite.frontier import SqliteBackend, SqliteOptions

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from tests.contract.conftest import MakeSqlite
    from tests.contract.driven import DrivenSqlite


def statement(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(sql)


def stopped(backend: DrivenSqlite) -> Path:
    """The database of a crawl that was ended, with something in it."""
    backend.commit(found(*pages("a", 300)))
    backend.close()
    return backend.path


def refused(backend: DrivenSqlite, error: type[StartRefused]) -> str:
    """The sentence by which the backend refuses to open."""
    backend.backend = backend._made()
    with pytest.raises(error) as raised:
        backend.open()
    assert raised.type is error
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_another_version_of_the_schema(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite()
    statement(stopped(backend), "UPDATE meta SET value = '999' WHERE name = 'schema_version'")
    sentence = refused(backend, JobdirVersion)
    assert "999" in sentence
    assert "another JOBDIR" in sentence


def clustered(path: Path) -> None:
    """Give the database a queue whose rows lie in the index of its primary key."""
    with closing(sqlite3.connect(path)) as connection:
        [layout] = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'queue'").fetchone()
        connection.executescript(
            f"ALTER TABLE queue RENAME TO rows;\n{layout} WITHOUT ROWID;\n"
            "INSERT INTO queue SELECT * FROM rows;\nDROP TABLE rows;"
        )


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_crawl_of_a_version_before_is_gone_on_with(make_sqlite: MakeSqlite, version: str) -> None:
    backend = make_sqlite()
    path = stopped(backend)
    statement(path, "ALTER TABLE seen DROP COLUMN status")
    if version == "2":
        statement(path, "ALTER TABLE queue DROP COLUMN traits")
        clustered(path)
    statement(path, f"UPDATE meta SET value = '{version}' WHERE name = 'schema_version'")
    for expected in (300, 301):
        backend.backend = backend._made()
        backend.open()
        backend.commit(found(one := entry(f"http://b/{expected}", link_features="known")))
        assert len(backend.queued()) == backend.read_counts().queued == expected + 1
        backend.commit(Batch(settled=[Settled(one, record := UrlRecord(State.QUEUED, None, 503), one)]))
        expected_records = {record: expected - 299, UrlRecord(State.QUEUED): 300} if backend.exact else {}
        assert Counter(backend.records().values()) == expected_records
        backend.close()


def test_another_identity_names_the_setting_and_both_values(
    make_sqlite: MakeSqlite, runner: asyncio.Runner
) -> None:
    backend = make_sqlite()
    stopped(backend)
    other = SqliteBackend(backend.directory, SqliteOptions(), {"POLITENESS_KEY": "domain"})
    with pytest.raises(JobdirUnusable, match=r"POLITENESS_KEY=host.*POLITENESS_KEY=domain.*another JOBDIR"):
        runner.run(other.open(0.0))
    other._thread.shutdown()


def test_an_identity_that_an_older_crawl_did_not_have_is_no_mismatch(
    make_sqlite: MakeSqlite, runner: asyncio.Runner
) -> None:
    backend = make_sqlite()
    stopped(backend)
    other = SqliteBackend(backend.directory, backend._options, {"POLITENESS_KEY": "host", "NEW": "1"})
    runner.run(other.open(0.0))
    runner.run(other.close())


def test_a_file_that_is_no_database(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite()
    stopped(backend).write_bytes(b"<html>not a database at all</html>" * 1000)
    sentence = refused(backend, JobdirDamaged)
    assert "checkpoint" in sentence
    assert "frontier.db" in sentence


def test_a_database_of_something_else(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite()
    stopped(backend).unlink()
    statement(backend.path, "CREATE TABLE recipes (name TEXT)")
    assert "something else" in refused(backend, JobdirUnusable)


def test_a_database_whose_first_page_is_overwritten(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite()
    path = stopped(backend)
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\xff" * 3996
    path.write_bytes(content)
    assert "damaged" in refused(backend, JobdirDamaged)


def test_a_database_that_lost_its_second_half(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite()
    path = stopped(backend)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 // 4096 * 4096])
    assert "damaged" in refused(backend, JobdirDamaged)


def test_a_database_of_no_bytes_is_a_new_crawl(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite(opened=False)
    backend.path.touch()
    assert backend.open().queued == 0
    assert len(backend.commit(found(entry("http://a/"))).queued) == 1


def test_a_folder_where_the_database_should_be(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite(opened=False)
    backend.path.mkdir()
    assert "frontier.db" in refused(backend, JobdirUnusable)


def test_a_folder_that_is_not_there(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite(opened=False)
    shutil.rmtree(backend.directory)
    assert str(backend.path) in refused(backend, JobdirUnusable)


def test_the_refused_state_is_left_as_it_was(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite()
    path = stopped(backend)
    statement(path, "UPDATE meta SET value = '999' WHERE name = 'schema_version'")
    before = path.read_bytes()
    refused(backend, JobdirVersion)
    assert path.read_bytes() == before


def test_a_seen_filter_that_is_gone(bloom: DrivenSqlite) -> None:
    stopped(bloom)
    [path] = bloom.directory.glob("seen-*.bloom")
    path.unlink()
    sentence = refused(bloom, JobdirDamaged)
    assert path.name in sentence
    assert "checkpoint" in sentence


@pytest.mark.parametrize("kept", [0, 10, 100, 4000, -1])
def test_a_seen_filter_that_was_cut(bloom: DrivenSqlite, kept: int) -> None:
    stopped(bloom)
    [path] = bloom.directory.glob("seen-*.bloom")
    path.write_bytes(path.read_bytes()[:kept])
    assert path.name in refused(bloom, JobdirDamaged)


@pytest.mark.parametrize("place", [0, 20, 0.5, 0.99])
def test_a_seen_filter_with_a_wrong_byte(bloom: DrivenSqlite, place: float) -> None:
    stopped(bloom)
    [path] = bloom.directory.glob("seen-*.bloom")
    content = bytearray(path.read_bytes())
    content[int(place * len(content)) if place < 1 else int(place)] ^= 0x55
    path.write_bytes(content)
    assert path.name in refused(bloom, JobdirDamaged)


def test_a_database_that_is_found_damaged_while_the_crawl_runs_ends_it_with_advice(
    make_sqlite: MakeSqlite,
) -> None:
    backend = make_sqlite()
    path = stopped(backend)
    [(root,)] = backend.rows("SELECT rootpage FROM sqlite_master WHERE name = 'queue'")
    content = bytearray(path.read_bytes())
    content[(root - 1) * 4096 : root * 4096] = b"\x99" * 4096
    path.write_bytes(content)
    backend.backend = backend._made()
    backend.open()
    with pytest.raises(StorageLost, match=r"damaged.*checkpoint"):
        backend.activate_keys()
    backend.close()


def test_a_database_that_another_program_keeps_locked_is_waited_for_with_its_name(
    make_sqlite: MakeSqlite,
) -> None:
    backend = make_sqlite()
    backend.connection.execute("PRAGMA busy_timeout = 0")
    with closing(sqlite3.connect(backend.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageAway, match=r"frontier\.db.*locked"):
            backend.commit(found(entry("http://a/")))
        other.rollback()
    assert len(backend.commit(found(entry("http://a/"))).queued) == 1
