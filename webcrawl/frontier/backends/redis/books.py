"""The URLs of a crawl in Redis, listed from outside and without changing anything."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Mapping, Sequence

from webcrawl.errors import StorageLost
from webcrawl.frontier.backends.books import Known
from webcrawl.frontier.backends.redis.audit.reading import SEGMENTS_AT_ONCE, Reader, pairs
from webcrawl.frontier.backends.redis.control import Control
from webcrawl.frontier.backends.redis.names import shard_of
from webcrawl.frontier.backends.redis.packing import encoded, unpack_entries, unpack_host
from webcrawl.frontier.backends.redis.segments import segment_field, segment_of, segments_of, unpack_marks
from webcrawl.frontier.records import Kind, State, UrlEntry

_UNREADABLE = (ValueError, IndexError, struct.error)


class RedisBooks:
    """``Books`` of an open ``Control``, to be awaited. Its methods may raise StorageAway or StorageLost."""

    def __init__(self, control: Control) -> None:
        self._readers = [Reader(control.server, control.spider, n) for n in range(len(control.shards))]
        self._words: dict[int, dict[int, str]] = {}
        """Of each shard that was asked: why URLs failed or were refused."""

    async def queued(self) -> AsyncIterator[UrlEntry]:
        for reader in self._readers:
            async for views in reader.hosts():
                for view in views:
                    async for part in reader.queue(view):
                        try:
                            entries = list(unpack_entries(part, view.name))
                        except _UNREADABLE as error:
                            raise _lost(f"the queue of {view.name}") from error
                        for entry in entries:
                            if entry.kind not in (Kind.ROBOTS, Kind.WEBSUB):
                                yield entry

    async def known(self, key: str, fingerprints: Sequence[int]) -> Mapping[int, Known]:
        reader = self._readers[shard_of(key, len(self._readers))]
        name = encoded(key)
        [record] = await reader.records([name])
        if not record:
            return {}
        try:
            segments = segments_of(unpack_host(key, record).known)
            wanted = set(fingerprints)
            fields = [segment_field(name, n) for n in sorted({segment_of(one, segments) for one in wanted})]
            words = await self._words_of(reader)
            found = {}
            for first in range(0, len(fields), SEGMENTS_AT_ONCE):
                some = fields[first : first + SEGMENTS_AT_ONCE]
                for segment in await reader.ask("HMGET", reader.names.seen, *some):
                    for mark, state, reason in unpack_marks(segment or b""):
                        if mark in wanted:
                            found[mark] = Known(state, words.get(reason))
        except _UNREADABLE as error:
            raise _lost(f"what is known of {key}") from error
        return found

    async def refused(self) -> AsyncIterator[Sequence[int]]:
        for reader in self._readers:
            async for segments in reader.scan("HSCAN", reader.names.seen):
                try:
                    yield [
                        mark
                        for _, segment in segments
                        for mark, state, _ in unpack_marks(segment)
                        if state is State.REFUSED
                    ]
                except _UNREADABLE as error:
                    raise _lost("what is known of URLs") from error

    async def _words_of(self, reader: Reader) -> Mapping[int, str]:
        if reader.number not in self._words:
            told = pairs(await reader.ask("HGETALL", reader.names.reasons))
            self._words[reader.number] = {
                int(number): word.decode("utf-8", "surrogatepass") for word, number in told
            }
        return self._words[reader.number]


def _lost(what: str) -> StorageLost:
    return StorageLost(f"{what} in Redis cannot be read; see scrapy frontier check")
