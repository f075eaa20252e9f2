"""The frontier's state in plain dictionaries: the executable specification of the backend contract.

It forgets everything when the process ends; use it for tests, for ``scrapy shell`` and for crawls that fit in
memory and need no resume.
"""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from webcrawl.frontier.order import LevelSampler
from webcrawl.frontier.queue_head import QueuePosition, expected_place
from webcrawl.frontier.records import QUEUED, Kind, State, UrlEntry, UrlRecord
from webcrawl.frontier.seen import Seen
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.storage.contract import (
    FIRST_VISIT_AHEAD_SECONDS,
    HEAD,
    QUEUE_FULL,
    Activated,
    Batch,
    Committed,
    Counted,
    Counts,
    Idle,
    Loaded,
    Move,
    ScanCursor,
    ScanResult,
    Settled,
    Unavailable,
)
from webcrawl.storage.memory.tables import MemoryTables


@dataclass(slots=True)
class _Host:
    record: HostRecord
    is_stored: bool = False
    """True if a record was stored, that is, if the key was active."""
    active: bool = False
    queue: list[UrlEntry] = field(default_factory=list)
    """Sorted by place."""
    urls: dict[int, UrlRecord] = field(default_factory=dict)
    """The records of its known URLs by their fingerprints."""

    def store(self, record: HostRecord) -> None:
        self.record = copy.deepcopy(record)
        self.is_stored = True

    def is_pruned(self, fingerprint: int) -> bool:
        """Return True if a URL is refused since the queue was full: it may be found again."""
        return self.urls.get(fingerprint) == _PRUNED


_PRUNED = UrlRecord(State.REFUSED, QUEUE_FULL)


class MemoryBackend:
    """All state of a crawl in the memory of one process; its size has no limit but the crawl's."""

    def __init__(self, *, queue_max: int = 0, seen: Seen | None = None, delay_seconds: float = 0.0) -> None:
        self._hosts: dict[str, _Host] = {}
        self._records: dict[UrlRecord, UrlRecord] = {}
        """Each different record, so that URLs share it."""
        self._robots: dict[str, RobotsRecord] = {}
        self._counts = Counts()
        self._queue_max = queue_max
        self._seen = seen
        self._delay_seconds = delay_seconds
        self.tables = MemoryTables()
        self.counted: dict[str, Counted] = {}
        """The counts of each process, by its name."""

    async def open(self, now: float) -> Counts:
        for host in self._hosts.values():
            if host.active:
                host.active = False
                record = host.record
                record.next_fetch_at = max(record.next_fetch_at, now + record.delay_seconds)
            # A crawl that is started again gives given-up keys another chance,
            host.record.given_up = False
            # and keys that wait for a robots.txt, too: it may have been answered since.
            host.record.blocked_until = 0.0
        return await self.read_counts()

    async def close(self) -> None:
        """Nothing to release."""

    async def activate_keys(self, count: int, now: float, sampler: LevelSampler) -> list[Activated]:
        ready: dict[int, list[_Host]] = {}
        for host in self._idle_hosts():
            if _due_at(host.record) <= now:
                ready.setdefault(host.queue[0].level, []).append(host)
        chosen: list[_Host] = []
        for level, wanted in sampler.spread(list(ready), count).items():
            ready[level].sort(key=lambda host: _due_at(host.record))
            chosen += ready[level][:wanted]
        return [self._activate(host) for host in chosen]

    async def acquire_key(self, key: str, now: float, *, given_up: bool = False) -> Activated | Unavailable:
        host = self._host(key)
        if host.active:
            return Unavailable.HELD
        if host.record.given_up and not given_up:
            return Unavailable.GIVEN_UP
        return self._activate(host)

    async def read_queue(self, key: str, after: QueuePosition | None, count: int) -> Loaded:
        queue = self._hosts[key].queue
        start = 0 if after is None else bisect_right(queue, after, key=expected_place)
        entries = [copy.copy(entry) for entry in queue[start : start + count]]
        origins = {entry.origin for entry in entries}
        robots = [copy.copy(self._robots[origin]) for origin in origins if origin in self._robots]
        return Loaded(entries, more=start + count < len(queue), robots=robots)

    async def scan_queues(self, cursor: ScanCursor | None, count: int) -> ScanResult:
        keys = sorted(self._hosts)
        first, after = cursor or ("", None)
        entries: list[UrlEntry] = []
        for key in keys[bisect_left(keys, first) :]:
            queue = self._hosts[key].queue
            start = 0 if after is None else bisect_right(queue, after, key=expected_place)
            entries += [copy.copy(entry) for entry in queue[start : start + count - len(entries)]]
            if len(entries) >= count:
                return ScanResult(entries, (key, expected_place(entries[-1])))
            after = None
        return ScanResult(entries, None)

    async def change_levels(self, moves: Sequence[Move]) -> list[Move]:
        return [move for move in moves if self._move(move)]

    def _move(self, move: Move) -> bool:
        host = self._hosts.get(move.entry.key)
        if host is None or host.active is (move.fence is None):
            return False
        index, goal = (
            _find_index(host.queue, expected_place(move.entry)),
            _find_index(host.queue, move.new_position),
        )
        if index is None or goal is not None:
            return False
        entry = host.queue.pop(index)
        entry.level = move.level
        insort(host.queue, entry, key=expected_place)
        return True

    async def commit(self, batch: Batch) -> Committed:
        again = [settled.again for settled in batch.settled if self._settle(settled)]
        queued = [copy.copy(entry) for entry in batch.discovered if self._discover(entry, batch.at)]
        may_return: list[int] = []
        queued += [
            copy.copy(entry) for entry in batch.discovered if self._take_back(entry, batch.at, may_return)
        ]
        queued += [copy.copy(entry) for entry in again if entry is not None]
        for record in batch.hosts:
            self._host(record.key).store(record)
        if batch.counted is not None:
            self.counted[batch.counted.name] = batch.counted
        for robots in batch.robots:
            self._robots[robots.origin] = copy.copy(robots)
        pruned = [gone for key in {entry.key for entry in queued} for gone in self._prune(self._hosts[key])]
        if pruned:
            places = {(entry.key, expected_place(entry)) for entry in pruned}
            queued = [entry for entry in queued if (entry.key, expected_place(entry)) not in places]
            if self._seen is None:
                may_return += [entry.fingerprint for entry in pruned if not entry.repeat]
        return Committed(queued, len(pruned), self._counts.queued, len(self._hosts), may_return=may_return)

    async def release_keys(self, records: Sequence[HostRecord]) -> None:
        for record in records:
            host = self._host(record.key)
            host.store(record)
            host.active = False

    async def end_robots_wait(self, keys: Sequence[str]) -> None:
        for key in keys:
            host = self._hosts.get(key)
            if host is not None and not host.active:
                host.record.blocked_until = 0.0

    async def read_idle_times(self) -> Idle:
        resting: list[float] = []
        parked: list[float] = []
        for host in self._idle_hosts():
            (parked if host.record.parked else resting).append(_due_at(host.record))
        return Idle(at=min(resting, default=None), parked_at=min(parked, default=None))

    async def count_available_keys(self, at_most: int) -> int:
        there = (host for host in self._hosts.values() if host.queue)
        at_hand = (host for host in there if host.active or not (host.record.parked or host.record.given_up))
        return sum(1 for _ in islice(at_hand, at_most))

    async def read_counts(self) -> Counts:
        given_up = [host for host in self._hosts.values() if host.record.given_up]
        counts = copy.copy(self._counts)
        counts.hosts = len(self._hosts)
        counts.parked_hosts = sum(host.record.parked for host in self._idle_hosts())
        counts.given_up_hosts = len(given_up)
        counts.given_up_urls = sum(len(host.queue) for host in given_up)
        return counts

    async def url_record(self, key: str, fingerprint: int) -> UrlRecord | None:
        host = self._hosts.get(key)
        return host.urls.get(fingerprint) if host else None

    async def read_robots(self, origin: str, key: str) -> RobotsRecord | None:
        return copy.copy(self._robots.get(origin))

    def _idle_hosts(self) -> list[_Host]:
        return [
            host
            for host in self._hosts.values()
            if host.queue and not host.active and not host.record.given_up
        ]

    def _activate(self, host: _Host) -> Activated:
        host.active = True
        host.record.given_up = host.record.parked = False
        host.record.blocked_until = 0.0
        entries = [copy.copy(entry) for entry in host.queue[:HEAD]]
        origins = {entry.origin for entry in entries}
        robots = [copy.copy(self._robots[origin]) for origin in origins if origin in self._robots]
        queue = Loaded(entries, more=len(host.queue) > HEAD, robots=robots)
        return Activated(copy.deepcopy(host.record), queue)

    def _host(self, key: str) -> _Host:
        host = self._hosts.get(key)
        if host is None:
            host = self._hosts[key] = _Host(HostRecord(key, delay_seconds=self._delay_seconds))
        return host

    def _discover(self, entry: UrlEntry, at: float) -> bool:
        host = self._host(entry.key)
        if not self._admit(host, entry):
            return False
        self._push(host, entry, at)
        return True

    def _take_back(self, entry: UrlEntry, at: float, may_return: list[int]) -> bool:
        """Queue an entry of a URL that was pruned, if its queue has room. If not, add it to ``may_return``."""
        host = self._host(entry.key)
        if entry.repeat or not host.is_pruned(entry.fingerprint):
            return False
        if self._queue_max and len(host.queue) >= self._queue_max:
            may_return.append(entry.fingerprint)
            return False
        host.urls[entry.fingerprint] = QUEUED
        self._counts.refused -= 1
        self._push(host, entry, at)
        return True

    def _push(self, host: _Host, entry: UrlEntry, at: float) -> None:
        if not (host.queue or host.active or host.record.given_up):
            since = at if host.is_stored else at - FIRST_VISIT_AHEAD_SECONDS
            host.record.next_fetch_at = max(host.record.next_fetch_at, since)
        insort(host.queue, copy.copy(entry), key=expected_place)
        self._counts.queued += 1

    def _admit(self, host: _Host, entry: UrlEntry) -> bool:
        if entry.kind == Kind.ROBOTS:
            # A hop of a robots.txt redirect is no URL of the crawl: it is never seen, wherever it leads.
            entry.repeat = True
            return True
        if self._seen is not None:
            new = self._seen.add(entry.fingerprint)
        else:
            new = entry.fingerprint not in host.urls
            if new:
                host.urls[entry.fingerprint] = QUEUED
        if not new and not entry.repeat:
            return False
        entry.repeat = not new
        return True

    def _settle(self, settled: Settled) -> bool:
        """Carry out one result. Returns True if the URL is to be queued again."""
        entry = settled.entry
        host = self._host(entry.key)
        index = _find_index(host.queue, expected_place(entry))
        if index is not None:
            del host.queue[index]
            self._counts.queued -= 1
        elif not entry.repeat:
            # It was pruned while it was leased: its state since then counts, unless it was found again. Then its new
            # place in the queue counts.
            known = host.urls.get(entry.fingerprint)
            if self._seen is None and (known is None or known.state is not State.REFUSED):
                return False
            self._counts.refused -= 1
        self._store(host, entry, settled.record)
        if settled.again is None:
            return False
        insort(host.queue, copy.copy(settled.again), key=expected_place)
        self._counts.queued += 1
        return True

    def _store(self, host: _Host, entry: UrlEntry, record: UrlRecord) -> None:
        """Store the record with which a URL leaves its queue, and count its state."""
        known = host.urls.get(entry.fingerprint)
        if entry.repeat:
            # Of a repeat only the status is stored, and that it is done.
            if known is None or known.rule == QUEUE_FULL:
                return
            if record.state is State.DONE and known.state in (State.FAILED, State.REFUSED):
                self._count(known.state, -1)
                self._count(State.DONE, 1)
                known = UrlRecord(State.DONE, None, known.status)
            self._keep(host, entry, known._replace(status=record.status or known.status))
            return
        if self._seen is None:
            if known is not None and record.status is None and record.rule != QUEUE_FULL:
                record = record._replace(status=known.status)
            self._keep(host, entry, record)
        if record.state is not State.QUEUED:
            self._count(record.state, 1)

    def _count(self, state: State, by: int) -> None:
        name = state.name.lower()
        setattr(self._counts, name, getattr(self._counts, name) + by)

    def _keep(self, host: _Host, entry: UrlEntry, record: UrlRecord) -> None:
        host.urls[entry.fingerprint] = self._records.setdefault(record, record)

    def _prune(self, host: _Host) -> list[UrlEntry]:
        if not self._queue_max:
            return []
        excess = host.queue[self._queue_max :]
        del host.queue[self._queue_max :]
        self._counts.queued -= len(excess)
        for entry in excess:
            self._store(host, entry, _PRUNED)
        return excess


def _find_index(queue: list[UrlEntry], place: QueuePosition) -> int | None:
    """Return the index of the entry at ``place`` in ``queue``, None if there is none."""
    index = bisect_left(queue, place, key=expected_place)
    return index if index < len(queue) and expected_place(queue[index]) == place else None


def _due_at(record: HostRecord) -> float:
    return max(record.next_fetch_at, record.blocked_until)
