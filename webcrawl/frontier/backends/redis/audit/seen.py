"""What is known of a key, against what of it is queued."""

from __future__ import annotations

from dataclasses import dataclass, field

from webcrawl.frontier.backends.findings import Kind
from webcrawl.frontier.backends.redis.audit.flaws import Flaws, Repair, Stage
from webcrawl.frontier.backends.redis.audit.reading import AT_ONCE, KeyView, Reader
from webcrawl.frontier.backends.redis.packing import unpack_host
from webcrawl.frontier.backends.redis.segments import (
    MARK_BYTES,
    mark_bytes,
    segment_from,
    segment_of,
    segments_of,
    unpack_marks,
)
from webcrawl.frontier.records import State


@dataclass(slots=True)
class Waiting:
    """Queued URLs of one key, in every ``parts``-th segment, from which those are taken that are known as queued."""

    segments: int = 1
    part: int = 0
    parts: int = 1
    marks: set[int] = field(default_factory=set)
    settled: dict[int, State] = field(default_factory=dict)
    """Those that the seen test has in another state."""

    def covers(self, fingerprint: int) -> bool:
        return self.parts == 1 or segment_of(fingerprint, self.segments) % self.parts == self.part

    @property
    def numbers(self) -> range:
        return range(self.part, self.segments, self.parts)


@dataclass(slots=True)
class Marks:
    """What was counted of the seen test."""

    states: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    """URLs known by state."""
    segments: int = 0


class SeenLook:
    """Goes through the segments of a shard."""

    def __init__(self, reader: Reader, flaws: Flaws) -> None:
        self._reader = reader
        self._flaws = flaws

    async def compare(self, view: KeyView, waiting: Waiting, marks: Marks) -> int:
        """Take out of ``waiting`` what is known as queued, and count. Returns how many URLs are known."""
        known = 0
        async for number, segment in self._reader.segments(view.key, waiting.numbers):
            marks.segments += 1
            for fingerprint, states in self._sort(view, number, segment, waiting.segments).items():
                known += 1
                marks.states[self._judge(view, fingerprint, states, waiting)] += 1
        return known

    def _sort(self, view: KeyView, number: int, segment: bytes, segments: int) -> dict[int, list[State]]:
        """The marks that belong into a segment: states by fingerprints."""
        found: dict[int, list[State]] = {}
        for unit in _units(segment):
            try:
                [(fingerprint, state, _)] = unpack_marks(unit)
            except ValueError as error:
                name = f"a mark of {view.name} in segment {number}"
                self._flaws.add(Kind.UNREADABLE, name, str(error), _restate(view.key))
                continue
            right = segment_of(fingerprint, segments)
            if right != number:
                self._misplaced(view.key, fingerprint, f"in segment {number}, not in {right}")
                continue
            found.setdefault(fingerprint, []).append(state)
        return found

    def _misplaced(self, key: bytes, fingerprint: int, detail: str, *args: bytes) -> None:
        self._flaws.add(Kind.MISPLACED, _named(key, fingerprint), detail, _restate(key, *args))

    def _judge(self, view: KeyView, fingerprint: int, states: list[State], waiting: Waiting) -> State:
        # A URL gets another state than queued when it is over with it: that one stands.
        state = min(states, key=lambda one: one or len(State))
        if len(states) > 1:
            names = " and ".join(one.name.lower() for one in sorted(states))
            self._flaws.add(Kind.TWO_STATES, _named(view.key, fingerprint), names, _restate(view.key))
        if state is not State.QUEUED:
            if fingerprint in waiting.marks:
                waiting.settled[fingerprint] = state
        elif fingerprint in waiting.marks:
            waiting.marks.discard(fingerprint)
        else:
            forget = Repair(Stage.STATES, "restate", view.key, (b"-" + mark_bytes(fingerprint),))
            self._flaws.add(Kind.NOWHERE, _named(view.key, fingerprint), "", forget)
        return state

    # -- the other way round ---------------------------------------------------------------------------------

    async def find_strays(self) -> None:
        """Segments of keys that have no record, or not so many."""
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
            segments = segments_of(unpack_host(_text(key), record).known)
        except ValueError:
            return
        if number >= segments:
            for unit in _units(segment):
                fingerprint = int.from_bytes(unit[:8], "big", signed=True)
                self._misplaced(key, fingerprint, f"in segment {number} of {segments}", b"#" + name)

    def _unowned(self, key: bytes) -> None:
        make = Repair(Stage.STRUCTURE, "reckon", key)
        self._flaws.add(Kind.STRAY, f"what is known of {_text(key)}", "the host has no record", make)


def known_otherwise(flaws: Flaws, view: KeyView, told: int, counted: int) -> None:
    """The record says another number of known URLs than there is."""
    flaws.add(Kind.KNOWN, view.name, f"says {told}, is {counted}", _restate(view.key))


def _units(segment: bytes) -> list[bytes]:
    return [segment[at : at + MARK_BYTES] for at in range(0, len(segment), MARK_BYTES)]


def _restate(key: bytes, *args: bytes) -> Repair:
    return Repair(Stage.STRUCTURE, "restate", key, args)


def _named(key: bytes, fingerprint: int) -> str:
    """A URL of which only its fingerprint is left."""
    return f"fingerprint {fingerprint} of {_text(key)}"


def _text(key: bytes) -> str:
    return key.decode("utf-8", "surrogatepass")
