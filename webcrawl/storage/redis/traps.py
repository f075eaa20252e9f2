"""The quarantine of a crawl that several processes share, in Redis.

All names have one hash tag, ``{<spider>:traps}``: ``patterns`` is a HASH from pattern to JSON, ``released`` one from
pattern to epoch seconds, ``counts`` one from pattern to the number of URLs withheld, ``version`` a number, ``claim``
the name of a process, for some seconds, and ``withheld:<id>`` of each pattern a HASH from URL to JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from webcrawl.features.traps.quarantine import Kept, Trap, Withheld, id_of
from webcrawl.features.traps.store import pack_trap, unpack_trap
from webcrawl.storage.redis.packing import decoded, encoded, pairs

AT_ONCE = 500
"""URLs in one command."""


class Commands(Protocol):
    """The part of a connection that is used."""

    async def commands(self, commands: Sequence[tuple[Any, ...]], *, failing: bool = True) -> list[Any]:
        """Send commands together, each of which names its key. Returns the answers in their order."""
        ...


class RedisTraps:
    """A store of traps in Redis. Every method may raise StorageAway, StorageFull or StorageLost."""

    def __init__(self, server: Commands, spider: str) -> None:
        self._server = server
        self._tag = f"{{{spider}:traps}}:"

    async def version(self) -> str:
        [number] = await self._server.commands([("GET", self._name("version"))])
        return "" if number is None else bytes(number).decode()

    async def traps(self) -> list[Trap]:
        asked = [("HGETALL", self._name(name)) for name in ("patterns", "released", "counts")]
        patterns, released, counts = map(_texts, await self._server.commands(asked))
        found = []
        for pattern, said in patterns.items():
            trap = unpack_trap(said, int(counts.get(pattern, 0)))
            if pattern in released:
                at = float(released[pattern])
                trap = Trap(trap.pattern, trap.why, trap.since, trap.looked, trap.samples, at, trap.withheld)
            found.append(trap)
        return sorted(found, key=lambda trap: (trap.since, trap.pattern))

    async def add(self, traps: Sequence[Trap]) -> None:
        if not traps:
            return
        name = self._name("patterns")
        asked: list[tuple[Any, ...]] = [
            ("HSETNX", name, encoded(one.pattern), pack_trap(one)) for one in traps
        ]
        await self._server.commands([*asked, self._changed()])

    async def withhold(self, kept: Mapping[str, Kept], most: int) -> None:
        if not kept:
            return
        patterns = list(kept)
        known = await self._server.commands([("HLEN", self._withheld(pattern)) for pattern in patterns])
        asked: list[tuple[Any, ...]] = []
        for pattern, number in zip(patterns, known, strict=True):
            one = kept[pattern]
            asked.append(("HINCRBY", self._name("counts"), encoded(pattern), one.count))
            room = one.urls[: max(most - int(number), 0)]
            for first in range(0, len(room), AT_ONCE):
                pairs = [part for url in room[first : first + AT_ONCE] for part in _packed(url)]
                asked.append(("HSET", self._withheld(pattern), *pairs))
        await self._server.commands(asked)

    async def release(self, patterns: Sequence[str], now: float) -> None:
        asked: list[tuple[Any, ...]] = [
            ("HSETNX", self._name("released"), encoded(pattern), repr(now)) for pattern in patterns
        ]
        if asked:
            await self._server.commands([*asked, self._changed()])

    async def owed(self, pattern: str, most: int) -> list[Withheld]:
        name, cursor, found = self._withheld(pattern), 0, dict[str, bytes]()
        while not found:
            [(after, part)] = await self._server.commands([("HSCAN", name, cursor, "COUNT", most)])
            found, cursor = _texts(part), int(after)
            if not cursor:
                break
        return [_unpacked(url, said) for url, said in list(found.items())[:most]]

    async def requeued(self, pattern: str, urls: Sequence[str]) -> None:
        name = self._withheld(pattern)
        asked = [
            ("HDEL", name, *map(encoded, urls[first : first + AT_ONCE]))
            for first in range(0, len(urls), AT_ONCE)
        ]
        if asked:
            await self._server.commands(asked)

    async def claim(self, who: str, seconds: float) -> bool:
        name, milliseconds = self._name("claim"), int(seconds * 1000)
        taken, holder = await self._server.commands(
            [("SET", name, who, "NX", "PX", milliseconds), ("GET", name)]
        )
        if not taken and holder == who.encode():
            await self._server.commands([("PEXPIRE", name, milliseconds)])
        return bool(taken) or holder == who.encode()

    def _name(self, name: str) -> str:
        return self._tag + name

    def _withheld(self, pattern: str) -> str:
        return f"{self._tag}withheld:{id_of(pattern)}"

    def _changed(self) -> tuple[Any, ...]:
        return ("INCR", self._name("version"))


def _texts(answer: Any) -> dict[str, bytes]:
    return {decoded(bytes(name)): value for name, value in pairs(answer)}


def _packed(withheld: Withheld) -> tuple[bytes, str]:
    return encoded(withheld.url), json.dumps([withheld.depth, withheld.via])


def _unpacked(url: str, said: bytes) -> Withheld:
    depth, via = json.loads(said)
    return Withheld(url, int(depth), via)
