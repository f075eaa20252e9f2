"""The WebSub subscriptions of a crawl that several processes share, in Redis.

All names have one hash tag, ``{<spider>:websub}``: ``key`` is the crawl's, and the head of ``lua/subscriptions.lua``
has the others, with ``topic:<digest>`` for each topic.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any, Protocol

from webcrawl.errors import StorageLost
from webcrawl.features.websub.store import KEY_BYTES, pack, unpack
from webcrawl.features.websub.subscription import Subscription
from webcrawl.storage.redis.packing import encoded


class Commands(Protocol):
    """The part of a connection that is used."""

    async def commands(self, commands: Sequence[tuple[Any, ...]], *, failing: bool = True) -> list[Any]:
        """Send commands together, each of which names its key. Returns the answers in their order."""
        ...


class RedisSubscriptions:
    """A store of subscriptions in Redis. Every method may raise StorageAway, StorageFull or StorageLost."""

    def __init__(self, server: Commands, spider: str) -> None:
        self._server = server
        self._tag = f"{{{spider}:websub}}:"
        self._known, self._due = self._tag + "subscriptions", self._tag + "due"
        self._counts = self._tag + "counts"

    async def open(self) -> None:
        """Nothing to do: the frontier was opened before."""

    async def key(self) -> bytes:
        name = self._tag + "key"
        made = ("SET", name, secrets.token_bytes(KEY_BYTES), "NX")
        _, key = await self._server.commands([made, ("GET", name)])
        return bytes(key)

    async def get(self, token: str) -> Subscription | None:
        [found] = await self._server.commands([("HGET", self._known, token)])
        return None if found is None else _unpacked(found)

    async def of_topics(self, topics: Sequence[str]) -> list[Subscription]:
        asked = [("SMEMBERS", self._topic(topic)) for topic in topics]
        tokens = await self._server.commands(asked) if asked else []
        return await self._all([one for some in tokens for one in some])

    async def due(self, now: float, most: int) -> list[Subscription]:
        asked = ("ZRANGEBYSCORE", self._due, "-inf", repr(now), "LIMIT", 0, most)
        [tokens] = await self._server.commands([asked])
        # In between another process may have dealt with some of them.
        return [one for one in await self._all(tokens) if one.due_at <= now]

    async def some(self, after: str, most: int) -> list[Subscription]:
        """In the order of their names, which are all read: used by commands, and at the end of a crawl."""
        [tokens] = await self._server.commands([("HKEYS", self._known)])
        return await self._all(sorted(one for one in tokens if bytes(one) > after.encode())[:most])

    async def count(self, key: str | None = None) -> int:
        asked = ("HLEN", self._known) if key is None else ("HGET", self._counts, encoded(key))
        [count] = await self._server.commands([asked])
        return int(count or 0)

    async def change(self, before: Subscription | None, after: Subscription | None) -> bool:
        one = after or before
        assert one is not None
        packed = ["" if state is None else pack(state) for state in (before, after)]
        keys = (self._known, self._due, self._topic(one.topic), self._counts)
        [done] = await self._server.commands(
            [("EVAL", _script(), len(keys), *keys, one.token, *packed, repr(one.due_at), encoded(one.key))]
        )
        return bool(done)

    async def close(self) -> None:
        """Nothing to do: the frontier closes the connection."""

    async def _all(self, tokens: Sequence[Any]) -> list[Subscription]:
        if not tokens:
            return []
        [found] = await self._server.commands([("HMGET", self._known, *tokens)])
        return [_unpacked(said) for said in found if said is not None]

    def _topic(self, topic: str) -> str:
        return f"{self._tag}topic:{sha256(encoded(topic)).hexdigest()[:32]}"


def _unpacked(said: bytes) -> Subscription:
    try:
        return unpack(said)
    except ValueError as error:
        raise StorageLost(f"Redis: {error}") from error


@cache
def _script() -> str:
    return resources.files(__package__).joinpath("lua", "subscriptions.lua").read_text("utf-8")
