"""Lists of seeds that several processes were given: one reads, the others wait for it to end.

Hosts that the operator named to one process, known to all of them before they fetch from one.

URLs that anybody pushes for the crawl: by scrapy-redis' convention a list, a set or a sorted set.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from webcrawl.errors import StorageLost
from webcrawl.storage.redis.leases import ServerClock, given_time
from webcrawl.storage.redis.names import CrawlNames
from webcrawl.storage.redis.server import Server


class Turn(Enum):
    """Whose turn it is to read a list."""

    THEIRS = 0
    OURS = 1
    NOBODYS = 2
    """All of its seeds are queued."""


class Progress(NamedTuple):
    """How far a list was read."""

    turn: Turn
    queued: int
    """Seeds from its beginning that are durably queued, wrong lines included."""


class SeedLists:
    """``<spider>:seed_lists``: a HASH from the digest of a list to how far it was read, and by whom.

    Who reads is alone at it until the lease time has passed without a word of it; the next one goes on from there.
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
        """Somebody else may go on at once."""
        await self._say(digest, queued, "0")

    async def finish(self, digest: str, queued: int) -> None:
        """The list was read to its end."""
        await self._say(digest, queued, "")

    async def _say(self, digest: str, queued: int, seconds: str) -> Progress:
        args = [given_time(self._clock), digest, self._member, queued, seconds]
        [(turn, there)] = await self._server.call("reading", [([self._key], args)])
        return Progress(Turn(turn), there)


_AT_ONCE = 1000


class SeededNames:
    """``<spider>:seeded``: a ZSET from host, or host and port, to its number, that only grows.
    ``<spider>:seed_addresses``: a HASH from the name of a seed to what it resolved to at first, with spaces between.

    A host is written before the first of its URLs is queued, and what is new is read after URLs were loaded: whoever
    has a URL knows its host.
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
        """What was resolved here at first."""

    async def tell(self, hosts: Sequence[str]) -> None:
        """Write hosts that were named here."""
        self._told.update(dict.fromkeys(hosts))
        for first in range(0, len(hosts), _AT_ONCE):
            names = [host.encode("utf-8", "surrogatepass") for host in hosts[first : first + _AT_ONCE]]
            await self._server.call("allow", [([self._key], names)])

    async def first(self, name: str, addresses: Sequence[str]) -> list[str]:
        """What ``name`` resolved to at first; ``addresses``, if nothing is known and they are some."""
        field, given = name.encode("utf-8", "surrogatepass"), " ".join(addresses).encode()
        commands: list[tuple[Any, ...]] = [("HGET", self._addresses_key, field)]
        if given:
            commands.insert(0, ("HSETNX", self._addresses_key, field, given))
        *new, known = await self._server.commands(commands)
        if new == [1]:
            self._resolved[field] = given
        return (known or b"").decode().split()

    def question(self) -> tuple[Any, ...]:
        """The command that asks for what is new; its answer goes to ``answer``, with it."""
        return ("ZRANGE", self._key, self._known, -1)

    def answer(self, question: tuple[Any, ...], hosts: Sequence[bytes]) -> None:
        first = question[2]
        if first > self._known:
            # The server forgot meanwhile, and everything is asked for again.
            return
        for host in hosts:
            self._learnt(host.decode("utf-8", "surrogatepass"))
        self._known = max(self._known, first + len(hosts))

    async def learn(self, *, forgotten: bool = False) -> None:
        """Ask for what is new. ``forgotten``: the server may not know any more what it was told last."""
        if forgotten:
            self._known = 0
            await self.tell(list(self._told))
            if told := [("HSETNX", self._addresses_key, *item) for item in self._resolved.items()]:
                await self._server.commands(told)
        question = self.question()
        [hosts] = await self._server.commands([question])
        self.answer(question, hosts)


WRONG_KEPT = 10_000
"""Entries that were no URLs: so many of the last ones are kept."""

_KINDS = ("list", "set", "zset", "none")


@dataclass(slots=True)
class Taken:
    """What was taken: entries as they were pushed, by their tickets."""

    entries: dict[bytes, bytes] = field(default_factory=dict)
    with_others: int = 0
    """Entries that other processes have taken, or had when they ended, and that are not in the crawl yet."""


class StartList:
    """Takes entries off the list so that none is lost and each is given to one process.

    What was taken has to be ``done`` when it is in the crawl. Otherwise, as when its taker was killed, it is given
    out again after the lease time; what did enter the crawl meanwhile is known there.
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
        """Up to ``count`` entries, first those whose taker is gone. :raises StorageLost: the key is no list."""
        name = f"{self._member}:{next(self._calls)}"
        args = [given_time(self._clock), count, self._lease_seconds, name]
        [(kind, with_others, *pairs)] = await self._server.call("take", [(self._names, args)])
        if kind.decode() not in _KINDS:
            raise StorageLost(f"{self.key} is a {kind.decode()} in Redis, no list of URLs")
        return Taken(dict(zip(pairs[::2], pairs[1::2], strict=True)), with_others)

    async def done(self, tickets: Sequence[bytes]) -> None:
        """What these tickets stand for is in the crawl, durably, or set aside."""
        if tickets:
            await self._server.call("done", [(self._names[1:], tickets)])

    async def set_aside(self, wrong: Sequence[str]) -> None:
        """Keep what could not be taken up in the list ``<key>:wrong``, the last 10,000 of it."""
        if wrong:
            await self._server.commands([("RPUSH", self.wrong_key, *wrong)])
            await self._server.commands([("LTRIM", self.wrong_key, -WRONG_KEPT, -1)])


def _beside(key: str, name: str) -> str:
    """A name in the same slot of a cluster: what is between the first braces decides."""
    _, opened, rest = key.partition("{")
    tag, closed, _rest = rest.partition("}")
    return f"{key}:{name}" if opened and closed and tag else f"{{{key}}}:{name}"
