"""The check of the books in a JOBDIR: each thing that can be wrong is found, named and repaired; nothing else is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import DrivenSqlite, make
from tests.contract.samples import NOW, entry, found, pages, robots
from webcrawl.errors import JobdirDamaged, JobdirUnusable, JobdirVersion
from webcrawl.frontier.records import State, UrlRecord
from webcrawl.storage.contract import Batch, Counts, Settled
from webcrawl.storage.inspection import Finding, FindingKind, Findings
from webcrawl.storage.sqlite import check
from webcrawl.storage.sqlite.inspection import read_status

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path

    from tests.contract.conftest import MakeSqlite

FAR_AWAY = 5e9
QUEUED = 10
"""URLs that are fetched in the end when nothing was wrong."""


def crawl_on(driven: DrivenSqlite) -> None:
    """Hosts that are idle, active and given up; URLs in every state, one of them queued again on purpose."""
    again = entry("http://a.test/0", repeat=True)
    driven.commit(found(*pages("b.test", 6), *pages("c.test", 2)))
    active, given_up = sorted(driven.activate_keys(2), key=lambda one: one.record.key)
    given_up.record.given_up = True
    states = (State.DONE, State.FAILED, State.REFUSED)
    ended = [Settled(one, UrlRecord(state)) for one, state in zip(active.queue.entries, states, strict=False)]
    driven.commit(Batch(pages("a.test", 5), ended, [], [robots("http://a.test")]))
    driven.commit(found(again))
    driven.release_keys(given_up.record)


@pytest.fixture
def driven(make_sqlite: MakeSqlite) -> DrivenSqlite:
    made = make_sqlite()
    crawl_on(made)
    return made


@pytest.fixture
def stopped(driven: DrivenSqlite) -> DrivenSqlite:
    """Nobody has it open."""
    driven.close()
    return driven


def plant(driven: DrivenSqlite, *statements: str) -> None:
    with closing(sqlite3.connect(driven.path, isolation_level=None)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0, statement


def fetch_all(driven: DrivenSqlite) -> set[str]:
    """Crawl on until nothing is queued: the URLs that are given out."""
    driven.renew()
    driven.open(FAR_AWAY)
    fetched: set[str] = set()
    while activated := driven.activate_keys(100, FAR_AWAY + 100):
        for one in activated:
            entries = driven.read_queue(one.record.key, None, 1000).entries
            fetched |= {one.url for one in entries}
            driven.commit(Batch(settled=[Settled(ended, UrlRecord(State.DONE)) for ended in entries]))
            driven.release_keys(one.record)
    assert driven.read_counts().queued == 0
    driven.check_consistency()
    return fetched


A = "(SELECT id FROM hosts WHERE key = 'a.test')"
FIRST = (
    f"(SELECT fingerprint FROM queue WHERE host_id = {A} AND repeat = 0 ORDER BY position LIMIT 1 OFFSET 1)"
)
ONE = f"host_id = {A} AND fingerprint = {FIRST}"
REST = "fingerprint, url, depth, kind, redirects, attempts, repeat"
INSERT = f"INSERT INTO queue (host_id, rank, position, {REST})"

EXACT = {
    # What is wrong; how often of each kind it is found; how many URLs fewer are fetched in the end.
    "queued and not known": ([f"DELETE FROM seen WHERE {ONE}"], {FindingKind.UNKNOWN: 1}, 0),
    "known and nowhere": (
        [f"INSERT INTO seen (host_id, fingerprint) VALUES ({A}, 77)"],
        {FindingKind.NOWHERE: 1},
        0,
    ),
    "queued and done": (
        [f"UPDATE seen SET state = 1 WHERE {ONE}"],
        {FindingKind.SETTLED: 1, FindingKind.TOTAL: 1},
        1,
    ),
    "no state": (
        [f"UPDATE seen SET state = 8 WHERE {ONE}"],
        {FindingKind.UNREADABLE: 1, FindingKind.SETTLED: 1},
        0,
    ),
    "known of nobody": (
        ["INSERT INTO seen (host_id, fingerprint, state) VALUES (99, 77, 1)"],
        {FindingKind.STRAY: 1, FindingKind.TOTAL: 1},
        0,
    ),
    "done": (["UPDATE totals SET done = 9"], {FindingKind.TOTAL: 1}, 0),
    "failed": (["UPDATE totals SET failed = 9"], {FindingKind.TOTAL: 1}, 0),
    "refused": (["UPDATE totals SET refused = 9"], {FindingKind.TOTAL: 1}, 0),
}
ANY = {
    "queued twice": (
        [f"{INSERT} SELECT host_id, rank, position + 50, {REST} FROM queue WHERE {ONE}"],
        {FindingKind.TWICE: 1, FindingKind.LENGTH: 1, FindingKind.TOTAL: 1},
        0,
    ),
    "queued for nobody": (
        [f"{INSERT} SELECT 99, rank, position, {REST} FROM queue WHERE {ONE}"],
        {FindingKind.STRAY: 1, FindingKind.TOTAL: 1},
        0,
    ),
    "a wrong number": (["UPDATE hosts SET queued = 9 WHERE key = 'a.test'"], {FindingKind.LENGTH: 1}, 0),
    "a wrong level": (["UPDATE hosts SET level = 9 WHERE key = 'a.test'"], {FindingKind.LEVEL: 1}, 0),
    "not idle": (["UPDATE hosts SET idle = 0 WHERE key = 'a.test'"], {FindingKind.PLACE: 1}, 0),
    "idle and active": (["UPDATE hosts SET active = 1 WHERE key = 'a.test'"], {FindingKind.PLACE: 1}, 0),
    "idle and given up": (["UPDATE hosts SET idle = 1 WHERE key = 'c.test'"], {FindingKind.PLACE: 1}, 0),
    "a record that is none": (
        ["UPDATE hosts SET record = '{' WHERE key = 'b.test'"],
        {FindingKind.UNREADABLE: 1},
        0,
    ),
    "queued": (["UPDATE totals SET queued = 9"], {FindingKind.TOTAL: 1}, 0),
    "hosts": (["UPDATE totals SET hosts = 9"], {FindingKind.TOTAL: 1}, 0),
    "robots": (["UPDATE totals SET robots = 9"], {FindingKind.TOTAL: 1}, 0),
}


def found_and_repaired(
    driven: DrivenSqlite, statements: list[str], expected: dict[FindingKind, int], fewer: int
) -> None:
    plant(driven, *statements)
    before = driven.path.read_bytes()
    assert check.check(driven.path).left.counts == expected
    assert driven.path.read_bytes() == before

    repaired = check.repair(driven.path)
    assert repaired.agrees, repaired.left
    assert repaired.repaired
    assert check.check(driven.path).agrees
    assert len(fetch_all(driven)) == QUEUED - fewer


@pytest.mark.parametrize("what", ANY)
def test_what_is_wrong_is_found_and_repaired_and_the_crawl_goes_on(stopped: DrivenSqlite, what: str) -> None:
    found_and_repaired(stopped, *ANY[what])


@pytest.mark.parametrize("what", EXACT)
def test_states_that_are_wrong_are_found_and_repaired(
    runner: asyncio.Runner, tmp_path: Path, what: str
) -> None:
    driven = make("sqlite", runner, tmp_path)
    assert isinstance(driven, DrivenSqlite)
    driven.open()
    crawl_on(driven)
    driven.close()
    found_and_repaired(driven, *EXACT[what])
    driven.dispose()


def test_nothing_is_found_and_nothing_changed_where_nothing_is_wrong(stopped: DrivenSqlite) -> None:
    before = stopped.path.read_bytes()
    for checked in (check.check(stopped.path), check.repair(stopped.path)):
        assert checked.left == checked.repaired == Findings()
        assert (checked.urls, checked.queued, checked.hosts) == (13, 11, 3)
        assert bool(checked.unchecked) is not stopped.exact
    assert stopped.path.read_bytes() == before
    assert len(fetch_all(stopped)) == QUEUED


def test_a_crawl_that_runs_is_seen_as_of_one_moment_and_not_disturbed(driven: DrivenSqlite) -> None:
    assert check.check(driven.path).agrees
    driven.commit(found(*pages("d.test", 3)))
    checked = check.check(driven.path)
    assert checked.agrees
    assert (checked.queued, checked.hosts) == (14, 4)


def test_what_is_wrong_is_called_by_its_name(stopped: DrivenSqlite) -> None:
    plant(stopped, "UPDATE hosts SET queued = 9 WHERE key = 'a.test'", "UPDATE totals SET queued = 99")
    left = check.check(stopped.path).left
    assert left.listed == {
        FindingKind.LENGTH: [Finding(FindingKind.LENGTH, "a.test", "says 9, is 6")],
        FindingKind.TOTAL: [Finding(FindingKind.TOTAL, "queued", "says 99, is 11")],
    }


def test_a_queued_url_that_a_bloom_filter_does_not_have_is_found_and_repaired(bloom: DrivenSqlite) -> None:
    crawl_on(bloom)
    plant(bloom, f"DELETE FROM seen_journal WHERE fingerprint = {FIRST}")
    bloom.survive()
    assert check.check(bloom.path).left.counts == {FindingKind.UNKNOWN: 1}
    assert check.repair(bloom.path).agrees
    assert check.check(bloom.path).agrees
    bloom.open()
    assert bloom.commit(found(entry("http://a.test/0"))).queued == []


def test_a_bloom_filter_that_is_lost_is_damage(bloom: DrivenSqlite) -> None:
    crawl_on(bloom)
    bloom.close()
    for path in bloom.directory.glob("seen-*.bloom"):
        path.unlink()
    before = bloom.path.read_bytes()
    assert check.repair(bloom.path).left.counts == {FindingKind.DAMAGED: 1}
    assert bloom.path.read_bytes() == before


def test_a_damaged_database_is_told_and_left_alone(stopped: DrivenSqlite) -> None:
    data = bytearray(stopped.path.read_bytes())
    # The root page of an index: what it says of the table is wrong from now on.
    [(page,)] = stopped.rows("SELECT rootpage FROM sqlite_master WHERE name = 'hosts_idle'")
    start = (page - 1) * 4096
    data[start + 3 : start + 5] = b"\0\0"
    stopped.path.write_bytes(data)
    for checked in (check.check(stopped.path), check.repair(stopped.path)):
        assert set(checked.left.counts) == {FindingKind.DAMAGED}
    assert stopped.path.read_bytes() == data


# -- what is no crawl ----------------------------------------------------------------------------------------


def look(path: Path) -> None:
    check.check(path)


def stand(path: Path) -> None:
    read_status(path, NOW)


@pytest.mark.parametrize("ask", [look, stand])
def test_a_folder_without_a_crawl_is_refused_and_nothing_is_made_there(tmp_path: Path, ask) -> None:
    with pytest.raises(JobdirUnusable, match=r"is no crawl .* no frontier\.db"):
        ask(tmp_path / "frontier.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ask", [look, stand])
def test_a_database_of_something_else_is_refused(tmp_path: Path, ask) -> None:
    path = tmp_path / "frontier.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (x)")
    with pytest.raises(JobdirUnusable, match="of something else"):
        ask(path)
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(JobdirDamaged):
        ask(path)


@pytest.mark.parametrize("ask", [look, stand])
def test_a_crawl_of_another_version_is_refused(stopped: DrivenSqlite, ask) -> None:
    plant(stopped, "UPDATE meta SET value = '99' WHERE name = 'schema_version'")
    with pytest.raises(JobdirVersion, match="99"):
        ask(stopped.path)


def test_it_tells_how_a_crawl_stands(driven: DrivenSqlite) -> None:
    status = read_status(driven.path, NOW)
    assert status.counts == Counts(11, 1, 1, 1, hosts=3, given_up_hosts=1, given_up_urls=2)
    assert (status.active_hosts, status.workers) == (1, [])
