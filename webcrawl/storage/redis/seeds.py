"""Start URLs of a shared crawl: lists of seeds that several processes were given, of which one reads each while the
others wait for it to end; the hosts that the operator named to one process, known to all before they fetch from one;
and URLs that any client pushes for the crawl to a list, a set or a sorted set, as in scrapy-redis."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from webcrawl.errors import StorageLost
from webcrawl.storage.redis.leases import ServerClock, given_time
from webcrawl.storage.redis.names import CrawlNames
from webcrawl.storage.redis.packing import decoded, encoded
from webcrawl.storage.redis.server import Server


class Turn(Enum):
    """The process whose turn it is to read a list."""

    THEIRS = 0
    OURS = 1
    NOBODYS = 2
    """All of its seeds are queued."""


class Progress(NamedTuple):
    """The progress of reading a list."""

    turn: Turn
    queued: int
    """Seeds from its beginning that are durably queued, wrong lines included."""


class SeedLists:
    """``<spider>:seed_lists``: a HASH from the digest of a list to how far it was read, and by which member.

    A reader has the list alone until the lease time has passed without a report of it; the next one goes on from
    there.
    """

    def __init__(
        self, server: Server, key: str, member: str, lease_seconds: float, clock: ServerClock
    ) -> None:
        self._server = server
        self._key = key.encode()
        self._member = member
        self._lease_seconds = lease_seconds
        self._clock = clock

    async def read_on(self, digest: str, queued: int = 0) -> Progress:
        """Ask for the turn, or keep it; ``queued`` seeds are in the crawl."""
        return await self._say(digest, queued, repr(self._lease_seconds))

    async def give_up(self, digest: str, queued: int) -> None:
        """Give up the turn: another process may go on at once."""
        await self._say(digest, queued, "0")

    async def finish(self, digest: str, queued: int) -> None:
        """Report that the list was read to its end."""
        await self._say(digest, queued, "")

    async def _say(self, digest: str, queued: int, seconds: str) -> Progress:
        args = [given_time(self._clock), digest, self._member, queued, seconds]
        [(turn, there)] = await self._server.call("reading", [([self._key], args)])
        return Progress(Turn(turn), there)


_AT_ONCE = 1000


class SeededNames:
    """``<spider>:seeded``: a ZSET from host, or host and port, to its number, that only grows.

    ``<spider>:seed_addresses``: a HASH from the name of a seed to its first addresses, with spaces between. A host is
    stored before the first of its URLs is queued, and new hosts are read after URLs were loaded: a process that has a
    URL knows its host.
    """

    def __init__(self, server: Server, names: CrawlNames, learnt: Callable[[str], None]) -> None:
        """``learnt`` is called with each host once, or more often."""
        self._server = server
        self._key = names.seeded.encode()
        self._addresses_key = names.seed_addresses.encode()
        self._learnt = learnt
        self._known = 0
        self._told: dict[str, None] = {}
        self._resolved: dict[bytes, bytes] = {}
        """First addresses that were resolved here."""

    async def tell(self, hosts: Sequence[str]) -> None:
        """Store hosts that were named here."""
        self._told.update(dict.fromkeys(hosts))
        for first in range(0, len(hosts), _AT_ONCE):
            names = [encoded(host) for host in hosts[first : first + _AT_ONCE]]
            await self._server.call("allow", [([self._key], names)])

    async def first(self, name: str, addresses: Sequence[str]) -> list[str]:
        """Return the first addresses of ``name``; ``addresses`` if none are known, which are then stored unless
        empty."""
        field, given = encoded(name), " ".join(addresses).encode()
        commands: list[tuple[Any, ...]] = [("HGET", self._addresses_key, field)]
        if given:
            commands.insert(0, ("HSETNX", self._addresses_key, field, given))
        *new, known = await self._server.commands(commands)
        if new == [1]:
            self._resolved[field] = given
        return (known or b"").decode().split()

    def question(self) -> tuple[Any, ...]:
        """Return the command that asks for new hosts; pass it with its answer to ``answer``."""
        return ("ZRANGE", self._key, self._known, -1)

    def answer(self, question: tuple[Any, ...], hosts: Sequence[bytes]) -> None:
        first = question[2]
        if first > self._known:
            # The server forgot meanwhile, and everything is read again.
            return
        for host in hosts:
            self._learnt(decoded(host))
        self._known = max(self._known, first + len(hosts))

    async def learn(self, *, forgotten: bool = False) -> None:
        """Read new hosts. ``forgotten``: the server may have forgotten the last changes."""
        if forgotten:
            self._known = 0
            await self.tell(list(self._told))
            if told := [("HSETNX", self._addresses_key, *item) for item in self._resolved.items()]:
                await self._server.commands(told)
        question = self.question()
        [hosts] = await self._server.commands([question])
        self.answer(question, hosts)


WRONG_KEPT = 10_000
"""Number of entries that were no URLs of which the last ones are kept."""

_KINDS = ("list", "set", "zset", "none")


@dataclass(slots=True)
class Taken:
    """Taken entries as they were pushed, by their tickets."""

    entries: dict[bytes, bytes] = field(default_factory=dict)
    with_others: int = 0
    """Entries that other processes have taken, or had when they ended, and that are not in the crawl yet."""


class StartList:
    """Takes entries off the list so that none is lost and each is given to one process.

    Taken entries have to be ``done`` when they are in the crawl. Otherwise, as when the process that took them was
    killed, they are given out again after the lease time; those that did enter the crawl meanwhile are known there.
    """

    def __init__(
        self, server: Server, key: str, member: str, lease_seconds: float, clock: ServerClock
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
        """Take up to ``count`` entries, first those that were taken by a process that is gone. :raises StorageLost:
        the key is no list."""
        name = f"{self._member}:{next(self._calls)}"
        args = [given_time(self._clock), count, self._lease_seconds, name]
        [(kind, with_others, *pairs)] = await self._server.call("take", [(self._names, args)])
        if kind.decode() not in _KINDS:
            raise StorageLost(f"{self.key} is a {kind.decode()} in Redis, no list of URLs")
        return Taken(dict(zip(pairs[::2], pairs[1::2], strict=True)), with_others)

    async def done(self, tickets: Sequence[bytes]) -> None:
        """Report that the entries of these tickets are in the crawl, durably, or set aside."""
        if tickets:
            await self._server.call("done", [(self._names[1:], tickets)])

    async def set_aside(self, wrong: Sequence[str]) -> None:
        """Keep entries that could not be queued in the list ``<key>:wrong``, the last 10,000 of it."""
        if wrong:
            await self._server.commands([("RPUSH", self.wrong_key, *wrong)])
            await self._server.commands([("LTRIM", self.wrong_key, -WRONG_KEPT, -1)])


def _beside(key: str, name: str) -> str:
    """Return a name in the same slot of a cluster: the text between the first braces decides the slot."""
    _, opened, rest = key.partition("{")
    tag, closed, _rest = rest.partition("}")
    return f"{key}:{name}" if opened and closed and tag else f"{{{key}}}:{name}"
