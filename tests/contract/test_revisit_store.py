"""The pages of a continuous crawl: the same sentences hold for each place where they are remembered."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.contract.revisit_model import VisitModel
from tests.contract.samples import NOW
from webcrawl.features.revisits.estimate import History
from webcrawl.features.revisits.page import RevisitedPage
from webcrawl.features.revisits.store import LESSONS, PAGES, Hint, Lookup, RevisitStatus, VisitStore
from webcrawl.storage.tables import DuePartition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from tests.contract.conftest import OpenTables
    from webcrawl.features.revisits.page import PageId
    from webcrawl.storage.tables import Change, Table, Tables, TableSpec

    Opened = Callable[[], "Visits"]
    _Step = tuple[Any, ...]


def page(key: str, fingerprint: int, at: float, **more: object) -> RevisitedPage:
    known = RevisitedPage(
        key, fingerprint, f"http://{key}/{fingerprint}", History.first(NOW - 60), at, b"d" * 16, NOW - 60
    )
    return replace(known, **more)  # type: ignore[arg-type]


class Visits:
    """A store without ``await``."""

    def __init__(self, runner: asyncio.Runner, store: VisitStore) -> None:
        self._runner = runner
        self.store = store

    def find(self, *ids: PageId) -> list[RevisitedPage | None]:
        return self._runner.run(self.store.find(ids))

    def keep(self, *pages: RevisitedPage, dropped: tuple[PageId, ...] = ()) -> None:
        self._runner.run(self.store.keep(pages, dropped))

    def due_keys(self, now: float, most: int = 100, after: DuePartition | None = None) -> list[DuePartition]:
        return self._runner.run(self.store.due_keys(now, most, after))

    def take(self, now: float, *keys: str, seconds: float = 100.0, most: int = 8) -> list[tuple[str, int]]:
        return [one.id for one in self._runner.run(self.store.take(keys, now, seconds, most))]

    def hint(self, key: str, fingerprint: int, at: float) -> bool:
        [known] = self.hints([Hint(key, fingerprint, at)])
        return known

    def hints(self, hints: list[Hint]) -> list[bool]:
        return self._runner.run(self.store.hint(hints))

    def status(self, now: float) -> RevisitStatus:
        return self._runner.run(self.store.status(now))


@pytest.fixture
def opened(open_tables: OpenTables, runner: asyncio.Runner) -> Opened:
    """Opens the same store, again and again."""
    return lambda: Visits(runner, VisitStore(open_tables(PAGES, LESSONS)))


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
        fresh_seconds=60.0,
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
    due = [DuePartition(NOW + 1, B), DuePartition(NOW + 2, A)]
    assert visits.due_keys(NOW + 2.5) == due
    assert visits.due_keys(NOW + 2.5, 1) == due[:1]
    assert visits.due_keys(NOW + 3, 5, due[0]) == [due[1], DuePartition(NOW + 3, C)]


def test_keys_that_became_due_at_the_same_moment_are_passed_one_by_one(opened: Opened) -> None:
    visits = opened()
    keys = [f"k{number:02}.test" for number in range(30)]
    visits.keep(*(page(key, number, NOW) for number, key in enumerate(keys)))
    found: list[DuePartition] = []
    while more := visits.due_keys(NOW, 7, found[-1] if found else None):
        found += more
    assert found == [DuePartition(NOW, key) for key in keys]


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
    assert visits.due_keys(NOW) == [DuePartition(NOW, B)]
    visits.keep(page(A, 1, NOW + 1000))
    assert visits.due_keys(NOW) == [DuePartition(NOW - 97, A), DuePartition(NOW, B)]
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
    assert visits.due_keys(NOW + 9) == [DuePartition(NOW + 5, A)]
    assert visits.status(NOW + 9) == RevisitStatus(1, 1, NOW + 5)
    visits.keep(dropped=((A, 2),))
    assert visits.status(NOW + 9) == RevisitStatus(0, 0, None)


def test_a_hint_makes_a_page_due_earlier_and_never_later(opened: Opened) -> None:
    visits = opened()
    visits.keep(page(A, 1, NOW + 50), page(A, 2, NOW + 90))
    assert visits.hint(A, 2, NOW + 10)
    assert visits.hint(A, 2, NOW + 70)
    assert not visits.hint(A, 3, NOW)
    assert not visits.hint(B, 1, NOW)
    assert visits.due_keys(NOW + 10) == [DuePartition(NOW + 10, A)]
    assert visits.take(NOW + 10, A) == [(A, 2)]
    assert visits.hint(A, 2, NOW)
    assert visits.take(NOW + 60, A) == [(A, 1)]


def test_how_many_there_are_and_how_many_are_due(opened: Opened) -> None:
    visits = opened()
    assert visits.status(NOW) == RevisitStatus()
    visits.keep(*(page(f"k{number % 7}.test", number, NOW + number) for number in range(40)))
    visits.keep(page("k0.test", 0, NOW))
    assert visits.status(NOW + 9.5) == RevisitStatus(40, 10, NOW)
    # Also those that have to wait for others of their key.
    visits.take(NOW + 9.5, *(f"k{number}.test" for number in range(7)), most=1)
    assert visits.status(NOW + 9.5).due == 3


def test_what_policies_learnt_is_kept_by_worker(opened: Opened, runner: asyncio.Runner) -> None:
    one, other = opened().store, opened().store
    assert runner.run(one.lessons()) == {}
    for worker, lessons in (("w", "[1]"), ("ü", "[2]"), ("w", "[3]"), ("", "[4]"), ("x" * 300, "[5]")):
        runner.run(one.save_lessons(worker, lessons))
    assert runner.run(other.lessons()) == {"w": "[3]", "ü": "[2]", "": "[4]", "x" * 300: "[5]"}


_steps = st.lists(
    st.one_of(
        st.tuples(st.just("keep"), st.sampled_from("ab"), st.integers(0, 5), st.integers(0, 40)),
        st.tuples(st.just("drop"), st.sampled_from("ab"), st.integers(0, 5)),
        st.tuples(st.just("take"), st.sampled_from("ab"), st.integers(1, 4)),
        st.tuples(st.just("hint"), st.sampled_from("ab"), st.integers(0, 5), st.integers(0, 40)),
    ),
    max_size=25,
)


def test_it_does_what_the_model_does(opened: Opened, runner: asyncio.Runner) -> None:
    visits = opened()

    @given(_steps)
    @settings(max_examples=25, deadline=None)
    def compare(steps: list[tuple[object, ...]]) -> None:
        visits.keep(dropped=tuple((key, number) for key in "ab" for number in range(6)))
        model = Visits(runner, VisitModel())
        for number, (name, key, *rest) in enumerate(steps):
            now = NOW + 2.0 * number
            answers = [
                (
                    _step(one, now, str(name), str(key), [int(str(value)) for value in rest]),
                    one.due_keys(now),
                    one.status(now),
                )
                for one in (visits, model)
            ]
            assert answers[0] == answers[1]

    compare()


def test_many_hints_are_one_step(opened: Opened) -> None:
    visits = opened()
    visits.keep(page(A, 1, NOW + 50), page(A, 2, NOW + 90), page(B, 1, NOW + 70))
    hints = [Hint(A, 1, NOW + 20), Hint(A, 9, NOW), Hint(A, 2, NOW + 10), Hint(B, 1, NOW + 80)]
    assert visits.hints(hints) == [True, False, True, True]
    assert visits.hints([]) == []
    assert visits.due_keys(NOW + 90) == [DuePartition(NOW + 10, A), DuePartition(NOW + 70, B)]


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


def test_a_page_is_looked_up_with_the_lessons(opened: Opened, runner: asyncio.Runner) -> None:
    visits = opened()
    assert runner.run(visits.store.lookup((A, 1))) == Lookup()
    visits.keep(page(A, 1, NOW))
    runner.run(visits.store.save_lessons("", "[1]"))
    assert runner.run(visits.store.lookup((A, 1))) == Lookup(page(A, 1, NOW), ("[1]",), 1)
    assert runner.run(visits.store.lookup((A, 2))) == Lookup()


class Overtaken:
    """Tables in which another worker makes a step before the next update of pages."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.rival: Callable[[], Awaitable[object]] | None = None

    def table(self, spec: TableSpec) -> Table:
        table = self._tables.table(spec)
        return OvertakenTable(self, table) if spec is PAGES else table  # type: ignore[return-value]

    async def lock(self, name: str, holder: str, seconds: float) -> bool:
        return await self._tables.lock(name, holder, seconds)


class OvertakenTable:
    def __init__(self, tables: Overtaken, table: Table) -> None:
        self._tables, self._table = tables, table

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    async def update(self, changes: Sequence[Change]) -> list[bool]:
        rival, self._tables.rival = self._tables.rival, None
        if rival is not None:
            await rival()
        return await self._table.update(changes)


_numbers = st.integers(0, 2)
_one_step = st.one_of(
    st.tuples(st.just("keep"), _numbers, st.integers(-9, 9)),
    st.tuples(st.just("drop"), _numbers),
    st.tuples(st.just("take"), st.integers(1, 3)),
    st.tuples(st.just("hint"), _numbers, st.integers(-9, 9)),
)


async def _make(visits: VisitStore, worker: bytes, step: tuple[Any, ...]) -> object:
    """Make a step; what a worker keeps has a content of its own."""
    match step:
        case "keep", number, at:
            return await visits.keep([page(A, number, NOW + at, digest=worker)])
        case "drop", number:
            return await visits.keep([], [(A, number)])
        case "take", most:
            return [one.id for one in await visits.take([A], NOW, 9.0, most)]
        case _, number, at:
            return await visits.hint([Hint(A, number, NOW + at)])


_ALL = [(A, number) for number in range(3)]


def test_steps_of_two_workers_at_the_same_time_are_as_if_one_was_first(
    open_tables: OpenTables, runner: asyncio.Runner
) -> None:
    tables = Overtaken(open_tables(PAGES, LESSONS))
    mine, theirs = VisitStore(tables), VisitStore(open_tables(PAGES, LESSONS))

    async def outcome(before: Sequence[_Step], first: _Step, second: _Step) -> list[object]:
        await mine.keep([], _ALL)
        for one in before:
            await _make(mine, b"before", one)
        answers: dict[bytes, object] = {}

        async def rival() -> None:
            answers[b"second"] = await _make(theirs, b"second", second)

        tables.rival = rival
        answers[b"first"] = await _make(mine, b"first", first)
        if tables.rival is not None:
            # The first step changed nothing.
            tables.rival = None
            await rival()
        return [answers, await mine.find(_ALL), await _make(theirs, b"", ("take", 3))]

    async def expected(before: Sequence[_Step], *workers: tuple[bytes, _Step]) -> list[object]:
        model = VisitModel()
        for one in before:
            await _make(model, b"before", one)
        answers = {worker: await _make(model, worker, one) for worker, one in workers}
        return [answers, await model.find(_ALL), await _make(model, b"", ("take", 3))]

    @given(st.lists(_one_step, max_size=6), _one_step, _one_step)
    @settings(max_examples=25, deadline=None)
    def compare(before: list[_Step], first: _Step, second: _Step) -> None:
        # Of two hints for one page at the same time, either may win.
        assume({first[:2], second[:2]} != {("hint", first[1])})
        workers = (b"first", first), (b"second", second)
        allowed = [runner.run(expected(before, *order)) for order in (workers, workers[::-1])]
        assert runner.run(outcome(before, first, second)) in allowed

    compare()
