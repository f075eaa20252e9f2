"""All that Redis keeps of a crawl that does not run, read host by host, so that another storage can take it."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeVar

from webcrawl.errors import StorageLost
from webcrawl.frontier.records import Kind, UrlEntry, UrlRecord
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.storage.contract import Counted, Counts
from webcrawl.storage.redis.check.reader import SEGMENTS_AT_ONCE, KeyView, ShardReader
from webcrawl.storage.redis.control import Control
from webcrawl.storage.redis.counted import read_counted
from webcrawl.storage.redis.marks import Words, segment_count, segment_field, unpack_marks
from webcrawl.storage.redis.names import CrawlNames
from webcrawl.storage.redis.packing import StoredHost, decoded, unpack_entries, unpack_host, unpack_robots
from webcrawl.storage.redis.tables import row_from
from webcrawl.storage.tables import Change, TableSpec

_UNREADABLE = (ValueError, IndexError, struct.error)
_T = TypeVar("_T")


class RedisWhole:
    """The ``WholeCrawl`` of an open ``Control``. ``hosts`` reads the queues and URLs of some hosts ahead."""

    def __init__(self, runner: asyncio.Runner, control: Control, delay_seconds: float) -> None:
        """``delay_seconds``: the rest of a key that was never fetched from, after its holder was killed."""
        self._run = runner.run
        self._control = control
        self._delay_seconds = delay_seconds
        self._readers = [ShardReader(control.server, control.spider, n) for n in range(len(control.shards))]
        self._ahead: dict[str, tuple[ShardReader, KeyView, StoredHost, Sequence[bytes] | None]] = {}
        """The hosts that were read last; with the segments of their URLs unless there are many."""
        self._words: dict[int, Words] = {}
        self.begun_with: Mapping[str, str] = self._run(control.settings())
        self.states_kept = control.server.filters is None
        self.left_out = 0

    def counts(self) -> Counts:
        return self._run(self._control.status()).counts

    def hosts(self, now: float) -> Iterator[HostRecord]:
        for reader in self._readers:
            for views in self._each(reader.hosts()):
                hosts = [self._host(view) for view in views]
                segments = self._run(self._read_ahead(reader, views, hosts))
                self._ahead = {
                    view.name: (reader, view, host, parts)
                    for view, host, parts in zip(views, hosts, segments, strict=True)
                }
                for view, host in zip(views, hosts, strict=True):
                    record = host.record
                    if view.held:
                        delay = record.delay_seconds if record.fetches else self._delay_seconds
                        record.next_fetch_at = max(record.next_fetch_at, now + delay)
                    yield record

    def _host(self, view: KeyView) -> StoredHost:
        try:
            return unpack_host(view.name, view.record)
        except _UNREADABLE as error:
            raise _lost(f"the record of {view.name}") from error

    async def _read_ahead(
        self, reader: ShardReader, views: Sequence[KeyView], hosts: Sequence[StoredHost]
    ) -> list[Sequence[bytes] | None]:
        """Return the segments of each host; None for one that has many."""
        parts: list[Sequence[bytes] | None] = []
        fields: list[bytes] = []
        for view, host in zip(views, hosts, strict=True):
            count = segment_count(host.known)
            own = [segment_field(view.key, number) for number in range(count)]
            if count <= SEGMENTS_AT_ONCE and len(fields) + count <= 4 * SEGMENTS_AT_ONCE:
                parts.append(own)
                fields += own
            else:
                parts.append(None)
        found: dict[bytes, bytes] = {}
        for first in range(0, len(fields), SEGMENTS_AT_ONCE):
            some = fields[first : first + SEGMENTS_AT_ONCE]
            values = await reader.send("HMGET", reader.names.seen, *some)
            found.update((name, value) for name, value in zip(some, values, strict=True) if value)
        return [None if own is None else [found[name] for name in own if name in found] for own in parts]

    def queue(self, key: str, at_once: int) -> Iterator[Sequence[UrlEntry]]:
        reader, view, _, _ = self._ahead[key]
        for part in self._each(reader.queue(view)):
            try:
                entries = list(unpack_entries(part, key))
            except _UNREADABLE as error:
                raise _lost(f"the queue of {key}") from error
            kept = [entry for entry in entries if entry.kind not in (Kind.ROBOTS, Kind.WEBSUB)]
            self.left_out += len(entries) - len(kept)
            yield from _parts(kept, at_once)

    def settled(self, key: str, at_once: int) -> Iterator[Sequence[tuple[int, UrlRecord]]]:
        reader, view, host, ahead = self._ahead[key]
        words = self._words_of(reader)
        segments: Iterator[bytes]
        if ahead is None:
            numbers = range(segment_count(host.known))
            segments = (segment for _, segment in self._each(reader.segments(view.key, numbers)))
        else:
            segments = iter(ahead)
        some: list[tuple[int, UrlRecord]] = []
        for segment in segments:
            try:
                some += [(mark, words.record(code)) for mark, code in unpack_marks(segment) if code % 4]
            except _UNREADABLE as error:
                raise _lost(f"what is known of {key}") from error
            if len(some) >= at_once:
                yield from _parts(some, at_once)
                some = []
        yield from _parts(some, at_once)

    def _words_of(self, reader: ShardReader) -> Words:
        if reader.number not in self._words:
            self._words[reader.number] = Words(self._run(reader.send("HGETALL", reader.names.reasons)))
        return self._words[reader.number]

    def robots(self, at_once: int) -> Iterator[Sequence[RobotsRecord]]:
        for reader in self._readers:
            for found in self._each(reader.scan("HSCAN", reader.names.robots)):
                try:
                    answers = [unpack_robots(decoded(origin), value) for origin, value in found]
                except _UNREADABLE as error:
                    raise _lost("an answer of robots.txt") from error
                yield from _parts(answers, at_once)

    def robots_count(self) -> int:
        return self._sum(lambda names: names.robots)

    def counted(self) -> Sequence[Counted]:
        return self._run(read_counted(self._control.server, CrawlNames(self._control.spider)))

    def rows(self, spec: TableSpec, at_once: int) -> Iterator[Change]:
        for reader in self._readers:
            names = reader.names.table(spec.name)
            resting: dict[bytes, float] = {}
            for found in self._each(reader.scan("HSCAN", names.not_before)):
                resting.update((partition, float(at)) for partition, at in found)
            for name in (names.headers, names.rows):
                for found in self._each(reader.scan("HSCAN", name)):
                    rows = sorted((_place(field), value) for field, value in found)
                    for packed, some in groupby(rows, lambda row: row[0][0]):
                        put = [row_from(spec, place[1], value) for place, value in some]
                        yield Change(decoded(packed), put, not_before=resting.get(packed) or None)

    def row_count(self, spec: TableSpec) -> int:
        return self._sum(lambda names: names.table(spec.name).rows)

    def _sum(self, name: Any) -> int:
        lengths = self._run(
            self._control.server.commands([("HLEN", name(reader.names)) for reader in self._readers])
        )
        return sum(map(int, lengths))

    def _each(self, steps: AsyncIterator[_T]) -> Iterator[_T]:
        while (found := self._run(anext(steps, None))) is not None:
            yield found


def _place(field: bytes) -> tuple[bytes, bytes]:
    """Return the partition and the id in the name of a row."""
    length = field[0]
    return field[1 + length :], field[1 : 1 + length]


def _parts(things: Sequence[_T], at_once: int) -> Iterator[Sequence[_T]]:
    for first in range(0, len(things), at_once):
        yield things[first : first + at_once]


def _lost(what: str) -> StorageLost:
    return StorageLost(f"{what} in Redis cannot be read; see scrapy frontier check")
