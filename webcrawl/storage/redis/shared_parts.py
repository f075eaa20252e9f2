"""The parts of a shared crawl in Redis beside the frontier: lists of seeds, of which one process reads each while the
others wait; the hosts that the operator named to one process, known to all before they fetch from one; URLs that any
client pushes for the crawl to a list, a set or a sorted set, as in scrapy-redis; and logs of changes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webcrawl.errors import StorageLost
from webcrawl.storage.redis.leases import ServerClock, given_time
from webcrawl.storage.redis.names import CrawlNames
from webcrawl.storage.redis.packing import decoded, encoded, pairs
from webcrawl.storage.redis.server import RedisServer
from webcrawl.storage.shared_parts import ListProgress, LogEntry, Taken, Turn


class RedisSeedLists:
    """The ``SeedLists`` in ``<spider>:seed_lists``: a HASH from the digest of a list to how far it was read,
    and by which member."""

    def __init__(
        self, server: RedisServer, key: str, member: str, lease_seconds: float, clock: ServerClock
    ) -> None:
        self._server = server
        self._key = key.encode()
        self._member = member
        self._lease_seconds = lease_seconds
        self._clock = clock

    async def request_turn(self, digest: str, queued: int = 0) -> ListProgress:
        return await self._report(digest, queued, repr(self._lease_seconds))

    async def give_up(self, digest: str, queued: int) -> None:
        await self._report(digest, queued, "0")

    async def finish(self, digest: str, queued: int) -> None:
        await self._report(digest, queued, "")

    async def _report(self, digest: str, queued: int, seconds: str) -> ListProgress:
        args = [given_time(self._clock), digest, self._member, queued, seconds]
        [(turn, there)] = await self._server.call("read_seed_list", [([self._key], args)])
        return ListProgress(Turn(turn), there)


_AT_ONCE = 1000


class SeededNames:
    """``<spider>:seeded``: a ZSET from host, or host and port, to its number, that only grows.

    ``<spider>:seed_addresses``: a HASH from the name of a seed to its first addresses, with spaces between. A host is
    stored before the first of its URLs is queued, and new hosts are read after URLs were loaded: a process that has a
    URL knows its host.
    """

    def __init__(self, server: RedisServer, names: CrawlNames, learned: Callable[[str], None]) -> None:
        """``learned`` is called with each host once, or more often."""
        self._server = server
        self._key = names.seeded.encode()
        self._addresses_key = names.seed_addresses.encode()
        self._learned = learned
        self._known = 0
        self._added: dict[str, None] = {}
        self._resolved: dict[bytes, bytes] = {}
        """First addresses that were resolved here."""

    async def add(self, hosts: Sequence[str]) -> None:
        """Store hosts that were named here."""
        self._added.update(dict.fromkeys(hosts))
        for first in range(0, len(hosts), _AT_ONCE):
            names = [encoded(host) for host in hosts[first : first + _AT_ONCE]]
            await self._server.call("add_seeded", [([self._key], names)])

    async def first(self, name: str, addresses: Sequence[str]) -> list[str]:
        """Return the first addresses of ``name``; ``addresses`` if none are known, which are then stored unless
        empty."""
        field, joined = encoded(name), " ".join(addresses).encode()
        commands: list[tuple[Any, ...]] = [("HGET", self._addresses_key, field)]
        if joined:
            commands.insert(0, ("HSETNX", self._addresses_key, field, joined))
        *new, known = await self._server.commands(commands)
        if new == [1]:
            self._resolved[field] = joined
        return (known or b"").decode().split()

    def news_command(self) -> tuple[Any, ...]:
        """Return the command that reads new hosts; pass it with its answer to ``take_news``."""
        return ("ZRANGE", self._key, self._known, -1)

    def take_news(self, command: tuple[Any, ...], hosts: Sequence[bytes]) -> None:
        first = command[2]
        if first > self._known:
            # The server forgot meanwhile, and everything is read again.
            return
        for host in hosts:
            self._learned(decoded(host))
        self._known = max(self._known, first + len(hosts))

    async def learn(self, *, forgotten: bool = False) -> None:
        """Read new hosts. ``forgotten``: the server may have forgotten the last changes."""
        if forgotten:
            self._known = 0
            await self.add(list(self._added))
            if commands := [("HSETNX", self._addresses_key, *item) for item in self._resolved.items()]:
                await self._server.commands(commands)
        command = self.news_command()
        [hosts] = await self._server.commands([command])
        self.take_news(command, hosts)


WRONG_KEPT = 10_000
"""Number of entries that were no URLs of which the last ones are kept."""

_KINDS = ("list", "set", "zset", "none")


class RedisStartList:
    """The ``StartList`` of ``key``: a LIST, SET or ZSET."""

    def __init__(
        self, server: RedisServer, key: str, member: str, lease_seconds: float, clock: ServerClock
    ) -> None:
        self._server = server
        self.key = key
        self.wrong_key = f"{key}:wrong"
        self._names = [name.encode() for name in (key, _beside(key, "taken"), _beside(key, "tickets"))]
        self._member = member
        self._lease_seconds = lease_seconds
        self._clock = clock
        self._calls = itertools.count(1)

    async def take(self, count: int) -> Taken:
        name = f"{self._member}:{next(self._calls)}"
        args = [given_time(self._clock), count, self._lease_seconds, name]
        [(kind, with_others, *pairs)] = await self._server.call("take_start_urls", [(self._names, args)])
        if kind.decode() not in _KINDS:
            raise StorageLost(f"{self.key} is a {kind.decode()} in Redis, no list of URLs")
        return Taken(dict(zip(pairs[::2], pairs[1::2], strict=True)), with_others)

    async def done(self, tickets: Sequence[bytes]) -> None:
        if tickets:
            await self._server.call("start_urls_done", [(self._names[1:], tickets)])

    async def set_aside(self, wrong: Sequence[str]) -> None:
        if wrong:
            await self._server.commands([("RPUSH", self.wrong_key, *wrong)])
            await self._server.commands([("LTRIM", self.wrong_key, -WRONG_KEPT, -1)])


def _beside(key: str, name: str) -> str:
    """Return a name in the same slot of a cluster: the text between the first braces decides the slot."""
    _, opened, rest = key.partition("{")
    tag, closed, _rest = rest.partition("}")
    return f"{key}:{name}" if opened and closed and tag else f"{{{key}}}:{name}"


class RedisLog:
    """The ``ChangeLog`` of ``key``: a STREAM, of which the last entries are kept."""

    def __init__(self, server: RedisServer, key: str, kept: int) -> None:
        """``kept``: about the number of entries that are kept."""
        self._server = server
        self._key = key
        self._kept = kept

    async def append(self, fields: Mapping[str, bytes]) -> None:
        flat = [part for pair in fields.items() for part in pair]
        await self._server.commands([("XADD", self._key, "MAXLEN", "~", self._kept, "*", *flat)])

    async def after(self, position: str, most: int) -> list[LogEntry]:
        [answer] = await self._server.commands([("XRANGE", self._key, f"({position}", "+", "COUNT", most)])
        return [
            LogEntry(bytes(at).decode(), {name.decode(): value for name, value in pairs(fields)})
            for at, fields in answer or ()
        ]
