"""Where a quarantine is kept: the same sentences hold in memory, in a JOBDIR, and on Redis alone and as a cluster."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

import pytest

from webcrawl.errors import JobdirUnusable
from webcrawl.features.traps.quarantine import Kept, Trap, Withheld
from webcrawl.storage.memory.traps import MemoryTraps
from webcrawl.storage.redis.server import Server
from webcrawl.storage.redis.traps import RedisTraps
from webcrawl.storage.sqlite.traps import NAME, SqliteTraps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webcrawl.features.traps.store import TrapStore

ONE = Trap("h.test/cal/#", "12 pages in a row", 5.0, 14, ("http://h.test/cal/1", "http://h.test/cal/ü"))
TWO = Trap("h.test/shop?size", "20 pages in a row", 6.0, 31, ())
_names = (f"traps{number}" for number in itertools.count())


@pytest.fixture(params=["memory", "sqlite", "redis", pytest.param("redis-cluster", marks=pytest.mark.soak)])
def open_store(request, runner, tmp_path) -> Iterator[Callable[[], TrapStore]]:
    """Gives the same store again and again, as processes of one crawl have it."""
    servers: list[Server] = []
    memory, name = MemoryTraps(), next(_names)

    def one() -> TrapStore:
        if request.param == "memory":
            return memory
        if request.param == "sqlite":
            return SqliteTraps(tmp_path)
        fixture = {"redis": "redis_server", "redis-cluster": "redis_cluster"}[request.param]
        url = request.getfixturevalue(fixture).url
        servers.append(Server({"url": url}, list))
        runner.run(servers[-1].connect())
        return RedisTraps(servers[-1], name)

    yield one
    for server in servers:
        runner.run(server.close())


@pytest.fixture
def store(open_store):
    return open_store()


def kept(*urls: str, count: int = 0) -> Kept:
    return Kept([Withheld(url, 3, "http://h.test/") for url in urls], count or len(urls))


def test_an_empty_store_has_nothing(runner: asyncio.Runner, store: TrapStore) -> None:
    assert runner.run(store.traps()) == []
    assert runner.run(store.owed("h.test/cal/#", 10)) == []
    assert runner.run(store.version()) == runner.run(store.version())


def test_what_was_put_in_is_known_to_all_and_the_oldest_first(
    runner: asyncio.Runner, open_store: Callable[[], TrapStore]
) -> None:
    runner.run(open_store().add([TWO, ONE]))
    assert runner.run(open_store().traps()) == [ONE, TWO]


def test_each_change_of_a_pattern_changes_the_version_and_nothing_else_does(
    runner: asyncio.Runner, store: TrapStore
) -> None:
    versions = [runner.run(store.version())]
    for step in (store.add([ONE]), store.add([TWO]), store.release([ONE.pattern], 9.0)):
        runner.run(step)
        versions.append(runner.run(store.version()))
    assert len(set(versions)) == 4
    runner.run(store.withhold({TWO.pattern: kept("http://h.test/shop?size=1")}, 10))
    assert runner.run(store.version()) == versions[-1]


def test_a_pattern_that_is_known_stays_as_it_is(runner: asyncio.Runner, store: TrapStore) -> None:
    runner.run(store.add([ONE]))
    runner.run(store.release([ONE.pattern, "unknown"], 9.0))
    runner.run(store.release([ONE.pattern], 11.0))
    runner.run(store.add([Trap(ONE.pattern, "again", 10.0, 99, ())]))
    [trap] = runner.run(store.traps())
    assert (trap.why, trap.since, trap.released_at) == (ONE.why, 5.0, 9.0)


def test_so_many_urls_are_remembered_and_all_are_counted(runner: asyncio.Runner, store: TrapStore) -> None:
    runner.run(store.add([ONE, TWO]))
    urls = [f"http://h.test/cal/{n}" for n in range(7)]
    runner.run(store.withhold({ONE.pattern: kept(*urls[:4], count=10)}, 5))
    runner.run(store.withhold({ONE.pattern: kept(*urls[4:]), TWO.pattern: kept("http://h.test/shop")}, 5))
    assert [trap.withheld for trap in runner.run(store.traps())] == [13, 1]
    owed = runner.run(store.owed(ONE.pattern, 100))
    assert len({one.url for one in owed}) == len(owed) == 5
    assert {(one.depth, one.via) for one in owed} == {(3, "http://h.test/")}
    assert len(runner.run(store.owed(ONE.pattern, 2))) == 2


def test_what_is_queued_again_is_owed_no_more(
    runner: asyncio.Runner, open_store: Callable[[], TrapStore]
) -> None:
    store = open_store()
    urls = [f"http://h.test/cal/{n}" for n in range(700)]
    runner.run(store.add([ONE]))
    runner.run(store.withhold({ONE.pattern: kept(*urls)}, 1000))
    found: list[str] = []
    while owed := runner.run(open_store().owed(ONE.pattern, 300)):
        found += [one.url for one in owed]
        runner.run(store.requeued(ONE.pattern, [one.url for one in owed]))
    assert sorted(found) == sorted(urls)
    assert [trap.withheld for trap in runner.run(store.traps())] == [700]


def test_who_queues_what_is_owed_is_one_at_a_time(
    request: pytest.FixtureRequest, runner: asyncio.Runner, open_store: Callable[[], TrapStore]
) -> None:
    assert runner.run(open_store().claim("w1", 60.0))
    assert runner.run(open_store().claim("w1", 60.0))
    if "redis" in request.node.callspec.id:
        assert not runner.run(open_store().claim("w2", 60.0))


def test_a_damaged_file_is_named(runner: asyncio.Runner, tmp_path) -> None:
    (tmp_path / NAME).write_bytes(b"no database at all, and long enough to be seen as none" * 20)
    with pytest.raises(JobdirUnusable, match=NAME):
        runner.run(SqliteTraps(tmp_path).traps())


def test_looking_makes_no_file(runner: asyncio.Runner, tmp_path) -> None:
    runner.run(SqliteTraps(tmp_path).traps())
    runner.run(SqliteTraps(tmp_path).add([]))
    runner.run(SqliteTraps(tmp_path).withhold({}, 10))
    assert list(tmp_path.iterdir()) == []
