"""The Bloom filters in Redis: their error, their size, and what a crash of the server or a lost bit leads to."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from pybloom_live import BloomFilter

from tests.contract.driven_redis import DrivenRedis
from tests.contract.samples import entry, found, settled
from webcrawl.errors import StartRefused
from webcrawl.frontier.records import UrlEntry
from webcrawl.storage.inspection import FindingKind
from webcrawl.storage.redis.check import ConsistencyCheck
from webcrawl.storage.redis.control import Control

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from tests.redis_server import RedisServer

    Make = Callable[..., DrivenRedis]


@pytest.fixture
def make(runner: asyncio.Runner, redis_server: RedisServer) -> Iterator[Make]:
    made: list[DrivenRedis] = []

    def make_one(**options: Any) -> DrivenRedis:
        driven = DrivenRedis(runner, redis_server.url, "filtered", exact=False, **options)
        driven.client.flushdb()
        made.append(driven)
        driven.open()
        return driven

    yield make_one
    for driven in made:
        driven.dispose()


def several(seed: int, number: int, hosts: int = 40) -> list[UrlEntry]:
    """URLs with fingerprints that are drawn, as those of real URLs are."""
    draw = random.Random(seed)
    entries = []
    for at in range(number):
        one = entry(f"http://h{at % hosts}.test/{seed}/{at}")
        one.fingerprint = draw.randrange(-(1 << 63), 1 << 63)
        entries.append(one)
    return entries


def count_new(driven: DrivenRedis, entries: list[UrlEntry]) -> int:
    driven.backend._writer.forget()
    return len(driven.commit(found(*entries)).queued)


def test_at_most_the_stated_share_of_new_urls_is_taken_for_known(make: Make) -> None:
    """2,000 URLs are four filters here: 250, 500, 1,000 and 2,000."""
    driven = make(seen_capacity=250, seen_error_rate=0.02)
    lost = total = 0
    for seed in range(10):
        total += 200
        lost += 200 - count_new(driven, several(seed, 200))
    # The expectation is at most 0.02 of them, 40; the seed is fixed.
    assert lost < 40
    [names] = driven.names()
    assert int(driven.client.hget(names.seen, "added")) == total - lost
    sizes = [driven.client.strlen(name) for name in driven.client.keys(b"*filter:*")]
    assert len(sizes) == 4
    # None of them is forgotten.
    assert [count_new(driven, several(seed, 200)) for seed in range(10)] == [0] * 10
    driven.check_consistency()


def test_a_filter_is_as_large_as_one_of_pybloom_live(make: Make) -> None:
    driven = make(seen_capacity=50_000, seen_error_rate=1e-4)
    assert count_new(driven, several(1, 100)) == 100
    [names] = driven.names()
    theirs = BloomFilter(50_000, 0.5e-4)
    assert driven.client.strlen(names.of_seen_test[-16]) == -(-theirs.num_bits // 8)
    # 2.57 bytes for each URL that it is for.
    assert 2.5 < driven.client.strlen(names.of_seen_test[-16]) / 50_000 < 2.6
    assert driven.client.bitcount(names.of_seen_test[-16]) <= 100 * theirs.num_slices


def test_settled_urls_stay_known_and_a_repeated_answer_changes_nothing(make: Make) -> None:
    driven = make()
    [page] = several(2, 1)
    driven.commit(found(page))
    driven.activate_one()
    driven.commit(settled(page))
    driven.commit(settled(page))
    counts = driven.read_counts()
    assert (counts.queued, counts.done) == (0, 1)
    assert count_new(driven, several(2, 1)) == 0
    driven.check_consistency()


def test_what_redis_lost_with_its_last_second_is_queued_again(make: Make) -> None:
    """Filter and queue are written by one script, so both are lost, or neither."""
    driven = make()
    assert count_new(driven, several(3, 10)) == 10
    [names] = driven.names()
    before = {name: driven.client.dump(name) for name in driven.client.keys(b"*") if b"{" in name}
    later = several(4, 10)
    assert len(driven.commit(found(*later)).queued) == 10
    # The server as it was a second ago.
    for name in driven.client.keys(b"*"):
        if b"{" in name:
            driven.client.delete(name)
    for name, dump in before.items():
        driven.client.restore(name, 0, dump)
    driven.backend._server_started()
    driven.run(driven.backend._writer.repeat_doubtful())
    assert {one.url for one in driven.queued()} == {one.url for one in [*several(3, 10), *later]}
    assert int(driven.client.hget(names.seen, "added")) == 20
    driven.check_consistency()


def test_a_url_whose_bit_is_lost_is_queued_again_and_the_check_repairs_it(
    make: Make, runner: asyncio.Runner, redis_server: RedisServer
) -> None:
    driven = make()
    entries = several(5, 10)
    assert count_new(driven, entries) == 10
    [names] = driven.names()
    bits = driven.client.strlen(names.of_seen_test[-16]) * 8
    for at in range(bits):
        if driven.client.getbit(names.of_seen_test[-16], at):
            driven.client.setbit(names.of_seen_test[-16], at, 0)
            break
    driven.close()
    driven.survive()

    async def checked(*, repair: bool) -> dict[FindingKind, int]:
        control = Control({"url": redis_server.url}, "filtered", lease_seconds=60.0)
        await control.open()
        try:
            check = ConsistencyCheck(control, 0.0)
            return dict((await (check.repair() if repair else check.check())).left.counts)
        finally:
            await control.close()

    assert runner.run(checked(repair=False)) == {FindingKind.UNKNOWN: 1}
    assert runner.run(checked(repair=True)) == {}
    driven.open()
    assert count_new(driven, several(5, 10)) == 0


def test_workers_use_one_seen_test(make: Make, runner: asyncio.Runner, redis_server: RedisServer) -> None:
    """The sizes of the filters are those that the first worker has; another kind of seen test is refused."""
    first = make(seen_capacity=1000)
    assert count_new(first, several(6, 50)) == 50
    second = DrivenRedis(runner, redis_server.url, "filtered", exact=False, seen_capacity=777_000)
    second.open()
    assert second.backend._server.filters == first.backend._server.filters
    assert len(second.commit(found(*several(6, 50))).queued) == 0
    third = DrivenRedis(runner, redis_server.url, "filtered")
    with pytest.raises(StartRefused, match="FRONTIER_SEEN=bloom"):
        third.open()
    second.dispose()
    third.dispose()
