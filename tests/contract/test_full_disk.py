"""A commit that fails changed nothing, and the same batch can be tried again."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.contract.samples import NOW, entry, found, pages, robots, settled, urls
from webcrawl.errors import StorageFull
from webcrawl.frontier.records import State, UrlRecord
from webcrawl.storage.contract import Batch, Settled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.contract.conftest import MakeSqlite
    from tests.contract.driven import DrivenSqlite


@contextmanager
def full_disk(backend: DrivenSqlite) -> Iterator[None]:
    """The database can grow by no page while this lasts."""
    connection = backend.connection
    [pages_now] = connection.execute("PRAGMA page_count").fetchone()
    [free] = connection.execute("PRAGMA freelist_count").fetchone()
    assert free == 0
    connection.execute(f"PRAGMA max_page_count = {pages_now}")
    yield
    connection.execute("PRAGMA max_page_count = 1000000000")


def many(count: int = 2000) -> list:
    return [entry(f"http://h{number % 20}/{'x' * 60}/{number}") for number in range(count)]


def test_a_commit_that_finds_no_room_says_so_and_changes_nothing(sqlite: DrivenSqlite) -> None:
    sqlite.commit(found(page := entry("http://a/")))
    record = sqlite.activate_one().record
    before = (sqlite.read_counts(), sqlite.queued(), sqlite.states(), sqlite.hosts())
    record.fetches = 1
    batch = Batch(many(), [Settled(page, UrlRecord(State.DONE))], [record], [robots("http://a")])
    with full_disk(sqlite), pytest.raises(StorageFull, match=r"frontier\.db"):
        sqlite.commit(batch)
    assert (sqlite.read_counts(), sqlite.queued(), sqlite.states(), sqlite.hosts()) == before
    sqlite.check_consistency()


def test_the_same_batch_succeeds_when_there_is_room_again_and_loses_no_url(sqlite: DrivenSqlite) -> None:
    sqlite.commit(found(page := entry("http://a/")))
    sqlite.activate_one()
    batch = Batch([*many(), entry("http://a/", repeat=True)], [Settled(page, UrlRecord(State.DONE))])
    with full_disk(sqlite):
        for _ in range(3):
            with pytest.raises(StorageFull):
                sqlite.commit(batch)
    committed = sqlite.commit(batch)
    assert len(committed.queued) == 2001
    counts = sqlite.read_counts()
    assert (counts.queued, counts.done, counts.hosts) == (2001, 1, 21)


def test_work_that_fits_between_two_tries_costs_no_url(sqlite: DrivenSqlite) -> None:
    sqlite.commit(found(*pages("a", 1), *pages("b", 1)))
    batch = found(*many())
    with full_disk(sqlite):
        with pytest.raises(StorageFull):
            sqlite.commit(batch)
        for active in sqlite.activate_keys():
            sqlite.release_keys(active.record)
    assert len(sqlite.commit(batch).queued) == 2000


@pytest.mark.parametrize("end", ["crash", "reopen"])
def test_an_end_between_two_tries_costs_no_url(sqlite: DrivenSqlite, end: str) -> None:
    sqlite.commit(found(*pages("a", 1)))
    with full_disk(sqlite), pytest.raises(StorageFull):
        sqlite.commit(found(*many()))
    getattr(sqlite, end)()
    assert len(sqlite.commit(found(*many())).queued) == 2000


def test_it_can_be_closed_while_the_disk_is_full_and_nothing_committed_is_lost(
    make_sqlite: MakeSqlite,
) -> None:
    backend = make_sqlite()
    backend.commit(found(*many()))
    backend.connection.execute("PRAGMA max_page_count = 1")
    backend.reopen()
    assert backend.read_counts().queued == 2000
    assert backend.commit(found(*many())).queued == []


def test_other_work_says_so_too_when_it_finds_no_room(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite()
    backend.commit(found(*pages("a", 1)))
    record = backend.activate_one().record
    record.last_error = "x" * 100_000
    with full_disk(backend), pytest.raises(StorageFull):
        backend.release_keys(record)
    backend.release_keys(record)
    assert backend.activate_one(NOW).record == record


def test_settling_again_after_a_full_disk_ends_each_url_once(sqlite: DrivenSqlite) -> None:
    known = pages("a", 50)
    sqlite.commit(found(*known))
    sqlite.activate_one()
    batch = Batch(many(), [Settled(one, UrlRecord(State.FAILED, "timeout")) for one in known])
    with full_disk(sqlite), pytest.raises(StorageFull):
        sqlite.commit(batch)
    sqlite.commit(batch)
    counts = sqlite.read_counts()
    assert (counts.failed, counts.queued) == (50, 2000)
    assert sqlite.read_queue("a").entries == []


def test_keys_met_first_by_a_failed_commit_are_met_first_again(sqlite: DrivenSqlite) -> None:
    with full_disk(sqlite), pytest.raises(StorageFull):
        sqlite.commit(found(*many()))
    assert sqlite.read_counts().hosts == 0
    sqlite.commit(found(entry("http://h3/")))
    assert sqlite.read_counts().hosts == 1
    sqlite.commit(settled(sqlite.activate_one().queue.entries[0]))
    assert urls(sqlite.read_queue("h3").entries) == []
