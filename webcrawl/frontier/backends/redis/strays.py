"""Keys that were leased to us without our hearing of it: nobody would ever fetch from them again.

An answer that is lost with its connection leaves such keys, and so does a call that a server which was frozen carries
out long after its caller has given it up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from webcrawl.frontier.backends.redis.server import Server
from webcrawl.frontier.backends.redis.shard import Shard
from webcrawl.frontier.hold import uptime


class Strays:
    """Puts down what this member holds and does not know of.

    ``leasing`` is held by whoever leases keys: meanwhile nobody can tell what is known.
    """

    def __init__(self, server: Server, shards: Sequence[Shard], member: str, interval_seconds: float) -> None:
        """``shards`` is filled when the crawl is opened."""
        self._server = server
        self._shards = shards
        self._member = member
        self._interval_seconds = interval_seconds
        self._suspected: dict[Shard, None] = {}
        self._looked_at = uptime()
        self.leasing = asyncio.Lock()

    def suspect(self, shards: Iterable[Shard]) -> None:
        """Keys of these are about to be leased."""
        self._suspected.update(dict.fromkeys(shards))

    def acquit(self) -> None:
        """All that was leased is known."""
        self._suspected.clear()

    async def put_down(self) -> None:
        """See to what is suspected; for who has ``leasing``."""
        if self._suspected:
            suspected = list(self._suspected)
            keys = [[key.encode("utf-8", "surrogatepass") for key in shard.mine] for shard in suspected]
            calls = [
                (shard.names.fixed, [self._member, *known])
                for shard, known in zip(suspected, keys, strict=True)
            ]
            await self._server.call("reclaim", calls)
            self._suspected.clear()

    async def look(self) -> None:
        """See to everything, once in a while."""
        if uptime() - self._looked_at < self._interval_seconds:
            return
        async with self.leasing:
            self.suspect(self._shards)
            await self.put_down()
            self._looked_at = uptime()
