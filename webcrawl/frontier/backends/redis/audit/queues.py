"""Hosts and their queues: what each record says against what is there."""

from __future__ import annotations

import json
import struct
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from webcrawl.frontier.backends.findings import Kind
from webcrawl.frontier.backends.redis.audit.flaws import Flaws, Repair, Stage
from webcrawl.frontier.backends.redis.audit.reading import AT_ONCE, KeyView, Mark, Reader, marks_in
from webcrawl.frontier.backends.redis.names import shard_of
from webcrawl.frontier.backends.redis.packing import (
    StoredHost,
    bucket_of,
    digits_of,
    unpack_entries,
    unpack_host,
)

PLACE_BYTES = 14
_UNREADABLE = (ValueError, OverflowError, struct.error, IndexError, TypeError, json.JSONDecodeError)


@dataclass(slots=True)
class Sums:
    """What was counted in one look at a shard."""

    hosts: int = 0
    queued: int = 0
    given_up_hosts: int = 0
    given_up_urls: int = 0
    held_urls: int = 0
    held: int = 0
    idle: int = 0
    queues: int = 0
    highest_fence: int = 0
    states: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    """URLs known by state."""


@dataclass(slots=True)
class Waiting:
    """Queued URLs of every ``parts``-th bucket, from which those are taken that the seen test has as queued."""

    buckets: int
    part: int = 0
    parts: int = 1
    digits: set[int] = field(default_factory=set)
    settled: dict[int, int] = field(default_factory=dict)
    """Those that the seen test has in another state."""

    def covers(self, fingerprint: int) -> bool:
        return self.parts == 1 or bucket_of(fingerprint, self.buckets) % self.parts == self.part


class QueueLook:
    """Goes through the keys of a shard, each with its whole queue."""

    def __init__(
        self,
        reader: Reader,
        flaws: Flaws,
        shards: int,
        members: Collection[bytes],
        ownerless: Iterable[bytes],
    ) -> None:
        """``shards``: of the crawl. ``members``: who may hold keys in this shard. ``ownerless``: keys to which no
        record leads; others that have something in ``queues`` are looked for here."""
        self._reader = reader
        self._flaws = flaws
        self._shards = shards
        self._members = members
        self._ownerless = list(ownerless)

    async def fill(self, waiting: Waiting, sums: Sums | None) -> None:
        """Put what is queued into ``waiting``. With ``sums`` the records are compared with the queues and counted."""
        async for view, chunks in self._queues():
            walk = await self._walk(view, chunks, waiting, sums is not None)
            if sums is not None:
                self._judge(view, walk, sums)
        if sums is not None and await self._reader.ask("HLEN", self._reader.names.queues) != sums.queues:
            await self._find_ownerless()
        async for view, chunks in self._queues_of(self._ownerless):
            walk = await self._walk(view, chunks, waiting, sums is not None)
            if sums is not None:
                sums.hosts += 1
                sums.queued += walk.count

    async def _walk(
        self, view: KeyView, chunks: AsyncIterator[bytes], waiting: Waiting, is_first: bool
    ) -> _Walk:
        walk = _Walk()
        try:
            async for chunk in chunks:
                for mark in marks_in(chunk):
                    walk.step(mark)
                    if not mark.repeat and waiting.covers(mark.fingerprint):
                        self._await(view, mark, waiting)
        except ValueError as error:
            if is_first:
                self._flaws.add(Kind.UNREADABLE, f"the queue of {view.name}", str(error))
        return walk

    async def _find_ownerless(self) -> None:
        async for found in self._reader.scan("HSCAN", self._reader.names.queues):
            for key in await self._reader.without_record([key for key, _ in found]):
                ownerless(self._flaws, key)
                self._ownerless.append(key)

    async def name(self, waiting: Waiting) -> None:
        """Name the queued URLs that are left in ``waiting``: the seen test does not have them as queued."""
        for queues in (self._queues(), self._queues_of(self._ownerless)):
            async for view, chunks in queues:
                with suppress(ValueError):
                    async for chunk in chunks:
                        for mark in marks_in(chunk):
                            if not mark.repeat and int(digits_of(mark.fingerprint)) in waiting.digits:
                                self._name(view, mark, waiting)

    async def _queues(self) -> AsyncIterator[tuple[KeyView, AsyncIterator[bytes]]]:
        async for views in self._reader.hosts():
            for view, beginning in zip(views, await self._reader.beginnings(views), strict=True):
                yield view, self._chunks(view, beginning)

    async def _queues_of(self, keys: Sequence[bytes]) -> AsyncIterator[tuple[KeyView, AsyncIterator[bytes]]]:
        for first in range(0, len(keys), AT_ONCE):
            views = await self._reader.views(keys[first : first + AT_ONCE])
            for view, beginning in zip(views, await self._reader.beginnings(views), strict=True):
                yield view, self._chunks(view, beginning)

    async def _chunks(self, view: KeyView, beginning: list[bytes]) -> AsyncIterator[bytes]:
        for chunk in beginning:
            yield chunk
        async for chunk in self._reader.rest(view, beginning):
            yield chunk

    # -- URLs ------------------------------------------------------------------------------------------------

    def _await(self, view: KeyView, mark: Mark, waiting: Waiting) -> None:
        digits = int(digits_of(mark.fingerprint))
        if digits not in waiting.digits:
            waiting.digits.add(digits)
            return
        repair = Repair(Stage.STATES, "reckon", view.key, (mark.place,))
        self._flaws.add(Kind.TWICE, _url(view, mark), f"again at {mark.where}", repair)

    def _name(self, view: KeyView, mark: Mark, waiting: Waiting) -> None:
        digits = int(digits_of(mark.fingerprint))
        state = waiting.settled.get(digits)
        if state is not None:
            drop = Repair(Stage.STATES, "reckon", view.key, (mark.place,))
            self._flaws.add(Kind.SETTLED, _url(view, mark), f"state {state}", drop)
            return
        bucket = bucket_of(mark.fingerprint, waiting.buckets)
        know = Repair(Stage.STATES, "restate", bucket, (b"%d0" % digits, 1))
        self._flaws.add(Kind.UNKNOWN, _url(view, mark), "", know)

    # -- hosts -----------------------------------------------------------------------------------------------

    def _judge(self, view: KeyView, walk: _Walk, sums: Sums) -> None:
        sums.hosts += 1
        sums.queues += bool(view.queue)
        sums.queued += walk.count
        host = self._stored(view)
        if shard_of(view.name, self._shards) != self._reader.number:
            where = f"belongs to shard {shard_of(view.name, self._shards)}"
            self._flaws.add(Kind.STRAY, f"the host {view.name}", where)
        if not walk.in_order or view.queue[:PLACE_BYTES] < walk.last or view.has_chunks is not view.is_long:
            self._reckon(Kind.DISORDER, view, "", Stage.STRUCTURE)
        elif bool(view.queue) is not (walk.count > 0):
            self._reckon(Kind.DISORDER, view, "nothing is in it", Stage.STRUCTURE)
        if host is None:
            return
        if host.queued != walk.count:
            self._reckon(Kind.LENGTH, view, f"says {host.queued}, is {walk.count}")
        elif walk.count and host.level != walk.level:
            self._reckon(Kind.LEVEL, view, f"says {host.level}, is {walk.level}")
        self._judge_place(view, host, walk.count, sums)

    def _stored(self, view: KeyView) -> StoredHost | None:
        try:
            return unpack_host(view.name, view.record)
        except _UNREADABLE as error:
            self._flaws.add(Kind.UNREADABLE, f"the record of {view.name}", str(error))
            return None

    def _judge_place(self, view: KeyView, host: StoredHost, queued: int, sums: Sums) -> None:
        places = {"idle": view.idle, "held": bool(view.held), "given up": view.given_up}
        right = place_of(view, host)
        sums.idle += view.idle
        if right == "held":
            sums.held += 1
            sums.held_urls += queued
            self._judge_holder(view, sums)
        elif right == "given up":
            sums.given_up_hosts += 1
            sums.given_up_urls += queued
        found = [place for place, there in places.items() if there] or ["nowhere"]
        if found != [right]:
            detail = f"is {' and '.join(found)}, and should be {right}"
            self._reckon(Kind.PLACE, view, detail)

    def _judge_holder(self, view: KeyView, sums: Sums) -> None:
        number, space, member = view.held.partition(b" ")
        if not space or not number.isdigit():
            strike = Repair(Stage.STRUCTURE, "strike", self._reader.names.held, (view.key,))
            self._flaws.add(Kind.UNREADABLE, f"the lease of {view.name}", repr(view.held), strike)
            return
        sums.highest_fence = max(sums.highest_fence, int(number))
        if member not in self._members:
            self._reckon(Kind.HOLDER, view, member.decode("utf-8", "replace"))

    def _reckon(self, kind: Kind, view: KeyView, detail: str, stage: Stage = Stage.HOSTS) -> None:
        self._flaws.add(kind, view.name, detail, Repair(stage, "reckon", view.key))


def ownerless(flaws: Flaws, key: bytes) -> None:
    """A queue was met whose key has no record."""
    make = Repair(Stage.STRUCTURE, "reckon", key)
    flaws.add(
        Kind.STRAY, f"the queue of {key.decode('utf-8', 'surrogatepass')}", "the host has no record", make
    )


def place_of(view: KeyView, host: StoredHost) -> str:
    """Where a key belongs, as its record says."""
    if view.held:
        return "held"
    if host.record.given_up:
        return "given up"
    return "idle" if host.queued > 0 else "nowhere"


@dataclass(slots=True)
class _Walk:
    """A queue from its start to its end."""

    count: int = 0
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
