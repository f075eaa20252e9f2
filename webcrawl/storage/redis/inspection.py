"""Read-only inspection of a crawl in Redis from outside: its URLs, the impact of an exclusion, and one URL. It uses
only commands that read, and the script of the consistency check."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from webcrawl.errors import StorageLost
from webcrawl.frontier.records import QUEUED, Kind, State, UrlEntry, UrlRecord
from webcrawl.politeness.host_record import Pauses, RobotsRecord
from webcrawl.storage.inspection import (
    HOSTS_COUNTED,
    Activity,
    CheckResult,
    ExclusionImpact,
    HostSummary,
    KeySnapshot,
    UrlSelection,
    UrlSnapshot,
    Use,
)
from webcrawl.storage.move_mark import MoveMark
from webcrawl.storage.redis import moving
from webcrawl.storage.redis.check import ConsistencyCheck
from webcrawl.storage.redis.check.reader import AT_ONCE, SEGMENTS_AT_ONCE, KeyView, ShardReader, marks_in
from webcrawl.storage.redis.clocks import read_uses
from webcrawl.storage.redis.control import Control
from webcrawl.storage.redis.learned import all_learners, best_learner
from webcrawl.storage.redis.marks import (
    Words,
    segment_count,
    segment_field,
    segment_number,
    state_from,
    unpack_marks,
)
from webcrawl.storage.redis.names import shard_number
from webcrawl.storage.redis.packing import (
    StoredHost,
    decoded,
    encoded,
    unpack_entries,
    unpack_host,
    unpack_robots,
)
from webcrawl.storage.redis.whole import RedisWhole
from webcrawl.storage.shared_parts import LearnedT

_UNREADABLE = (ValueError, IndexError, struct.error)


class RedisUrlStateReader:
    """Reads the states of URLs with an open ``Control``. All methods may raise StorageAway or StorageLost."""

    def __init__(self, control: Control) -> None:
        self._readers = [ShardReader(control.server, control.spider, n) for n in range(len(control.shards))]
        self.states_kept = control.server.filters is None
        self._words: dict[int, Words] = {}
        """The words of each shard that was read."""

    async def queued(self) -> AsyncIterator[list[UrlEntry]]:
        """Yield the entries of a part of a queue at a time."""
        for reader in self._readers:
            async for views in reader.hosts():
                for view in views:
                    async for part in reader.queue(view):
                        try:
                            entries = list(unpack_entries(part, view.name))
                        except _UNREADABLE as error:
                            raise _lost(f"the queue of {view.name}") from error
                        yield [entry for entry in entries if entry.kind not in (Kind.ROBOTS, Kind.WEBSUB)]

    async def known(self, key: str, fingerprints: Sequence[int]) -> Mapping[int, UrlRecord]:
        reader = self._readers[shard_number(key, len(self._readers))]
        if reader.filters is not None:
            return {}
        name = encoded(key)
        [record] = await reader.records([name])
        if not record:
            return {}
        try:
            segments = segment_count(unpack_host(key, record).known)
            wanted = set(fingerprints)
            fields = [
                segment_field(name, n) for n in sorted({segment_number(one, segments) for one in wanted})
            ]
            words = await self._words_for(reader)
            found = {}
            for first in range(0, len(fields), SEGMENTS_AT_ONCE):
                some = fields[first : first + SEGMENTS_AT_ONCE]
                for segment in await reader.send("HMGET", reader.names.seen, *some):
                    for mark, code in unpack_marks(segment or b""):
                        if mark in wanted:
                            found[mark] = words.record(code)
        except _UNREADABLE as error:
            raise _lost(f"what is known of {key}") from error
        return found

    async def refused(self) -> AsyncIterator[Sequence[int]]:
        for reader in self._readers:
            if reader.filters is not None:
                continue
            async for segments in reader.scan("HSCAN", reader.names.seen):
                try:
                    yield [
                        mark
                        for _, segment in segments
                        for mark, code in unpack_marks(segment)
                        if state_from(code) is State.REFUSED
                    ]
                except _UNREADABLE as error:
                    raise _lost("what is known of URLs") from error

    async def _words_for(self, reader: ShardReader) -> Words:
        if reader.number not in self._words:
            self._words[reader.number] = await _read_words(reader)
        return self._words[reader.number]


class BlockingUrlStateReader:
    """The same with methods that block: a ``UrlStateReader``."""

    def __init__(self, runner: asyncio.Runner, reader: RedisUrlStateReader) -> None:
        self.states_kept = reader.states_kept
        self._runner = runner
        self._reader = reader

    def queued(self) -> Iterator[UrlEntry]:
        parts = self._reader.queued()
        # A step of the event loop takes longer than reading an entry.
        while (entries := self._runner.run(anext(parts, None))) is not None:
            yield from entries

    def known(self, key: str, fingerprints: Sequence[int]) -> Mapping[int, UrlRecord]:
        return self._runner.run(self._reader.known(key, fingerprints))

    def refused(self) -> Iterator[Sequence[int]]:
        some = self._reader.refused()
        while (marks := self._runner.run(anext(some, None))) is not None:
            yield marks


async def _read_words(reader: ShardReader) -> Words:
    return Words(await reader.send("HGETALL", reader.names.reasons))


def _lost(what: str) -> StorageLost:
    return StorageLost(f"{what} in Redis cannot be read; see scrapy frontier check")


async def read_impact(control: Control, selection: UrlSelection) -> ExclusionImpact:
    """Read the impact of an exclusion. ``control``: an open one. URLs that change meanwhile may be counted or not,
    but no key is counted twice.

    :raises StorageLost: a queue cannot be read
    """
    impact = ExclusionImpact()
    now = await control.now()
    for number in range(len(control.shards)):
        reader = ShardReader(control.server, control.spider, number)
        members = await reader.send("ZRANGEBYSCORE", reader.names.members, f"({now!r}", "+inf")
        async for view in _views(reader, selection):
            hit = await _hit(reader, view, selection)
            # The value is a fence and a member; a member that was killed keeps its keys until its leases end.
            impact.add(hit, is_leased=view.held.partition(b" ")[2] in members)
    return impact


async def _views(reader: ShardReader, selection: UrlSelection) -> AsyncIterator[KeyView]:
    keys: set[bytes] = set()
    async for found in reader.scan("HSCAN", reader.names.hosts):
        keys.update(key for key, _ in found if selection.may_have(decoded(key)))
    listed = sorted(keys)
    for first in range(0, len(listed), AT_ONCE):
        for view in await reader.views(listed[first : first + AT_ONCE]):
            yield view


async def _hit(reader: ShardReader, view: KeyView, selection: UrlSelection) -> int:
    hit = 0
    async for part in reader.queue(view):
        try:
            hit += sum(selection.is_hit(entry.url) for entry in unpack_entries(part, view.name))
        except (ValueError, IndexError, struct.error) as error:
            raise StorageLost(
                f"the queue of {view.name} in Redis cannot be read; see scrapy frontier check"
            ) from error
    return hit


async def read_hosts(control: Control) -> AsyncIterator[list[HostSummary]]:
    """Yield all politeness keys of the crawl of an open ``control``, some at a time; one may come twice.

    :raises StorageLost: a record cannot be read
    """
    for number in range(len(control.shards)):
        reader = ShardReader(control.server, control.spider, number)
        held: set[bytes] = set()
        async for found in reader.scan("HSCAN", reader.names.held):
            held.update(key for key, _ in found)
        async for found in reader.scan("HSCAN", reader.names.hosts):
            yield [_summary(key, value, is_held=key in held) for key, value in found]


def _summary(key: bytes, value: bytes, *, is_held: bool) -> HostSummary:
    name = decoded(key)
    try:
        host = unpack_host(name, value)
    except _UNREADABLE as error:
        raise _lost(f"the record of {name}") from error
    record = host.record
    if is_held:
        activity = Activity.ACTIVE
    elif record.given_up:
        activity = Activity.GIVEN_UP
    else:
        activity = Activity.IDLE if host.queued else Activity.EMPTY
    return HostSummary(
        name,
        activity,
        record.parked,
        host.queued,
        record.delay_seconds,
        max(record.next_fetch_at, record.blocked_until),
        record.fetches,
        record.pages,
        record.failures,
        record.last_error,
        record.blocked_until > 0,
    )


async def read_queue(control: Control, key: str, most: int) -> list[UrlEntry]:
    """Return the first entries of the queue of a key in the crawl of an open ``control``.

    :raises StorageLost: they cannot be read
    """
    reader = ShardReader(control.server, control.spider, shard_number(key, len(control.shards)))
    [view] = await reader.views([encoded(key)])
    entries: list[UrlEntry] = []
    async for part in reader.queue(view):
        try:
            entries += unpack_entries(part, key)
        except _UNREADABLE as error:
            raise _lost(f"the queue of {key}") from error
        if len(entries) >= most:
            break
    return entries[:most]


READINGS = 5
"""Number of readings of a key that changes meanwhile."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The result of one reading of a key for a URL."""

    view: KeyView
    host: StoredHost | None
    code: int | None = None
    """The code of its record; None if it is not known."""
    entry: UrlEntry | None = None
    before: int = 0

    @property
    def agrees(self) -> bool:
        """True if the queue and the seen test were read as of one moment, as far as this URL is concerned."""
        first = self.entry is not None and not self.entry.repeat
        return first == (self.code is not None and state_from(self.code) is State.QUEUED)


async def read_snapshot(
    control: Control, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str
) -> UrlSnapshot:
    """Read the snapshot of one URL from the crawl of an open ``control``.

    ``key_of`` gets the settings with which the crawl was begun, and returns the politeness key of the URL. The entry
    of a queued URL is found by reading its key's queue, some of it at a time.
    """
    settings = await control.settings()
    key = key_of(settings)
    reader = ShardReader(control.server, control.spider, shard_number(key, len(control.shards)))
    # Before the key is read: a URL that is queued then may be fetched while the rest is read.
    now = await control.now()
    found = await _look(reader, key, fingerprint)
    is_exact = reader.filters is None
    for _ in range(READINGS - 1):
        if found.agrees or not is_exact:
            break
        found = await _look(reader, key, fingerprint)
    if is_exact:
        known = found.code is not None
        record = None if found.code is None else (await _read_words(reader)).record(found.code)
    else:
        queued = found.entry is not None and not found.entry.repeat
        known = queued or (await reader.in_filters([fingerprint]))[0]
        record = QUEUED if queued else None
    return UrlSnapshot(
        now=now,
        known=known,
        record=record,
        entry=found.entry,
        before=found.before,
        key=await _of_key(control, reader, found),
        robots=await _robots(reader, origin),
        rules_kept=is_exact,
        running_workers=tuple(sorted(await control.running_workers())),
        settings=settings,
    )


async def _look(reader: ShardReader, key: str, fingerprint: int) -> _Found:
    [view] = await reader.views([encoded(key)])
    if not view.record:
        return _Found(view, None)
    host = unpack_host(key, view.record)
    code = None if reader.filters is not None else await _code(reader, view, host, fingerprint)
    before = 0
    async for part in reader.queue(view):
        for mark in marks_in(part):
            if mark.fingerprint == fingerprint:
                [entry] = unpack_entries(mark.packed, key)
                if entry.kind != Kind.ROBOTS:
                    return _Found(view, host, code, entry, before)
            before += 1
    return _Found(view, host, code)


async def _code(reader: ShardReader, view: KeyView, host: StoredHost, fingerprint: int) -> int | None:
    number = segment_number(fingerprint, segment_count(host.known))
    async for _, segment in reader.segments(view.key, range(number, number + 1)):
        for mark, code in unpack_marks(segment):
            if mark == fingerprint:
                return code
    return None


async def _of_key(control: Control, reader: ShardReader, found: _Found) -> KeySnapshot | None:
    host, view = found.host, found.view
    if host is None:
        return None
    if view.held:
        member = view.held.partition(b" ")[2]
        until = await reader.send("ZSCORE", reader.names.members, member)
        if until is None:
            return KeySnapshot(host.record, host.queued, Activity.ACTIVE)
        name = await control.member_name(member.decode("utf-8", "replace"))
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
    commands = [
        ("ZLEXCOUNT", names.idle, b"[" + kind + rank, b"(" + kind + place)
        for names in control.shards
        for kind in (b"r", b"p")
    ]
    return min(sum(map(int, await control.server.commands(commands))), HOSTS_COUNTED)


async def _robots(reader: ShardReader, origin: str) -> RobotsRecord | None:
    value = await reader.send("HGET", reader.names.robots, encoded(origin))
    return None if value is None else unpack_robots(origin, value)


class RedisInspection:
    """The ``SharedInspection`` of a crawl in Redis."""

    def __init__(
        self, params: Mapping[str, Any], spider: str, lease_seconds: float, delay_seconds: float
    ) -> None:
        """``delay_seconds``: see ``ConsistencyCheck``; the rest: see ``Control``."""
        self._new = partial(Control, params, spider, lease_seconds)
        self._delay_seconds = delay_seconds

    @property
    def place(self) -> str:
        return f"Redis at {self.address}"

    @property
    def address(self) -> str:
        return self._new().server.address

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Control]:
        control = self._new()
        await control.open()
        try:
            yield control
        finally:
            await control.close()

    @contextmanager
    def _opened(self) -> Iterator[tuple[asyncio.Runner, Control]]:
        """Open a connection in an event loop of its own."""
        control = self._new()
        with asyncio.Runner() as runner:
            runner.run(control.open())
            try:
                yield runner, control
            finally:
                runner.run(control.close())

    def snapshot(
        self, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str
    ) -> UrlSnapshot:
        with self._opened() as (runner, control):
            return runner.run(read_snapshot(control, key_of, fingerprint, origin))

    def hosts(self) -> Iterator[list[HostSummary]]:
        with self._opened() as (runner, control):
            steps = read_hosts(control)
            while (hosts := runner.run(anext(steps, None))) is not None:
                yield hosts

    def queue(self, key: str, most: int) -> list[UrlEntry]:
        with self._opened() as (runner, control):
            return runner.run(read_queue(control, key, most))

    @contextmanager
    def url_states(self) -> Iterator[BlockingUrlStateReader]:
        with self._opened() as (runner, control):
            yield BlockingUrlStateReader(runner, RedisUrlStateReader(control))

    def impact(self, selection: UrlSelection) -> ExclusionImpact:
        with self._opened() as (runner, control):
            return runner.run(read_impact(control, selection))

    def seeded(self, hosts: Sequence[str]) -> bool:
        with self._opened() as (runner, control):
            return runner.run(control.seeded(hosts))

    def named_hosts(self) -> dict[str, Sequence[str]]:
        with self._opened() as (runner, control):
            return runner.run(control.named_hosts())

    @contextmanager
    def whole(self) -> Iterator[RedisWhole]:
        with self._opened() as (runner, control):
            yield RedisWhole(runner, control, self._delay_seconds)

    def learners(self, make: Callable[[], LearnedT]) -> list[tuple[LearnedT, bytes]]:
        with self._opened() as (runner, control):
            return runner.run(all_learners(control.server, control.spider, make))

    def move_mark(self) -> MoveMark | None:
        with self._opened() as (runner, control):
            return runner.run(control.move_mark())

    def set_move_mark(self, mark: MoveMark | None) -> None:
        with self._opened() as (runner, control):
            runner.run(moving.set_move_mark(control, mark))

    def keep_still(self, holder: str, seconds: float) -> str | None:
        with self._opened() as (runner, control):
            return runner.run(moving.keep_still(control, holder, seconds))

    def end_stillness(self, holder: str) -> None:
        with self._opened() as (runner, control):
            runner.run(moving.end_stillness(control, holder))

    def remove(self) -> None:
        with self._opened() as (runner, control):
            runner.run(moving.remove(control))

    def uses(self, pauses: Pauses) -> dict[str, Use]:
        with self._opened() as (runner, control):
            return runner.run(_uses_now(control, pauses))

    def learner(self, make: Callable[[], LearnedT]) -> LearnedT | None:
        with self._opened() as (runner, control):
            return runner.run(best_learner(control.server, control.spider, make))

    def check(self, progress: Callable[[int, int], None] | None = None) -> CheckResult:
        with self._opened() as (runner, control):
            return runner.run(self._new_check(control, progress).check())

    def repair(self, progress: Callable[[int, int], None] | None = None) -> CheckResult:
        with self._opened() as (runner, control):
            return runner.run(self._new_check(control, progress).repair())

    def _new_check(self, control: Control, progress: Callable[[int, int], None] | None) -> ConsistencyCheck:
        return ConsistencyCheck(control, self._delay_seconds, progress=progress or _unwatched)


def _unwatched(done: int, total: int) -> None:
    """Take no notice of the progress of a check."""


async def _uses_now(control: Control, pauses: Pauses) -> dict[str, Use]:
    return await read_uses(control.server, control.shards[0], pauses, await control.now())
