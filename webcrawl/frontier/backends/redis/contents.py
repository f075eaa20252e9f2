"""The content-seen test in Redis, one for all processes of a crawl: some 180 bytes a page."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

from webcrawl.contents.seen import Body, Met, Original
from webcrawl.frontier.backends.redis.names import ShardNames
from webcrawl.frontier.backends.redis.server import Server

_AT = struct.Struct("<d")


class RedisContents:
    """A ``ContentStore`` beside the frontier.

    ``{spider:n}:contents`` is a HASH from digest to time and URL, ``{spider:n}:pages`` one from the fingerprint of a
    page (8 bytes) to its last digest; which shard has a body follows from the digest or the fingerprint alone.
    """

    def __init__(self, server: Server, shards: Callable[[], Sequence[ShardNames]]) -> None:
        """``shards()``: those of the crawl, once it is opened."""
        self._server = server
        self._shards = shards

    async def open(self) -> None:
        """Nothing to do: the frontier was opened before."""

    async def meet(self, bodies: Sequence[Body]) -> list[Met]:
        shards = self._shards()
        commands: list[tuple[Any, ...]] = []
        for body in bodies:
            contents = shards[body.digest[0] % len(shards)].contents
            pages = shards[body.page % len(shards)].pages
            page = (body.page & (1 << 64) - 1).to_bytes(8, "big")
            value = _AT.pack(round(body.at, 3)) + body.url.encode("utf-8", "surrogatepass")
            commands += (
                ("HSETNX", contents, body.digest, value),
                ("HGET", contents, body.digest),
                ("HGET", pages, page),
                ("HSET", pages, page, body.digest),
            )
        answers = await self._server.commands(commands)
        return [
            _met(body, answers[at + 1], answers[at + 2])
            for body, at in zip(bodies, range(0, len(answers), 4), strict=True)
        ]

    async def close(self) -> None:
        """Nothing to do: the frontier closes the connection."""


def _met(body: Body, value: bytes | None, last: bytes | None) -> Met:
    changed = None if last is None else last != body.digest
    if value is None:
        # The server was emptied in between.
        return Met(None, changed)
    url = value[_AT.size :].decode("utf-8", "surrogatepass")
    return Met(None if url == body.url else Original(url, _AT.unpack_from(value)[0]), changed)
