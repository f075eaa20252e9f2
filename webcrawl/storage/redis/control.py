"""Inspection of a shared crawl from outside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from webcrawl.errors import NoSuchCrawl, StartRefused, StorageLost
from webcrawl.storage.contract import Counts
from webcrawl.storage.inspection import CrawlStatus, Worker
from webcrawl.storage.move_mark import MoveMark
from webcrawl.storage.redis.counted import read_counted
from webcrawl.storage.redis.leases import ServerClock, set_clock
from webcrawl.storage.redis.names import CrawlNames, ShardNames, filter_sizes
from webcrawl.storage.redis.packing import PROTOCOL, decoded, encoded, pairs
from webcrawl.storage.redis.server import RedisServer
from webcrawl.storage.redis.tables import RedisTables
from webcrawl.storage.redis.workers import MOVE, RELOAD

_COUNTED = ("queued", "done", "failed", "refused", "hosts", "given_up_hosts", "given_up_urls")


class Control:
    """Inspects a crawl, without being one of its members.

    Every method may raise StorageAway, StorageFull or StorageLost.
    """

    def __init__(self, params: Mapping[str, Any], spider: str, lease_seconds: float) -> None:
        """``params``: as scrapy-redis gives them to redis-py. ``lease_seconds``: a member that was silent for this
        long is gone, unless it says otherwise itself."""
        self.spider = spider
        self.server = RedisServer(params, list)
        self.shards: list[ShardNames] = []
        self.tables = RedisTables(self.server, spider, lambda: len(self.shards))
        """The crawl's tables, which may be read and written while workers run."""
        self._names = CrawlNames(spider)
        self._clock = ServerClock()
        self._lease_seconds = lease_seconds

    async def open(self) -> None:
        """:raises StartRefused: Redis cannot be reached, has no such crawl, or one of another version"""
        await self.server.connect()
        try:
            meta = await self._meta()
            where = f"on Redis at {self.server.address}"
            if not meta:
                raise NoSuchCrawl(f"there is no crawl '{self.spider}' {where}; --spider NAME names another")
            if meta.get("protocol") != PROTOCOL or not meta.get("shards", "").isdigit():
                raise StartRefused(
                    f"the crawl '{self.spider}' {where} is one of protocol {meta.get('protocol')}, this webcrawl "
                    f"speaks {PROTOCOL}; use the version that began it"
                )
        except BaseException:
            await self.close()
            raise
        self.server.filters = filters = filter_sizes(meta)
        self.shards = [
            ShardNames(self.spider, number, has_filters=filters is not None)
            for number in range(int(meta["shards"]))
        ]

    async def close(self) -> None:
        await self.server.close()

    async def now(self) -> float:
        """Return epoch seconds by the clock that the members use."""
        await set_clock(self.server, self._names.meta, self._clock)
        return self._clock()

    async def request_reload(self, when: str) -> None:
        """Have all workers read their exclusion files at once; ``when`` must be another text each time."""
        await self.server.commands([("HSET", self._names.meta, RELOAD, when)])

    async def workers(self) -> list[Worker]:
        """Return all members that reported and did not leave, in the order in which they started."""
        reports = await self._reports()
        workers = [
            Worker(
                facts["name"],
                facts.get("started_at"),
                float(facts["seen_at"]),
                facts.get("figures", {}),
                str(facts.get("exclusions", "")),
                host=str(facts.get("host", "")),
                process=int(facts.get("process", 0)),
                lease_seconds=float(facts.get("lease_seconds", self._lease_seconds)),
            )
            for facts in reports.values()
        ]
        return sorted(workers, key=lambda worker: (worker.started_at or 0.0, worker.name))

    async def running_workers(self) -> set[str]:
        """Return the names of the running members: those that reported lately, or have leases that have not ended."""
        now = await self.now()
        reports = await self._reports()
        names = {name: str(facts["name"]) for name, facts in reports.items()}
        members_known = {
            name
            for name, facts in reports.items()
            if now - float(facts["seen_at"]) < float(facts.get("lease_seconds", self._lease_seconds))
        }
        commands = [("ZRANGEBYSCORE", shard.members, f"({now!r}", "+inf") for shard in self.shards]
        for members in await self.server.commands(commands):
            members_known.update(member.decode("utf-8", "replace") for member in members)
        return {names.get(name, name) for name in members_known}

    async def settings(self) -> dict[str, str]:
        """Return the settings that the crawl was begun with; those of its scope are under ``SCOPE`` and the name."""
        return await self._meta()

    async def member_name(self, member: str) -> str:
        """Return the name of a member; a member that never reported has its number for a name."""
        facts = (await self._reports()).get(member)
        return member if facts is None else str(facts["name"])

    async def seeded(self, hosts: Sequence[str]) -> bool:
        """Return True if the operator named one of ``hosts``, by a seed or a pushed URL."""
        named = [encoded(host) for host in hosts]
        places = await self.server.commands([("ZSCORE", self._names.seeded, name) for name in named])
        return any(place is not None for place in places)

    async def move_mark(self) -> MoveMark | None:
        """Return the mark of a move of the crawl. :raises StorageLost: it cannot be read"""
        packed = (await self._meta()).get(MOVE)
        try:
            return None if packed is None else MoveMark.read(packed)
        except ValueError as error:
            raise StorageLost(f"the mark of a move in Redis cannot be read: {error}") from error

    async def named_hosts(self) -> dict[str, Sequence[str]]:
        """Return what the operator named, with the first addresses of each, as far as they are known."""
        hosts, resolved = await self.server.commands(
            [("ZRANGE", self._names.seeded, 0, -1), ("HGETALL", self._names.seed_addresses)]
        )
        named: dict[str, Sequence[str]] = {decoded(host): () for host in hosts}
        named |= {decoded(name): value.decode().split() for name, value in pairs(resolved)}
        return named

    async def status(self) -> CrawlStatus:
        """Return the status of the crawl."""
        commands: list[tuple[Any, ...]] = []
        for shard in self.shards:
            commands.append(("HMGET", shard.totals, *_COUNTED))
            commands.append(("ZLEXCOUNT", shard.idle, "[p", "(p\xff"))
            commands.append(("HLEN", shard.held))
        answers = await self.server.commands(commands)
        counts, active = Counts(), 0
        for totals, parked, held in zip(answers[::3], answers[1::3], answers[2::3], strict=True):
            for name, number in zip(_COUNTED, totals, strict=True):
                setattr(counts, name, getattr(counts, name) + int(number or 0))
            counts.parked_hosts += parked
            active += held
        workers = await self.workers()
        # Keys stay for a while without URLs: only their worker knows which.
        figures = [worker.figures["active"] for worker in workers if "active" in worker.figures]
        with_urls = min(active, int(sum(figures))) if figures else active
        counted = await read_counted(self.server, self._names)
        return CrawlStatus(
            await self.now(), counts, with_urls, workers, is_shared=True, counted=tuple(counted)
        )

    async def _meta(self) -> dict[str, str]:
        return await self._hash(self._names.meta)

    async def _reports(self) -> dict[str, dict[str, Any]]:
        """Return the report of each member; see ``WorkerRegistry``. Some of them may have died long ago."""
        texts = await self._hash(self._names.workers)
        return {member: json.loads(text) for member, text in texts.items()}

    async def _hash(self, name: str) -> dict[str, str]:
        [answer] = await self.server.commands([("HGETALL", name)])
        return {
            field.decode("utf-8", "replace"): value.decode("utf-8", "replace")
            for field, value in pairs(answer)
        }
