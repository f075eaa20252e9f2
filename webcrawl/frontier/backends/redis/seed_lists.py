"""Lists of seeds that several processes were given: one reads, the others wait for it to end."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from webcrawl.frontier.backends.redis.clock import ServerClock
from webcrawl.frontier.backends.redis.leases import given_time
from webcrawl.frontier.backends.redis.server import Server


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
