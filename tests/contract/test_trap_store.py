"""The store of a quarantine: the same sentences hold on the tables of each technology."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from webcrawl.errors import StorageLost
from webcrawl.features.traps.quarantine import Kept, Trap, Withheld
from webcrawl.features.traps.store import SPEC, TrapStore
from webcrawl.storage.tables import HEADER, Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contract.conftest import OpenTables

ONE = Trap("h.test/cal/#", "12 pages in a row", 5.0, 14, ("http://h.test/cal/1", "http://h.test/cal/ü"))
TWO = Trap("h.test/shop?size", "20 pages in a row", 6.0, 31, ())


@pytest.fixture
def open_store(open_tables: OpenTables) -> Callable[[], TrapStore]:
    """Gives the same store again and again, as processes of one crawl have it."""
    return lambda: TrapStore(open_tables(SPEC))


@pytest.fixture
def store(open_store):
    return open_store()


def kept(*urls: str, count: int = 0) -> Kept:
    return Kept([Withheld(url, 3, "http://h.test/") for url in urls], count or len(urls))


def owed(runner: asyncio.Runner, store: TrapStore, pattern: str, most: int) -> list[Withheld]:
    return runner.run(store.owed(pattern, HEADER, most))[0]


def test_an_empty_store_has_nothing(runner: asyncio.Runner, store: TrapStore) -> None:
    assert runner.run(store.beliefs()) == []
    assert owed(runner, store, "h.test/cal/#", 10) == []
    assert runner.run(store.version()) == runner.run(store.version())


def test_what_was_put_in_is_known_to_all_and_the_oldest_first(
    runner: asyncio.Runner, open_store: Callable[[], TrapStore]
) -> None:
    runner.run(open_store().put([TWO, ONE]))
    assert runner.run(open_store().beliefs()) == [ONE, TWO]


def test_each_change_of_a_pattern_changes_the_version_and_nothing_else_does(
    runner: asyncio.Runner, store: TrapStore
) -> None:
    versions = [runner.run(store.version())]
    for step in (store.put([ONE]), store.put([TWO]), store.undo([ONE.pattern], 9.0)):
        runner.run(step)
        versions.append(runner.run(store.version()))
    assert len(set(versions)) == 4
    runner.run(store.withhold({TWO.pattern: kept("http://h.test/shop?size=1")}, 10))
    assert runner.run(store.version()) == versions[-1]


def test_a_pattern_that_is_known_stays_as_it_is(runner: asyncio.Runner, store: TrapStore) -> None:
    runner.run(store.put([ONE]))
    runner.run(store.undo([ONE.pattern, "unknown"], 9.0))
    runner.run(store.undo([ONE.pattern], 11.0))
    runner.run(store.put([Trap(ONE.pattern, "again", 10.0, 99, ())]))
    [trap] = runner.run(store.beliefs())
    assert (trap.why, trap.since, trap.released_at) == (ONE.why, 5.0, 9.0)


def test_so_many_urls_are_remembered_and_all_are_counted(runner: asyncio.Runner, store: TrapStore) -> None:
    runner.run(store.put([ONE, TWO]))
    urls = [f"http://h.test/cal/{n}" for n in range(7)]
    runner.run(store.withhold({ONE.pattern: kept(*urls[:4], count=10)}, 5))
    runner.run(store.withhold({ONE.pattern: kept(*urls[4:]), TWO.pattern: kept("http://h.test/shop")}, 5))
    assert [trap.withheld for trap in runner.run(store.beliefs())] == [13, 1]
    stored = owed(runner, store, ONE.pattern, 100)
    assert len({one.url for one in stored}) == len(stored) == 5
    assert {(one.depth, one.via) for one in stored} == {(3, "http://h.test/")}
    assert len(owed(runner, store, ONE.pattern, 2)) == 2


def test_what_is_queued_again_is_owed_no_more(
    runner: asyncio.Runner, open_store: Callable[[], TrapStore]
) -> None:
    store = open_store()
    urls = [f"http://h.test/cal/{n}" for n in range(700)]
    runner.run(store.put([ONE]))
    runner.run(store.withhold({ONE.pattern: kept(*urls)}, 1000))
    found: list[str] = []
    while some := owed(runner, open_store(), ONE.pattern, 300):
        found += [one.url for one in some]
        runner.run(store.requeued(ONE.pattern, [one.url for one in some]))
    assert sorted(found) == sorted(urls)
    assert [trap.withheld for trap in runner.run(store.beliefs())] == [700]


def test_what_is_owed_can_be_read_in_parts(runner: asyncio.Runner, store: TrapStore) -> None:
    urls = [f"http://h.test/cal/{n}" for n in range(7)]
    runner.run(store.withhold({ONE.pattern: kept(*urls)}, 10))
    found: list[str] = []
    after: bytes | None = HEADER
    while after is not None:
        some, after = runner.run(store.owed(ONE.pattern, after, 3))
        found += [one.url for one in some]
    assert sorted(found) == urls


def test_who_queues_what_is_owed_is_one_at_a_time(
    request: pytest.FixtureRequest, runner: asyncio.Runner, open_store: Callable[[], TrapStore]
) -> None:
    assert runner.run(open_store().claim("w1", 60.0))
    assert runner.run(open_store().claim("w1", 60.0))
    if "redis" in request.node.callspec.id:
        assert not runner.run(open_store().claim("w2", 60.0))


def test_what_several_withhold_at_once_is_stored_and_counted(
    runner: asyncio.Runner, open_store: Callable[[], TrapStore]
) -> None:
    async def withhold(store: TrapStore, worker: int) -> None:
        for number in range(10):
            # Half of the URLs are withheld by each of them.
            urls = (f"http://h.test/cal/{number}", f"http://h.test/cal/{worker}/{number}")
            await store.withhold({ONE.pattern: kept(*urls), TWO.pattern: kept(*urls)}, 100)

    async def all_at_once() -> None:
        await asyncio.gather(*(withhold(store, worker) for worker, store in enumerate(stores)))

    stores = [open_store() for _ in range(3)]
    runner.run(stores[0].put([ONE, TWO]))
    runner.run(all_at_once())
    assert [trap.withheld for trap in runner.run(stores[0].beliefs())] == [60, 60]
    stored = owed(runner, stores[1], ONE.pattern, 100)
    assert len(stored) == 40
    runner.run(stores[2].requeued(ONE.pattern, [one.url for one in stored[:30]] * 2))
    more = kept(*(f"http://h.test/more/{number}" for number in range(200)))
    runner.run(stores[0].withhold({ONE.pattern: more}, 100))
    assert len(owed(runner, stores[1], ONE.pattern, 1000)) == 100


def test_patterns_that_several_add_and_release_at_once_are_all_there(
    runner: asyncio.Runner, open_store: Callable[[], TrapStore]
) -> None:
    patterns = [f"h.test/{number}/#" for number in range(8)]

    async def play(store: TrapStore, worker: int) -> None:
        for pattern in patterns[worker:] + patterns[:worker]:
            await store.put([Trap(pattern, f"found by {worker}", 1.0, 12, ())])
            await store.undo([pattern], float(worker))

    async def all_at_once() -> None:
        await asyncio.gather(*(play(store, worker) for worker, store in enumerate(stores)))

    stores = [open_store() for _ in range(3)]
    runner.run(all_at_once())
    traps = runner.run(open_store().beliefs())
    assert [trap.pattern for trap in traps] == patterns
    assert all(trap.released_at is not None for trap in traps)


@pytest.mark.parametrize("value", [b"", b"[]", b"{}", b"\xff"])
def test_what_is_no_pattern_is_an_error_of_the_storage(
    runner: asyncio.Runner, open_tables: OpenTables, value: bytes
) -> None:
    tables = open_tables(SPEC)
    store = TrapStore(tables)
    runner.run(store.put([ONE]))
    [row] = runner.run(tables.table(SPEC).scan("patterns", 10, HEADER))
    runner.run(tables.table(SPEC).swap([("patterns", Row(row.id, value))]))
    for step in (store.beliefs(), store.undo([ONE.pattern], 9.0)):
        with pytest.raises(StorageLost, match="traps cannot be read"):
            runner.run(step)
