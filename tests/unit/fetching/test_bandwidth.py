"""The bandwidth limit: the bytes of any ten seconds, turns among connections, and what waiting does not count as."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import os
from bisect import bisect_left
from math import inf
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy import Request
from scrapy.utils.test import get_crawler

from tests.unit.fetching.lab import Client, answering, run, serving
from webcrawl.archive.capture import Capture
from webcrawl.fetching import bandwidth as module
from webcrawl.fetching import transfer as transfer_module
from webcrawl.fetching.bandwidth import (
    BLOCKED_SECONDS,
    BURST_SECONDS,
    DEBT_SECONDS,
    MEASURED_SECONDS,
    Bandwidth,
    TokenBucket,
    UsedRate,
    get_bandwidth,
)
from webcrawl.fetching.body_memory import BodyMemory
from webcrawl.fetching.meta import FetchMeta
from webcrawl.fetching.transfer import Transfer, TransferHandler
from webcrawl.frontier.records import Kind
from webcrawl.storage.contract import BandwidthShare

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW = 10.0


class World:
    """A clock and its timers, in place of the event loop's."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()

    def clock(self) -> float:
        return self.now

    def later(self, seconds: float, step: Callable[[], None]) -> None:
        assert seconds >= 0
        heapq.heappush(self._due, (self.now + seconds, next(self._count), step))

    def run(self, until: float) -> None:
        while self._due and self._due[0][0] <= until:
            self.now, _, step = heapq.heappop(self._due)
            step()
        self.now = until


class Download:
    """A transfer without an end, of which ``chunk`` bytes are there a moment after the last read."""

    def __init__(self, world: World, limit: Bandwidth, chunk: int, pause: float = 0.001) -> None:
        self.world, self.limit, self.chunk, self.pause = world, limit, chunk, pause
        self.reads: list[tuple[float, int]] = []
        self.slowed = False
        self.ended = False

    def begin(self) -> None:
        self.world.later(self.pause, self.read)

    def read(self) -> None:
        if self.ended:
            return
        if self.slowed:
            return
        self.reads.append((self.world.now, self.chunk))
        if self.limit.is_on:
            self.limit.received(self.chunk, 0.0, self)
        if not self.slowed:
            self.begin()

    def slow_down(self) -> None:
        assert not self.slowed
        self.slowed = True

    def go_on(self) -> None:
        assert self.slowed
        self.slowed = False
        self.begin()


def limited(world: World, limit: float) -> Bandwidth:
    return Bandwidth(limit, world.clock, world.later)


def most_and_least(reads: list[tuple[float, int]], begin: float, end: float) -> tuple[int, int]:
    """The most and the least bytes of any ten seconds."""
    times = [at for at, _ in reads]
    sums = [0, *itertools.accumulate(size for _, size in reads)]
    starts = [at for at in (begin, *times, *(at + 1e-9 for at in times)) if begin <= at <= end - WINDOW]
    windows = [sums[bisect_left(times, at + WINDOW)] - sums[bisect_left(times, at)] for at in starts]
    return max(windows), min(windows)


@settings(max_examples=30)
@given(
    st.integers(10_000, 1_000_000),
    st.lists(st.tuples(st.floats(0, 3), st.integers(1, 100_000)), max_size=60),
    st.floats(0, 1),
)
def test_a_bucket_that_is_spent_when_it_is_free_gives_no_more_than_its_rate(
    rate: int, spendings: list[tuple[float, int]], burst_seconds: float
) -> None:
    bucket, now = TokenBucket(rate, 0.0, burst_seconds), 0.0
    reads = []
    for pause, size in spendings:
        now += max(pause, bucket.seconds_until_free(now))
        reads.append((now, size))
        bucket.spend(size, now)
    if reads:
        most, _ = most_and_least(reads, 0.0, now + WINDOW)
        assert most <= rate * (WINDOW + burst_seconds) + max(size for _, size in reads) + 1


def test_a_clock_that_jumps_adds_no_bytes() -> None:
    bucket = TokenBucket(1000, 100.0)
    bucket.spend(500, 100.0)
    assert bucket.balance(40.0) == -500
    assert bucket.balance(40.5) == 0
    assert bucket.balance(1e9) == 1000 * BURST_SECONDS


def test_a_debt_at_a_high_rate_is_no_long_silence_at_a_low_one() -> None:
    bucket = TokenBucket(10_000_000, 0.0)
    bucket.spend(5_000_000, 0.0)
    bucket.set_rate(1000, 0.0)
    assert bucket.seconds_until_free(0.0) == DEBT_SECONDS
    bucket.set_rate(0, 0.0)
    assert bucket.seconds_until_free(0.0) == inf


@settings(max_examples=30)
@given(
    st.integers(50_000, 50_000_000),
    st.integers(1, 60),
    st.integers(30, 150),
    st.lists(st.tuples(st.floats(0.1, 8), st.floats(0, 20)), max_size=2),
)
def test_many_downloads_get_the_limit_in_any_ten_seconds(
    rate: int, number: int, parts: int, breaks: list[tuple[float, float]]
) -> None:
    """Also after pauses in which nothing comes. ``parts``: reads in a second."""
    chunk = rate // parts
    world = World()
    limit = limited(world, rate)
    downloads = [Download(world, limit, chunk, pause=0.002) for _ in range(number)]
    for download in downloads:
        download.begin()
    world.run(2.0)
    for running, silent in breaks:
        world.run(world.now + running)
        for download in downloads:
            download.ended = True
        world.run(world.now + silent)
        for download in downloads:
            limit.forget(download)
            download.ended, download.slowed = False, False
            download.begin()
    # Each begin had a read of every connection, which is paid for by then.
    begin = world.now + (len(breaks) + 1) * number / parts
    world.run(begin + 11)
    reads = sorted(read for download in downloads for read in download.reads)
    most, _ = most_and_least(reads, 0.0, world.now)
    assert most <= rate * (WINDOW + BURST_SECONDS) + ((len(breaks) + 1) * number + 1) * chunk
    _, least = most_and_least(reads, begin, world.now)
    assert least >= 0.9 * WINDOW * rate - chunk


def test_downloads_share_fairly() -> None:
    world = World()
    limit = limited(world, 1_000_000)
    downloads = [Download(world, limit, 8_000) for _ in range(100)]
    for download in downloads:
        download.begin()
    world.run(60)
    amounts = [sum(size for _, size in download.reads) for download in downloads]
    assert max(amounts) - min(amounts) <= 8_000
    assert sum(amounts) == pytest.approx(60_000_000, rel=0.03)


def test_one_read_of_more_than_the_burst_is_paid_for() -> None:
    world = World()
    one = Download(world, limited(world, 10_000), 200_000)
    one.begin()
    world.run(100)
    gaps = [after - before for (before, _), (after, _) in itertools.pairwise(one.reads)]
    assert gaps == [pytest.approx(20, abs=0.3)] * len(gaps)
    assert len(gaps) == 4


def test_the_limit_changes_while_it_is_applied() -> None:
    world = World()
    limit = limited(world, 0)
    one = Download(world, limit, 10_000, pause=0.01)
    one.begin()
    world.run(10)
    assert sum(size for _, size in one.reads) == pytest.approx(10_000_000, rel=0.01)
    for rate in (100_000, 400_000, 20_000):
        limit.set_limit(rate)
        world.run(world.now + 2)
        begin, before = world.now, sum(size for _, size in one.reads)
        world.run(begin + 20)
        after = sum(size for _, size in one.reads)
        assert after - before == pytest.approx(20 * rate, abs=rate * BURST_SECONDS + 10_000)
        assert limit.used == pytest.approx(rate, abs=10_000)
    limit.set_limit(0)
    assert not one.slowed
    assert (limit.rate, limit.used, limit.buffer_bytes) == (inf, 0, None)


def test_a_share_ends_at_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    monkeypatch.setattr(module, "uptime", world.clock)
    limit = limited(world, 100_000)
    limit.share_with_others()
    one = Download(world, limit, 1_000, pause=0.001)
    one.begin()
    world.run(5)
    assert len(one.reads) == 1
    assert limit.seconds_until_begin() > 0
    assert limit.figures() == {
        "bandwidth_limit": 100_000,
        "bandwidth_used": 200,
        "bandwidth_wanted": -1,
    }
    limit.granted(BandwidthShare(40_000, 15.0))
    world.run(60)
    assert 400_000 <= sum(size for _, size in one.reads) <= 400_000 + 40_000 * BURST_SECONDS + 2_000
    limit.granted(BandwidthShare(1e9, 100.0))
    assert limit.rate == 100_000


def test_who_needs_less_says_what_it_uses() -> None:
    world = World()
    limit = limited(world, 100_000)
    assert limit.seconds_until_begin() == 0
    for second in range(MEASURED_SECONDS + 1):
        world.now = float(second)
        limit.received(500, 0.0, None)
    assert limit.figures()["bandwidth_wanted"] == 500
    assert limited(world, 0).figures() == {}


def test_requests_begin_at_the_rate_of_their_responses() -> None:
    """The mean size of a response of the kind is reserved; what did not come is given back."""
    world = World()
    limit = limited(world, 1_000_000)
    begun = [0, 0]
    for second in range(2):
        for _ in range(1000):
            while limit.seconds_until_begin() == 0:
                reserved = limit.reserve(Kind.PAGE)
                world.now += 1e-6
                left = limit.received(10_000, reserved, None)
                limit.settle(Kind.PAGE, left, 10_000)
                begun[second] += 1
            world.now += 0.02
    assert begun[1] == pytest.approx(2000, rel=0.02)


def test_no_request_begins_while_connections_wait() -> None:
    world = World()
    limit = limited(world, 100_000)
    waiting = [Download(world, limit, 8_000, pause=0.0) for _ in range(10)]
    for one in waiting:
        one.begin()
    world.run(0.001)
    assert limit.seconds_until_begin() == BLOCKED_SECONDS
    for one in waiting:
        limit.forget(one)
    world.run(2.0)
    assert limit.seconds_until_begin() == 0


def test_used_is_a_mean_of_whole_seconds() -> None:
    used = UsedRate(0.0)
    used.add(300, 0.5)
    assert used.rate(0.9) == 300
    used.add(100, 1.5)
    assert used.rate(2.0) == 200
    assert used.rate(100.0) == 0


def test_small_limits_have_small_buffers() -> None:
    sizes = [Bandwidth(limit).buffer_bytes for limit in (1, 1_000_000, 100_000_000)]
    assert sizes == [module.BUFFER_LEAST, 31_250, None]


class Pausing(Transfer):
    """A transfer that counts the reasons to pause it, and notes when it expires."""

    holds = 0
    expired = False

    def pause(self) -> None:
        self.holds += 1

    def resume(self) -> None:
        self.holds -= 1

    def expire(self, reason: Exception) -> None:
        self.expired = True


def test_waiting_counts_neither_for_the_timeout_nor_for_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    monkeypatch.setattr(transfer_module, "monotonic", world.clock)
    fetch = FetchMeta()
    fetch.account = BodyMemory(1000, 1).account()
    request = Request("http://a.example/")
    capture = Capture(request.url, "GET", 0.0, 0.0, None, b"", b"", b"", b"")

    async def test() -> None:
        handler = TransferHandler(get_crawler(settings_dict={"DOWNLOAD_TIMEOUT": 60}))
        handler.bandwidth = limit = limited(world, 1000)
        transfer = Pausing(handler, request, fetch, capture)
        transfer.watch()
        transfer.charge(1_000_000, waits=True)
        assert transfer.holds == 1
        world.now = 500.0
        transfer.watch()
        assert not transfer.expired
        world.run(1000.1)
        assert transfer.holds == 0
        assert fetch.held_seconds == pytest.approx(1000, abs=1)
        # Waiting for memory at the same time is not counted twice.
        transfer.slow_down()
        world.now += 10
        transfer.charge(1, waits=True)
        transfer.slow_down()
        world.now += 10
        transfer.end_watch()
        assert fetch.held_seconds == pytest.approx(1020, abs=1)
        assert transfer.holds == 0
        assert limit._waiting == module.deque()
        world.now = 1070.0
        transfer.watch()
        assert not transfer.expired
        world.now = 1090.0
        transfer.watch()
        assert transfer.expired
        transfer.end_watch()
        await handler.close()

    run(test())


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_body_comes_whole_at_the_limit(loop: str) -> None:
    body = os.urandom(60_000)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    async def test() -> None:
        async with serving(answering(answer)) as site, Client(BANDWIDTH_MAX=200_000) as client:
            began = asyncio.get_running_loop().time()
            fetched = [await client.fetch(site.url()) for _ in range(2)]
            took = asyncio.get_running_loop().time() - began
            assert [one.response.body for one in fetched if one.response] == [body, body]
            # All but the last read was waited for, which is no larger than a body.
            assert took >= (len(answer) - BURST_SECONDS * 200_000) / 200_000
            assert [one.meta.received_bytes for one in fetched] == [len(answer)] * 2
            assert get_bandwidth(client.crawler)._waiting == module.deque()
            assert client.idle_connections == 1

    run(test(), loop)


def test_nothing_is_counted_without_a_limit() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    async def test() -> None:
        async with serving(answering(answer)) as site, Client() as client:
            fetched = await client.fetch(site.url())
            assert fetched.meta.received_bytes == 0

    run(test())
