"""What a crawl on Redis has of one URL; only read, by commands and the script that the check of the books has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from webcrawl.frontier.backends.redis.audit.reading import KeyView, Reader, marks_in, pairs
from webcrawl.frontier.backends.redis.control import Control
from webcrawl.frontier.backends.redis.names import shard_of
from webcrawl.frontier.backends.redis.packing import (
    StoredHost,
    encoded,
    unpack_entries,
    unpack_host,
    unpack_robots,
)
from webcrawl.frontier.backends.redis.segments import segment_of, segments_of, unpack_marks
from webcrawl.frontier.backends.sighting import HOSTS_COUNTED, Activity, KeySighting, Sighting
from webcrawl.frontier.records import Kind, State, UrlEntry
from webcrawl.hosts.record import RobotsRecord

LOOKS = 5
"""How often a key is looked at that changes meanwhile."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What one look at a key found of a URL."""

    view: KeyView
    host: StoredHost | None
    state: State | None = None
    reason: int = 0
    """The number of the word that says why it failed or was refused; 0 for none."""
    entry: UrlEntry | None = None
    before: int = 0

    @property
    def agrees(self) -> bool:
        """Whether the queue and the seen test were read as of one moment, as far as this URL goes."""
        first = self.entry is not None and not self.entry.repeat
        return first == (self.state is State.QUEUED)


async def sighting_of(
    control: Control, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str
) -> Sighting:
    """Look in the crawl of an open ``control``.

    ``key_of`` is given the settings with which the crawl was begun, and tells the politeness key of the URL.
    The entry of a queued URL is found by reading its key's queue, some of it at a time.
    """
    settings = await control.settings()
    key = key_of(settings)
    reader = Reader(control.server, control.spider, shard_of(key, len(control.shards)))
    # Before the look: a URL that is queued then may be asked for while the rest is read.
    now = await control.now()
    found = await _look(reader, key, fingerprint)
    for _ in range(LOOKS - 1):
        if found.agrees:
            break
        found = await _look(reader, key, fingerprint)
    return Sighting(
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
    """The word that has ``number``."""
    if not number:
        return None
    words = {int(value): word for word, value in pairs(await reader.ask("HGETALL", reader.names.reasons))}
    word = words.get(number)
    return None if word is None else word.decode("utf-8", "surrogatepass")


async def _of_key(control: Control, reader: Reader, found: _Found) -> KeySighting | None:
    host, view = found.host, found.view
    if host is None:
        return None
    if view.held:
        member = view.held.partition(b" ")[2]
        until = await reader.ask("ZSCORE", reader.names.fixed[7], member)
        if until is None:
            return KeySighting(host.record, host.queued, Activity.ACTIVE)
        name = await control.name_of(member.decode("utf-8", "replace"))
        return KeySighting(host.record, host.queued, Activity.ACTIVE, name, float(until))
    if view.given_up:
        return KeySighting(host.record, host.queued, Activity.GIVEN_UP)
    if not host.queued:
        return KeySighting(host.record, host.queued, Activity.EMPTY)
    before = await _hosts_before(control, view.idle_member)
    return KeySighting(host.record, host.queued, Activity.IDLE, hosts_before=before)


async def _hosts_before(control: Control, member: bytes) -> int:
    """How many idle keys of the same level are due before the one with ``member`` in ``idle`` (see lua/shard.lua)."""
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
