"""The robots.txt answers of a crawl of any size fit in a bounded table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.contract.samples import NOW, entry, found, robots
from webcrawl.storage.contract import Batch

if TYPE_CHECKING:
    from tests.contract.conftest import MakeSqlite
    from tests.contract.driven import Driven


def test_the_answer_of_an_origin_can_be_had_without_its_key(backend: Driven) -> None:
    known = replace(robots("http://a", "User-agent: *\n"), attempts=3, crawl_delay_seconds=0.25)
    assert backend.run(backend.backend.read_robots("http://a", "a")) is None
    backend.commit(Batch(robots=[known]))
    assert backend.run(backend.backend.read_robots("http://a", "a")) == known
    backend.crash()
    assert backend.run(backend.backend.read_robots("http://a", "a")) == known
    assert backend.run(backend.backend.read_robots("http://b", "b")) is None


def test_when_the_cache_is_full_those_answers_go_first_that_end_first(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite(robots_max=10)
    for number in range(40):
        backend.commit(Batch(robots=[robots(f"http://h{number}", expires_at=NOW + number)]))
    kept = {row[0] for row in backend.rows("SELECT origin FROM robots")}
    assert 8 <= len(kept) <= 10
    assert kept == {f"http://h{number}" for number in range(40 - len(kept), 40)}


def test_answers_that_replace_others_push_none_out(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite(robots_max=3)
    for number in range(3):
        backend.commit(Batch(robots=[robots(f"http://h{number}", expires_at=NOW + number)]))
    for _ in range(10):
        backend.commit(Batch(robots=[robots("http://h2", "again", expires_at=NOW + 2)]))
    assert backend.rows("SELECT count(*) FROM robots") == [(3,)]


def test_the_bound_holds_through_restarts_and_failed_commits(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite(robots_max=20)
    for number in range(100):
        backend.commit(Batch(robots=[robots(f"http://h{number}", expires_at=NOW + number)]))
        if number % 30 == 0:
            backend.crash()
    [(stored,)] = backend.rows("SELECT count(*) FROM robots")
    assert stored <= 20
    assert backend.rows("SELECT robots FROM totals") == [(stored,)]


def test_one_commit_may_bring_more_answers_than_fit(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite(robots_max=5)
    backend.commit(
        Batch(robots=[robots(f"http://h{number}", expires_at=NOW + number) for number in range(50)])
    )
    [(stored,)] = backend.rows("SELECT count(*) FROM robots")
    assert 0 < stored <= 5


def test_a_url_whose_answer_went_simply_has_none(make_sqlite: MakeSqlite) -> None:
    backend = make_sqlite(robots_max=1)
    backend.commit(found(entry("http://a/")))
    backend.commit(Batch(robots=[robots("http://a", expires_at=NOW)]))
    backend.commit(Batch(robots=[robots("http://b", expires_at=NOW + 1)]))
    assert backend.activate_one().queue.robots == []
