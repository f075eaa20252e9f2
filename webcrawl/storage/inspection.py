"""The URLs of a crawl as its storage knows them, for whoever lists them: the common words of all backends.

What a check of a crawl's books finds: the common words of all backends.

What of a crawl an exclusion would hit, for whoever looks at it from outside: the common words of all backends.

What a storage has of one URL, for whoever looks at a crawl from outside: the common words of all backends.

How a crawl stands, for whoever looks at it from outside: the common words of all backends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from webcrawl.frontier.records import State, UrlEntry
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.storage.contract import Counts, OperatorCommand


class Known(NamedTuple):
    """What the seen test has of a URL."""

    state: State
    rule: str | None
    """By what it was refused or why it failed, where that is stored."""


class UrlStateReader(Protocol):
    """A storage that is open for reading; nothing is changed in it."""

    states_kept: bool
    """False where the seen test is a Bloom filter, which has no states."""

    def queued(self) -> Iterator[UrlEntry]:
        """Every URL that is queued or leased, key by key, each key in the order of its queue.

        Of a crawl that runs on several workers what changes meanwhile may be there or not.
        """

    def known(self, key: str, fingerprints: Sequence[int]) -> Mapping[int, Known]:
        """Those of some URLs of one politeness key that are known; a few hundred at a time."""

    def refused(self) -> Iterator[Sequence[int]]:
        """The fingerprints of all URLs that were refused, some at a time; one may come twice. None where there are no
        states.
        """


LISTED = 1000
"""Findings of a kind that are kept; of the others only the number is."""


class Kind(StrEnum):
    """In which way something does not agree."""

    DAMAGED = "damaged"
    UNREADABLE = "unreadable"
    STRAY = "stray"
    MISPLACED = "misplaced"
    TWO_STATES = "two-states"
    DISORDER = "disorder"
    UNKNOWN = "queued-unknown"
    SETTLED = "queued-settled"
    TWICE = "queued-twice"
    NOWHERE = "queued-nowhere"
    LENGTH = "length"
    KNOWN = "known"
    LEVEL = "level"
    PLACE = "place"
    HOLDER = "holder"
    ROBOTS = "robots"
    TOTAL = "total"
    FENCE = "fence"


MEANINGS = {
    Kind.DAMAGED: "the file is damaged",
    Kind.UNREADABLE: "cannot be read",
    Kind.STRAY: "belongs to nothing that is known",
    Kind.MISPLACED: "URL is known where nobody looks for it",
    Kind.TWO_STATES: "URL is in two states",
    Kind.DISORDER: "queue is out of order",
    Kind.UNKNOWN: "URL is queued, but not known",
    Kind.SETTLED: "URL is queued, though it was done, failed or refused",
    Kind.TWICE: "URL is queued twice",
    Kind.NOWHERE: "URL is known as queued, but in no queue",
    Kind.LENGTH: "host has a wrong number of queued URLs",
    Kind.KNOWN: "host has a wrong number of known URLs",
    Kind.LEVEL: "host has a wrong level",
    Kind.PLACE: "host is not where its record says",
    Kind.HOLDER: "host is held by nobody who is known",
    Kind.ROBOTS: "answer of robots.txt and its time of expiry are not both there",
    Kind.TOTAL: "running total is wrong",
    Kind.FENCE: "number of a lease would be given again",
}
"""Each kind in words."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not agree with another."""

    kind: Kind
    subject: str
    """The URL, host or total; of a URL of which only its fingerprint is known, that."""
    detail: str = ""
    """What is there and what should be; the same in two looks if nothing changed."""
    where: str = ""
    """In which part of the storage."""

    def __str__(self) -> str:
        rest = [part for part in (self.detail, self.where) if part]
        return f"{self.subject} ({'; '.join(rest)})" if rest else self.subject


@dataclass(slots=True)
class Findings:
    """Any number of findings: all are counted, the first of each kind kept."""

    counts: Counter[Kind] = field(default_factory=Counter)
    listed: dict[Kind, list[Finding]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.counts)

    def add(self, finding: Finding) -> None:
        self.extend(finding.kind, (finding,), 1)

    def extend(self, kind: Kind, examples: Iterable[Finding], number: int) -> None:
        """``number`` findings of one kind, some of which are ``examples``."""
        if number:
            self.counts[kind] += number
            kept = self.listed.setdefault(kind, [])
            kept.extend(list(examples)[: LISTED - len(kept)])

    def merge(self, other: Findings) -> None:
        """Add all of ``other``."""
        for kind, number in other.counts.items():
            self.extend(kind, other.listed.get(kind, ()), number)


@dataclass(slots=True)
class Checked:
    """What a check looked at, and what came of it."""

    urls: int = 0
    """Known URLs."""
    queued: int = 0
    hosts: int = 0
    left: Findings = field(default_factory=Findings)
    """What does not agree."""
    mended: Findings = field(default_factory=Findings)
    """What did not agree before."""
    at_work: set[str] = field(default_factory=set)
    """Names of processes that changed things meanwhile. What is told was then wrong in two looks."""
    uncompared: list[str] = field(default_factory=list)
    """Parts whose totals changed while they were counted, so that they could not be compared."""
    unchecked: list[str] = field(default_factory=list)
    """What this crawl keeps no record of, in words."""

    @property
    def agrees(self) -> bool:
        return not self.left


class Asked(NamedTuple):
    """What is looked for."""

    may_have: Callable[[str], bool]
    """Whether there may be such URLs on a politeness key; the queues of others are not read."""
    is_hit: Callable[[str], bool]
    """Whether a URL is one."""


@dataclass(slots=True)
class ExclusionImpact:
    """Queued URLs that are hit, those in flight included: a URL keeps its place in the queue until it is settled."""

    queued: int = 0
    hosts: int = 0
    """Politeness keys they are on."""
    leased: int = 0
    """Those of the URLs that are on keys which a process holds, to fetch from them now or next."""
    leased_hosts: int = 0
    """These keys. Each of them has at most one request open."""

    def add(self, urls: int, *, is_leased: bool) -> None:
        """Count ``urls`` hit on one key."""
        if urls:
            self.queued += urls
            self.hosts += 1
        if urls and is_leased:
            self.leased += urls
            self.leased_hosts += 1


HOSTS_COUNTED = 100_000
"""So many idle keys are counted at most."""


class Activity(StrEnum):
    """Where a key stands."""

    ACTIVE = "active"
    """A process has it, or had it when it was killed."""
    IDLE = "idle"
    """It has URLs and waits to become active."""
    GIVEN_UP = "given_up"
    EMPTY = "empty"
    """It has no URLs."""


@dataclass(frozen=True, slots=True)
class KeySnapshot:
    """A politeness key, as it is stored: its holder may know more than it has written yet."""

    record: HostRecord
    queued: int
    """URLs in its queue."""
    activity: Activity
    holder: str | None = None
    """Who has it, where it is active and that is known."""
    held_until: float | None = None
    """When its holder's lease ends unless it is renewed (epoch seconds); None where there are no leases."""
    hosts_before: int | None = None
    """Idle keys of its level whose turn comes before it, counted up to ``HOSTS_COUNTED``; None unless it is idle."""


@dataclass(frozen=True, slots=True)
class Use:
    """How a shared clock stands, for whoever looks from outside."""

    free_at: float
    """Epoch seconds. While somebody has it: when it is free at the earliest."""
    holder: str | None = None
    """Who has it at this moment."""


@dataclass(frozen=True, slots=True)
class UrlSnapshot:
    """A URL at one moment, or for a storage of several servers at nearly one."""

    now: float
    """Epoch seconds by the crawl's own clock."""
    known: bool
    """Whether the seen test has it; a Bloom filter may say so of a few that it has not."""
    state: State | None
    """None when it is not known, or when the seen test keeps no states and it is not queued."""
    entry: UrlEntry | None
    """Its entry in the queue."""
    before: int
    """Entries of the same queue that come before it."""
    key: KeySnapshot | None
    """None for a key of which nothing is known."""
    robots: RobotsRecord | None
    """Of its origin."""
    rule: str | None = None
    """By what it was refused or why it failed, where that is stored."""
    rules_kept: bool = True
    """Whether this storage stores such rules."""
    command: OperatorCommand | None = None
    """What the operator wants; None for a crawl of one process."""
    at_work: tuple[str, ...] = ()
    """Who works on the crawl at this moment."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings that the crawl was begun with, as it has written them down."""


@dataclass(frozen=True, slots=True)
class Worker:
    """A process of the crawl. Times are epoch seconds by the crawl's own clock."""

    name: str
    started_at: float | None
    heard_at: float
    """Its last sign of life."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """What it told of itself; see ``SharedBackend.pulse``."""
    exclusions: str = ""
    """The version of the exclusion list in force there; empty where there is none, or where it was not told."""


@dataclass(frozen=True, slots=True)
class CrawlStatus:
    """A crawl at one moment. A crawl that runs goes on meanwhile, so figures of one time may be of two moments."""

    now: float
    """The moment, by the crawl's own clock."""
    counts: Counts
    active_hosts: int
    workers: list[Worker]
    """In the order in which they started."""
    command: OperatorCommand | None = None
    """What the operator wants; None for a crawl of one process."""
