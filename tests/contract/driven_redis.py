"""The Redis backend as tests drive it: on a real server, by a clock that the test sets."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from redis import Redis

from tests.contract.driven import IDENTITY, SEEN_CAPACITY, SEEN_ERROR_RATE, Driven, StoredHost
from tests.contract.samples import NOW
from webcrawl.frontier.records import State, UrlEntry, UrlRecord
from webcrawl.storage.contract import Counts
from webcrawl.storage.inspection import CheckResult, Findings
from webcrawl.storage.redis.check import ConsistencyCheck
from webcrawl.storage.redis.control import Control
from webcrawl.storage.redis.frontier import RedisBackend
from webcrawl.storage.redis.leases import ServerClock
from webcrawl.storage.redis.marks import Words, state_from, unpack_marks
from webcrawl.storage.redis.names import CrawlNames, RedisOptions, ShardNames
from webcrawl.storage.redis.packing import chunk_key, chunk_prefix, unpack_entries, unpack_host
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from redis import RedisCluster

    from webcrawl.storage.contract import Activated, Batch, Committed, Move

LEASE_SECONDS = 1e6
"""Longer than any test lets time pass."""


class GivenClock(ServerClock):
    """The server's time is what the test says."""

    def __init__(self, now: float = NOW) -> None:
        super().__init__()
        self.now = now

    def __call__(self) -> float:
        return self.now

    @property
    def given(self) -> float | None:
        return self.now

    def update(self, server_time: float, sent_at: float, received_at: float) -> None:
        """What the server's clock shows is of no interest."""


class DrivenRedis(Driven):
    """The Redis backend. A crash leaves what is in the server; a new member takes over when the lease has ended."""

    def __init__(
        self,
        runner: asyncio.Runner,
        url: str,
        spider: str,
        client: Redis | RedisCluster | None = None,
        *,
        shards: int = 1,
        exact: bool = True,
        get_owner: Callable[[str], str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(runner, exact=exact)
        self.knows_pruned = exact
        if not exact:
            options = {
                "seen": "bloom",
                "seen_capacity": SEEN_CAPACITY,
                "seen_error_rate": SEEN_ERROR_RATE,
                **options,
            }
        self.url, self.spider, self.shards = url, spider, shards
        self._options = RedisOptions(
            spider=spider, shards=shards, lease_seconds=LEASE_SECONDS, worker="test", **options
        )
        self._get_owner = get_owner or (lambda origin: get_host(f"{origin}/"))
        self.clock = GivenClock()
        self.client = client or Redis.from_url(url)
        self._left: list[RedisBackend] = []
        self.backend: RedisBackend = self.made()

    def made(self) -> RedisBackend:
        """Another member, not opened yet."""
        return RedisBackend({"url": self.url}, self._options, IDENTITY, self._get_owner, self.clock)

    # -- time goes with what is asked ------------------------------------------------------------------------

    def open(self, now: float = NOW) -> Counts:
        self.clock.now = now
        return super().open(now)

    def activate_keys(self, count: int = 100, now: float = NOW) -> list[Activated]:
        self.clock.now = now
        return super().activate_keys(count, now)

    def reopen(self, now: float = NOW) -> Counts:
        self.clock.now = now
        return super().reopen(now)

    def crash(self, now: float = NOW) -> Counts:
        self.clock.now = now
        return super().crash(now)

    # -- around it -------------------------------------------------------------------------------------------

    def renew(self) -> None:
        self.backend = self.made()

    def survive(self) -> None:
        """The dead member's lease has just ended when the next one comes."""
        for names in self.names():
            for member in self.client.zrange(names.members, 0, -1):
                self.client.zadd(names.members, {member: self.clock.now})
        self.client.delete(CrawlNames(self.spider).workers)
        self._left.append(self.backend)
        self.backend = self.made()

    def listen(
        self,
        heard: Callable[[Batch, Committed], None],
        moved: Callable[[list[Move]], None] = lambda moves: None,
    ) -> None:
        carry_out = partial(RedisBackend.commit, self.backend)

        async def commit(batch: Batch) -> Committed:
            committed = await carry_out(batch)
            heard(batch, committed)
            return committed

        self.backend.commit = commit

    def lift_limit(self) -> None:
        self._options = replace(self._options, queue_max=0)

    def names(self) -> list[ShardNames]:
        return [ShardNames(self.spider, number, has_filters=not self.exact) for number in range(self.shards)]

    def totals(self) -> Counter[str]:
        totals: Counter[str] = Counter()
        for names in self.names():
            for name, number in self.client.hgetall(names.totals).items():
                if name not in (b"run", b"quiet_until"):
                    totals[name.decode()] += int(number)
        return totals

    def counts_now(self) -> Counts:
        totals = self.totals()
        parked = sum(self.client.zlexcount(names.idle, "[p", "(p\xff") for names in self.names())
        plain = ("queued", "done", "failed", "refused", "hosts")
        given_up = (totals["given_up_hosts"], totals["given_up_urls"])
        return Counts(*(totals[name] for name in plain), parked, *given_up)

    def queued(self) -> list[UrlEntry]:
        found: dict[str, list[UrlEntry]] = {}
        for names in self.names():
            chunks: dict[bytes, bytes] = defaultdict(bytes)
            for member in self.client.zrange(names.chunks, 0, -1):
                key = chunk_key(member)
                chunks[key] += member[len(chunk_prefix(key)) :]
            tails = self.client.hgetall(names.queues)
            for name in {*chunks, *tails}:
                text = name.decode("utf-8", "surrogatepass")
                found[text] = list(unpack_entries(chunks.get(name, b"") + tails.get(name, b""), text))
        return [entry for key in sorted(found) for entry in found[key]]

    def states(self) -> Counter[State]:
        states: Counter[State] = Counter()
        if not self.exact:
            return states
        for names in self.names():
            for segment in self.client.hvals(names.seen):
                states.update(state_from(code) for _, code in unpack_marks(segment))
        return states

    def records(self) -> dict[int, UrlRecord]:
        records: dict[int, UrlRecord] = {}
        if not self.exact:
            return records
        for names in self.names():
            words = Words(self.client.hgetall(names.reasons))
            for segment in self.client.hvals(names.seen):
                records.update((mark, words.record(code)) for mark, code in unpack_marks(segment))
        return records

    def hosts(self) -> dict[str, StoredHost]:
        hosts = {}
        for names in self.names():
            held = self.client.hgetall(names.held)
            idle = {member[15:]: member for member in self.client.zrange(names.idle, 0, -1)}
            for name, value in self.client.hgetall(names.hosts).items():
                key = name.decode("utf-8", "surrogatepass")
                stored = unpack_host(key, value)
                hosts[key] = StoredHost(
                    stored.record, name in held, name in idle, stored.level, stored.queued
                )
        return hosts

    def check_consistency(self) -> None:
        super().check_consistency()
        totals, hosts = self.totals(), self.hosts()
        assert totals["held_urls"] == sum(host.queued for host in hosts.values() if host.active)
        if self.exact:
            assert totals["seen"] == sum(self.states().values())
        else:
            added = [int(self.client.hget(names.seen, "added") or 0) for names in self.names()]
            assert totals["seen"] == sum(added)
        for names in self.names():
            given_up = {name.decode() for name in self.client.smembers(names.given_up)}
            mine = {key for key in hosts if self.client.hexists(names.hosts, key)}
            assert given_up == {key for key in mine if hosts[key].record.given_up and not hosts[key].active}

        assert self.run(self._audited()).left == Findings()

    async def _audited(self) -> CheckResult:
        control = Control({"url": self.url}, self.spider, lease_seconds=60.0)
        await control.open()
        try:
            return await ConsistencyCheck(control, 0.0).check()
        finally:
            await control.close()

    def dispose(self) -> None:
        for backend in [*self._left, self.backend]:
            self.run(backend._server.close())
        self.client.close()
