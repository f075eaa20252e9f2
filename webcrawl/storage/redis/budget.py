"""The byte budget of a crawl: reads the memory use of its servers, and finds URLs to prune."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence

from webcrawl.frontier.records import UrlEntry
from webcrawl.storage.contract import Filling
from webcrawl.storage.redis.packing import decoded, unpack_host
from webcrawl.storage.redis.server import RedisServer, ServerMemory
from webcrawl.storage.redis.shard import FREED_BYTES, ServerRoom, Shard, cut_to, own_bytes

OF_THE_SERVER = 0.9
"""The share of a server's own ``maxmemory`` that is the budget if none is configured."""

LONG = 256
"""The number of URLs from which a queue is long."""
LONG_REMEMBERED = 10_000
SAMPLED = 64
"""Number of queues of a shard that are sampled in the search for the longest."""
SHARDS_AT_ONCE = 4
PRUNED_AT_ONCE = 2000
"""URLs in one commit."""


class Budget:
    """Keeps the room on each server, as ``Shard.room``. Their memory use is read once a heartbeat.

    The budget is one server's, for everything that is on it; in a cluster each node has as much.
    """

    def __init__(
        self,
        server: RedisServer,
        shards: Sequence[Shard],
        get_shard: Callable[[str], Shard],
        budget_bytes: int,
    ) -> None:
        """``shards`` is filled when the crawl is opened. ``budget_bytes`` 0: the server's own limit, if any."""
        self._server = server
        self._shards = shards
        self._get_shard = get_shard
        self._budget_bytes = budget_bytes
        self._rooms: dict[str, ServerRoom] = {}
        self._rank, self._members = 0, 1
        self._long: dict[str, int] = {}

    async def measure(self, rank: int | None = None, members: int | None = None) -> Filling | None:
        """Read the memory use of the servers. Returns the filling of the fullest.

        ``members``: number of running processes, of which this one has the number ``rank``; None keeps the last
        values.
        """
        self._rank = self._rank if rank is None else rank
        self._members = members or self._members
        memories = await self._server.memory([shard.names.totals for shard in self._shards])
        measured: set[str] = set()
        for shard, memory in zip(self._shards, memories, strict=True):
            shard.room = self._rooms.setdefault(memory.server, ServerRoom())
            if memory.server not in measured:
                measured.add(memory.server)
                shard.room.update(memory.used_bytes, self._budget(memory), self._members)
        fillings = [room.filling for name, room in self._rooms.items() if name in measured and room.filling]
        return max(fillings, key=lambda filling: filling.used_bytes / filling.budget_bytes, default=None)

    def _budget(self, memory: ServerMemory) -> int:
        if not memory.max_bytes:
            return self._budget_bytes
        return min(self._budget_bytes or int(OF_THE_SERVER * memory.max_bytes), memory.max_bytes)

    @property
    def is_given(self) -> bool:
        """True if any server has a budget."""
        return any(shard.room.filling is not None for shard in self._shards)

    async def admit(self, entries: Sequence[UrlEntry]) -> Sequence[UrlEntry]:
        """Return those of new URLs for which there is room."""
        if not self.is_given:
            return entries
        if self._is_short(entries):
            # Others may have added less than they were allowed to.
            await self.measure()
        return [entry for entry in entries if self._get_shard(entry.key).room.takes(entry)]

    def _is_short(self, entries: Iterable[UrlEntry]) -> bool:
        needed: dict[int, tuple[ServerRoom, int, int]] = {}
        for entry in entries:
            room = self._get_shard(entry.key).room
            _, number, size = needed.get(id(room), (room, 0, 0))
            needed[id(room)] = room, number + 1, size + own_bytes(entry)
        return any(room.is_short(number, size) for room, number, size in needed.values())

    # -- pruning -------------------------------------------------------------------------------------------

    def note(self, lengths: Mapping[str, int]) -> None:
        """Note the new lengths of changed queues."""
        for key, length in lengths.items():
            if length >= LONG:
                self._long[key] = length
            elif key in self._long:
                del self._long[key]
        if len(self._long) > LONG_REMEMBERED:
            longest = sorted(self._long.items(), key=lambda item: item[1])[LONG_REMEMBERED // 2 :]
            self._long = dict(longest)

    async def over(self) -> dict[str, int]:
        """Return the queues to cut now, each with the length to cut it to; none unless a server is full.

        The longest queues are not known: they are searched among those noted here and some that are sampled. Each
        process prunes in other shards.
        """
        full = [shard for shard in self._shards if shard.room.prunable_bytes]
        ours = full[self._rank :: self._members]
        if not ours:
            return {}
        shards = random.sample(ours, min(len(ours), SHARDS_AT_ONCE))
        lengths = await self._sampled_lengths(shards)
        mine = {id(shard) for shard in ours}
        lengths |= {key: length for key, length in self._long.items() if id(self._get_shard(key)) in mine}
        wanted = max(shard.room.prunable_bytes for shard in shards) / FREED_BYTES
        return cut_to(lengths, min(int(wanted) + 1, PRUNED_AT_ONCE))

    def pruned(self, keys: Iterable[str]) -> None:
        """Count one pruned URL for each of ``keys``."""
        for key in keys:
            self._get_shard(key).room.pruned(1)

    async def _sampled_lengths(self, shards: Sequence[Shard]) -> dict[str, int]:
        samples = [("HRANDFIELD", shard.names.queues, SAMPLED) for shard in shards]
        sampled = await self._server.commands(samples)
        drawn = [(shard.names.hosts, keys) for shard, keys in zip(shards, sampled, strict=True) if keys]
        values = await self._server.commands([("HMGET", name, *keys) for name, keys in drawn])
        lengths = {}
        for (_, keys), hosts in zip(drawn, values, strict=True):
            for name, value in zip(keys, hosts, strict=True):
                if value:
                    key = decoded(name)
                    lengths[key] = unpack_host(key, value).queued
        return lengths
