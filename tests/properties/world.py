"""The hosts out there, as the test knows them: who was contacted when, and what each may expect of a crawler."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from webcrawl.frontier.lease import FetchEnd, Lease, Outcome, Result
from webcrawl.frontier.policies import BUSY_STATUSES
from webcrawl.frontier.records import Kind, State, UrlEntry
from webcrawl.frontier.robots_requests import RobotsReply, origin_and_hops
from webcrawl.politeness.host_record import HostRecord
from webcrawl.robots.answer import RobotsState
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import get_host, get_origin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.properties.ledger import Ledger
    from webcrawl.frontier.policies import FrontierLimits, Policies
    from webcrawl.politeness.host_record import RobotsRecord

HOSTS = ("a.test", "www.a.test", "m.a.test", "b.test", "c.test")
CRAWL_DELAY = 60.0


def key_of(url: str) -> str:
    """Hosts of one domain share a key."""
    return ".".join(get_host(url).split(".")[-2:])


def page(host: str, path: int, level: int = 0, repeat: bool = False) -> UrlEntry:
    url = f"http://{host}/{path}"
    return UrlEntry(url, key_of(url), fingerprint(url), level, repeat=repeat)


class Whim:
    """A scorer that thinks otherwise each time."""

    def __init__(self) -> None:
        self.version = 1

    def levels(self, entries: Sequence[UrlEntry]) -> list[int | None]:
        """A few levels; of every third URL it has no opinion."""
        scores = [crc32(f"{entry.url} {self.version}".encode()) for entry in entries]
        return [None if score % 3 == 0 else score % 5 - 2 for score in scores]


@dataclass(frozen=True)
class Answer:
    """What a server has to say to a request."""

    status: int = 200
    error: str | None = None
    retry_after: float | None = None
    sent: bool = True
    body: bytes = b""
    location: str | None = None


PAGE_ANSWERS = (
    Answer(200),
    Answer(404),
    Answer(500),
    Answer(503),
    Answer(503, retry_after=5.0),
    Answer(429, retry_after=80.0),
    Answer(0, "reset"),
    Answer(0, "timeout"),
    Answer(0, "cancelled", sent=False),
)
TOO_SLOW = b"User-agent: *\nCrawl-delay: 301\n"
"""A robots.txt by which a host is skipped."""
ROBOTS_ANSWERS = (
    Answer(404),
    Answer(200, body=b""),
    Answer(200, body=b"User-agent: *\nDisallow: /1\n"),
    Answer(200, body=b"User-agent: *\nDisallow: /\n"),
    Answer(200, body=b"User-agent: *\nCrawl-delay: 60\nDisallow: /2\n"),
    Answer(200, body=TOO_SLOW),
    Answer(500),
    Answer(503, retry_after=100.0),
    Answer(0, "dns"),
    Answer(301, location="http://a.test/robots-moved.txt"),
    Answer(301, location="http://www.a.test/robots.txt"),
    Answer(302, location="http://b.test/robots.txt"),
    Answer(307, location="http://c.test/robots.txt"),
    Answer(301),
    Answer(0, "cancelled", sent=False),
)


@dataclass
class Flight:
    """A lease that is out, and what came back so far."""

    lease: Lease
    answer: Answer | None = None
    """None while the request is open."""

    @property
    def is_robots(self) -> bool:
        return self.lease.entry.kind == Kind.ROBOTS


class World:
    """Judges each lease by what really happened before, not by what the crawler remembers of it."""

    def __init__(self, policies: Policies, ledger: Ledger, open_max: int) -> None:
        self._policies = policies
        self._ledger = ledger
        self._open_max = open_max
        self.skipped: set[str] = set()
        """Keys of origins that asked for a longer Crawl-delay than is obeyed."""
        self.flights: dict[int, Flight] = {}
        self.last_end: dict[str, float] = {}
        self.mirror: dict[str, HostRecord] = {}
        """What delay models and health make of each key's history; after a crash what was durable of it."""
        self.durations: dict[str, list[float]] = {}
        """How long downloads took since the last restart."""
        self.restarted = False

    # -- what a crawler may do -----------------------------------------------------------------------------------

    def judge(self, lease: Lease, now: float) -> None:
        """A lease was given: nobody may have a reason to complain."""
        entry = lease.entry
        assert len(self.flights) < self._open_max, "more is open or not durable than may be"
        for flight in self.flights.values():
            same = flight.lease.entry
            assert same.key != entry.key or flight.answer is not None, "two requests are open to one key"
            assert same.key != entry.key or not flight.is_robots, "an answer of robots.txt is not durable yet"
            assert same is not entry
        self._judge_time(entry, now)
        if entry.kind == Kind.ROBOTS:
            self._judge_robots(entry, now)
        else:
            self._judge_page(entry, now)
        self.flights[lease.id] = Flight(lease)

    def _judge_time(self, entry: UrlEntry, now: float) -> None:
        ended = self.last_end.get(entry.key)
        if ended is None:
            return
        politeness = self._policies.politeness
        assert now >= ended + politeness.min_delay
        times = self.durations.get(entry.key, [])
        if politeness.model == "mean" and len(times) >= (5 if self.restarted else 1):
            mean = politeness.factor * sum(times[-5:]) / len(times[-5:])
            assert now >= ended + min(mean, politeness.max_delay), "the delay model owes more"
        assert now >= self.mirror[entry.key].next_fetch_at, "Retry-After or a park reaches further"
        if entry.kind != Kind.ROBOTS and (record := self._ledger.robots.get(get_origin(entry.url))):
            assert now >= ended + (record.crawl_delay_seconds or 0.0), "Crawl-delay"

    def _judge_robots(self, entry: UrlEntry, now: float) -> None:
        origin, hops = origin_and_hops(entry)
        record = self._ledger.robots.get(origin)
        if hops == 0 and origin not in self._ledger.news:
            assert record is None or now >= record.expires_at, "robots.txt is known and fresh"

    def _judge_page(self, entry: UrlEntry, now: float) -> None:
        place = (entry.key, (-entry.level, entry.position))
        assert place in self._ledger.queue or place in self._ledger.pruned, "it is not queued"
        for flight in self.flights.values():
            other = flight.lease.entry
            assert (other.key, -other.level, other.position) != (entry.key, -entry.level, entry.position), (
                "it is leased already"
            )
        record = self._ledger.robots.get(get_origin(entry.url))
        assert record is not None, "its robots.txt is not known"
        assert now < record.expires_at, "its robots.txt is not fresh"
        assert record.state in (RobotsState.RULES, RobotsState.ALLOWED_ALL)
        assert not disallows(record, entry.url)

    def refused(self, entry: UrlEntry, rule: str | None) -> None:
        """A URL was refused without being leased: its robots.txt must say so."""
        if rule == "crawl-delay":
            assert entry.key in self.skipped, "no robots.txt of its host ever asked for so long a Crawl-delay"
            return
        record = self._ledger.robots.get(get_origin(entry.url))
        assert rule == "robots"
        assert record is not None
        assert disallows(record, entry.url)

    # -- what happens --------------------------------------------------------------------------------------------

    def ended(self, flight: Flight, answer: Answer, started: float, now: float) -> FetchEnd:
        """The server has answered, or will not."""
        flight.answer = answer
        key = flight.lease.entry.key
        if flight.is_robots and answer.body == TOO_SLOW:
            self.skipped.add(key_of(f"{origin_and_hops(flight.lease.entry)[0]}/"))
        if not answer.sent:
            return FetchEnd(None, now)
        self.last_end[key] = now
        if not flight.is_robots:
            self.durations.setdefault(key, []).append(now - started)
        record = self.mirror.setdefault(key, HostRecord(key))
        self._policies.politeness.fetched(record, started, now, is_robots=flight.is_robots)
        if answer.error:
            self._policies.health.failed(record, answer.error, now)
        elif answer.status in BUSY_STATUSES:
            again = flight.lease.entry.attempts > 0
            self._policies.health.busy(record, now, answer.retry_after, status=answer.status, again=again)
        else:
            self._policies.health.succeeded(record)
        return FetchEnd(started, now, answer.status or None, answer.error, answer.retry_after)

    def outcome(self, flight: Flight, links: list[UrlEntry], result: Result) -> Outcome:
        """What the crawler makes of the answer."""
        entry, answer = flight.lease.entry, flight.answer
        assert answer is not None
        if not answer.sent:
            outcome = Outcome(Result.ABANDONED)
        elif flight.is_robots:
            outcome = Outcome(Result.FETCHED, robots=self._reply(answer))
        elif answer.status in (200, 404):
            outcome = Outcome(result, discovered=links if answer.status == 200 else [])
        else:
            outcome = Outcome(Result.RETRY, rule=answer.error)
        self._expect(entry, answer, outcome)
        return outcome

    def _reply(self, answer: Answer) -> RobotsReply:
        location = answer.location
        return RobotsReply(
            answer.status,
            answer.body,
            answer.error,
            location,
            key_of(location) if location else None,
            answer.retry_after,
        )

    def _expect(self, entry: UrlEntry, answer: Answer, outcome: Outcome) -> None:
        if entry.kind == Kind.ROBOTS and not entry.position:
            return
        state, attempts = State.DONE, 0
        status = None if entry.kind == Kind.ROBOTS else answer.status or None
        if outcome.result is Result.ABANDONED:
            state, attempts, status = State.QUEUED, entry.attempts, None
        elif outcome.result is Result.RETRY:
            retried = entry.attempts < self._policies.retry_times
            state, attempts = (State.QUEUED, entry.attempts + 1) if retried else (State.FAILED, 0)
        elif outcome.result in (Result.FAILED, Result.REFUSED):
            state = State[outcome.result.name]
        self._ledger.expected[entry.key, (-entry.level, entry.position)] = (state, attempts, status)

    def cut_off(self, now: float) -> None:
        """The crawler went away: what was open ended there, what it gave is forgotten."""
        for flight in self.flights.values():
            if flight.answer is None:
                self.last_end[flight.lease.entry.key] = now
        self.flights.clear()
        self._ledger.expected.clear()
        # Of how long downloads took before only what was durable is remembered.
        self.durations.clear()
        self.restarted = True

    def remember(self, hosts: dict[str, HostRecord]) -> None:
        """After a restart a key's memory is what was durable of it."""
        self.mirror = {key: copy.deepcopy(record) for key, record in hosts.items()}
        for record in self.mirror.values():
            # It may be taken back by the next answer; what it is now is looked up where it was answered.
            record.crawl_delay_seconds = None

    # -- what can be had -----------------------------------------------------------------------------------------

    def excuse(self, entry: UrlEntry, now: float, limits: FrontierLimits, given_up: bool) -> str | None:
        """Why a queued URL need not be waited for; None when it has to be."""
        if given_up:
            return "its host is given up"
        patience = limits.patience_seconds
        mirror = self.mirror.get(entry.key)
        if mirror is not None and mirror.next_fetch_at - now > patience:
            return "its host is parked"
        if self._is_blocked(entry, now + patience):
            return "its robots.txt cannot be had"
        same_key = [other for other in self._ledger.queue.values() if other.key == entry.key]
        if sum(self._is_blocked(other, now + patience) for other in same_key) >= limits.blocked_max:
            return "too many URLs before it wait for a robots.txt that cannot be had"
        return None

    def _is_blocked(self, entry: UrlEntry, until: float) -> bool:
        record = self._ledger.robots.get(get_origin(entry.url))
        if entry.kind == Kind.ROBOTS or record is None or record.expires_at <= until:
            return False
        return record.state in (RobotsState.UNREACHABLE, RobotsState.PENDING)


def disallows(record: RobotsRecord, url: str) -> bool:
    """The little of robots.txt that the answers here use."""
    path = url.removeprefix(record.origin)
    lines = record.text.splitlines()
    return any(path.startswith(line.removeprefix("Disallow: ")) for line in lines if line.startswith("Dis"))
