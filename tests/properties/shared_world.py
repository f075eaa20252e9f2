"""What the hosts out there saw of a crawl by several workers, and what each of them may expect of all together.

Nothing here is asked of the crawler: requests are judged by the ends of those before, whoever sent them.
"""

from __future__ import annotations

import copy
from bisect import insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.properties.world import Answer, disallows
from webcrawl.frontier.lease import FetchEnd, Lease, Outcome, Result
from webcrawl.frontier.policies import BUSY_STATUSES
from webcrawl.frontier.records import Kind
from webcrawl.frontier.robots_requests import RobotsReply, origin_and_hops
from webcrawl.politeness.host_record import HostRecord
from webcrawl.robots.answer import RobotsState
from webcrawl.urls.politeness_key import get_origin

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.properties.journal import Journal, Mark
    from tests.properties.workers import Time, Worker
    from webcrawl.frontier.policies import Policies
    from webcrawl.politeness.host_record import RobotsRecord
    from webcrawl.storage.contract import Batch, Committed, LeaseValidity

CLOSE = 1e-5
"""Times are written down in microseconds, rounded up."""


@dataclass(eq=False)
class Flight:
    """A request, and what came of it."""

    worker: Worker
    lease: Lease
    sent_at: float
    answer: Answer | None = None
    """None while the request is open."""
    final: bool = False
    """Its URL came to its end with it, as far as the worker knows."""
    kept_at: Mark | None = None
    """Where in the server's journal that had become durable."""
    excused: bool = False
    """It may have been for nothing: its URL may be fetched again."""
    until: float = 0.0
    """When the hold on its key ends, as far as that was known while it lasted."""

    @property
    def is_robots(self) -> bool:
        return self.lease.entry.kind == Kind.ROBOTS

    @property
    def is_open(self) -> bool:
        """Whether it may still be open out there: nothing is waited for when the hold on the key is over."""
        return self.answer is None and not self.lease.key_validity.is_over()


@dataclass
class _Kept:
    """A record of a key that became durable."""

    at: Mark
    worker: Worker
    version: int
    record: HostRecord
    validity: LeaseValidity
    forgotten: bool = False
    """The server forgot it again; the worker has to tell it once more."""


@dataclass
class _Host:
    """A politeness key, as it really is."""

    record: HostRecord
    last_end: float | None = None
    by: Lease | None = None
    """The lease that brought the last change of ``record``."""
    worker: Worker | None = None
    """Who heard of it."""
    version: int = 0
    kept: list[_Kept] = field(default_factory=list)
    lost: bool = False
    """What was known of it may be known to nobody any more."""


class Truth:
    """Judges each request by what really happened before, whoever did it."""

    def __init__(
        self,
        time: Time,
        policies: Policies,
        min_delay: float,
        journal: Journal,
        retry_times: int,
        queue_max: int = 0,
    ) -> None:
        self._prunes = queue_max > 0
        self._time = time
        self._policies = policies
        self._min_delay = min_delay
        self._journal = journal
        self._attempts = retry_times + 1
        self._hosts: dict[str, _Host] = {}
        self.fetches: dict[int, list[Flight]] = {}
        self._robots: dict[str, list[tuple[Mark | None, RobotsRecord]]] = {}
        self._faded: set[str] = set()
        """Origins whose robots.txt the server may have forgotten, or not everybody heard of yet."""
        self._pending: dict[str, Worker | None] = {}
        """Origins whose robots.txt somebody is about to store, or was when it died; None: it was forgotten."""
        self.flights: list[Flight] = []
        self.refetched = 0

    # -- what a crawler may do -----------------------------------------------------------------------------------

    def judge(self, worker: Worker, lease: Lease) -> Flight:
        """A request is sent: nobody may have a reason to complain."""
        entry, now = lease.entry, self._time.now
        assert not lease.key_validity.is_over(), "the key is not its own any more"
        for other in self.flights:
            if other.lease.entry.key == entry.key:
                assert not other.is_open, (
                    f"two requests are open to one key: {other.worker.name}, {worker.name}"
                )
                if other.answer is None:
                    self._ended(other, other.until)
        self.flights = [
            one for one in self.flights if one.answer is None and one.lease.entry.key != entry.key
        ]
        self._judge_time(worker, lease, now)
        flight = Flight(worker, lease, now, until=lease.key_validity.until)
        if flight.is_robots:
            self._judge_robots(lease, worker.clock())
        else:
            self._judge_page(lease, worker.clock())
            self._judge_again(flight)
        self.flights.append(flight)
        return flight

    def watch(self) -> None:
        """Time is about to pass: remember until when open requests may stay so."""
        for flight in self.flights:
            if not flight.lease.key_validity.is_over():
                flight.until = flight.lease.key_validity.until

    def _judge_time(self, worker: Worker, lease: Lease, now: float) -> None:
        host = self._hosts.get(lease.entry.key)
        if host is None or host.last_end is None:
            return
        assert now + CLOSE >= host.last_end + self._min_delay, "too soon after the last request"
        if host.by is not None and (host.worker, host.by.fence) != (worker, lease.fence):
            self._hand_over(host, host.by)
        owed = host.record.next_fetch_at
        assert now + CLOSE >= owed, f"{owed - now} s too early: a delay, Retry-After or park reaches further"

    def _hand_over(self, host: _Host, by: Lease) -> None:
        """Another worker has the key now: what it can know is what became durable, and what the server has forgotten
        since and was told again, by a worker that could do so in time."""
        told = [one for one in host.kept if one.version == host.version]
        if any(not one.forgotten or not by.validity.is_over() for one in told):
            return
        assert host.worker is not None
        ended = host.lost or host.worker.gone or by.validity.is_over()
        assert ended, f"what {host.worker.name} heard was not known when the key came to somebody else"
        host.kept = [one for one in host.kept if not one.forgotten]
        host.record = copy.deepcopy(host.kept[-1].record) if host.kept else HostRecord(host.record.key)

    def _judge_robots(self, lease: Lease, now: float) -> None:
        origin, hops = origin_and_hops(lease.entry)
        known = self._robots.get(origin)
        if hops == 0 and known and not self._is_doubtful(origin):
            assert now >= known[-1][1].expires_at, "robots.txt is known and fresh"

    def _judge_page(self, lease: Lease, now: float) -> None:
        url = lease.entry.url
        answers = [record for _, record in self._robots.get(get_origin(url), ())]
        assert answers, "its robots.txt is not known"
        current = answers if self._is_doubtful(get_origin(url)) else answers[-1:]
        good = [
            one
            for one in current
            if now < one.expires_at and one.state in (RobotsState.RULES, RobotsState.ALLOWED_ALL)
        ]
        assert good, "its robots.txt is not fresh"
        assert not all(disallows(one, url) for one in good)

    def _is_doubtful(self, origin: str) -> bool:
        return origin in self._faded or origin in self._pending

    def _judge_again(self, flight: Flight) -> None:
        before = self.fetches.setdefault(flight.lease.entry.fingerprint, [])
        for other in before:
            lost = other.kept_at is not None and self._journal.is_forgotten(other.kept_at)
            # It may have been pruned meanwhile, and found again: then it stands at another place.
            found_again = self._prunes and other.lease.entry.position != flight.lease.entry.position
            if lost or found_again or other.lease.key_validity.is_over() or other.worker.gone:
                # What it gave may not have become durable; if it did, doing it again is no harm.
                other.excused = True
            ended = other.excused or (other.answer is not None and not other.final)
            assert ended, f"{flight.lease.entry.url} is fetched again: {other}"
        self.refetched += any(other.final for other in before)
        before.append(flight)
        unexcused = [one for one in before if not one.excused]
        assert len(unexcused) <= self._attempts, "it is tried too often"

    # -- what happens --------------------------------------------------------------------------------------------

    def ended(self, flight: Flight, answer: Answer) -> FetchEnd:
        """The server has answered, or will not; or the worker stops waiting since its hold is over."""
        now = self._time.now
        over = flight.lease.key_validity.is_over()
        flight.answer = answer = Answer(0, "timeout") if over else answer
        worker_now = flight.worker.clock()
        if not answer.sent:
            self.flights = [one for one in self.flights if one is not flight]
            flight.excused = True
            return FetchEnd(None, worker_now)
        # The lag of its clock is the same at both ends.
        started = worker_now - (now - flight.sent_at)
        if over:
            self._ended(flight, min(flight.until, now))
            return FetchEnd(started, worker_now, None, answer.error)
        self._ended(flight, now)
        host = self._hosts[flight.lease.entry.key]
        host.by, host.worker, host.lost = flight.lease, flight.worker, False
        host.version += 1
        self._policies.politeness.fetched(host.record, flight.sent_at, now, is_robots=flight.is_robots)
        if answer.error:
            self._policies.health.failed(host.record, answer.error, now)
        elif answer.status in BUSY_STATUSES:
            again = flight.lease.entry.attempts > 0
            health = self._policies.health
            health.busy(host.record, now, answer.retry_after, status=answer.status, again=again)
        else:
            self._policies.health.succeeded(host.record)
        return FetchEnd(started, worker_now, answer.status or None, answer.error, answer.retry_after)

    def _ended(self, flight: Flight, at: float) -> None:
        key = flight.lease.entry.key
        host = self._hosts.setdefault(key, _Host(HostRecord(key)))
        host.last_end = max(host.last_end or at, at)
        self.flights = [one for one in self.flights if one is not flight]

    def outcome(self, flight: Flight, key_of: Callable[[str], str]) -> Outcome:
        """What the worker makes of the answer; links are the caller's."""
        answer, entry = flight.answer, flight.lease.entry
        assert answer is not None
        if not answer.sent:
            return Outcome(Result.ABANDONED)
        if flight.is_robots:
            location = answer.location
            reply = RobotsReply(
                answer.status,
                answer.body,
                answer.error,
                location,
                key_of(location) if location else None,
                answer.retry_after,
            )
            return Outcome(Result.FETCHED, robots=reply)
        if answer.status in (200, 404):
            flight.final = True
            return Outcome(Result.FETCHED)
        flight.final = entry.attempts >= self._policies.retry_times
        return Outcome(Result.RETRY, rule=answer.error)

    # -- what becomes durable, and what is lost again ------------------------------------------------------------

    def versions(self, worker: Worker, records: list[HostRecord]) -> list[_Kept]:
        """What is about to be stored of keys: to be given to ``kept`` when it was."""
        return [
            _Kept((0, 0), worker, host.version, copy.deepcopy(record), host.by.validity)
            for record in records
            if (host := self._hosts.get(record.key)) is not None
            and host.by is not None
            and (host.worker, host.by.fence) == (worker, record.fence)
        ]

    def kept(self, versions: list[_Kept]) -> None:
        for version in versions:
            if version.validity.is_over():
                # Nobody is told whether it still was in time.
                continue
            version.at = version.worker.line.mark
            version.forgotten = self._journal.is_forgotten(version.at)
            # It may be taken back by the next answer; what it is now is looked up where it was answered.
            version.record.crawl_delay_seconds = None
            # A worker that was frozen hears late of what it did before.
            insort(self._hosts[version.record.key].kept, version, key=lambda kept: kept.version)

    def about_to_commit(self, worker: Worker, batch: Batch) -> None:
        for record in batch.robots:
            self._pending[record.origin] = worker
            self._robots.setdefault(record.origin, []).append((None, record))

    def committed(self, worker: Worker, batch: Batch, committed: Committed) -> None:
        mark = worker.line.mark
        for record in batch.robots:
            # What others were about to store may have come before it, or after.
            other = self._pending.get(record.origin)
            if other is None or other is worker or other.gone:
                self._pending.pop(record.origin, None)
            self._robots[record.origin].append((mark, record))
            if self._journal.is_forgotten(mark):
                self._pending.setdefault(record.origin, None)
            self._faded.add(record.origin)
        settled = {id(one.entry) for one in batch.settled if one.entry.key not in committed.lost}
        for flights in self.fetches.values():
            for flight in flights:
                if flight.worker is worker and id(flight.lease.entry) in settled:
                    flight.kept_at = mark

    def everybody_heard(self) -> None:
        self._faded.clear()

    def died(self, worker: Worker) -> None:
        """It is gone, and what was open with it."""
        for flight in list(self.flights):
            if flight.worker is worker:
                self._ended(flight, min(flight.until, self._time.now))
                flight.answer = Answer(0, "cancelled")
        for flights in self.fetches.values():
            for flight in flights:
                if flight.worker is worker and flight.kept_at is None:
                    flight.excused = True
        for host in self._hosts.values():
            host.kept = [one for one in host.kept if not (one.worker is worker and one.forgotten)]

    def forgot(self) -> None:
        """The server was killed and may have lost its last second."""
        for host in self._hosts.values():
            for one in host.kept:
                one.forgotten = one.forgotten or self._journal.is_forgotten(one.at)
            left = [one for one in host.kept if not one.forgotten or one.worker.is_well]
            host.lost = host.lost or len(left) < len(host.kept)
            host.kept = left
        for origin, known in self._robots.items():
            if any(mark is None or self._journal.is_forgotten(mark) for mark, _ in known):
                self._pending.setdefault(origin, None)
