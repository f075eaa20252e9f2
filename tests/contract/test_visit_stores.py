"""The pages of a continuous crawl: the same sentences hold for each place where they are remembered."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.contract.driven_redis import DrivenRedis
from tests.contract.samples import NOW
from webcrawl.errors import JobdirDamaged
from webcrawl.features.revisits.estimate import History
from webcrawl.features.revisits.page import Page
from webcrawl.features.revisits.store import DueKey, Hint, Lookup, RevisitStatus
from webcrawl.storage.memory.visits import MemoryVisits
from webcrawl.storage.sqlite.visits import NAME, SqliteVisits, looked_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.redis_server import RedisServer
    from webcrawl.features.revisits.page import PageId
    from webcrawl.features.revisits.store import VisitStore

    Opened = Callable[[], "Visits"]

_names = (f"visits{number}" for number in itertools.count())


def page(key: str, fingerprint: int, at: float, **more: object) -> Page:
    known = Page(
        key, fingerprint, f"http://{key}/{fingerprint}", History.first(NOW - 60), at, b"d" * 16, NOW - 60
    )
    return replace(known, **more)  # type: ignore[arg-type]


class Visits:
    """A store without ``await``."""

    def __init__(self, runner: asyncio.Runner, store: VisitStore) -> None:
        self._runner = runner
        self.store = store
        runner.run(store.open())

    def find(self, *ids: PageId) -> list[Page | None]:
        return self._runner.run(self.store.find(ids))

    def keep(self, *pages: Page, dropped: tuple[PageId, ...] = ()) -> None:
        self._runner.run(self.store.keep(pages, dropped))

    def due_keys(self, now: float, most: int = 100, after: DueKey | None = None) -> list[DueKey]:
        return self._runner.run(self.store.due_keys(now, most, after))

    def take(self, now: float, *keys: str, seconds: float = 100.0, most: int = 8) -> list[tuple[str, int]]:
        return [one.id for one in self._runner.run(self.store.take(keys, now, seconds, most))]

    def hint(self, key: str, fingerprint: int, at: float) -> bool:
        [known] = self.hints([Hint(key, fingerprint, at)])
        return known

    def hints(self, hints: list[Hint]) -> list[bool]:
        return self._runner.run(self.store.hint(hints))

    def standing(self, now: float) -> RevisitStatus:
        return self._runner.run(self.store.standing(now))

    def close(self) -> None:
        self._runner.run(self.store.close())


@pytest.fixture(params=["memory", "sqlite", "redis", pytest.param("cluster", marks=pytest.mark.soak)])
def opened(request: pytest.FixtureRequest, runner: asyncio.Runner, tmp_path: Path) -> Iterator[Opened]:
    """Opens the same store, again and again."""
    made: list[Visits] = []
    driven: list[DrivenRedis] = []
    memory = MemoryVisits()
    spider = next(_names)

    def one() -> Visits:
        if request.param == "memory":
            made.append(Visits(runner, memory))
        elif request.param == "sqlite":
            made.append(Visits(runner, SqliteVisits(tmp_path)))
        else:
            server = request.getfixturevalue(f"redis_{'server' if request.param == 'redis' else 'cluster'}")
            driven.append(DrivenRedis(runner, server.url, spider, server.client(), shards=3))
            driven[-1].open()
            made.append(Visits(runner, driven[-1].backend.visits))
        return made[-1]

    yield one
    for each in made:
        each.close()
    for one_driven in driven[-1:]:
        one_driven.check_books()
    for one_driven in driven:
        one_driven.dispose()


A, B, C = "a.test", "b.test", "ü.test"


def test_a_page_is_remembered_as_it_was_told_by_whoever_opens_the_store_next(opened: Opened) -> None:
    history = History.first(NOW - 60, NOW - 5000).visited(NOW - 50, changed=True)
    whole = page(
        *(C, -(1 << 63), NOW + 0.123456),
        history=history,
        etag='W/"ü"',
        last_modified="Sat, 1 Jan",
        kind="sitemap",
        depth=3,
        via="http://v.test/",
        payload='{"callback":"parse"}',
        gone=2,
        failed=1,
    )
    plain = page(A, (1 << 63) - 1, NOW)
    opened().keep(whole, plain)
    assert opened().find(whole.id, (A, 5), plain.id) == [whole, None, plain]


def test_keys_are_due_in_the_order_of_their_first_page(opened: Opened) -> None:
    visits = opened()
    visits.keep(page(A, 1, NOW + 9), page(B, 2, NOW + 1), page(A, 3, NOW + 2), page(C, 4, NOW + 3))
    assert visits.due_keys(NOW) == []
    due = [DueKey(NOW + 1, B), DueKey(NOW + 2, A)]
    assert visits.due_keys(NOW + 2.5) == due
    assert visits.due_keys(NOW + 2.5, 1) == due[:1]
    assert visits.due_keys(NOW + 3, 5, due[0]) == [due[1], DueKey(NOW + 3, C)]


def test_keys_that_became_due_at_the_same_moment_are_passed_one_by_one(opened: Opened) -> None:
    visits = opened()
    keys = [f"k{number:02}.test" for number in range(30)]
    visits.keep(*(page(key, number, NOW) for number, key in enumerate(keys)))
    found: list[DueKey] = []
    while more := visits.due_keys(NOW, 7, found[-1] if found else None):
        found += more
    assert found == [DueKey(NOW, key) for key in keys]


def test_what_was_taken_is_nobody_elses_until_its_time_is_over(opened: Opened) -> None:
    one, other = opened(), opened()
    one.keep(page(A, 1, NOW), page(A, 2, NOW - 1), page(A, 3, NOW + 50))
    assert one.take(NOW, A, B) == [(A, 2), (A, 1)]
    assert other.take(NOW, A) == []
    assert other.due_keys(NOW + 49) == []
    assert other.take(NOW + 99, A) == [(A, 3)]
    assert other.take(NOW + 100, A) == [(A, 1), (A, 2)]


def test_only_so_many_pages_of_a_key_are_out_and_the_others_do_not_hold_up_other_keys(opened: Opened) -> None:
    visits = opened()
    visits.keep(*(page(A, number, NOW - 100 + number) for number in range(20)), page(B, 1, NOW))
    assert visits.take(NOW, A, most=3) == [(A, 0), (A, 1), (A, 2)]
    assert visits.take(NOW, A, most=3) == []
    assert visits.due_keys(NOW) == [DueKey(NOW, B)]
    visits.keep(page(A, 1, NOW + 1000))
    assert visits.due_keys(NOW) == [DueKey(NOW - 97, A), DueKey(NOW, B)]
    assert visits.take(NOW, A, most=3) == [(A, 3)]
    assert visits.take(NOW, A, most=5) == [(A, 4), (A, 5)]


def test_the_time_doubles_while_nothing_is_heard_of_a_key(opened: Opened) -> None:
    visits = opened()
    visits.keep(page(A, 1, NOW), page(A, 2, NOW))
    assert visits.take(NOW, A) == [(A, 1), (A, 2)]
    assert visits.take(NOW + 100, A) == [(A, 1), (A, 2)]
    assert visits.due_keys(NOW + 299) == []
    assert visits.take(NOW + 300, A) == [(A, 1), (A, 2)]
    visits.keep(page(A, 1, NOW + 400))
    assert visits.take(NOW + 400, A) == [(A, 1)]
    assert [one.next_visit_at for one in visits.find((A, 1), (A, 2)) if one] == [NOW + 500, NOW + 700]


def test_what_is_gone_is_forgotten(opened: Opened) -> None:
    visits = opened()
    visits.keep(page(A, 1, NOW), page(A, 2, NOW + 5), page(B, 1, NOW))
    visits.take(NOW, A)
    visits.keep(dropped=((A, 1), (B, 1), (C, 9)))
    assert visits.find((A, 1), (B, 1)) == [None, None]
    assert visits.due_keys(NOW + 9) == [DueKey(NOW + 5, A)]
    assert visits.standing(NOW + 9) == RevisitStatus(1, 1, NOW + 5)
    visits.keep(dropped=((A, 2),))
    assert visits.standing(NOW + 9) == RevisitStatus(0, 0, None)


def test_a_hint_makes_a_page_due_earlier_and_never_later(opened: Opened) -> None:
    visits = opened()
    visits.keep(page(A, 1, NOW + 50), page(A, 2, NOW + 90))
    assert visits.hint(A, 2, NOW + 10)
    assert visits.hint(A, 2, NOW + 70)
    assert not visits.hint(A, 3, NOW)
    assert not visits.hint(B, 1, NOW)
    assert visits.due_keys(NOW + 10) == [DueKey(NOW + 10, A)]
    assert visits.take(NOW + 10, A) == [(A, 2)]
    assert visits.hint(A, 2, NOW)
    assert visits.take(NOW + 60, A) == [(A, 1)]


def test_how_many_there_are_and_how_many_are_due(opened: Opened) -> None:
    visits = opened()
    assert visits.standing(NOW) == RevisitStatus()
    visits.keep(*(page(f"k{number % 7}.test", number, NOW + number) for number in range(40)))
    visits.keep(page("k0.test", 0, NOW))
    assert visits.standing(NOW + 9.5) == RevisitStatus(40, 10, NOW)
    # Also those that have to wait for others of their key.
    visits.take(NOW + 9.5, *(f"k{number}.test" for number in range(7)), most=1)
    assert visits.standing(NOW + 9.5).due == 3


def test_what_policies_learnt_is_kept_by_worker(opened: Opened, runner: asyncio.Runner) -> None:
    one, other = opened().store, opened().store
    assert runner.run(one.lessons()) == {}
    for worker, lessons in (("w", "[1]"), ("ü", "[2]"), ("w", "[3]")):
        runner.run(one.learnt(worker, lessons))
    assert runner.run(other.lessons()) == {"w": "[3]", "ü": "[2]"}


_steps = st.lists(
    st.one_of(
        st.tuples(st.just("keep"), st.sampled_from("ab"), st.integers(0, 5), st.integers(0, 40)),
        st.tuples(st.just("drop"), st.sampled_from("ab"), st.integers(0, 5)),
        st.tuples(st.just("take"), st.sampled_from("ab"), st.integers(1, 4)),
        st.tuples(st.just("hint"), st.sampled_from("ab"), st.integers(0, 5), st.integers(0, 40)),
    ),
    max_size=25,
)


@given(_steps)
@settings(max_examples=40, deadline=None)
def test_sqlite_does_what_memory_does(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[object, ...]]
) -> None:
    with asyncio.Runner() as runner:
        sqlite = Visits(runner, SqliteVisits(tmp_path_factory.mktemp("visits")))
        _compare([Visits(runner, MemoryVisits()), sqlite], steps)
        sqlite.close()


def test_redis_does_what_memory_does(redis_server: RedisServer) -> None:
    @given(_steps)
    @settings(max_examples=25, deadline=None)
    def compare(steps: list[tuple[object, ...]]) -> None:
        with asyncio.Runner() as runner:
            driven = DrivenRedis(runner, redis_server.url, next(_names), shards=2)
            driven.open()
            _compare([Visits(runner, MemoryVisits()), Visits(runner, driven.backend.visits)], steps)
            driven.dispose()

    compare()


def _compare(stores: list[Visits], steps: list[tuple[object, ...]]) -> None:
    """All of them answer the same to the same steps, two seconds apart."""
    for number, (name, key, *rest) in enumerate(steps):
        now = NOW + 2.0 * number
        answers = [
            _step(visits, now, str(name), str(key), [int(str(one)) for one in rest]) for visits in stores
        ]
        answers = [
            (answer, visits.due_keys(now), visits.standing(now))
            for answer, visits in zip(answers, stores, strict=True)
        ]
        assert answers[0] == answers[1]


def test_many_hints_are_one_step(opened: Opened) -> None:
    visits = opened()
    visits.keep(page(A, 1, NOW + 50), page(A, 2, NOW + 90), page(B, 1, NOW + 70))
    hints = [Hint(A, 1, NOW + 20), Hint(A, 9, NOW), Hint(A, 2, NOW + 10), Hint(B, 1, NOW + 80)]
    assert visits.hints(hints) == [True, False, True, True]
    assert visits.hints([]) == []
    assert visits.due_keys(NOW + 90) == [DueKey(NOW + 10, A), DueKey(NOW + 70, B)]


def _step(visits: Visits, now: float, name: str, key: str, rest: list[int]) -> object:
    match name:
        case "keep":
            return visits.keep(page(key, rest[0], now + rest[1] - 5))
        case "drop":
            return visits.keep(dropped=((key, rest[0]),))
        case "take":
            return visits.take(now, key, seconds=9.0, most=rest[0])
        case _:
            return visits.hint(key, rest[0], now + rest[1] - 20)


def test_a_file_that_is_no_database_is_named(tmp_path: Path, runner: asyncio.Runner) -> None:
    (tmp_path / NAME).write_text("nothing of the kind, but long enough to be looked at" * 50)
    with pytest.raises(JobdirDamaged, match=r"visits\.db"):
        Visits(runner, SqliteVisits(tmp_path))


def test_another_process_may_read_it_meanwhile(tmp_path: Path, runner: asyncio.Runner) -> None:
    assert looked_up(tmp_path, (A, 1)) == Lookup()
    visits = Visits(runner, SqliteVisits(tmp_path))
    visits.keep(page(A, 1, NOW))
    runner.run(visits.store.learnt("", "[1]"))
    assert looked_up(tmp_path, (A, 1)) == Lookup(page(A, 1, NOW), ("[1]",), 1)
    assert looked_up(tmp_path, (A, 2)) == Lookup(None, ("[1]",), 1)
    visits.close()
