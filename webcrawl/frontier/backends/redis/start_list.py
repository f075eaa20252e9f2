"""URLs that anybody pushes for the crawl: by scrapy-redis' convention a list, a set or a sorted set."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from webcrawl.errors import StorageLost
from webcrawl.frontier.backends.redis.clock import ServerClock
from webcrawl.frontier.backends.redis.leases import given_time
from webcrawl.frontier.backends.redis.server import Server

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
