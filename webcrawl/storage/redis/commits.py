"""The script calls of one commit for each shard: ``push``, ``settle``, ``release`` and ``robots``."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from webcrawl.frontier.queue_head import expected_place
from webcrawl.frontier.records import Kind, State, UrlEntry, UrlRecord
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.storage.contract import FIRST_VISIT_AHEAD_SECONDS, QUEUE_FULL, Room, Settled
from webcrawl.storage.redis.marks import pack_result
from webcrawl.storage.redis.packing import (
    encoded,
    pack_entries,
    pack_entry,
    pack_record,
    pack_robots,
    position_bytes,
)
from webcrawl.storage.redis.server import Call
from webcrawl.storage.redis.shard import Shard

AT_ONCE = 500
"""URLs in one call: about two milliseconds in which the server does nothing else."""


@dataclass(slots=True)
class Portion:
    """URLs of one shard that are sent in one call, key by key."""

    shard: Shard
    keys: dict[str, list[Any]] = field(default_factory=dict)
    size: int = 0

    def in_order(self) -> Iterator[Any]:
        """Yield all of them, in the order of the answers."""
        for members in self.keys.values():
            yield from members


def portions(
    things: Iterable[Any],
    get_key: Callable[[Any], str],
    get_shard: Callable[[str], Shard],
    get_size: Callable[[Any], int] = lambda thing: 1,
) -> list[Portion]:
    """Divide ``things`` among their shards, in calls of bounded size."""
    current: dict[int, Portion] = {}
    portions_made: list[Portion] = []
    for thing in things:
        key = get_key(thing)
        shard = get_shard(key)
        portion = current.get(id(shard))
        if portion is None or portion.size >= AT_ONCE:
            portion = current[id(shard)] = Portion(shard)
            portions_made.append(portion)
        portion.keys.setdefault(key, []).append(thing)
        portion.size += get_size(thing)
    return portions_made


def push_call(
    portion: Portion, member: str, delay_seconds: float, long: int, queue_max: int, at: float
) -> Call:
    """The call that queues the entries of ``portion`` at the time ``at``. Those that were pruned are queued only in
    queues of less than ``queue_max`` URLs (0: no limit). The answer has the lengths of queues with ``long`` URLs or
    more."""
    first_at = at - FIRST_VISIT_AHEAD_SECONDS
    # The reason is passed without a limit too: the crawl may have had one before, or another worker may have one.
    args: list[Any] = [member, repr(delay_seconds), long, repr(at), repr(first_at), queue_max, QUEUE_FULL]
    for key, entries in portion.keys.items():
        if len(entries) > 1:
            entries.sort(key=expected_place)
            _keep_apart(entries)
        packed = pack_entries(key, entries)
        text = b"".join(packed)
        args += (encoded(key), _marks(entries, len(text) - len(packed[-1]) + 1), text)
    return portion.shard.names.of_seen_test, args


_PLAIN, _REPEATED, _NEVER_SEEN = 0, 1, 2


def _marks(entries: Sequence[UrlEntry], last_at: int) -> bytes:
    """The request of ``lua/push.lua`` to the seen test. ``last_at``: where the last entry begins."""
    units: list[int] = []
    for entry in entries:
        units += (entry.fingerprint, _kind(entry) if entry.repeat else _PLAIN)
    plain = not any(units[1::2]) and len(set(units[::2])) == len(entries)
    return struct.pack(_UNITS[len(entries)], b"p" if plain else b"m", last_at, *units)


_UNITS = [">cI" + "qB" * number for number in range(AT_ONCE + 1)]


def _kind(entry: UrlEntry) -> int:
    return _NEVER_SEEN if entry.kind == Kind.ROBOTS else _REPEATED


def _keep_apart(entries: Sequence[UrlEntry]) -> None:
    """Give sorted entries different places."""
    before = entries[0]
    for entry in entries[1:]:
        if entry.level == before.level and entry.position <= before.position:
            entry.position = before.position + 1
        before = entry


@dataclass(slots=True)
class Verdicts:
    """The changes that a commit makes to one key: its record, and the results of its URLs."""

    key: str
    record: HostRecord | None = None
    settled: list[Settled] = field(default_factory=list)


def verdicts(records: Iterable[HostRecord], settled: Iterable[Settled]) -> list[Verdicts]:
    """Group the changes by key; a group has no more URLs than are sent in one call."""
    current = {record.key: Verdicts(record.key, record) for record in records}
    verdicts_by_order = list(current.values())
    for outcome in settled:
        verdict = current.get(outcome.entry.key)
        if verdict is None or len(verdict.settled) >= AT_ONCE:
            verdict = current[outcome.entry.key] = Verdicts(outcome.entry.key)
            verdicts_by_order.append(verdict)
        verdict.settled.append(outcome)
    return verdicts_by_order


def settle_portions(
    records: Iterable[HostRecord], settled: Iterable[Settled], get_shard: Callable[[str], Shard]
) -> list[Portion]:
    """Divide ``Verdicts`` into portions, one of each key in a call: a full one fills a call."""
    verdicts_of_keys = verdicts(records, settled)
    return portions(
        verdicts_of_keys, lambda verdict: verdict.key, get_shard, lambda verdict: 1 + len(verdict.settled)
    )


def settle_call(portion: Portion, member: str, epoch: int | str, slack_seconds: float, long: int) -> Call:
    """The call that stores the records and settles the URLs of ``portion``, which holds ``Verdicts``.

    ``epoch``: the epoch in which their links were queued, empty for no check. The answer has the lengths of queues
    with ``long`` URLs or more.
    """
    words: dict[str, int] = {}
    args: list[Any] = []
    for verdict in portion.in_order():
        record = verdict.record
        args.append(encoded(verdict.key))
        args += (b"", b"") if record is None else (record.fence, pack_record(record, slack_seconds))
        args.append(len(verdict.settled))
        for settled in verdict.settled:
            args += (settled.fence, _pack_settled(settled, words))
    return portion.shard.names.of_seen_test, [member, epoch, long, len(words), *map(encoded, words), *args]


def _pack_settled(settled: Settled, words: dict[str, int]) -> bytes:
    """``words``: those of this call, see ``pack_result``."""
    entry, again = settled.entry, settled.again
    return b"%b%b%b" % (
        position_bytes(expected_place(entry)),
        pack_result(entry, settled.record, words),
        b"" if again is None else pack_entry(again),
    )


def release_calls(
    records: Sequence[HostRecord],
    get_shard: Callable[[str], Shard],
    member: str,
    what: str,
    slack_seconds: float,
) -> list[Call]:
    """The calls that release keys; ``what`` is ``release`` or ``again``. Their times are put later by
    ``slack_seconds``."""
    calls: list[Call] = []
    for portion in portions(records, lambda record: record.key, get_shard):
        args: list[Any] = [member, what]
        for key, [*_, record] in portion.keys.items():
            args += (encoded(key), record.fence, pack_record(record, slack_seconds))
        calls.append((portion.shard.names.fixed, args))
    return calls


def robots_calls(
    answers: Sequence[RobotsRecord],
    get_owner: Callable[[str], str],
    get_shard: Callable[[str], Shard],
    member: str,
    most: int,
) -> list[Call]:
    """The calls that store answers of robots.txt with the keys that own their origins. A shard keeps ``most`` of
    them, and on a server that is full no more than it has."""
    calls: list[Call] = []
    for portion in portions(answers, lambda answer: get_owner(answer.origin), get_shard):
        args: list[Any] = [0 if portion.shard.room.room is Room.FULL else most, member]
        for key, kept in portion.keys.items():
            for answer in kept:
                args += (encoded(answer.origin), encoded(key), repr(answer.expires_at), pack_robots(answer))
        names = portion.shard.names
        calls.append(([*names.fixed, names.robots, names.robots_ends], args))
    return calls


def pruned(entries: Iterable[UrlEntry]) -> list[Settled]:
    """Return the results of URLs at the end of a queue that is too long."""
    return [Settled(entry, UrlRecord(State.REFUSED, QUEUE_FULL)) for entry in entries]
