"""The content-seen test in Redis, one for all processes of a crawl: about 180 bytes a page."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from webcrawl.errors import StorageLost
from webcrawl.features.content_seen.content_seen import Body, ContentLookup, Original
from webcrawl.storage.redis.names import ShardNames
from webcrawl.storage.redis.packing import decoded, encoded
from webcrawl.storage.redis.server import Server

_HEAD = struct.Struct("<d8sB")
"""The time of the request, the payload, and 1 if the archive has it; the URL follows."""


class RedisContents:
    """A ``ContentStore`` beside the frontier.

    ``{spider:n}:contents`` is a HASH from digest to time and URL, ``{spider:n}:pages`` one from the fingerprint of a
    page (8 bytes) to its last digest; the digest or the fingerprint alone decides which shard has a body.
    """

    def __init__(self, server: Server, shards: Callable[[], Sequence[ShardNames]]) -> None:
        """``shards()``: those of the crawl, once it is opened."""
        self._server = server
        self._shards = shards

    async def open(self) -> None:
        """Nothing to do: the frontier was opened before."""

    async def check_and_add(self, bodies: Sequence[Body]) -> list[ContentLookup]:
        shards = self._shards()
        commands: list[tuple[Any, ...]] = []
        for body in bodies:
            contents = shards[body.digest[0] % len(shards)].contents
            commands += (
                ("HSETNX", contents, body.digest, _value(body, kept=False)),
                ("HGET", contents, body.digest),
            )
            if body.page is not None:
                pages = shards[body.page % len(shards)].pages
                page = (body.page & (1 << 64) - 1).to_bytes(8, "big")
                commands += (("HGET", pages, page), ("HSET", pages, page, body.digest))
        answers = iter(await self._server.commands(commands))
        return [_met(body, answers) for body in bodies]

    async def keep(self, bodies: Sequence[Body]) -> None:
        shards = self._shards()
        await self._server.commands(
            [
                ("HSET", shards[body.digest[0] % len(shards)].contents, body.digest, _value(body, kept=True))
                for body in bodies
            ]
        )

    async def close(self) -> None:
        """Nothing to do: the frontier closes the connection."""


def _value(body: Body, *, kept: bool) -> bytes:
    return _HEAD.pack(body.at, body.payload, kept) + encoded(body.url)


def _met(body: Body, answers: Iterator[Any]) -> ContentLookup:
    _, value = next(answers), next(answers)
    changed = None
    if body.page is not None:
        last, _ = next(answers), next(answers)
        changed = None if last is None else last != body.digest
    if value is None:
        # The server was emptied in between.
        return ContentLookup(None, changed)
    try:
        at, payload, kept = _HEAD.unpack_from(value)
        url = decoded(value[_HEAD.size :])
    except (struct.error, UnicodeDecodeError) as error:
        raise StorageLost(f"Redis holds of a page what no worker of a crawl writes: {error}") from error
    if url == body.url and not kept:
        return ContentLookup(changed=changed, first=True)
    place = Original(url, at)
    same = payload == body.payload.ljust(8, b"\0")
    return ContentLookup(None if url == body.url else place, changed, place if kept and same else None)
