"""Read-only inspection of a crawl in Redis from outside: its URLs, the impact of an exclusion, and one URL. It uses
only commands that read, and the script of the consistency check."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass

from webcrawl.errors import StorageLost
from webcrawl.frontier.records import Kind, State, UrlEntry
from webcrawl.politeness.host_record import RobotsRecord
from webcrawl.storage.inspection import (
    HOSTS_COUNTED,
    Activity,
    Asked,
    ExclusionImpact,
    KeySnapshot,
    Known,
    UrlSnapshot,
)
from webcrawl.storage.redis.check.reading import AT_ONCE, SEGMENTS_AT_ONCE, KeyView, Reader, marks_in
from webcrawl.storage.redis.control import Control
from webcrawl.storage.redis.marks import segment_field, segment_of, segments_of, unpack_marks
from webcrawl.storage.redis.names import shard_of
from webcrawl.storage.redis.packing import (
    StoredHost,
    decoded,
    encoded,
    pairs,
    unpack_entries,
    unpack_host,
    unpack_robots,
)

_UNREADABLE = (ValueError, IndexError, struct.error)


class RedisBooks:
    """The ``UrlStateReader`` of an open ``Control``, with methods to await. They may raise StorageAway or
    StorageLost."""

    def __init__(self, control: Control) -> None:
        self._readers = [Reader(control.server, control.spider, n) for n in range(len(control.shards))]
        self._words: dict[int, dict[int, str]] = {}
        """For each shard that was asked: the reasons why URLs failed or were refused."""

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
            self._words[reader.number] = {int(number): decoded(word) for word, number in told}
        return self._words[reader.number]


def _lost(what: str) -> StorageLost:
    return StorageLost(f"{what} in Redis cannot be read; see scrapy frontier check")


async def reach_of(control: Control, asked: Asked) -> ExclusionImpact:
    """Read the impact of an exclusion. ``control``: an open one. URLs that change meanwhile may be counted or not,
    but no key is counted twice.

    :raises StorageLost: a queue cannot be read
    """
    reach = ExclusionImpact()
    now = await control.now()
    for number in range(len(control.shards)):
        reader = Reader(control.server, control.spider, number)
        members = await reader.ask("ZRANGEBYSCORE", reader.names.fixed[7], f"({now!r}", "+inf")
        async for view in _views(reader, asked):
            hit = await _hit(reader, view, asked)
            # The value is a fence and a member; a member that was killed keeps its keys until its leases end.
            reach.add(hit, is_leased=view.held.partition(b" ")[2] in members)
    return reach


async def _views(reader: Reader, asked: Asked) -> AsyncIterator[KeyView]:
    keys: set[bytes] = set()
    async for found in reader.scan("HSCAN", reader.names.hosts):
        keys.update(key for key, _ in found if asked.may_have(decoded(key)))
    listed = sorted(keys)
    for first in range(0, len(listed), AT_ONCE):
        for view in await reader.views(listed[first : first + AT_ONCE]):
            yield view


async def _hit(reader: Reader, view: KeyView, asked: Asked) -> int:
    hit = 0
    async for part in reader.queue(view):
        try:
            hit += sum(asked.is_hit(entry.url) for entry in unpack_entries(part, view.name))
        except (ValueError, IndexError, struct.error) as error:
            raise StorageLost(
                f"the queue of {view.name} in Redis cannot be read; see scrapy frontier check"
            ) from error
    return hit


LOOKS = 5
"""Number of looks at a key that changes meanwhile."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The result of one look at a key for a URL."""

    view: KeyView
    host: StoredHost | None
    state: State | None = None
    reason: int = 0
    """The number of the reason why it failed or was refused; 0 for none."""
    entry: UrlEntry | None = None
    before: int = 0

    @property
    def agrees(self) -> bool:
        """True if the queue and the seen test were read as of one moment, as far as this URL is concerned."""
        first = self.entry is not None and not self.entry.repeat
        return first == (self.state is State.QUEUED)


async def sighting_of(
    control: Control, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str
) -> UrlSnapshot:
    """Read the snapshot of one URL from the crawl of an open ``control``.

    ``key_of`` gets the settings with which the crawl was begun, and returns the politeness key of the URL. The entry
    of a queued URL is found by reading its key's queue, some of it at a time.
    """
    settings = await control.settings()
    key = key_of(settings)
    reader = Reader(control.server, control.spider, shard_of(key, len(control.shards)))
    # Before the look: a URL that is queued then may be fetched while the rest is read.
    now = await control.now()
    found = await _look(reader, key, fingerprint)
    for _ in range(LOOKS - 1):
        if found.agrees:
            break
        found = await _look(reader, key, fingerprint)
    return UrlSnapshot(
        now=now,
        known=found.state is not None,
        state=found.state,
        entry=found.entry,
        before=found.before,
        key=await _of_key(control, reader, found),
        robots=await _robots(reader, origin),
        rule=await _word(reader, found.reason),
        command=await control.command(),
        at_work=tuple(sorted(await control.at_work())),
        settings=settings,
    )


async def _look(reader: Reader, key: str, fingerprint: int) -> _Found:
    [view] = await reader.views([encoded(key)])
    if not view.record:
        return _Found(view, None)
    host = unpack_host(key, view.record)
    state, reason = await _state(reader, view, host, fingerprint)
    before = 0
    async for part in reader.queue(view):
        for mark in marks_in(part):
            if mark.fingerprint == fingerprint:
                [entry] = unpack_entries(mark.packed, key)
                if entry.kind != Kind.ROBOTS:
                    return _Found(view, host, state, reason, entry, before)
            before += 1
    return _Found(view, host, state, reason)


async def _state(
    reader: Reader, view: KeyView, host: StoredHost, fingerprint: int
) -> tuple[State | None, int]:
    number = segment_of(fingerprint, segments_of(host.known))
    async for _, segment in reader.segments(view.key, range(number, number + 1)):
        for mark, state, reason in unpack_marks(segment):
            if mark == fingerprint:
                return state, reason
    return None, 0


async def _word(reader: Reader, number: int) -> str | None:
    """Return the reason that has ``number``."""
    if not number:
        return None
    words = {int(value): word for word, value in pairs(await reader.ask("HGETALL", reader.names.reasons))}
    word = words.get(number)
    return None if word is None else decoded(word)


async def _of_key(control: Control, reader: Reader, found: _Found) -> KeySnapshot | None:
    host, view = found.host, found.view
    if host is None:
        return None
    if view.held:
        member = view.held.partition(b" ")[2]
        until = await reader.ask("ZSCORE", reader.names.fixed[7], member)
        if until is None:
            return KeySnapshot(host.record, host.queued, Activity.ACTIVE)
        name = await control.name_of(member.decode("utf-8", "replace"))
        return KeySnapshot(host.record, host.queued, Activity.ACTIVE, name, float(until))
    if view.given_up:
        return KeySnapshot(host.record, host.queued, Activity.GIVEN_UP)
    if not host.queued:
        return KeySnapshot(host.record, host.queued, Activity.EMPTY)
    before = await _hosts_before(control, view.idle_member)
    return KeySnapshot(host.record, host.queued, Activity.IDLE, hosts_before=before)


async def _hosts_before(control: Control, member: bytes) -> int:
    """Return how many idle keys of the same level are due before the one with ``member`` in ``idle`` (see
    lua/shard.lua)."""
    rank, place = member[1:7], member[1:15]
    asked = [
        ("ZLEXCOUNT", names.idle, b"[" + kind + rank, b"(" + kind + place)
        for names in control.shards
        for kind in (b"r", b"p")
    ]
    return min(sum(map(int, await control.server.commands(asked))), HOSTS_COUNTED)


async def _robots(reader: Reader, origin: str) -> RobotsRecord | None:
    value = await reader.ask("HGET", reader.names.robots, encoded(origin))
    return None if value is None else unpack_robots(origin, value)
