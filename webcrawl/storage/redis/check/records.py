"""Comparisons of a shard: the record of each host with its queue, the seen test with the queues, and the indexes with
the records."""

from __future__ import annotations

import struct
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from webcrawl.frontier.records import State
from webcrawl.storage.inspection import FindingKind
from webcrawl.storage.redis.check.reader import AT_ONCE, KeyView, Mark, ShardReader, marks_in
from webcrawl.storage.redis.check.repairs import Flaws, Repair, RepairStage
from webcrawl.storage.redis.marks import (
    MARK_BYTES,
    mark_bytes,
    segment_count,
    segment_from,
    segment_number,
    state_from,
    unpack_marks,
)
from webcrawl.storage.redis.names import shard_number
from webcrawl.storage.redis.packing import StoredHost, chunk_key, decoded, unpack_entries, unpack_host


@dataclass(slots=True)
class QueuedOfKey:
    """Queued URLs of one key, in every ``parts``-th segment; those that are known as queued are removed."""

    segments: int = 1
    part: int = 0
    parts: int = 1
    marks: set[int] = field(default_factory=set)
    settled: dict[int, State] = field(default_factory=dict)
    """URLs that the seen test has in another state."""

    def covers(self, fingerprint: int) -> bool:
        return self.parts == 1 or segment_number(fingerprint, self.segments) % self.parts == self.part

    @property
    def numbers(self) -> range:
        return range(self.part, self.segments, self.parts)


@dataclass(slots=True)
class SeenCounts:
    """Counts of the seen test."""

    states: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    """Known URLs by state."""
    segments: int = 0


class SeenCheck:
    """Compares the segments of the seen test of a shard."""

    def __init__(self, reader: ShardReader, flaws: Flaws) -> None:
        self._reader = reader
        self._flaws = flaws

    async def compare(self, view: KeyView, waiting: QueuedOfKey, marks: SeenCounts) -> int:
        """Remove URLs known as queued from ``waiting``, and count. Returns the number of known URLs."""
        known = 0
        async for number, segment in self._reader.segments(view.key, waiting.numbers):
            marks.segments += 1
            for fingerprint, states in self._sort(view, number, segment, waiting.segments).items():
                known += 1
                marks.states[self._count_state(view, fingerprint, states, waiting)] += 1
        return known

    def _sort(self, view: KeyView, number: int, segment: bytes, segments: int) -> dict[int, list[State]]:
        """Return the marks that belong in a segment: fingerprint -> states."""
        found: dict[int, list[State]] = {}
        for unit in _units(segment):
            try:
                [(fingerprint, code)] = unpack_marks(unit)
            except ValueError as error:
                name = f"a mark of {view.name} in segment {number}"
                self._flaws.add(FindingKind.UNREADABLE, name, str(error), _repair_known(view.key))
                continue
            right = segment_number(fingerprint, segments)
            if right != number:
                self._misplaced(view.key, fingerprint, f"in segment {number}, not in {right}")
                continue
            found.setdefault(fingerprint, []).append(state_from(code))
        return found

    def _misplaced(self, key: bytes, fingerprint: int, detail: str, *args: bytes) -> None:
        self._flaws.add(FindingKind.MISPLACED, _named(key, fingerprint), detail, _repair_known(key, *args))

    def _count_state(
        self, view: KeyView, fingerprint: int, states: list[State], waiting: QueuedOfKey
    ) -> State:
        # A URL gets another state than queued when it is settled: that state stands.
        state = min(states, key=lambda one: one or len(State))
        if len(states) > 1:
            names = " and ".join(one.name.lower() for one in sorted(states))
            self._flaws.add(
                FindingKind.TWO_STATES, _named(view.key, fingerprint), names, _repair_known(view.key)
            )
        if state is not State.QUEUED:
            if fingerprint in waiting.marks:
                waiting.settled[fingerprint] = state
        elif fingerprint in waiting.marks:
            waiting.marks.discard(fingerprint)
        else:
            forget = Repair(RepairStage.STATES, "repair_known", view.key, (b"-" + mark_bytes(fingerprint),))
            self._flaws.add(FindingKind.NOWHERE, _named(view.key, fingerprint), "", forget)
        return state

    # -- segments without a record ------------------------------------------------------------------------------

    async def find_strays(self) -> None:
        """Find segments of keys that have no record, or fewer segments."""
        async for found in self._reader.scan("HSCAN", self._reader.names.seen):
            fields = [(field, *segment_from(field), segment) for field, segment in found]
            for first in range(0, len(fields), AT_ONCE):
                some = fields[first : first + AT_ONCE]
                views = await self._reader.records([key for _, key, _, _ in some])
                for (name, key, number, segment), record in zip(some, views, strict=True):
                    self._stray(name, key, number, segment, record)

    def _stray(self, name: bytes, key: bytes, number: int, segment: bytes, record: bytes | None) -> None:
        if record is None:
            self._unowned(key)
            return
        try:
            segments = segment_count(unpack_host(decoded(key), record).known)
        except ValueError:
            return
        if number >= segments:
            for unit in _units(segment):
                fingerprint = int.from_bytes(unit[:8], "big", signed=True)
                self._misplaced(key, fingerprint, f"in segment {number} of {segments}", b"#" + name)

    def _unowned(self, key: bytes) -> None:
        make = Repair(RepairStage.STRUCTURE, "repair_key", key)
        self._flaws.add(FindingKind.STRAY, f"what is known of {decoded(key)}", "the host has no record", make)


def known_otherwise(flaws: Flaws, view: KeyView, stored: int, counted: int) -> None:
    """Report that the record has a wrong number of known URLs."""
    flaws.add(FindingKind.KNOWN, view.name, f"says {stored}, is {counted}", _repair_known(view.key))


def _units(segment: bytes) -> list[bytes]:
    return [segment[at : at + MARK_BYTES] for at in range(0, len(segment), MARK_BYTES)]


def _repair_known(key: bytes, *args: bytes) -> Repair:
    return Repair(RepairStage.STRUCTURE, "repair_known", key, args)


def _named(key: bytes, fingerprint: int) -> str:
    """The name of a URL of which only the fingerprint is known."""
    return f"fingerprint {fingerprint} of {decoded(key)}"


PLACE_BYTES = 14
_UNREADABLE = (ValueError, OverflowError, struct.error, IndexError)


@dataclass(slots=True)
class Sums:
    """Counts of one check of a shard."""

    hosts: int = 0
    queued: int = 0
    given_up_hosts: int = 0
    given_up_urls: int = 0
    held_urls: int = 0
    held: int = 0
    idle: int = 0
    tails: int = 0
    chunks: int = 0
    highest_fence: int = 0
    marks: SeenCounts = field(default_factory=SeenCounts)


class QueueCheck:
    """Checks the keys of a shard, each with its whole queue and all its known URLs."""

    def __init__(
        self, reader: ShardReader, flaws: Flaws, shards: int, members: Collection[bytes], at_once: int
    ) -> None:
        """``shards``: of the crawl. ``members``: those that may hold keys in this shard. ``at_once``: URLs of a key
        that are in memory together; if there are more, its queue is read again."""
        self._reader = reader
        self._flaws = flaws
        self._shards = shards
        self._members = members
        self._at_once = at_once
        self._seen = SeenCheck(reader, flaws)

    async def run(self, sums: Sums) -> None:
        """Compare the records with the queues and the seen test, and count."""
        async for views in self._reader.hosts():
            for view in views:
                await self._check_key(view, sums)
        names, send = self._reader.names, self._reader.send
        if await send("HLEN", names.queues) != sums.tails or await send("ZCARD", names.chunks) != sums.chunks:
            await self._find_ownerless(sums)
        if self._reader.filters is None and await send("HLEN", names.seen) != sums.marks.segments:
            await self._seen.find_strays()

    async def _check_key(self, view: KeyView, sums: Sums) -> None:
        host = self._stored(view)
        known, queued = (host.known, host.queued) if host else (0, 0)
        parts = 1 + max(known, queued) // self._at_once
        counted = 0
        for part in range(parts):
            waiting = QueuedOfKey(segment_count(known), part, parts)
            walk = await self._walk(view, waiting, is_first=part == 0)
            if part == 0:
                self._check_host(view, host, walk, sums)
            if self._reader.filters is None:
                counted += await self._seen.compare(view, waiting, sums.marks)
            else:
                await self._remove_known(waiting)
            if waiting.marks:
                await self._report_unknown(view, waiting)
        if self._reader.filters is None and host is not None and counted != known:
            known_otherwise(self._flaws, view, known, counted)

    async def _walk(self, view: KeyView, waiting: QueuedOfKey, *, is_first: bool) -> _Walk:
        walk = _Walk()
        try:
            async for part in self._reader.queue(view):
                walk.parts += 1
                for mark in marks_in(part):
                    walk.step(mark)
                    if not mark.repeat and waiting.covers(mark.fingerprint):
                        self._add_waiting(view, mark, waiting)
        except ValueError as error:
            if is_first:
                self._flaws.add(FindingKind.UNREADABLE, f"the queue of {view.name}", str(error))
        return walk

    async def _find_ownerless(self, sums: Sums) -> None:
        """Find queues whose keys have no record."""
        names, keys = self._reader.names, set[bytes]()
        async for found in self._reader.scan("HSCAN", names.queues):
            keys.update(await self._reader.without_record([key for key, _ in found]))
        async for members in self._reader.lexical(names.chunks, AT_ONCE):
            keys.update(await self._reader.without_record(list({chunk_key(member) for member in members})))
        for key in sorted(keys):
            [view] = await self._reader.views([key])
            make = Repair(RepairStage.STRUCTURE, "repair_key", key)
            self._flaws.add(FindingKind.STRAY, f"the queue of {view.name}", "the host has no record", make)
            walk = await self._walk(view, QueuedOfKey(), is_first=True)
            sums.hosts += 1
            sums.queued += walk.count

    # -- URLs ------------------------------------------------------------------------------------------------

    def _add_waiting(self, view: KeyView, mark: Mark, waiting: QueuedOfKey) -> None:
        if mark.fingerprint not in waiting.marks:
            waiting.marks.add(mark.fingerprint)
            return
        repair = Repair(RepairStage.STATES, "repair_key", view.key, (mark.place,))
        self._flaws.add(FindingKind.TWICE, _url(view, mark), f"again at {mark.where}", repair)

    async def _remove_known(self, waiting: QueuedOfKey) -> None:
        """Remove the URLs that the Bloom filters have."""
        marks = list(waiting.marks)
        known = await self._reader.in_filters(marks)
        waiting.marks.difference_update(mark for mark, is_known in zip(marks, known, strict=True) if is_known)

    async def _report_unknown(self, view: KeyView, waiting: QueuedOfKey) -> None:
        """Report the queued URLs that are left in ``waiting``: the seen test does not have them as queued."""
        with suppress(ValueError):
            async for part in self._reader.queue(view):
                for mark in marks_in(part):
                    if not mark.repeat and mark.fingerprint in waiting.marks:
                        self._report_one(view, mark, waiting)

    def _report_one(self, view: KeyView, mark: Mark, waiting: QueuedOfKey) -> None:
        state = waiting.settled.get(mark.fingerprint)
        if state is not None:
            drop = Repair(RepairStage.STATES, "repair_key", view.key, (mark.place,))
            self._flaws.add(FindingKind.SETTLED, _url(view, mark), f"state {int(state)}", drop)
            return
        if self._reader.filters is None:
            know = b"+" + mark_bytes(mark.fingerprint) + bytes((State.QUEUED,))
            repair = Repair(RepairStage.STATES, "repair_known", view.key, (know,))
        else:
            repair = Repair(RepairStage.STATES, "known_marks", view.key, (mark_bytes(mark.fingerprint),))
        self._flaws.add(FindingKind.UNKNOWN, _url(view, mark), "", repair)

    # -- hosts -----------------------------------------------------------------------------------------------

    def _check_host(self, view: KeyView, host: StoredHost | None, walk: _Walk, sums: Sums) -> None:
        chunks = walk.parts - bool(view.tail)
        sums.hosts += 1
        sums.tails += bool(view.tail)
        sums.chunks += chunks
        sums.queued += walk.count
        if shard_number(view.name, self._shards) != self._reader.number:
            where = f"belongs to shard {shard_number(view.name, self._shards)}"
            self._flaws.add(FindingKind.STRAY, f"the host {view.name}", where)
        if host is None:
            return
        if not walk.in_order or host.last < walk.last:
            self._repair_key(FindingKind.DISORDER, view, "", RepairStage.STRUCTURE)
        elif host.chunks != chunks:
            self._repair_key(
                FindingKind.DISORDER, view, f"says {host.chunks} chunks, is {chunks}", RepairStage.STRUCTURE
            )
        if host.queued != walk.count:
            self._repair_key(FindingKind.LENGTH, view, f"says {host.queued}, is {walk.count}")
        elif walk.count and host.level != walk.level:
            self._repair_key(FindingKind.LEVEL, view, f"says {host.level}, is {walk.level}")
        self._check_place(view, host, walk.count, sums)

    def _stored(self, view: KeyView) -> StoredHost | None:
        try:
            return unpack_host(view.name, view.record)
        except _UNREADABLE as error:
            self._flaws.add(FindingKind.UNREADABLE, f"the record of {view.name}", str(error))
            return None

    def _check_place(self, view: KeyView, host: StoredHost, queued: int, sums: Sums) -> None:
        places = {"idle": view.idle, "held": bool(view.held), "given up": view.given_up}
        right = expected_place(view, host)
        sums.idle += view.idle
        if right == "held":
            sums.held += 1
            sums.held_urls += queued
            self._check_holder(view, sums)
        elif right == "given up":
            sums.given_up_hosts += 1
            sums.given_up_urls += queued
        found = [place for place, there in places.items() if there] or ["nowhere"]
        if found != [right]:
            detail = f"is {' and '.join(found)}, and should be {right}"
            self._repair_key(FindingKind.PLACE, view, detail)

    def _check_holder(self, view: KeyView, sums: Sums) -> None:
        number, space, member = view.held.partition(b" ")
        if not space or not number.isdigit():
            remove = Repair(RepairStage.STRUCTURE, "remove_entries", self._reader.names.held, (view.key,))
            self._flaws.add(FindingKind.UNREADABLE, f"the lease of {view.name}", repr(view.held), remove)
            return
        sums.highest_fence = max(sums.highest_fence, int(number))
        if member not in self._members:
            self._repair_key(FindingKind.HOLDER, view, member.decode("utf-8", "replace"))

    def _repair_key(
        self, kind: FindingKind, view: KeyView, detail: str, stage: RepairStage = RepairStage.HOSTS
    ) -> None:
        self._flaws.add(kind, view.name, detail, Repair(stage, "repair_key", view.key))


def expected_place(view: KeyView, host: StoredHost) -> str:
    """Return where a key belongs by its record."""
    if view.held:
        return "held"
    if host.record.given_up:
        return "given up"
    return "idle" if host.queued > 0 else "nowhere"


@dataclass(slots=True)
class _Walk:
    """A queue from its start to its end."""

    count: int = 0
    parts: int = 0
    level: int = 0
    last: bytes = b""
    in_order: bool = True

    def step(self, mark: Mark) -> None:
        if not self.count:
            self.level = mark.level
        self.count += 1
        self.in_order = self.in_order and mark.place > self.last
        self.last = max(self.last, mark.place)


def _url(view: KeyView, mark: Mark) -> str:
    try:
        [entry] = unpack_entries(mark.packed, view.name)
    except _UNREADABLE:
        return f"fingerprint {mark.fingerprint} of {view.name}"
    return entry.url


NUMBER_BYTES = 51
"""Number of bytes after the place in a mark for the holder of a key."""

_KEY_AT = 15
"""Offset of the key in a member of ``idle``."""


class IndexCheck:
    """Checks the indexes for entries without a record. An index with as many entries as the records led to has
    none."""

    def __init__(self, reader: ShardReader, flaws: Flaws) -> None:
        self._reader = reader
        self._flaws = flaws

    async def run(self, sums: Sums) -> None:
        names, send = self._reader.names, self._reader.send
        if await send("ZCARD", names.idle) != sums.idle:
            await self._idle()
        if await send("HLEN", names.held) != sums.held:
            await self._fields(names.held, "the lease of")
        await self._fields(names.given_up, "the mark as given up of", "SSCAN")
        await self._changed_queues()
        await self._robots()

    async def _idle(self) -> None:
        name = self._reader.names.idle
        async for members in self._reader.lexical(name, AT_ONCE):
            keys = list(dict.fromkeys(member[_KEY_AT:] for member in members))
            views = {view.key: view for view in await self._reader.views(keys)}
            for member in members:
                view = views[member[_KEY_AT:]]
                if member != view.idle_member:
                    self._remove(name, member, f"an idle entry of {view.name}")

    async def _changed_queues(self) -> None:
        name = self._reader.names.changed_queues
        await self._fields(name, "the mark for the holder of")
        async for found in self._reader.scan("HSCAN", name):
            for key, mark in found:
                if len(mark) != PLACE_BYTES + NUMBER_BYTES:
                    remove = Repair(RepairStage.STRUCTURE, "remove_entries", name, (key,))
                    detail = f"{len(mark)} bytes instead of a place and a number"
                    self._flaws.add(
                        FindingKind.UNREADABLE, f"the mark for the holder of {decoded(key)}", detail, remove
                    )

    async def _fields(self, name: bytes, what: str, scan: str = "HSCAN") -> None:
        async for found in self._reader.scan(scan, name):
            for key in await self._reader.without_record([key for key, _ in found]):
                self._remove(name, key, f"{what} {decoded(key)}")

    async def _robots(self) -> None:
        """Each answer of robots.txt has its time of expiry in a ZSET, and the other way round."""
        names, send = self._reader.names, self._reader.send
        answers = set(await send("HKEYS", names.robots))
        ends = set(await send("ZRANGE", names.robots_ends, 0, -1))
        for name, only in ((names.robots, answers - ends), (names.robots_ends, ends - answers)):
            for origin in sorted(only):
                remove = Repair(RepairStage.STRUCTURE, "remove_entries", name, (origin,))
                detail = "no time of expiry" if name == names.robots else "no answer"
                self._flaws.add(FindingKind.ROBOTS, decoded(origin), detail, remove)

    def _remove(self, name: bytes, member: bytes, subject: str) -> None:
        self._flaws.add(
            FindingKind.STRAY, subject, "", Repair(RepairStage.STRUCTURE, "remove_entries", name, (member,))
        )
