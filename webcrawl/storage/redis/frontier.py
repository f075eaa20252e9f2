"""The backend contract on Redis: the methods that the event loop calls."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar
from uuid import uuid4

from webcrawl.errors import StorageAway, StorageFull
from webcrawl.frontier.order import LevelSampler
from webcrawl.frontier.queue_head import QueuePosition
from webcrawl.frontier.records import UrlRecord
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.storage.contract import (
    HEAD,
    Activated,
    Batch,
    Committed,
    Counts,
    HeartbeatAnswer,
    Idle,
    Loaded,
    Move,
    ScanCursor,
    ScanResult,
    Unavailable,
    uptime,
)
from webcrawl.storage.redis import leases
from webcrawl.storage.redis.budget import Budget
from webcrawl.storage.redis.clocks import RedisClocks
from webcrawl.storage.redis.counted import merge_counted
from webcrawl.storage.redis.holding import FORGETS_SECONDS, Holding
from webcrawl.storage.redis.learned import SharedLearning
from webcrawl.storage.redis.leases import FIRST_READINGS, ServerClock
from webcrawl.storage.redis.loading import Loader, QueueScanner
from webcrawl.storage.redis.marks import Words, mark_bytes
from webcrawl.storage.redis.names import (
    SEEN,
    CrawlNames,
    RedisOptions,
    ShardNames,
    filter_sizes,
    seen_settings,
    shard_number,
)
from webcrawl.storage.redis.packing import PROTOCOL, encoded, unpack_robots
from webcrawl.storage.redis.server import Call, RedisServer
from webcrawl.storage.redis.shard import Shard
from webcrawl.storage.redis.shared_parts import RedisLog, RedisSeedLists, RedisStartList, SeededNames
from webcrawl.storage.redis.tables import RedisTables
from webcrawl.storage.redis.workers import MOVE, PASSING, BandwidthShares, WorkerRegistry
from webcrawl.storage.redis.writing import Writer

_T = TypeVar("_T")

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 1.0

SHARDS, SHARDS_OF_CLUSTER = 2, 16
"""On one server a commit costs less the fewer shards it is for; a cluster divides them among its nodes."""
ACTIVATED_AT_ONCE = 200
"""Keys in one call of ``lease`` and ``load``."""


class RedisBackend:
    """One worker's view of the crawl. Its state is in Redis, but for the leases it holds and the URLs it knows to be
    known.

    Always true: a key is leased to one member at a time, under a number that is never given again; changes to the key
    under another number are dropped.
    """

    def __init__(
        self,
        params: Mapping[str, Any],
        options: RedisOptions,
        identity: Mapping[str, str],
        get_owner: Callable[[str], str],
        clock: ServerClock,
        learned: Callable[[str], None] = lambda host: None,
    ) -> None:
        """``params``: as scrapy-redis gives them to redis-py. ``identity``: settings on which all members must agree;
        those whose names begin with ``technology.SCOPE`` may change while no worker runs. ``get_owner``: returns
        the politeness key of an origin. ``clock`` is set by the server's. ``learned``: called with each host that the
        operator named to another member, before a URL of it is given out."""
        self._options = options
        self.heartbeat_seconds = min(HEARTBEAT_SECONDS, options.lease_seconds / 5)
        self.silence_seconds = options.lease_seconds / 2
        self._identity = identity
        self._clock = clock
        self._member = f"{options.worker}-{uuid4().hex[:8]}"
        self._server = RedisServer(params, self._recover_calls)
        self._names = CrawlNames(options.spider)
        self._workers = WorkerRegistry(self._server, self._names, self._member, options)
        self._meta: dict[str, str] = {}
        """The settings that the crawl was begun with."""
        self._shards: list[Shard] = []
        self._budget = Budget(self._server, self._shards, self._get_shard, options.budget_bytes)
        self._scanner = QueueScanner(self._server, self._shards, self._get_shard, self._workers, self._member)
        self._writer = Writer(
            self._server,
            options,
            self._member,
            get_owner,
            self._shards,
            self._get_shard,
            clock,
            self._budget,
            self._scanner.repeat_doubtful,
        )
        self._seeded = SeededNames(self._server, self._names, learned)
        self._loader = Loader(self._server, self._get_shard, self._seeded)
        self._holding = Holding(
            self._server,
            self._shards,
            self._get_shard,
            self._member,
            options.lease_seconds,
            clock,
            self._server_started,
        )
        self.clocks = RedisClocks(
            self._server, lambda: self._shards[0], self._member, clock, options.claim_seconds
        )
        self.tables = RedisTables(self._server, options.spider, lambda: len(self._shards))
        self._shares = BandwidthShares(self._server, self._names, self._member, clock)
        self._heartbeat_lock = asyncio.Lock()

    # -- life ----------------------------------------------------------------------------------------------

    async def open(self, now: float) -> Counts:
        await self._server.connect()
        try:
            for _ in range(FIRST_READINGS):
                await self._set_clock()
            shards = self._options.shards or (SHARDS_OF_CLUSTER if self._server.is_cluster else SHARDS)
            begun_with = {
                "protocol": PROTOCOL,
                "shards": str(shards),
                "crawl": uuid4().hex,
                **seen_settings(self._options),
                **self._identity,
                **({MOVE: self._options.arriving} if self._options.arriving else {}),
            }
            meta = await self._workers.begin_crawl(begun_with)
            self._meta = {name: value for name, value in meta.items() if name not in PASSING}
            self._server.crawl = meta.get("crawl", "")
            agreed = {SEEN: self._options.seen, **self._identity}
            alone = await self._workers.agree({SEEN: "exact", **meta}, agreed, self._clock())
            self._server.filters = filters = filter_sizes(meta)
            spider, has_filters = self._options.spider, filters is not None
            numbers = range(int(meta["shards"]))
            self._shards += [Shard(ShardNames(spider, n, has_filters=has_filters)) for n in numbers]
            await self._seeded.learn()
            await self._holding.join()
            if alone:
                await self._begin()
            await self._workers.report(self._clock(), {})
            names = {facts["name"] for facts in (await self._workers.members(self._clock())).values()}
            await merge_counted(self._server, CrawlNames(self._options.spider), names)
            await self._budget.measure(self._workers.rank, self._workers.size)
            return await self.read_counts()
        except BaseException:
            await self._server.close()
            raise

    async def close(self) -> None:
        try:
            if self._shards:
                await self._holding.leave()
                await self._workers.leave()
                await self._shares.leave()
        except StorageAway as error:
            # All changes that had to become durable are durable; our keys can be taken when our leases have ended.
            logger.warning("The other workers do not know yet that this worker leaves: %s", error)
        finally:
            await self._server.close()

    async def _begin(self) -> None:
        """Give every key another chance, as a crawl that is started again does: no other member runs."""
        fixed: list[Call] = [(shard.names.fixed, []) for shard in self._shards]
        while any(await self._server.call("revive", fixed)):
            pass
        await self._server.call("end_robots_wait", fixed)

    def _recover_calls(self) -> list[Call]:
        now = leases.given_time(self._clock)
        args = [now, self._options.lease_seconds]
        return [(shard.names.fixed, args) for shard in self._shards]

    async def _set_clock(self) -> None:
        await leases.set_clock(self._server, self._names.meta, self._clock)

    # -- keys ----------------------------------------------------------------------------------------------

    async def activate_keys(self, count: int, now: float, sampler: LevelSampler) -> list[Activated]:
        await self._holding.return_unknown_keys()
        shards = random.sample(self._shards, len(self._shards))
        ready = [leases.ready_levels(view, now) for view in await self._ready_views(shards)]
        wanted = sampler.spread(
            [level for levels in ready for level in levels], min(count, ACTIVATED_AT_ONCE)
        )
        requests: dict[int, list[int]] = {}
        for level, number in wanted.items():
            having = [at for at, levels in enumerate(ready) if level in levels]
            for rank, at in enumerate(having):
                part = number // len(having) + (rank < number % len(having))
                if part:
                    requests.setdefault(at, []).extend((level, part))
        leased = await self._holding.lease([(shards[at], levels) for at, levels in requests.items()], now)
        try:
            loaded = await self._loader.load_all([(record.key, None, HEAD) for _, record in leased])
        except BaseException:
            self._holding.abandon(leased)
            raise
        return [
            Activated(record, queue, shard.validity)
            for (shard, record), queue in zip(leased, loaded, strict=True)
        ]

    async def acquire_key(self, key: str, now: float, *, given_up: bool = False) -> Activated | Unavailable:
        await self._holding.return_unknown_keys()
        shard, delay = self._get_shard(key), self._options.delay_seconds
        acquired = await self._holding.acquire(shard, key, delay, given_up=given_up)
        if isinstance(acquired, Unavailable):
            return acquired
        shard, record = acquired
        try:
            [queue] = await self._loader.load_all([(key, None, HEAD)])
        except BaseException:
            self._holding.abandon([acquired])
            raise
        return Activated(record, queue, shard.validity)

    async def read_queue(self, key: str, after: QueuePosition | None, count: int) -> Loaded:
        return await self._loader.load(key, after, count)

    async def scan_queues(self, cursor: ScanCursor | None, count: int) -> ScanResult:
        return await self._scanner.scan(cursor, count)

    async def change_levels(self, moves: Sequence[Move]) -> list[Move]:
        return await self._with_room(self._scanner.move(moves))

    async def commit(self, batch: Batch) -> Committed:
        return await self._with_room(self._writer.commit(batch))

    async def _with_room(self, step: Coroutine[Any, Any, _T]) -> _T:
        """Do ``step``; if a server refuses it for lack of room, make room for the next attempt."""
        try:
            return await step
        except StorageAway:
            raise
        except StorageFull:
            await self._writer.make_room()
            raise

    async def release_keys(self, records: Sequence[HostRecord]) -> None:
        await self._holding.release(records)

    async def end_robots_wait(self, keys: Sequence[str]) -> None:
        calls: list[Call] = [(self._get_shard(key).names.fixed, [encoded(key)]) for key in keys]
        if calls:
            await self._server.call("end_robots_wait", calls)

    def seed_lists(self) -> RedisSeedLists:
        options = self._options
        return RedisSeedLists(
            self._server, self._names.seed_lists, self._member, options.lease_seconds, self._clock
        )

    def start_list(self, key: str) -> RedisStartList:
        return RedisStartList(self._server, key, self._member, self._options.lease_seconds, self._clock)

    def learner_store(self, focus: str) -> SharedLearning:
        return SharedLearning(self._server, self._options.spider, focus)

    def change_log(self, name: str, kept: int) -> RedisLog:
        feature, _, rest = name.partition(":")
        return RedisLog(self._server, f"{{{self._options.spider}:{feature}}}:{rest}", kept)

    async def allow_hosts(self, hosts: Sequence[str]) -> None:
        await self._seeded.add(hosts)

    async def first_addresses(self, name: str, addresses: Sequence[str]) -> Sequence[str]:
        return await self._seeded.first(name, addresses)

    # -- figures -------------------------------------------------------------------------------------------

    async def read_idle_times(self) -> Idle:
        views = await self._ready_views(self._shards)
        at, parked_at = leases.first_due(views, self._clock())
        # Keys of other members may be forgotten until these have repeated them, and URLs until all are queued again.
        doubtful = self._writer.is_doubtful or any(wait for _, wait, _ in views)
        return Idle(at, parked_at, busy=doubtful or any(held for held, _, _ in views))

    async def count_available_keys(self, at_most: int) -> int:
        commands: list[tuple[Any, ...]] = []
        for shard in self._shards:
            commands.append(("ZLEXCOUNT", shard.names.idle, "[r", "(r\xff"))
            commands.append(("HLEN", shard.names.held))
            commands.append(("HGET", shard.names.totals, "held_urls"))
        answers = await self._server.commands(commands)
        keys = sum(answers[::3])
        if any(int(urls or 0) for urls in answers[2::3]):
            keys += sum(answers[1::3])
        return min(int(keys), at_most)

    async def read_counts(self) -> Counts:
        return await self._writer.counts()

    async def url_record(self, key: str, fingerprint: int) -> UrlRecord | None:
        if self._server.filters is not None:
            return None
        names, args = self._get_shard(key).names, [encoded(key), mark_bytes(fingerprint)]
        [answer] = await self._server.call("url_state", [(names.of_seen_test, args)])
        return None if answer is None else Words(answer[1]).record(answer[0])

    async def read_robots(self, origin: str, key: str) -> RobotsRecord | None:
        """Return the known robots.txt answer of an origin that belongs to ``key``."""
        [value] = await self._server.commands([("HGET", self._get_shard(key).names.robots, encoded(origin))])
        return unpack_robots(origin, value) if value else None

    def _server_started(self) -> None:
        self._writer.forget()
        self._scanner.forget()

    # -- workers -------------------------------------------------------------------------------------------

    @property
    def place(self) -> str:
        return f"Redis at {self._server.address}"

    @property
    def workers(self) -> int:
        return self._workers.live

    async def count_workers_before(self, at: float) -> int:
        return await self._workers.count_before(at, self._clock())

    @property
    def reload_request(self) -> str:
        return self._workers.reload_request

    @property
    def exclusions(self) -> str:
        return self._workers.exclusions

    @exclusions.setter
    def exclusions(self, version: str) -> None:
        self._workers.exclusions = version

    async def heartbeat(self, figures: Mapping[str, float]) -> HeartbeatAnswer:
        async with self._heartbeat_lock:
            return await self._with_room(self._heartbeat(figures))

    async def _heartbeat(self, figures: Mapping[str, float]) -> HeartbeatAnswer:
        await self._set_clock()
        began = uptime()
        # Before it joins again, if its leases have ended.
        await self._workers.leave_moved()
        await self._holding.renew()
        self._writer.forget_durable(began - FORGETS_SECONDS)
        self._scanner.forget_durable(began - FORGETS_SECONDS)
        self.clocks.forget_durable(began - FORGETS_SECONDS)
        await self._scanner.repeat_doubtful()
        await self._writer.repeat_doubtful()
        if self._holding.news.forgotten:
            # The first second of a crawl can be forgotten too.
            await self._workers.begin_again(self._meta)
            await self.clocks.repeat_uncertain()
        await self._seeded.learn(forgotten=self._holding.news.forgotten)
        active = sum(len(shard.mine) for shard in self._shards)
        now = self._clock()
        await self._workers.report(now, {"active": active, **figures})
        share = await self._workers.share(now, self._holding.news.idle)
        filling = await self._budget.measure(self._workers.rank, self._workers.size)
        news = self._holding.take_news()
        news.changed_queues.update(self._writer.take_uncertain())
        for key in news.changed_queues:
            self._get_shard(key).forget_robots(key)
        for shard in self._shards:
            shard.tidy()
        bandwidth = await self._shares.request(figures)
        return HeartbeatAnswer(news.lost, news.changed_queues, share, filling, bandwidth)

    # -- shards --------------------------------------------------------------------------------------------

    def _get_shard(self, key: str) -> Shard:
        return self._shards[shard_number(key, len(self._shards))]

    async def _ready_views(self, shards: Sequence[Shard]) -> list[leases.View]:
        calls: list[Call] = [(shard.names.fixed, [leases.given_time(self._clock)]) for shard in shards]
        answers = await self._server.call("ready", calls)
        views = [
            leases.parse_view(answer, shard.epoch) for shard, answer in zip(shards, answers, strict=True)
        ]
        # Without a lease of our own in a shard no key can be taken there before the next heartbeat.
        return [
            (held, max(wait, HEARTBEAT_SECONDS / 2) if shard.validity.is_over() else wait, due)
            for shard, (held, wait, due) in zip(shards, views, strict=True)
        ]
