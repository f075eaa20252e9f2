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
    made: list[DrivenRedis] = []

    def one() -> DrivenRedis:
        made.append(DrivenRedis(runner, redis_server.url, "broad", shards=3))
        made[-1].open()
        return made[-1]

    yield one
    for driven in made:
        driven.dispose()


def test_a_command_reads_and_writes_the_tables_of_a_crawl_and_its_audit_knows_them(member: Member) -> None:
    one = member()
    control = Control({"url": one.url}, "broad", 60.0)
    one.run(control.open())
    row = Row(b"1", b"one", NOW)
    for spec in (PLAIN, BOTH):
        stored = row._replace(at=NOW if spec.is_timed else None)
        assert one.run(control.tables.table(spec).add([(ODD, stored)])) == [None]
        assert one.run(one.backend.tables.table(spec).get([RowId(ODD, b"1")])) == [stored]
    one.run(one.backend.tables.table(BOTH).update([Change(A, [row, Row(HEADER, b"h")], not_before=NOW + 1)]))
    assert one.run(one.backend.tables.lock("work", "w1", 60.0))
    one.run(control.close())
    assert one.run(one._audited()).left == Findings()


def test_a_deleted_table_leaves_no_key(member: Member) -> None:
    one = member()
    before = set(one.client.keys("*"))
    table = one.backend.tables.table(BOTH)
    rows = [Row(HEADER, b"h"), Row(b"1", b"one", NOW), Row(b"2", b"two")]
    one.run(table.update([Change(A, rows, not_before=NOW + 9), Change(ODD, rows, not_before=NOW + 9)]))
    assert set(one.client.keys("*")) > before
    ids = [row.id for row in rows]
    one.run(table.update([Change(A, delete=ids), Change(ODD, delete=ids)]))
    assert set(one.client.keys("*")) == before


def test_a_lock_has_one_holder_which_can_renew_it(member: Member) -> None:
    one, other = member(), member()
    assert one.run(one.backend.tables.lock("work", "w1", 60.0))
    assert not one.run(other.backend.tables.lock("work", "w2", 60.0))
    assert one.run(other.backend.tables.lock("play", "w2", 60.0))
    [key] = one.client.keys("*lock:work")
    one.client.pexpire(key, 1000)
    assert one.run(one.backend.tables.lock("work", "w1", 60.0))
    assert one.client.pttl(key) > 1000
    one.client.delete(key)
    assert one.run(other.backend.tables.lock("work", "w2", 60.0))
    assert not one.run(one.backend.tables.lock("work", "w1", 60.0))


def test_an_update_whose_answer_was_lost_is_repeated_without_harm(member: Member) -> None:
    one = member()
    table, server = one.backend.tables.table(BOTH), one.backend._server
    change = Change(A, [Row(b"1", b"new", NOW)], expected={b"1": None})
    send = server.send

    async def lost(*args: Any, **more: Any) -> list[Any]:
        await send(*args, **more)
        raise StorageAway("the connection broke")

    server.send = lost
    with pytest.raises(StorageAway):
        one.run(table.update([change]))
    server.send = send
    assert one.run(table.update([change])) == [False]
    assert one.run(table.get([RowId(A, b"1")])) == [Row(b"1", b"new", NOW)]
    assert one.run(table.status(NOW, 10)).rows == 1


def test_calls_are_carried_out_in_their_order_and_few_exchanges(member: Member) -> None:
    one = member()
    plain, both = (one.backend.tables.table(spec) for spec in (PLAIN, BOTH))
    server, exchanges = one.backend._server, []
    send = server.send

    async def counted(commands: Any, **more: Any) -> list[Any]:
        exchanges.append(len(commands))
        return await send(commands, **more)

    server.send = counted
    rows = [Row(b"1", b"%d" % number) for number in range(20)]

    async def together() -> list[Any]:
        swaps = [table.swap([(A, row)]) for row in rows for table in (plain, both)]
        return await asyncio.gather(*swaps, plain.get([RowId(A, b"1")]))

    *before, last = one.run(together())
    assert before[::2] == before[1::2] == [[None], *([row.value] for row in rows[:-1])]
    assert last == [rows[-1]]
    assert exchanges == [41]


def test_an_error_of_one_call_is_no_error_of_those_that_were_sent_with_it(member: Member) -> None:
    one = member()
    plain, both = (one.backend.tables.table(spec) for spec in (PLAIN, BOTH))
    one.run(plain.swap([(A, Row(b"1", b"one"))]))
    [key] = one.client.keys("*table:plain")
    one.client.delete(key)
    one.client.set(key, "no rows")

    async def together() -> list[Any]:
        calls = [table.swap([(A, Row(b"1", b"one"))]) for table in (both, plain, both)]
        return await asyncio.gather(*calls, return_exceptions=True)

    first, error, last = one.run(together())
    assert (first, last) == ([None], [b"one"])
    assert isinstance(error, StorageLost)


def test_a_row_that_another_process_deletes_while_it_is_added_is_added(member: Member) -> None:
    one = member()
    table, server = one.backend.tables.table(PLAIN), one.backend._server
    one.run(table.add([(A, Row(b"1", b"old")), (A, Row(b"2", b"two"))]))
    [key] = one.client.keys("*table:plain")
    [field] = [name for name in one.client.hkeys(key) if b"1" in name]
    send = server.send

    async def slow(commands: Any) -> list[Any]:
        server.send = send
        first = await send(commands[:1])
        one.client.hdel(key, field)
        return first + await send(commands[1:])

    server.send = slow
    rows = [(A, Row(b"1", b"new")), (A, Row(b"2", b"other"))]
    assert one.run(table.add(rows)) == [None, b"two"]
    assert one.run(table.get([RowId(A, b"1")])) == [Row(b"1", b"new")]


@pytest.mark.parametrize("seed", range(3))
def test_any_calls_of_a_plain_table_are_answered_as_in_memory(member: Member, seed: int) -> None:
    """Its rows are stored by other commands than those of the tables that the state machine plays with."""
    one = member()
    chance = random.Random(seed)
    kept, expected = one.backend.tables.table(PLAIN), MemoryTables().table(PLAIN)
    for _ in range(300):
        ask = _call(chance)
        assert one.run(ask(kept)) == one.run(ask(expected))


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
    one = member()
    table = one.backend.tables.table(spec)
    old, new = Row(b"1", b"old"), [Row(b"2", b"new"), Row(HEADER, b"head")]
    one.run(table.add([(A, old)]))
    ids = [RowId(A, row_id) for row_id in (b"1", b"2", HEADER)]
    one.client.config_set("maxmemory", 1)
    try:
        for change in (Change(A, new), Change(A, new, expected={b"1": b"old"})):
            with pytest.raises(StorageFull):
                one.run(table.update([change]))
            assert one.run(table.get(ids)) == [old, None, None]
        for ask in (table.add, table.swap):
            with pytest.raises(StorageFull):
                one.run(ask([(A, new[0])]))
        assert one.run(table.update([Change(A, new, delete=[b"1"])])) == [True]
    finally:
        one.client.config_set("maxmemory", 0)
    assert one.run(table.get(ids)) == [None, *new]
