"""Hosts and their queues: what each record says against what is there."""

from __future__ import annotations

import struct
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from webcrawl.frontier.backends.findings import Kind
from webcrawl.frontier.backends.redis.audit.flaws import Flaws, Repair, Stage
from webcrawl.frontier.backends.redis.audit.reading import AT_ONCE, KeyView, Mark, Reader, marks_in
from webcrawl.frontier.backends.redis.audit.seen import Marks, SeenLook, Waiting, known_otherwise
from webcrawl.frontier.backends.redis.names import shard_of
from webcrawl.frontier.backends.redis.packing import (
    StoredHost,
    chunk_key,
    unpack_entries,
    unpack_host,
)
from webcrawl.frontier.backends.redis.segments import mark_bytes, segments_of
from webcrawl.frontier.records import State

PLACE_BYTES = 14
_UNREADABLE = (ValueError, OverflowError, struct.error, IndexError)


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
    tails: int = 0
    chunks: int = 0
    highest_fence: int = 0
    marks: Marks = field(default_factory=Marks)


class QueueLook:
    """Goes through the keys of a shard, each with its whole queue and all that is known of it."""

    def __init__(
        self, reader: Reader, flaws: Flaws, shards: int, members: Collection[bytes], at_once: int
    ) -> None:
        """``shards``: of the crawl. ``members``: who may hold keys in this shard. ``at_once``: URLs of a key that are
        in memory together; with more of them its queue is read again."""
        self._reader = reader
        self._flaws = flaws
        self._shards = shards
        self._members = members
        self._at_once = at_once
        self._seen = SeenLook(reader, flaws)

    async def look(self, sums: Sums) -> None:
        """Compare the records with the queues and the seen test, and count."""
        async for views in self._reader.hosts():
            for view in views:
                await self._look_at(view, sums)
        names, ask = self._reader.names, self._reader.ask
        if await ask("HLEN", names.queues) != sums.tails or await ask("ZCARD", names.chunks) != sums.chunks:
            await self._find_ownerless(sums)
        if await ask("HLEN", names.seen) != sums.marks.segments:
            await self._seen.find_strays()

    async def _look_at(self, view: KeyView, sums: Sums) -> None:
        host = self._stored(view)
        known, queued = (host.known, host.queued) if host else (0, 0)
        parts = 1 + max(known, queued) // self._at_once
        counted = 0
        for part in range(parts):
            waiting = Waiting(segments_of(known), part, parts)
            walk = await self._walk(view, waiting, is_first=part == 0)
            if part == 0:
                self._judge(view, host, walk, sums)
            counted += await self._seen.compare(view, waiting, sums.marks)
            if waiting.marks:
                await self._name_all(view, waiting)
        if host is not None and counted != known:
            known_otherwise(self._flaws, view, known, counted)

    async def _walk(self, view: KeyView, waiting: Waiting, *, is_first: bool) -> _Walk:
        walk = _Walk()
        try:
            async for part in self._reader.queue(view):
                walk.parts += 1
                for mark in marks_in(part):
                    walk.step(mark)
                    if not mark.repeat and waiting.covers(mark.fingerprint):
                        self._await(view, mark, waiting)
        except ValueError as error:
            if is_first:
                self._flaws.add(Kind.UNREADABLE, f"the queue of {view.name}", str(error))
        return walk

    async def _find_ownerless(self, sums: Sums) -> None:
        """Queues whose keys have no record."""
        names, keys = self._reader.names, set[bytes]()
        async for found in self._reader.scan("HSCAN", names.queues):
            keys.update(await self._reader.without_record([key for key, _ in found]))
        async for members in self._reader.lexical(names.chunks, AT_ONCE):
            keys.update(await self._reader.without_record(list({chunk_key(member) for member in members})))
        for key in sorted(keys):
            [view] = await self._reader.views([key])
            make = Repair(Stage.STRUCTURE, "reckon", key)
            self._flaws.add(Kind.STRAY, f"the queue of {view.name}", "the host has no record", make)
            walk = await self._walk(view, Waiting(), is_first=True)
            sums.hosts += 1
            sums.queued += walk.count

    # -- URLs ------------------------------------------------------------------------------------------------

    def _await(self, view: KeyView, mark: Mark, waiting: Waiting) -> None:
        if mark.fingerprint not in waiting.marks:
            waiting.marks.add(mark.fingerprint)
            return
        repair = Repair(Stage.STATES, "reckon", view.key, (mark.place,))
        self._flaws.add(Kind.TWICE, _url(view, mark), f"again at {mark.where}", repair)

    async def _name_all(self, view: KeyView, waiting: Waiting) -> None:
        """Name the queued URLs that are left in ``waiting``: the seen test does not have them as queued."""
        with suppress(ValueError):
            async for part in self._reader.queue(view):
                for mark in marks_in(part):
                    if not mark.repeat and mark.fingerprint in waiting.marks:
                        self._name(view, mark, waiting)

    def _name(self, view: KeyView, mark: Mark, waiting: Waiting) -> None:
        state = waiting.settled.get(mark.fingerprint)
        if state is not None:
            drop = Repair(Stage.STATES, "reckon", view.key, (mark.place,))
            self._flaws.add(Kind.SETTLED, _url(view, mark), f"state {int(state)}", drop)
            return
        know = b"+" + mark_bytes(mark.fingerprint) + bytes((State.QUEUED,))
        self._flaws.add(
            Kind.UNKNOWN, _url(view, mark), "", Repair(Stage.STATES, "restate", view.key, (know,))
        )

    # -- hosts -----------------------------------------------------------------------------------------------

    def _judge(self, view: KeyView, host: StoredHost | None, walk: _Walk, sums: Sums) -> None:
        chunks = walk.parts - bool(view.tail)
        sums.hosts += 1
        sums.tails += bool(view.tail)
        sums.chunks += chunks
        sums.queued += walk.count
        if shard_of(view.name, self._shards) != self._reader.number:
            where = f"belongs to shard {shard_of(view.name, self._shards)}"
            self._flaws.add(Kind.STRAY, f"the host {view.name}", where)
        if host is None:
            return
        if not walk.in_order or host.last < walk.last:
            self._reckon(Kind.DISORDER, view, "", Stage.STRUCTURE)
        elif host.chunks != chunks:
            self._reckon(Kind.DISORDER, view, f"says {host.chunks} chunks, is {chunks}", Stage.STRUCTURE)
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
