"""Reading of a shard from outside, some of it at a time, without changing anything."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from webcrawl.frontier.queue_head import QueuePosition
from webcrawl.storage.redis.marks import mark_bytes, segment_field
from webcrawl.storage.redis.names import ShardNames
from webcrawl.storage.redis.packing import chunk_prefix, decoded, pairs, position_from
from webcrawl.storage.redis.server import RedisServer, script

AT_ONCE = 200
"""Hosts in one turn."""
CHUNKS_AT_ONCE = 32
"""Chunks of a queue in one turn: 32 kB."""
SEGMENTS_AT_ONCE = 1000
"""Segments of the seen test in one turn: about 400 kB."""
FACTS = 7
"""Number of values that ``lua/read_keys.lua`` returns for each key."""

_HEAD = struct.Struct(">14sIcBq")
_BODY_AT = 18
_BEHIND_ALL = b"\xff" * 15


@dataclass(frozen=True, slots=True)
class Mark:
    """The part of an entry that is compared."""

    place: bytes
    repeat: bool
    fingerprint: int
    packed: bytes
    """The whole entry, to be unpacked if it has to be named."""

    @property
    def level(self) -> int:
        return -position_from(self.place)[0]

    @property
    def where(self) -> QueuePosition:
        return position_from(self.place)


def marks_in(chunk: bytes) -> Iterator[Mark]:
    """Yield the entries of a chunk as they are stored. :raises ValueError: it is cut off or was never one"""
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
    """A politeness key as it was at one moment; see ``lua/read_keys.lua``."""

    key: bytes
    record: bytes
    held: bytes
    given_up: bool
    idle_member: bytes
    idle: bool
    tail: bytes
    chunks: tuple[bytes, ...]
    """The first ones of its queue."""

    @property
    def name(self) -> str:
        return decoded(self.key)


class ShardReader:
    """A reader of one shard."""

    def __init__(self, server: RedisServer, spider: str, number: int) -> None:
        self.number = number
        self.filters = server.filters
        """The Bloom filters of the crawl; None for the exact seen test."""
        self.names = ShardNames(spider, number, has_filters=self.filters is not None)
        self._server = server

    async def totals(self) -> dict[str, bytes]:
        """Return the running totals as they are stored."""
        [answer] = await self._server.commands([("HGETALL", self.names.totals)])
        return {name.decode(): value for name, value in pairs(answer)}

    async def send(self, *command: Any) -> Any:
        [answer] = await self._server.commands([command])
        return answer

    async def scan(self, command: str, name: bytes) -> AsyncIterator[list[tuple[bytes, bytes]]]:
        """Yield fields with values (HSCAN), or members with empty values (SSCAN), some at a time; one may come
        twice."""
        cursor: Any = 0
        while True:
            cursor, found = await self.send(command, name, cursor, "COUNT", AT_ONCE)
            yield [(member, b"") for member in found] if command == "SSCAN" else pairs(found)
            if not int(cursor):
                return

    async def lexical(self, name: bytes, at_once: int) -> AsyncIterator[list[bytes]]:
        """Yield the members of a ZSET with equal scores, in their order."""
        start = b"-"
        while True:
            found = await self.send("ZRANGEBYLEX", name, start, "+", "LIMIT", 0, at_once)
            if found:
                yield found
            if len(found) < at_once:
                return
            start = b"(" + found[-1]

    async def views(self, keys: Sequence[bytes]) -> list[KeyView]:
        """Return keys as they are, all of them at one moment."""
        if not keys:
            return []
        text, fixed = script("read_keys").text, self.names.fixed
        facts = await self.send("EVAL", text, len(fixed), *fixed, CHUNKS_AT_ONCE, *keys)
        views = []
        for number, key in enumerate(keys):
            record, held, given_up, member, idle, tail, chunks = facts[number * FACTS : (number + 1) * FACTS]
            views.append(KeyView(key, record, held, bool(given_up), member, bool(idle), tail, tuple(chunks)))
        return views

    async def hosts(self) -> AsyncIterator[list[KeyView]]:
        """Yield all keys that have a record, each once."""
        yielded: set[int] = set()
        async for found in self.scan("HSCAN", self.names.hosts):
            keys = []
            for key, _ in found:
                if (mark := hash(key)) not in yielded:
                    yielded.add(mark)
                    keys.append(key)
            for first in range(0, len(keys), AT_ONCE):
                yield await self.views(keys[first : first + AT_ONCE])

    async def records(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the records of keys, None for a missing one."""
        return list(await self.send("HMGET", self.names.hosts, *keys)) if keys else []

    async def without_record(self, keys: Sequence[bytes]) -> list[bytes]:
        """Return those of ``keys`` that have no record."""
        records = await self.records(keys)
        return [key for key, record in zip(keys, records, strict=True) if record is None]

    async def queue(self, view: KeyView) -> AsyncIterator[bytes]:
        """Yield the queue of a key in parts: its chunks, without the key before them, and its tail."""
        prefix = chunk_prefix(view.key)
        chunks: Sequence[bytes] = view.chunks
        while chunks:
            for chunk in chunks:
                yield chunk[len(prefix) :]
            if len(chunks) < CHUNKS_AT_ONCE:
                break
            start, end = b"(" + chunks[-1], b"(" + prefix + _BEHIND_ALL
            chunks = await self.send("ZRANGEBYLEX", self.names.chunks, start, end, "LIMIT", 0, CHUNKS_AT_ONCE)
        if view.tail:
            yield view.tail

    async def in_filters(self, fingerprints: Sequence[int]) -> list[bool]:
        """Return for each URL whether the Bloom filters have it."""
        found: list[bool] = []
        text, keys = script("known_marks", filters=self.filters).text, self.names.of_seen_test
        for first in range(0, len(fingerprints), AT_ONCE):
            marks = b"".join(mark_bytes(one) + b"\0" for one in fingerprints[first : first + AT_ONCE])
            digits = await self.send("EVAL", text, len(keys), *keys, 0, marks)
            found += [digit == ord("1") for digit in digits]
        return found

    async def segments(self, key: bytes, numbers: range) -> AsyncIterator[tuple[int, bytes]]:
        """Yield the marks of a key in those of the segments that exist."""
        for first in range(0, len(numbers), SEGMENTS_AT_ONCE):
            some = numbers[first : first + SEGMENTS_AT_ONCE]
            fields = [segment_field(key, number) for number in some]
            found = await self.send("HMGET", self.names.seen, *fields)
            for number, segment in zip(some, found, strict=True):
                if segment is not None:
                    yield number, segment
