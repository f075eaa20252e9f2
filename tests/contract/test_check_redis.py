"""The check of the sample in Redis: each thing that can be wrong is found, named and repaired; nothing else is."""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING

import pytest

from tests.contract.sample_crawl import HELD, LONG, SHORT, CrawlInCluster, SampleCrawl, found_in, packed
from tests.contract.samples import entry
from webcrawl.errors import StartRefused
from webcrawl.frontier.records import State
from webcrawl.storage.inspection import Finding, FindingKind, Findings
from webcrawl.storage.redis.check import reader, shard
from webcrawl.storage.redis.marks import segment_count, segment_field, segment_number
from webcrawl.storage.redis.names import ShardNames

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.redis_server import RedisCluster, RedisServer

    Plant = Callable[[SampleCrawl], None]

STRANGER = entry("http://short.test/stranger")


# -- what can be wrong ---------------------------------------------------------------------------------------


def queued_and_not_known(sample: SampleCrawl) -> None:
    sample.forget(sample.short[1])


def known_and_nowhere(sample: SampleCrawl) -> None:
    sample.know(STRANGER, State.QUEUED)


def queued_and_done(sample: SampleCrawl) -> None:
    sample.forget(sample.short[1])
    sample.know(sample.short[1], State.DONE)


def queued_in_two_states(sample: SampleCrawl) -> None:
    sample.know(sample.short[1], State.FAILED)


def done_and_failed(sample: SampleCrawl) -> None:
    sample.know(sample.settled[0], State.FAILED)


def queued_twice(sample: SampleCrawl) -> None:
    again = entry(sample.short[1].url)
    sample.set_tail(SHORT, sample.tail(SHORT) + packed(again))
    sample.set_header(SHORT, 3, packed(again)[:14])


def queued_twice_in_a_long_queue(sample: SampleCrawl) -> None:
    sample.add_chunk(LONG, packed(entry(sample.long[5].url)))


def too_long(sample: SampleCrawl) -> None:
    sample.set_header(SHORT, 0, 9)


def entries_lost(sample: SampleCrawl) -> None:
    """A chunk of a long queue."""
    sample.client.zrem(sample.names.chunks, sample.chunks(LONG)[1])


def no_level(sample: SampleCrawl) -> None:
    old = sample.idle_member(SHORT)
    rank = struct.pack(">Q", (1 << 47) - 7)[2:]
    sample.set_header(SHORT, 4, rank)
    sample.client.zrem(sample.names.idle, old)
    sample.client.zadd(sample.names.idle, {b"r" + rank + old[7:]: 0})


def nowhere(sample: SampleCrawl) -> None:
    sample.client.zrem(sample.names.idle, sample.idle_member(SHORT))


def idle_and_held(sample: SampleCrawl) -> None:
    member = sample.client.zrange(sample.names.members, 0, 0)[0]
    sample.client.hset(sample.names.held, SHORT, b"1 " + member)


def idle_and_given_up(sample: SampleCrawl) -> None:
    sample.client.sadd(sample.names.given_up, SHORT)


def idle_twice(sample: SampleCrawl) -> None:
    sample.client.zadd(sample.names.idle, {b"p" + sample.idle_member(SHORT)[1:]: 0})


def idle_and_unknown(sample: SampleCrawl) -> None:
    sample.client.zadd(sample.names.idle, {sample.idle_member(SHORT)[:15] + b"nobody.test": 0})


def given_up_and_unknown(sample: SampleCrawl) -> None:
    sample.client.sadd(sample.names.given_up, "nobody.test")


def held_and_unknown(sample: SampleCrawl) -> None:
    member = sample.client.zrange(sample.names.members, 0, 0)[0]
    sample.client.hset(sample.names.held, "nobody.test", b"1 " + member)


def changed_queue_of_unknown_key(sample: SampleCrawl) -> None:
    sample.client.hset(sample.names.changed_queues, "nobody.test", b"\0" * 65)


def changed_queue_is_garbage(sample: SampleCrawl) -> None:
    sample.client.hset(sample.names.changed_queues, HELD, b"?")


def held_by_nobody(sample: SampleCrawl) -> None:
    fence = sample.client.hget(sample.names.held, HELD).split()[0]
    sample.client.hset(sample.names.held, HELD, fence + b" w9-gone")


def held_by_garbage(sample: SampleCrawl) -> None:
    sample.client.hset(sample.names.held, HELD, b"w9")


def fence_lost(sample: SampleCrawl) -> None:
    sample.client.hset(sample.names.totals, "fence", 0)


def record_lost(sample: SampleCrawl) -> None:
    sample.client.hdel(sample.names.hosts, SHORT)


def record_of_a_long_queue_lost(sample: SampleCrawl) -> None:
    sample.client.hdel(sample.names.hosts, LONG)


def all_of_a_key_lost_but_chunks(sample: SampleCrawl) -> None:
    sample.client.hdel(sample.names.hosts, LONG)
    sample.client.hdel(sample.names.queues, LONG)


def in_the_wrong_segment(sample: SampleCrawl) -> None:
    page = sample.long[3]
    there = segment_number(page.fingerprint, segment_count(sample.header(LONG)[1]))
    sample.forget(page)
    sample.know(page, State.QUEUED, segment_field(LONG.encode(), there ^ 1))


def in_a_segment_behind_the_last(sample: SampleCrawl) -> None:
    sample.forget(sample.long[3])
    sample.know(sample.long[3], State.QUEUED, segment_field(LONG.encode(), 77))


def number_of_known_urls_forgotten(sample: SampleCrawl) -> None:
    sample.set_header(LONG, 1, 0)


def segments_lost(sample: SampleCrawl) -> None:
    for number in range(3):
        sample.client.hdel(sample.names.seen, segment_field(LONG.encode(), number))


def known_of_nobody(sample: SampleCrawl) -> None:
    sample.client.hset(sample.names.seen, "nobody.test", b"")


def garbage_in_a_segment(sample: SampleCrawl) -> None:
    marks = sample.client.hget(sample.names.seen, SHORT)
    sample.client.hset(sample.names.seen, SHORT, marks + b"12")


def answer_lost(sample: SampleCrawl) -> None:
    sample.client.hdel(sample.names.robots, f"http://{SHORT}")


def expiry_lost(sample: SampleCrawl) -> None:
    sample.client.zrem(sample.names.robots_ends, f"http://{SHORT}")


def out_of_order(sample: SampleCrawl) -> None:
    parts = [packed(page) for page in sample.short]
    sample.set_tail(SHORT, b"".join(reversed(parts)))
    # The repeat beside them is lost, and with it one of five.
    sample.set_header(SHORT, 0, 4)
    sample.client.hincrby(sample.names.totals, "queued", -1)


def last_place_forgotten(sample: SampleCrawl) -> None:
    sample.set_header(SHORT, 3, b"\0" * 14)


def two_urls_at_one_place(sample: SampleCrawl) -> None:
    stranger = entry(STRANGER.url, position=sample.short[1].position)
    sample.set_tail(SHORT, sample.tail(SHORT) + packed(stranger))
    sample.know(STRANGER, State.QUEUED)
    sample.set_header(SHORT, 0, 6)
    sample.set_header(SHORT, 1, 5)
    sample.client.hincrby(sample.names.totals, "queued", 1)
    sample.client.hincrby(sample.names.totals, "seen", 1)


def a_chunk_behind_the_tail(sample: SampleCrawl) -> None:
    sample.add_chunk(SHORT, packed(STRANGER))
    sample.know(STRANGER, State.QUEUED)


def number_of_chunks_forgotten(sample: SampleCrawl) -> None:
    sample.set_header(LONG, 2, 0)


def tail_lost(sample: SampleCrawl) -> None:
    sample.client.hdel(sample.names.queues, LONG)


def total_is_no_number(sample: SampleCrawl) -> None:
    sample.client.hset(sample.names.totals, "done", "two")


PLANTED: list[tuple[Plant, dict[FindingKind, int], int]] = [
    # What is wrong; how often of each kind it is found; how many URLs fewer are queued in the end (more, below 0).
    (queued_and_not_known, {FindingKind.UNKNOWN: 1, FindingKind.KNOWN: 1, FindingKind.TOTAL: 1}, 0),
    (known_and_nowhere, {FindingKind.NOWHERE: 1, FindingKind.KNOWN: 1, FindingKind.TOTAL: 1}, 0),
    (queued_and_done, {FindingKind.SETTLED: 1, FindingKind.TOTAL: 1}, 1),
    (queued_in_two_states, {FindingKind.TWO_STATES: 1, FindingKind.SETTLED: 1, FindingKind.TOTAL: 1}, 1),
    (done_and_failed, {FindingKind.TWO_STATES: 1}, 0),
    (queued_twice, {FindingKind.TWICE: 1, FindingKind.LENGTH: 1, FindingKind.TOTAL: 1}, 0),
    (
        queued_twice_in_a_long_queue,
        {FindingKind.TWICE: 1, FindingKind.LENGTH: 1, FindingKind.DISORDER: 1, FindingKind.TOTAL: 1},
        0,
    ),
    (too_long, {FindingKind.LENGTH: 1}, 0),
    (no_level, {FindingKind.LEVEL: 1}, 0),
    (nowhere, {FindingKind.PLACE: 1}, 0),
    (idle_and_held, {FindingKind.PLACE: 1, FindingKind.TOTAL: 1}, 0),
    (idle_and_given_up, {FindingKind.PLACE: 1}, 0),
    (idle_twice, {FindingKind.STRAY: 1}, 0),
    (idle_and_unknown, {FindingKind.STRAY: 1}, 0),
    (given_up_and_unknown, {FindingKind.STRAY: 1}, 0),
    (held_and_unknown, {FindingKind.STRAY: 1}, 0),
    (changed_queue_of_unknown_key, {FindingKind.STRAY: 1}, 0),
    (changed_queue_is_garbage, {FindingKind.UNREADABLE: 1}, 0),
    (held_by_nobody, {FindingKind.HOLDER: 1}, 0),
    (held_by_garbage, {FindingKind.UNREADABLE: 1}, 0),
    (fence_lost, {FindingKind.FENCE: 1}, 0),
    (
        in_the_wrong_segment,
        {FindingKind.MISPLACED: 1, FindingKind.UNKNOWN: 1, FindingKind.KNOWN: 1, FindingKind.TOTAL: 1},
        0,
    ),
    (
        in_a_segment_behind_the_last,
        {FindingKind.MISPLACED: 1, FindingKind.UNKNOWN: 1, FindingKind.KNOWN: 1, FindingKind.TOTAL: 1},
        0,
    ),
    (garbage_in_a_segment, {FindingKind.UNREADABLE: 1}, 0),
    (number_of_chunks_forgotten, {FindingKind.DISORDER: 1}, 0),
    (answer_lost, {FindingKind.ROBOTS: 1}, 0),
    (expiry_lost, {FindingKind.ROBOTS: 1}, 0),
    (out_of_order, {FindingKind.DISORDER: 1}, 1),
    (last_place_forgotten, {FindingKind.DISORDER: 1}, 0),
    (two_urls_at_one_place, {FindingKind.DISORDER: 1}, -1),
    (
        a_chunk_behind_the_tail,
        {FindingKind.DISORDER: 1, FindingKind.LENGTH: 1, FindingKind.KNOWN: 1, FindingKind.TOTAL: 2},
        -1,
    ),
    (total_is_no_number, {FindingKind.TOTAL: 1}, 0),
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


def content(sample: SampleCrawl) -> dict[bytes, object]:
    """Everything in the server."""
    client = sample.client
    # The fields of a hash come in any order.
    return {
        name: client.hgetall(name) if client.type(name) == b"hash" else client.dump(name)
        for name in client.scan_iter()
    }


@pytest.mark.parametrize(("plant", "expected", "fewer"), PLANTED, ids=named)
def test_what_is_wrong_is_found_and_repaired(
    sample: SampleCrawl, plant: Plant, expected: dict[FindingKind, int], fewer: int
) -> None:
    plant(sample)
    before = content(sample)
    assert sample.check().left.counts == expected
    assert content(sample) == before, "a check changes nothing"

    repaired = sample.repair()
    assert repaired.agrees, repaired.left
    assert repaired.repaired
    after = sample.check()
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
def test_a_crawl_that_was_repaired_goes_on(sample: SampleCrawl, plant: Plant, fewer: int) -> None:
    plant(sample)
    assert sample.repair().agrees
    assert len(sample.fetch_all()) == QUEUED - fewer


@pytest.mark.parametrize("plant", MUCH, ids=named)
def test_what_takes_much_with_it_is_repaired_and_only_what_is_gone_is_not_fetched(
    sample: SampleCrawl, plant: Plant
) -> None:
    plant(sample)
    assert not sample.check().agrees

    repaired = sample.repair()
    assert repaired.agrees
    assert sample.check().agrees
    assert len(sample.fetch_all()) == QUEUED - repaired.repaired.counts[FindingKind.NOWHERE]


def test_nothing_is_found_and_nothing_changed_where_nothing_is_wrong(sample: SampleCrawl) -> None:
    before = content(sample)
    for checked in (sample.check(), sample.repair()):
        assert checked.left == checked.repaired == Findings()
        assert (checked.urls, checked.queued, checked.hosts) == (332, 329, 4)
        assert not checked.running_workers
    assert content(sample) == before
    assert len(sample.fetch_all()) == QUEUED


TOTALS = [
    "queued", "done", "failed", "refused", "hosts", "given_up_hosts", "given_up_urls", "held_urls", "seen"
]  # fmt: skip


@pytest.mark.parametrize("name", TOTALS)
def test_every_total_is_compared(sample: SampleCrawl, name: str) -> None:
    count = sample.client.hincrby(sample.names.totals, name, 3)
    detail = f"says {count}, is {count - 3}"
    assert found_in(sample.check(), FindingKind.TOTAL) == [
        Finding(FindingKind.TOTAL, name, detail, "shard 0")
    ]
    assert sample.repair().repaired.counts == {FindingKind.TOTAL: 1}
    assert int(sample.client.hget(sample.names.totals, name)) == count - 3


def test_what_is_wrong_is_called_by_its_name(sample: SampleCrawl) -> None:
    sample.forget(sample.short[1])
    sample.know(STRANGER, State.QUEUED)
    sample.set_header(LONG, 0, 9)
    checked = sample.check()
    assert [str(finding) for finding in found_in(checked, FindingKind.UNKNOWN)] == [
        f"{sample.short[1].url} (shard 0)"
    ]
    assert [str(finding) for finding in found_in(checked, FindingKind.NOWHERE)] == [
        f"fingerprint {STRANGER.fingerprint} of {SHORT} (shard 0)"
    ]
    assert [str(finding) for finding in found_in(checked, FindingKind.LENGTH)] == [
        f"{LONG} (says 9, is 320; shard 0)"
    ]


# -- what only a person can repair -----------------------------------------------------------------------------


def record_is_garbage(sample: SampleCrawl) -> None:
    sample.client.hset(sample.names.hosts, SHORT, b"?")


def queue_is_cut_off(sample: SampleCrawl) -> None:
    sample.set_tail(SHORT, sample.tail(SHORT)[:-5])


def host_is_in_another_shard(sample: SampleCrawl) -> None:
    for number in range(64):
        sample.client.hset(sample.names.hosts, f"host{number}", sample.client.hget(sample.names.hosts, SHORT))
    sample.client.hset("broad:meta", "shards", 2)


def there_is_a_shard_too_many(sample: SampleCrawl) -> None:
    sample.client.hset(ShardNames("broad", 1).totals, "queued", 1)


@pytest.mark.parametrize(
    "plant",
    [record_is_garbage, queue_is_cut_off, host_is_in_another_shard, there_is_a_shard_too_many],
    ids=named,
)
def test_what_cannot_be_mended_is_told_and_left_alone_and_the_rest_is_repaired(
    sample: SampleCrawl, plant: Plant
) -> None:
    sample.set_header(LONG, 0, 9)
    plant(sample)
    checked = sample.check()
    assert checked.left.counts[FindingKind.UNREADABLE] + checked.left.counts[FindingKind.STRAY] > 0
    assert checked.left.counts[FindingKind.LENGTH] > 0

    repaired = sample.repair()
    assert not repaired.agrees
    assert FindingKind.LENGTH in repaired.repaired.counts
    assert LONG not in {finding.subject for finding in found_in(repaired, FindingKind.LENGTH)}


# -- however much there is -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "plant",
    [queued_and_not_known, queued_and_done, queued_twice_in_a_long_queue, known_and_nowhere],
    ids=named,
)
def test_it_finds_the_same_when_it_reads_a_little_at_a_time(
    sample: SampleCrawl, plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(sample)
    before = sample.check()
    monkeypatch.setattr(shard, "URLS_AT_ONCE", 150)
    monkeypatch.setattr(reader, "AT_ONCE", 2)
    monkeypatch.setattr(reader, "CHUNKS_AT_ONCE", 2)
    monkeypatch.setattr(reader, "SEGMENTS_AT_ONCE", 2)
    after = sample.check()
    assert before.left.counts == after.left.counts
    assert (before.urls, before.queued, before.hosts) == (after.urls, after.queued, after.hosts)


def test_very_much_is_repaired_in_several_rounds(
    sample: SampleCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webcrawl.storage.redis.check.repairs.REPAIRED_AT_ONCE", 100)
    monkeypatch.setattr("webcrawl.storage.inspection.LISTED", 10)
    for page in sample.long:
        sample.forget(page)
    checked = sample.check()
    assert checked.left.counts[FindingKind.UNKNOWN] == 320
    assert len(found_in(checked, FindingKind.UNKNOWN)) == 10
    repaired = sample.repair()
    assert repaired.agrees
    assert repaired.repaired.counts[FindingKind.UNKNOWN] == 320
    assert len(sample.fetch_all()) == QUEUED


def test_a_crawl_is_not_mixed_up_with_others_whatever_they_are_called(
    runner: asyncio.Runner, redis_server: RedisServer
) -> None:
    names = ("broad", "broad2", "broad:1", "b*", "[ab]road", "a\\b")
    samples = [SampleCrawl(runner, redis_server.url, name) for name in names]
    for sample in samples:
        sample.know(sample.long[0], State.QUEUED, segment_field(LONG.encode(), 50))
        assert sample.check().left.counts == {FindingKind.MISPLACED: 1}
        assert sample.repair().agrees
    for sample in samples:
        assert sample.check().agrees
        sample.driven.dispose()


# -- while somebody is at work -------------------------------------------------------------------------------


def test_while_a_worker_is_running_only_what_is_seen_twice_is_told(sample: SampleCrawl) -> None:
    sample.report("w1", sample.server_now())
    sample.know(STRANGER, State.QUEUED)
    sample.set_header(LONG, 0, 9)

    async def meanwhile(seconds: float) -> None:
        sample.forget(STRANGER)

    checked = sample.check(meanwhile)
    assert checked.running_workers == {"w1"}
    assert checked.left.counts == {FindingKind.LENGTH: 1}
    assert checked.uncompared == []


def count_as_others_do(sample: SampleCrawl, monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    """Let a page be done during each of the first looks."""
    read = reader.ShardReader.without_record
    left = iter(range(looks))

    async def without_record(self: reader.ShardReader, keys: list[bytes]) -> list[bytes]:
        if next(left, None) is not None:
            sample.client.hincrby(sample.names.totals, "done", 1)
        return await read(self, keys)

    monkeypatch.setattr(reader.ShardReader, "without_record", without_record)


def nothing(seconds: float) -> asyncio.Future[None]:
    done = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done


def test_totals_that_change_while_they_are_counted_are_not_compared(
    sample: SampleCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample.report("w1", sample.server_now())
    count_as_others_do(sample, monkeypatch, looks=99)
    checked = sample.check(nothing)
    assert checked.agrees
    assert checked.uncompared == ["shard 0"]


def test_totals_that_rest_at_last_are_compared(sample: SampleCrawl, monkeypatch: pytest.MonkeyPatch) -> None:
    sample.report("w1", sample.server_now())
    count_as_others_do(sample, monkeypatch, looks=1)
    checked = sample.check(nothing)
    assert checked.left.counts == {FindingKind.TOTAL: 1}
    assert checked.uncompared == []


def test_who_has_a_lease_is_at_work_though_nothing_was_heard_of_him(sample: SampleCrawl) -> None:
    sample.client.zadd(sample.names.members, {"w7-0badcafe": sample.server_now() + 30})
    sample.set_header(LONG, 0, 9)
    assert sample.check(nothing).running_workers == {"w7-0badcafe"}


def test_nothing_is_repaired_while_a_worker_is_running(sample: SampleCrawl) -> None:
    sample.report("w1", sample.server_now())
    sample.set_header(LONG, 0, 9)
    before = content(sample)
    with pytest.raises(StartRefused, match=r"w1.*stop the crawl first"):
        sample.repair()
    assert content(sample) == before


def test_who_was_silent_for_a_lease_time_is_not_at_work(sample: SampleCrawl) -> None:
    sample.report("w1", sample.server_now() - 61)
    sample.set_header(LONG, 0, 9)
    assert sample.repair().agrees


# -- in a cluster --------------------------------------------------------------------------------------------


def test_a_crawl_in_a_cluster_is_checked_and_repaired(
    runner: asyncio.Runner, redis_cluster: RedisCluster
) -> None:
    with CrawlInCluster(runner, redis_cluster) as crawl:
        assert crawl.check().agrees
        crawl.break_something()
        found = crawl.check()
        assert found.left.counts == {
            FindingKind.UNKNOWN: 1,
            FindingKind.MISPLACED: 1,
            FindingKind.LENGTH: 1,
            FindingKind.KNOWN: 1,
            FindingKind.TOTAL: 1,
        }
        assert crawl.repair().agrees
        checked = crawl.check()
        assert checked.agrees
        assert (checked.urls, checked.queued, checked.hosts) == (60, 60, 20)
