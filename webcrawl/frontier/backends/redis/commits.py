"""What one commit asks of each shard: the calls of ``push``, ``settle``, ``record`` and ``robots``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from webcrawl.frontier.backend import Room, Settled
from webcrawl.frontier.backends.redis.packing import (
    bucket_of,
    digits_of,
    pack_entry,
    pack_rest,
    pack_robots,
    place_bytes,
)
from webcrawl.frontier.backends.redis.server import Call
from webcrawl.frontier.backends.redis.shard import Shard
from webcrawl.frontier.queue_head import place_of
from webcrawl.frontier.records import Kind, State, UrlEntry
from webcrawl.hosts.record import HostRecord, RobotsRecord

AT_ONCE = 500
"""URLs in one call: some two milliseconds in which the server does nothing else."""

FIXED = 8


@dataclass(slots=True)
class Portion:
    """URLs of one shard that go out in one call, key by key."""

    shard: Shard
    keys: dict[str, list[Any]] = field(default_factory=dict)
    size: int = 0

    def in_order(self) -> Iterator[Any]:
        """All of them, in the order of the answers."""
        for members in self.keys.values():
            yield from members


def portions(
    things: Iterable[Any], key_of: Callable[[Any], str], shard_of: Callable[[str], Shard]
) -> list[Portion]:
    """Deal ``things`` out to their shards, in calls of bounded size."""
    current: dict[int, Portion] = {}
    made: list[Portion] = []
    for thing in things:
        key = key_of(thing)
        shard = shard_of(key)
        portion = current.get(id(shard))
        if portion is None or portion.size >= AT_ONCE:
            portion = current[id(shard)] = Portion(shard)
            made.append(portion)
        portion.keys.setdefault(key, []).append(thing)
        portion.size += 1
    return made


class _Keys:
    """KEYS of a call: the fixed ones, buckets as they are needed, queues at the end."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self.keys = list(shard.names.fixed)
        self._buckets: dict[int, int] = {}

    def bucket(self, fingerprint: int) -> int:
        """Which of KEYS a fingerprint's bucket is."""
        number = bucket_of(fingerprint, self._shard.buckets)
        at = self._buckets.get(number)
        if at is None:
            self.keys.append(self._shard.names.bucket(number))
            at = self._buckets[number] = len(self.keys)
        return at


def push_call(portion: Portion, member: str, delay_seconds: float) -> Call:
    """Queue the entries of ``portion``."""
    keys = _Keys(portion.shard)
    args: list[Any] = []
    for key, entries in portion.keys.items():
        entries.sort(key=place_of)
        args += (key.encode("utf-8", "surrogatepass"), len(entries))
        for entry in entries:
            robots = entry.kind == Kind.ROBOTS
            args += (
                "" if robots else keys.bucket(entry.fingerprint),
                "" if robots else digits_of(entry.fingerprint),
                pack_entry(entry),
            )
    first_queue = len(keys.keys) + 1
    queues = [portion.shard.names.queue(key) for key in portion.keys]
    return keys.keys + queues, [portion.shard.buckets, member, repr(delay_seconds), first_queue, *args]


def settle_call(portion: Portion, member: str, epoch: int | str) -> Call:
    """Settle the URLs of ``portion``. ``epoch``: in which their links were queued, empty for no check."""
    keys = _Keys(portion.shard)
    args: list[Any] = []
    for key, settled in portion.keys.items():
        args += (key.encode("utf-8", "surrogatepass"), len(settled))
        for one in settled:
            entry = one.entry
            args += (
                one.fence,
                place_bytes(place_of(entry)),
                "" if entry.repeat else keys.bucket(entry.fingerprint),
                digits_of(entry.fingerprint),
                int(State.QUEUED if one.again is not None else one.state),
                b"" if one.again is None else pack_entry(one.again),
            )
    first_queue = len(keys.keys) + 1
    queues = [portion.shard.names.queue(key) for key in portion.keys]
    return keys.keys + queues, [portion.shard.buckets, member, first_queue, epoch, *args]


def record_calls(
    records: Sequence[HostRecord],
    shard_of: Callable[[str], Shard],
    member: str,
    what: str,
    slack_seconds: float,
) -> list[Call]:
    """Store ``records``; ``what`` is ``keep`` or ``release``. Their times are put later by ``slack_seconds``."""
    calls: list[Call] = []
    for portion in portions(records, lambda record: record.key, shard_of):
        args: list[Any] = [member, what]
        for key, [*_, record] in portion.keys.items():
            args += (
                key.encode("utf-8", "surrogatepass"),
                record.fence,
                repr(record.next_fetch_at + slack_seconds),
                repr(record.blocked_until),
                repr(record.delay_seconds),
                int(record.parked),
                int(record.given_up),
                pack_rest(record),
            )
        calls.append((portion.shard.names.fixed, args))
    return calls


def robots_calls(
    answers: Sequence[RobotsRecord],
    owner_of: Callable[[str], str],
    shard_of: Callable[[str], Shard],
    member: str,
    most: int,
) -> list[Call]:
    """Store answers of robots.txt with the keys that own their origins; ``most`` may be kept in a shard, and no more
    than there are on a server that is full."""
    calls: list[Call] = []
    for portion in portions(answers, lambda answer: owner_of(answer.origin), shard_of):
        args: list[Any] = [0 if portion.shard.room.room is Room.FULL else most, member]
        for key, kept in portion.keys.items():
            for answer in kept:
                origin = answer.origin.encode("utf-8", "surrogatepass")
                name = key.encode("utf-8", "surrogatepass")
                args += (origin, name, repr(answer.expires_at), pack_robots(answer))
        names = portion.shard.names
        calls.append(([*names.fixed, names.robots, names.robots_ends], args))
    return calls


def pruned(entries: Iterable[UrlEntry]) -> list[Settled]:
    """What becomes of the end of a queue that is too long."""
    return [Settled(entry, State.REFUSED, "queue-full") for entry in entries]
