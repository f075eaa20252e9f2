"""The check of the books in Redis: each thing that can be wrong is found, named and mended; nothing else is."""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING

import pytest

from tests.contract.planted import HELD, LONG, SHORT, Books, CrawlInCluster, found_in, packed
from tests.contract.samples import entry
from webcrawl.errors import StartRefused
from webcrawl.frontier.records import State
from webcrawl.storage.inspection import Finding, Findings, Kind
from webcrawl.storage.redis.check import reader, shard
from webcrawl.storage.redis.marks import segment_field, segment_of, segments_of
from webcrawl.storage.redis.names import ShardNames

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.redis_server import RedisCluster, RedisServer

    Plant = Callable[[Books], None]

STRANGER = entry("http://short.test/stranger")


# -- what can be wrong ---------------------------------------------------------------------------------------


def queued_and_not_known(books: Books) -> None:
    books.forget(books.short[1])


def known_and_nowhere(books: Books) -> None:
    books.know(STRANGER, State.QUEUED)


def queued_and_done(books: Books) -> None:
    books.forget(books.short[1])
    books.know(books.short[1], State.DONE)


def queued_in_two_states(books: Books) -> None:
    books.know(books.short[1], State.FAILED)


def done_and_failed(books: Books) -> None:
    books.know(books.settled[0], State.FAILED)


def queued_twice(books: Books) -> None:
    again = entry(books.short[1].url)
    books.set_tail(SHORT, books.tail(SHORT) + packed(again))
    books.set_header(SHORT, 3, packed(again)[:14])


def queued_twice_in_a_long_queue(books: Books) -> None:
    books.add_chunk(LONG, packed(entry(books.long[5].url)))


def too_long(books: Books) -> None:
    books.set_header(SHORT, 0, 9)


def entries_lost(books: Books) -> None:
    """A chunk of a long queue."""
    books.client.zrem(books.names.chunks, books.chunks(LONG)[1])


def no_level(books: Books) -> None:
    old = books.idle_member(SHORT)
    rank = struct.pack(">Q", (1 << 47) - 7)[2:]
    books.set_header(SHORT, 4, rank)
    books.client.zrem(books.names.idle, old)
    books.client.zadd(books.names.idle, {b"r" + rank + old[7:]: 0})


def nowhere(books: Books) -> None:
    books.client.zrem(books.names.idle, books.idle_member(SHORT))


def idle_and_held(books: Books) -> None:
    member = books.client.zrange(books.names.members, 0, 0)[0]
    books.client.hset(books.names.held, SHORT, b"1 " + member)


def idle_and_given_up(books: Books) -> None:
    books.client.sadd(books.names.given_up, SHORT)


def idle_twice(books: Books) -> None:
    books.client.zadd(books.names.idle, {b"p" + books.idle_member(SHORT)[1:]: 0})


def idle_and_unknown(books: Books) -> None:
    books.client.zadd(books.names.idle, {books.idle_member(SHORT)[:15] + b"nobody.test": 0})


def given_up_and_unknown(books: Books) -> None:
    books.client.sadd(books.names.given_up, "nobody.test")


def held_and_unknown(books: Books) -> None:
    member = books.client.zrange(books.names.members, 0, 0)[0]
    books.client.hset(books.names.held, "nobody.test", b"1 " + member)


def changed_queue_of_unknown_key(books: Books) -> None:
    books.client.hset(books.names.changed_queues, "nobody.test", b"\0" * 65)


def changed_queue_is_garbage(books: Books) -> None:
    books.client.hset(books.names.changed_queues, HELD, b"?")


def held_by_nobody(books: Books) -> None:
    fence = books.client.hget(books.names.held, HELD).split()[0]
    books.client.hset(books.names.held, HELD, fence + b" w9-gone")


def held_by_garbage(books: Books) -> None:
    books.client.hset(books.names.held, HELD, b"w9")


def fence_lost(books: Books) -> None:
    books.client.hset(books.names.totals, "fence", 0)


def record_lost(books: Books) -> None:
    books.client.hdel(books.names.hosts, SHORT)


def record_of_a_long_queue_lost(books: Books) -> None:
    books.client.hdel(books.names.hosts, LONG)


def all_of_a_key_lost_but_chunks(books: Books) -> None:
    books.client.hdel(books.names.hosts, LONG)
    books.client.hdel(books.names.queues, LONG)


def in_the_wrong_segment(books: Books) -> None:
    one = books.long[3]
    there = segment_of(one.fingerprint, segments_of(books.header(LONG)[1]))
    books.forget(one)
    books.know(one, State.QUEUED, segment_field(LONG.encode(), there ^ 1))


def in_a_segment_behind_the_last(books: Books) -> None:
    books.forget(books.long[3])
    books.know(books.long[3], State.QUEUED, segment_field(LONG.encode(), 77))


def number_of_known_urls_forgotten(books: Books) -> None:
    books.set_header(LONG, 1, 0)


def segments_lost(books: Books) -> None:
    for number in range(3):
        books.client.hdel(books.names.seen, segment_field(LONG.encode(), number))


def known_of_nobody(books: Books) -> None:
    books.client.hset(books.names.seen, "nobody.test", b"")


def garbage_in_a_segment(books: Books) -> None:
    marks = books.client.hget(books.names.seen, SHORT)
    books.client.hset(books.names.seen, SHORT, marks + b"12")


def answer_lost(books: Books) -> None:
    books.client.hdel(books.names.robots, f"http://{SHORT}")


def expiry_lost(books: Books) -> None:
    books.client.zrem(books.names.robots_ends, f"http://{SHORT}")


def out_of_order(books: Books) -> None:
    parts = [packed(one) for one in books.short]
    books.set_tail(SHORT, b"".join(reversed(parts)))
    # The repeat beside them is lost, and with it one of five.
    books.set_header(SHORT, 0, 4)
    books.client.hincrby(books.names.totals, "queued", -1)


def last_place_forgotten(books: Books) -> None:
    books.set_header(SHORT, 3, b"\0" * 14)


def two_urls_at_one_place(books: Books) -> None:
    stranger = entry(STRANGER.url, position=books.short[1].position)
    books.set_tail(SHORT, books.tail(SHORT) + packed(stranger))
    books.know(STRANGER, State.QUEUED)
    books.set_header(SHORT, 0, 6)
    books.set_header(SHORT, 1, 5)
    books.client.hincrby(books.names.totals, "queued", 1)
    books.client.hincrby(books.names.totals, "seen", 1)


def a_chunk_behind_the_tail(books: Books) -> None:
    books.add_chunk(SHORT, packed(STRANGER))
    books.know(STRANGER, State.QUEUED)


def number_of_chunks_forgotten(books: Books) -> None:
    books.set_header(LONG, 2, 0)


def tail_lost(books: Books) -> None:
    books.client.hdel(books.names.queues, LONG)


def total_is_no_number(books: Books) -> None:
    books.client.hset(books.names.totals, "done", "two")


PLANTED: list[tuple[Plant, dict[Kind, int], int]] = [
    # What is wrong; how often of each kind it is found; how many URLs fewer are queued in the end (more, below 0).
    (queued_and_not_known, {Kind.UNKNOWN: 1, Kind.KNOWN: 1, Kind.TOTAL: 1}, 0),
    (known_and_nowhere, {Kind.NOWHERE: 1, Kind.KNOWN: 1, Kind.TOTAL: 1}, 0),
    (queued_and_done, {Kind.SETTLED: 1, Kind.TOTAL: 1}, 1),
    (queued_in_two_states, {Kind.TWO_STATES: 1, Kind.SETTLED: 1, Kind.TOTAL: 1}, 1),
    (done_and_failed, {Kind.TWO_STATES: 1}, 0),
    (queued_twice, {Kind.TWICE: 1, Kind.LENGTH: 1, Kind.TOTAL: 1}, 0),
    (queued_twice_in_a_long_queue, {Kind.TWICE: 1, Kind.LENGTH: 1, Kind.DISORDER: 1, Kind.TOTAL: 1}, 0),
    (too_long, {Kind.LENGTH: 1}, 0),
    (no_level, {Kind.LEVEL: 1}, 0),
    (nowhere, {Kind.PLACE: 1}, 0),
    (idle_and_held, {Kind.PLACE: 1, Kind.TOTAL: 1}, 0),
    (idle_and_given_up, {Kind.PLACE: 1}, 0),
    (idle_twice, {Kind.STRAY: 1}, 0),
    (idle_and_unknown, {Kind.STRAY: 1}, 0),
    (given_up_and_unknown, {Kind.STRAY: 1}, 0),
    (held_and_unknown, {Kind.STRAY: 1}, 0),
    (changed_queue_of_unknown_key, {Kind.STRAY: 1}, 0),
    (changed_queue_is_garbage, {Kind.UNREADABLE: 1}, 0),
    (held_by_nobody, {Kind.HOLDER: 1}, 0),
    (held_by_garbage, {Kind.UNREADABLE: 1}, 0),
    (fence_lost, {Kind.FENCE: 1}, 0),
    (in_the_wrong_segment, {Kind.MISPLACED: 1, Kind.UNKNOWN: 1, Kind.KNOWN: 1, Kind.TOTAL: 1}, 0),
    (in_a_segment_behind_the_last, {Kind.MISPLACED: 1, Kind.UNKNOWN: 1, Kind.KNOWN: 1, Kind.TOTAL: 1}, 0),
    (garbage_in_a_segment, {Kind.UNREADABLE: 1}, 0),
    (number_of_chunks_forgotten, {Kind.DISORDER: 1}, 0),
    (answer_lost, {Kind.ROBOTS: 1}, 0),
    (expiry_lost, {Kind.ROBOTS: 1}, 0),
    (out_of_order, {Kind.DISORDER: 1}, 1),
    (last_place_forgotten, {Kind.DISORDER: 1}, 0),
    (two_urls_at_one_place, {Kind.DISORDER: 1}, -1),
    (a_chunk_behind_the_tail, {Kind.DISORDER: 1, Kind.LENGTH: 1, Kind.KNOWN: 1, Kind.TOTAL: 2}, -1),
    (total_is_no_number, {Kind.TOTAL: 1}, 0),
]

MUCH: list[Plant] = [
    # What takes much with it.
    entries_lost,
    record_lost,
    record_of_a_long_queue_lost,
    all_of_a_key_lost_but_chunks,
    number_of_known_urls_forgotten,
    segments_lost,
    tail_lost,
]

QUEUED = 328
"""URLs that are fetched in the end when nothing was wrong; one of them is queued twice on purpose."""


def named(value: object) -> str:
    return getattr(value, "__name__", "")


def content(books: Books) -> dict[bytes, object]:
    """Everything in the server."""
    client = books.client
    # The fields of a hash come in any order.
    return {
        name: client.hgetall(name) if client.type(name) == b"hash" else client.dump(name)
        for name in client.scan_iter()
    }


@pytest.mark.parametrize(("plant", "expected", "fewer"), PLANTED, ids=named)
def test_what_is_wrong_is_found_and_mended(
    books: Books, plant: Plant, expected: dict[Kind, int], fewer: int
) -> None:
    plant(books)
    before = content(books)
    assert books.check().left.counts == expected
    assert content(books) == before, "a check changes nothing"

    mended = books.mend()
    assert mended.agrees, mended.left
    assert mended.mended
    after = books.check()
    assert after.agrees
    assert after.queued == QUEUED + 1 - fewer


@pytest.mark.parametrize(
    ("plant", "fewer"),
    [
        (queued_in_two_states, 1),
        (queued_twice_in_a_long_queue, 0),
        (held_by_nobody, 0),
        (in_the_wrong_segment, 0),
        (last_place_forgotten, 0),
        (two_urls_at_one_place, -1),
        (a_chunk_behind_the_tail, -1),
    ],
    ids=named,
)
def test_a_crawl_that_was_mended_goes_on(books: Books, plant: Plant, fewer: int) -> None:
    plant(books)
    assert books.mend().agrees
    assert len(books.fetch_all()) == QUEUED - fewer


@pytest.mark.parametrize("plant", MUCH, ids=named)
def test_what_takes_much_with_it_is_mended_and_only_what_is_gone_is_not_fetched(
    books: Books, plant: Plant
) -> None:
    plant(books)
    assert not books.check().agrees

    mended = books.mend()
    assert mended.agrees
    assert books.check().agrees
    assert len(books.fetch_all()) == QUEUED - mended.mended.counts[Kind.NOWHERE]


def test_nothing_is_found_and_nothing_changed_where_nothing_is_wrong(books: Books) -> None:
    before = content(books)
    for checked in (books.check(), books.mend()):
        assert checked.left == checked.mended == Findings()
        assert (checked.urls, checked.queued, checked.hosts) == (332, 329, 4)
        assert not checked.at_work
    assert content(books) == before
    assert len(books.fetch_all()) == QUEUED


TOTALS = [
    "queued", "done", "failed", "refused", "hosts", "given_up_hosts", "given_up_urls", "held_urls", "seen"
]  # fmt: skip


@pytest.mark.parametrize("name", TOTALS)
def test_every_total_is_compared(books: Books, name: str) -> None:
    told = books.client.hincrby(books.names.totals, name, 3)
    detail = f"says {told}, is {told - 3}"
    assert found_in(books.check(), Kind.TOTAL) == [Finding(Kind.TOTAL, name, detail, "shard 0")]
    assert books.mend().mended.counts == {Kind.TOTAL: 1}
    assert int(books.client.hget(books.names.totals, name)) == told - 3


def test_what_is_wrong_is_called_by_its_name(books: Books) -> None:
    books.forget(books.short[1])
    books.know(STRANGER, State.QUEUED)
    books.set_header(LONG, 0, 9)
    found = books.check()
    assert [str(one) for one in found_in(found, Kind.UNKNOWN)] == [f"{books.short[1].url} (shard 0)"]
    assert [str(one) for one in found_in(found, Kind.NOWHERE)] == [
        f"fingerprint {STRANGER.fingerprint} of {SHORT} (shard 0)"
    ]
    assert [str(one) for one in found_in(found, Kind.LENGTH)] == [f"{LONG} (says 9, is 320; shard 0)"]


# -- what only a person can mend -----------------------------------------------------------------------------


def record_is_garbage(books: Books) -> None:
    books.client.hset(books.names.hosts, SHORT, b"?")


def queue_is_cut_off(books: Books) -> None:
    books.set_tail(SHORT, books.tail(SHORT)[:-5])


def host_is_in_another_shard(books: Books) -> None:
    for number in range(64):
        books.client.hset(books.names.hosts, f"host{number}", books.client.hget(books.names.hosts, SHORT))
    books.client.hset("broad:meta", "shards", 2)


def there_is_a_shard_too_many(books: Books) -> None:
    books.client.hset(ShardNames("broad", 1).totals, "queued", 1)


@pytest.mark.parametrize(
    "plant",
    [record_is_garbage, queue_is_cut_off, host_is_in_another_shard, there_is_a_shard_too_many],
    ids=named,
)
def test_what_cannot_be_mended_is_told_and_left_alone_and_the_rest_is_mended(
    books: Books, plant: Plant
) -> None:
    books.set_header(LONG, 0, 9)
    plant(books)
    found = books.check()
    assert found.left.counts[Kind.UNREADABLE] + found.left.counts[Kind.STRAY] > 0
    assert found.left.counts[Kind.LENGTH] > 0

    mended = books.mend()
    assert not mended.agrees
    assert Kind.LENGTH in mended.mended.counts
    assert LONG not in {one.subject for one in found_in(mended, Kind.LENGTH)}


# -- however much there is -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "plant",
    [queued_and_not_known, queued_and_done, queued_twice_in_a_long_queue, known_and_nowhere],
    ids=named,
)
def test_it_finds_the_same_when_it_reads_a_little_at_a_time(
    books: Books, plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(books)
    before = books.check()
    monkeypatch.setattr(shard, "URLS_AT_ONCE", 150)
    monkeypatch.setattr(reader, "AT_ONCE", 2)
    monkeypatch.setattr(reader, "CHUNKS_AT_ONCE", 2)
    monkeypatch.setattr(reader, "SEGMENTS_AT_ONCE", 2)
    after = books.check()
    assert before.left.counts == after.left.counts
    assert (before.urls, before.queued, before.hosts) == (after.urls, after.queued, after.hosts)


def test_very_much_is_mended_in_several_rounds(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webcrawl.storage.redis.check.repairs.REPAIRED_AT_ONCE", 100)
    monkeypatch.setattr("webcrawl.storage.inspection.LISTED", 10)
    for one in books.long:
        books.forget(one)
    found = books.check()
    assert found.left.counts[Kind.UNKNOWN] == 320
    assert len(found_in(found, Kind.UNKNOWN)) == 10
    mended = books.mend()
    assert mended.agrees
    assert mended.mended.counts[Kind.UNKNOWN] == 320
    assert len(books.fetch_all()) == QUEUED


def test_a_crawl_is_not_mixed_up_with_others_whatever_they_are_called(
    runner: asyncio.Runner, redis_server: RedisServer
) -> None:
    names = ("broad", "broad2", "broad:1", "b*", "[ab]road", "a\\b")
    made = [Books(runner, redis_server.url, name) for name in names]
    for books in made:
        books.know(books.long[0], State.QUEUED, segment_field(LONG.encode(), 50))
        assert books.check().left.counts == {Kind.MISPLACED: 1}
        assert books.mend().agrees
    for books in made:
        assert books.check().agrees
        books.driven.dispose()


# -- while somebody is at work -------------------------------------------------------------------------------


def test_while_somebody_is_at_work_only_what_is_seen_twice_is_told(books: Books) -> None:
    books.report("w1", books.server_now())
    books.know(STRANGER, State.QUEUED)
    books.set_header(LONG, 0, 9)

    async def meanwhile(seconds: float) -> None:
        books.forget(STRANGER)

    found = books.check(meanwhile)
    assert found.at_work == {"w1"}
    assert found.left.counts == {Kind.LENGTH: 1}
    assert found.uncompared == []


def count_as_others_do(books: Books, monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    """Let a page be done during each of the first looks."""
    read = reader.Reader.without_record
    left = iter(range(looks))

    async def without_record(self: reader.Reader, keys: list[bytes]) -> list[bytes]:
        if next(left, None) is not None:
            books.client.hincrby(books.names.totals, "done", 1)
        return await read(self, keys)

    monkeypatch.setattr(reader.Reader, "without_record", without_record)


def nothing(seconds: float) -> asyncio.Future[None]:
    done = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done


def test_totals_that_change_while_they_are_counted_are_not_compared(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    books.report("w1", books.server_now())
    count_as_others_do(books, monkeypatch, looks=99)
    found = books.check(nothing)
    assert found.agrees
    assert found.uncompared == ["shard 0"]


def test_totals_that_rest_at_last_are_compared(books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    books.report("w1", books.server_now())
    count_as_others_do(books, monkeypatch, looks=1)
    found = books.check(nothing)
    assert found.left.counts == {Kind.TOTAL: 1}
    assert found.uncompared == []


def test_who_has_a_lease_is_at_work_though_nothing_was_heard_of_him(books: Books) -> None:
    books.client.zadd(books.names.members, {"w7-0badcafe": books.server_now() + 30})
    books.set_header(LONG, 0, 9)
    assert books.check(nothing).at_work == {"w7-0badcafe"}


def test_nothing_is_mended_while_somebody_is_at_work(books: Books) -> None:
    books.report("w1", books.server_now())
    books.set_header(LONG, 0, 9)
    before = content(books)
    with pytest.raises(StartRefused, match=r"w1.*stop the crawl first"):
        books.mend()
    assert content(books) == before


def test_who_was_silent_for_a_lease_time_is_not_at_work(books: Books) -> None:
    books.report("w1", books.server_now() - 61)
    books.set_header(LONG, 0, 9)
    assert books.mend().agrees


# -- in a cluster --------------------------------------------------------------------------------------------


def test_a_crawl_in_a_cluster_is_checked_and_mended(
    runner: asyncio.Runner, redis_cluster: RedisCluster
) -> None:
    with CrawlInCluster(runner, redis_cluster) as crawl:
        assert crawl.check().agrees
        crawl.break_something()
        found = crawl.check()
        assert found.left.counts == {
            Kind.UNKNOWN: 1,
            Kind.MISPLACED: 1,
            Kind.LENGTH: 1,
            Kind.KNOWN: 1,
            Kind.TOTAL: 1,
        }
        assert crawl.mend().agrees
        checked = crawl.check()
        assert checked.agrees
        assert (checked.urls, checked.queued, checked.hosts) == (60, 60, 20)
