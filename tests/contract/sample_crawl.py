"""A crawl on Redis with something in each state, and what can be wrong with it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Self

from tests.contract.driven_redis import DrivenRedis
from tests.contract.samples import NOW, entry, found, pages, robots
from webcrawl.frontier.records import State, UrlEntry, UrlRecord
from webcrawl.storage.contract import Batch, Settled
from webcrawl.storage.redis.check import ConsistencyCheck
from webcrawl.storage.redis.control import Control
from webcrawl.storage.redis.frontier import RedisBackend
from webcrawl.storage.redis.leases import ServerClock
from webcrawl.storage.redis.marks import mark_bytes, segment_count, segment_field, segment_number
from webcrawl.storage.redis.names import RedisOptions, ShardNames, shard_number
from webcrawl.storage.redis.packing import chunk_prefix, pack_entry
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from redis import Redis

    from tests.redis_server import RedisCluster
    from webcrawl.storage.inspection import CheckResult, Finding, FindingKind

HEADER = struct.Struct("<III14s6sdddBB")
SHORT, LONG, HELD, GIVEN_UP = "short.test", "long.test", "held.test", "given-up.test"
FAR_AWAY = 5e9
"""A time when every host is due."""


class SampleCrawl:
    """One shard of a crawl: hosts with a short queue, a long one, held, and given up; URLs in every state."""

    def __init__(self, runner: asyncio.Runner, url: str, spider: str = "broad") -> None:
        self.driven = DrivenRedis(runner, url, spider, delay_seconds=5.0)
        self.driven.open()
        self.client: Redis = self.driven.client
        self.names = ShardNames(spider, 0)
        self.run = runner.run
        self._begin()

    def _begin(self) -> None:
        driven = self.driven
        self.short, self.long = pages(SHORT, 4), pages(LONG, 320)
        again = entry(f"http://{SHORT}/0", repeat=True)
        driven.commit(found(*pages(HELD, 6), *pages(GIVEN_UP, 2)))
        held, given_up = sorted(driven.activate_keys(2), key=lambda one: one.record.key, reverse=True)
        states = (State.DONE, State.DONE, State.FAILED, State.REFUSED)
        ended = [
            Settled(one, UrlRecord(state), fence=held.record.fence)
            for one, state in zip(held.queue.entries, states, strict=False)
        ]
        given_up.record.given_up = True
        answer = robots(f"http://{SHORT}")
        driven.commit(Batch([*self.short, *self.long, again], ended, [], [answer]))
        driven.release_keys(given_up.record)
        self.settled = [one.entry for one in ended]
        assert {held.record.key, given_up.record.key} == {HELD, GIVEN_UP}

    # -- looking ---------------------------------------------------------------------------------------------

    def check(self, pause: Callable[[float], Awaitable[object]] | None = None) -> CheckResult:
        return self.run(self._audited(ConsistencyCheck.check, pause))

    def repair(self) -> CheckResult:
        return self.run(self._audited(ConsistencyCheck.repair, None))

    async def _audited(
        self,
        work: Callable[[ConsistencyCheck], Awaitable[CheckResult]],
        pause: Callable[[float], Awaitable[object]] | None,
    ) -> CheckResult:
        control = Control({"url": self.driven.url}, self.driven.spider, 60.0)
        await control.open()
        try:
            return await work(ConsistencyCheck(control, 5.0, **({"pause": pause} if pause else {})))
        finally:
            await control.close()

    def fetch_all(self) -> set[str]:
        """Crawl on until nothing is queued: the URLs that are given out, each of them once."""
        driven = self.driven
        # Whoever held something is gone, and given-up hosts get another chance.
        driven.crash(FAR_AWAY)
        fetched: list[str] = []
        while activated := driven.activate_keys(100, FAR_AWAY + 100):
            for one in activated:
                entries = driven.read_queue(one.record.key, None, 10_000).entries
                fetched += [one.url for one in entries]
                ends = [Settled(ended, UrlRecord(State.DONE), fence=one.record.fence) for ended in entries]
                driven.commit(Batch(settled=ends))
                driven.release_keys(one.record)
        assert driven.read_counts().queued == 0
        assert len(set(fetched)) >= len(fetched) - 1, "only the repeat is fetched twice"
        driven.check_consistency()
        return set(fetched)

    # -- planting --------------------------------------------------------------------------------------------

    def segment(self, one: UrlEntry) -> bytes:
        """Where a URL is looked for in the seen test."""
        segments = segment_count(self.header(one.key)[1])
        return segment_field(one.key.encode(), segment_number(one.fingerprint, segments))

    def forget(self, one: UrlEntry, state: State = State.QUEUED) -> None:
        before = self.client.hget(self.names.seen, self.segment(one)) or b""
        after = before.replace(mark_bytes(one.fingerprint) + bytes((state,)), b"")
        assert len(after) == len(before) - 9
        self.client.hset(self.names.seen, self.segment(one), after)

    def know(self, one: UrlEntry, state: State, segment: bytes | None = None) -> None:
        name = self.segment(one) if segment is None else segment
        before = self.client.hget(self.names.seen, name) or b""
        self.client.hset(self.names.seen, name, before + mark_bytes(one.fingerprint) + bytes((state,)))

    def tail(self, key: str) -> bytes:
        """The end of a queue; all of a short one."""
        return self.client.hget(self.names.queues, key) or b""

    def set_tail(self, key: str, value: bytes) -> None:
        self.client.hset(self.names.queues, key, value)

    def chunks(self, key: str) -> list[bytes]:
        prefix = chunk_prefix(key.encode())
        return [one for one in self.client.zrange(self.names.chunks, 0, -1) if one.startswith(prefix)]

    def add_chunk(self, key: str, entries: bytes) -> None:
        self.client.zadd(self.names.chunks, {chunk_prefix(key.encode()) + entries: 0})

    def header(self, key: str) -> list[Any]:
        """queued, known, chunks, last place, rank, next_at, blocked_until, delay, parked, given up."""
        return list(HEADER.unpack_from(self.client.hget(self.names.hosts, key)))

    def set_header(self, key: str, at: int, value: float | bytes) -> None:
        header = self.header(key)
        header[at] = value
        rest = self.client.hget(self.names.hosts, key)[HEADER.size :]
        self.client.hset(self.names.hosts, key, HEADER.pack(*header) + rest)

    def idle_member(self, key: str) -> bytes:
        [member] = [one for one in self.client.zrange(self.names.idle, 0, -1) if one[15:] == key.encode()]
        return member

    def report(self, name: str, seen_at: float) -> None:
        """Write the facts of a worker as its heartbeat does."""
        facts = f'{{"name": "{name}", "started_at": {NOW}, "seen_at": {seen_at}, "figures": {{"pages": 7}}}}'
        self.client.hset(f"{self.driven.spider}:workers", f"{name}-00", facts)

    def server_now(self) -> float:
        seconds, microseconds = self.client.time()
        return seconds + microseconds / 1e6


class CrawlInCluster:
    """Sixty URLs on twenty hosts in a Redis Cluster, nobody at work."""

    def __init__(self, runner: asyncio.Runner, cluster: RedisCluster) -> None:
        self._run = runner.run
        self._url = cluster.url
        self._client = cluster.client()
        options = RedisOptions(spider="broad", lease_seconds=60.0)
        backend = RedisBackend({"url": cluster.url}, options, {}, get_host, ServerClock())
        self._run(backend.open(0.0))
        for number in range(20):
            self._run(backend.commit(found(*pages(f"h{number}.test", 3))))
        self._run(backend.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def check(self) -> CheckResult:
        return self._run(self._audited(ConsistencyCheck.check))

    def repair(self) -> CheckResult:
        return self._run(self._audited(ConsistencyCheck.repair))

    async def _audited(self, work: Callable[[ConsistencyCheck], Awaitable[CheckResult]]) -> CheckResult:
        control = Control({"url": self._url}, "broad", 60.0)
        await control.open()
        try:
            return await work(ConsistencyCheck(control, 5.0))
        finally:
            await control.close()

    def break_something(self) -> None:
        """A URL is in a segment behind the last, and a host's record says too much."""
        names = ShardNames("broad", shard_number("h0.test", 16))
        marks = self._client.hget(names.seen, "h0.test")
        self._client.hset(names.seen, "h0.test", marks[9:])
        self._client.hset(names.seen, segment_field(b"h0.test", 9), marks[:9])
        value = self._client.hget(names.hosts, "h0.test")
        self._client.hset(names.hosts, "h0.test", struct.pack("<I", 8) + value[4:])


def packed(one: UrlEntry) -> bytes:
    return pack_entry(one)


def found_in(checked: CheckResult, kind: FindingKind) -> list[Finding]:
    return checked.left.listed.get(kind, [])
