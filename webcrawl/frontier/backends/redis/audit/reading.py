"""Reading a shard from outside, some of it at a time, without changing anything."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from webcrawl.frontier.backends.redis.names import ShardNames
from webcrawl.frontier.backends.redis.packing import place_from
from webcrawl.frontier.backends.redis.scripts import script
from webcrawl.frontier.backends.redis.server import Server
from webcrawl.frontier.queue_head import Place

AT_ONCE = 200
"""Hosts, or buckets, in one turn."""
CHUNKS_AT_ONCE = 32
"""Chunks of a long queue in one turn: 128 kB."""
FACTS = 7
"""What ``lua/look.lua`` tells of each key."""

_HEAD = struct.Struct(">14sIcBq")
_LENGTH_AT, _BODY_AT = 14, 18


@dataclass(frozen=True, slots=True)
class Mark:
    """What of an entry is compared."""

    place: bytes
    repeat: bool
    fingerprint: int
    packed: bytes
    """All of it, to be unpacked if it has to be named."""

    @property
    def level(self) -> int:
        return -place_from(self.place)[0]

    @property
    def where(self) -> Place:
        return place_from(self.place)


def marks_in(chunk: bytes) -> Iterator[Mark]:
    """The entries of a chunk as they lie. :raises ValueError: it is cut off or was never one"""
    at = 0
    while at < len(chunk):
        try:
            place, length, repeat, _, fingerprint = _HEAD.unpack_from(chunk, at)
        except struct.error as error:
            raise ValueError("a chunk of a queue ends within an entry") from error
        end = at + _BODY_AT + length
        if end > len(chunk) or length < _HEAD.size - _BODY_AT:
            raise ValueError("a chunk of a queue ends within an entry")
        yield Mark(place, repeat != b"0", fingerprint, chunk[at:end])
        at = end


@dataclass(frozen=True, slots=True)
class KeyView:
    """A politeness key as it stood in one moment; see ``lua/look.lua``."""

    key: bytes
    record: bytes
    held: bytes
    given_up: bool
    idle_member: bytes
    idle: bool
    queue: bytes
    has_chunks: bool

    @property
    def name(self) -> str:
        return self.key.decode("utf-8", "surrogatepass")

    @property
    def is_long(self) -> bool:
        return self.has_chunks or 0 < len(self.queue) <= _LENGTH_AT


class Reader:
    """One shard, as it is read."""

    def __init__(self, server: Server, spider: str, number: int) -> None:
        self.number = number
        self.names = ShardNames(spider, number)
        self._server = server

    async def totals(self) -> dict[str, bytes]:
        """The running totals as they are stored."""
        [answer] = await self._server.commands([("HGETALL", self.names.totals)])
        return {name.decode(): value for name, value in pairs(answer)}

    async def ask(self, *command: Any) -> Any:
        [answer] = await self._server.commands([command])
        return answer

    async def scan(self, command: str, name: bytes) -> AsyncIterator[list[tuple[bytes, bytes]]]:
        """Fields with values (HSCAN), or members with nothing (SSCAN), some at a time; one may come twice."""
        cursor: Any = 0
        while True:
            cursor, found = await self.ask(command, name, cursor, "COUNT", AT_ONCE)
            yield [(member, b"") for member in found] if command == "SSCAN" else pairs(found)
            if not int(cursor):
                return

    async def lexical(self, name: bytes, at_once: int) -> AsyncIterator[list[bytes]]:
        """The members of a ZSET with equal scores, in their order."""
        start = b"-"
        while True:
            found = await self.ask("ZRANGEBYLEX", name, start, "+", "LIMIT", 0, at_once)
            if found:
                yield found
            if len(found) < at_once:
                return
            start = b"(" + found[-1]

    async def views(self, keys: Sequence[bytes]) -> list[KeyView]:
        """Keys as they stand, all of them in one moment."""
        if not keys:
            return []
        queues = [self.names.queue(key.decode("utf-8", "surrogatepass")) for key in keys]
        text, fixed = script("look").text, self.names.fixed
        facts = await self.ask("EVAL", text, len(fixed) + len(keys), *fixed, *queues, *keys)
        views = []
        for number, key in enumerate(keys):
            record, held, given_up, member, idle, queue, chunks = facts[number * FACTS : (number + 1) * FACTS]
            views.append(KeyView(key, record, held, bool(given_up), member, bool(idle), queue, bool(chunks)))
        return views

    async def hosts(self) -> AsyncIterator[list[KeyView]]:
        """All keys that have a record, each once."""
        met: set[int] = set()
        async for found in self.scan("HSCAN", self.names.hosts):
            keys = []
            for key, _ in found:
                if (mark := hash(key)) not in met:
                    met.add(mark)
                    keys.append(key)
            for first in range(0, len(keys), AT_ONCE):
                yield await self.views(keys[first : first + AT_ONCE])

    async def without_record(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those of ``keys`` that have none."""
        if not keys:
            return []
        values = await self.ask("HMGET", self.names.hosts, *keys)
        return [key for key, value in zip(keys, values, strict=True) if value is None]

    async def beginnings(self, views: Sequence[KeyView]) -> list[list[bytes]]:
        """For each key the chunks of its queue: all of a short one, the first ones of a long one."""
        chunks = [[view.queue[_LENGTH_AT:]] if len(view.queue) > _LENGTH_AT else [] for view in views]
        long = [(at, view) for at, view in enumerate(views) if view.has_chunks]
        commands = [
            ("ZRANGEBYLEX", self.names.queue(view.name), "-", "+", "LIMIT", 0, CHUNKS_AT_ONCE)
            for _, view in long
        ]
        answers = await self._server.commands(commands) if commands else []
        for (at, _), found in zip(long, answers, strict=True):
            chunks[at] += found
        return chunks

    async def rest(self, view: KeyView, beginning: Sequence[bytes]) -> AsyncIterator[bytes]:
        """The chunks of a long queue behind its first ones."""
        chunks = list(beginning)
        while len(chunks) >= CHUNKS_AT_ONCE:
            start = b"(" + chunks[-1]
            chunks = await self.ask(
                "ZRANGEBYLEX", self.names.queue(view.name), start, "+", "LIMIT", 0, CHUNKS_AT_ONCE
            )
            for chunk in chunks:
                yield chunk

    async def buckets(self, numbers: Sequence[int]) -> list[list[bytes]]:
        """The members of buckets of the seen test."""
        commands = [("SMEMBERS", self.names.bucket(number)) for number in numbers]
        return [sorted(members) for members in await self._server.commands(commands)]


def pairs(answer: Any) -> list[tuple[bytes, bytes]]:
    """A hash as some connections give it, as a mapping, and as others do, one after the other."""
    if isinstance(answer, dict):
        return list(answer.items())
    return list(zip(answer[::2], answer[1::2], strict=True))
