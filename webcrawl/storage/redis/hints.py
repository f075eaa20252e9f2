"""The trust in the hints of sites, for all processes of a crawl: HASHes ``{<spider>:hints<n>}:trust`` from key to
JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from zlib import crc32

from webcrawl.errors import StorageLost
from webcrawl.features.hints.trust import Trust
from webcrawl.storage.redis.packing import encoded

PARTS = 16
"""Number of HASHes, so that the nodes of a cluster share them."""


class Commands(Protocol):
    """The part of a connection that is used."""

    async def commands(self, commands: Sequence[tuple[Any, ...]], *, failing: bool = True) -> list[Any]:
        """Send commands together, each of which names its key. Returns the answers in their order."""
        ...


class RedisTrust:
    """A store of trust in Redis. Every method may raise StorageAway, StorageFull or StorageLost."""

    def __init__(self, server: Commands, spider: str) -> None:
        self._server = server
        self._spider = spider

    async def open(self) -> None:
        """Nothing to do: the frontier was opened before."""

    async def load(self, key: str) -> Trust:
        field = encoded(key)
        [said] = await self._server.commands([("HGET", self._name(field), field)])
        try:
            return Trust() if said is None else Trust.of(said)
        except ValueError as error:
            raise StorageLost(f"Redis: {error}") from error

    async def save(self, key: str, trust: Trust) -> None:
        field = encoded(key)
        await self._server.commands([("HSET", self._name(field), field, trust.text())])

    async def close(self) -> None:
        """Nothing to do: the frontier closes the connection."""

    def _name(self, field: bytes) -> str:
        return f"{{{self._spider}:hints{crc32(field) % PARTS}}}:trust"
