"""Tables in Redis: what several processes see of them at once, and what a lost answer leaves behind."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.driven_redis import DrivenRedis
from tests.contract.samples import NOW
from webcrawl.errors import StorageAway, StorageFull, StorageLost
from webcrawl.storage.inspection import Findings
from webcrawl.storage.memory.tables import MemoryTables
from webcrawl.storage.redis.control import Control
from webcrawl.storage.tables import HEADER, Change, Row, RowId, TableSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.redis_server import RedisServer
    from webcrawl.storage.tables import Table

    Member = Callable[[], DrivenRedis]

PLAIN = TableSpec("plain", "things", "the crawl goes on")
BOTH = TableSpec("both", "things", "the crawl goes on", is_timed=True, is_ordered=True)

A, ODD = "a.test", "\udc80 \n:{}*"


@pytest.fixture
def member(redis_server: RedisServer, runner: asyncio.Runner) -> Iterator[Member]:
    """Makes members of one crawl, opened."""
    workers: list[DrivenRedis] = []

    def one() -> DrivenRedis:
        workers.append(DrivenRedis(runner, redis_server.url, "broad", shards=3))
        workers[-1].open()
        return workers[-1]

    yield one
    for driven in workers:
        driven.dispose()


def test_a_command_reads_and_writes_the_tables_of_a_crawl_and_its_audit_knows_them(member: Member) -> None:
    worker = member()
    control = Control({"url": worker.url}, "broad", 60.0)
    worker.run(control.open())
    row = Row(b"1", b"one", NOW)
    for spec in (PLAIN, BOTH):
        stored = row._replace(at=NOW if spec.is_timed else None)
        assert worker.run(control.tables.table(spec).add([(ODD, stored)])) == [None]
        assert worker.run(worker.backend.tables.table(spec).get([RowId(ODD, b"1")])) == [stored]
    worker.run(
        worker.backend.tables.table(BOTH).update([Change(A, [row, Row(HEADER, b"h")], not_before=NOW + 1)])
    )
    assert worker.run(worker.backend.tables.lock("work", "w1", 60.0))
    worker.run(control.close())
    assert worker.run(worker._audited()).left == Findings()


def test_a_deleted_table_leaves_no_key(member: Member) -> None:
    worker = member()
    before = set(worker.client.keys("*"))
    table = worker.backend.tables.table(BOTH)
    rows = [Row(HEADER, b"h"), Row(b"1", b"one", NOW), Row(b"2", b"two")]
    worker.run(table.update([Change(A, rows, not_before=NOW + 9), Change(ODD, rows, not_before=NOW + 9)]))
    assert set(worker.client.keys("*")) > before
    ids = [row.id for row in rows]
    worker.run(table.update([Change(A, delete=ids), Change(ODD, delete=ids)]))
    assert set(worker.client.keys("*")) == before


def test_a_lock_has_one_holder_which_can_renew_it(member: Member) -> None:
    worker, other = member(), member()
    assert worker.run(worker.backend.tables.lock("work", "w1", 60.0))
    assert not worker.run(other.backend.tables.lock("work", "w2", 60.0))
    assert worker.run(other.backend.tables.lock("play", "w2", 60.0))
    [key] = worker.client.keys("*lock:work")
    worker.client.pexpire(key, 1000)
    assert worker.run(worker.backend.tables.lock("work", "w1", 60.0))
    assert worker.client.pttl(key) > 1000
    worker.client.delete(key)
    assert worker.run(other.backend.tables.lock("work", "w2", 60.0))
    assert not worker.run(worker.backend.tables.lock("work", "w1", 60.0))


def test_an_update_whose_answer_was_lost_is_repeated_without_harm(member: Member) -> None:
    worker = member()
    table, server = worker.backend.tables.table(BOTH), worker.backend._server
    change = Change(A, [Row(b"1", b"new", NOW)], expected={b"1": None})
    send = server.send

    async def lost(*args: Any, **more: Any) -> list[Any]:
        await send(*args, **more)
        raise StorageAway("the connection broke")

    server.send = lost
    with pytest.raises(StorageAway):
        worker.run(table.update([change]))
    server.send = send
    assert worker.run(table.update([change])) == [False]
    assert worker.run(table.get([RowId(A, b"1")])) == [Row(b"1", b"new", NOW)]
    assert worker.run(table.status(NOW, 10)).rows == 1


def test_calls_are_carried_out_in_their_order_and_few_exchanges(member: Member) -> None:
    worker = member()
    plain, both = (worker.backend.tables.table(spec) for spec in (PLAIN, BOTH))
    server, exchanges = worker.backend._server, []
    send = server.send

    async def counted(commands: Any, **more: Any) -> list[Any]:
        exchanges.append(len(commands))
        return await send(commands, **more)

    server.send = counted
    rows = [Row(b"1", b"%d" % number) for number in range(20)]

    async def together() -> list[Any]:
        swaps = [table.swap([(A, row)]) for row in rows for table in (plain, both)]
        return await asyncio.gather(*swaps, plain.get([RowId(A, b"1")]))

    *before, last = worker.run(together())
    assert before[::2] == before[1::2] == [[None], *([row.value] for row in rows[:-1])]
    assert last == [rows[-1]]
    assert exchanges == [41]


def test_an_error_of_one_call_is_no_error_of_those_that_were_sent_with_it(member: Member) -> None:
    worker = member()
    plain, both = (worker.backend.tables.table(spec) for spec in (PLAIN, BOTH))
    worker.run(plain.swap([(A, Row(b"1", b"one"))]))
    [key] = worker.client.keys("*table:plain")
    worker.client.delete(key)
    worker.client.set(key, "no rows")

    async def together() -> list[Any]:
        calls = [table.swap([(A, Row(b"1", b"one"))]) for table in (both, plain, both)]
        return await asyncio.gather(*calls, return_exceptions=True)

    first, error, last = worker.run(together())
    assert (first, last) == ([None], [b"one"])
    assert isinstance(error, StorageLost)


def test_a_row_that_another_process_deletes_while_it_is_added_is_added(member: Member) -> None:
    worker = member()
    table, server = worker.backend.tables.table(PLAIN), worker.backend._server
    worker.run(table.add([(A, Row(b"1", b"old")), (A, Row(b"2", b"two"))]))
    [key] = worker.client.keys("*table:plain")
    [field] = [name for name in worker.client.hkeys(key) if b"1" in name]
    send = server.send

    async def slow(commands: Any) -> list[Any]:
        server.send = send
        first = await send(commands[:1])
        worker.client.hdel(key, field)
        return first + await send(commands[1:])

    server.send = slow
    rows = [(A, Row(b"1", b"new")), (A, Row(b"2", b"other"))]
    assert worker.run(table.add(rows)) == [None, b"two"]
    assert worker.run(table.get([RowId(A, b"1")])) == [Row(b"1", b"new")]


@pytest.mark.parametrize("seed", range(3))
def test_any_calls_of_a_plain_table_are_answered_as_in_memory(member: Member, seed: int) -> None:
    """Its rows are stored by other commands than those of the tables that the state machine plays with."""
    worker = member()
    chance = random.Random(seed)
    kept, expected = worker.backend.tables.table(PLAIN), MemoryTables().table(PLAIN)
    for _ in range(300):
        ask = _call(chance)
        assert worker.run(ask(kept)) == worker.run(ask(expected))


def _call(chance: random.Random) -> Callable[[Table], Any]:
    """Return a call by chance."""
    ids = (HEADER, b"\0", b"\0\0", b"a", b"a\0b")

    def place() -> RowId:
        return RowId(chance.choice(("", A, ODD)), chance.choice(ids))

    values = (b"", b"1", b"\0\xff" * 9)
    rows = [(partition, Row(row_id, chance.choice(values))) for partition, row_id in (place(), place())]
    put = list({row.id: row for _, row in rows[: chance.randrange(3)]}.values())
    delete = set(chance.choices(ids, k=chance.randrange(3))) - {row.id for row in put}
    expects = {chance.choice(ids): chance.choice((None, *values))} if chance.random() < 0.3 else {}
    change = Change(place().partition, put, list(delete), expects)
    wanted = [place() for _ in range(4)]
    calls: list[Callable[[Table], Any]] = [
        lambda table: table.get(wanted),
        lambda table: table.add(rows),
        lambda table: table.swap(rows),
        lambda table: table.update([change]),
        lambda table: table.status(NOW, 1000),
    ]
    return chance.choice(calls)


@pytest.mark.parametrize("spec", [PLAIN, BOTH])
def test_a_change_that_finds_redis_full_is_made_wholly_or_not_at_all(member: Member, spec: TableSpec) -> None:
    worker = member()
    table = worker.backend.tables.table(spec)
    old, new = Row(b"1", b"old"), [Row(b"2", b"new"), Row(HEADER, b"head")]
    worker.run(table.add([(A, old)]))
    ids = [RowId(A, row_id) for row_id in (b"1", b"2", HEADER)]
    worker.client.config_set("maxmemory", 1)
    try:
        for change in (Change(A, new), Change(A, new, expected={b"1": b"old"})):
            with pytest.raises(StorageFull):
                worker.run(table.update([change]))
            assert worker.run(table.get(ids)) == [old, None, None]
        for ask in (table.add, table.swap):
            with pytest.raises(StorageFull):
                worker.run(ask([(A, new[0])]))
        assert worker.run(table.update([Change(A, new, delete=[b"1"])])) == [True]
    finally:
        worker.client.config_set("maxmemory", 0)
    assert worker.run(table.get(ids)) == [None, *new]
