"""Types for the inspection of a stored crawl, common to all backends: the states of its URLs, the findings of a
check, the impact of an exclusion, the snapshot of one URL, and the status of the crawl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from webcrawl.frontier.records import State, UrlEntry, UrlRecord
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.storage.contract import Counted, Counts
from webcrawl.storage.tables import Change, Tables, TableSpec

if TYPE_CHECKING:
    from webcrawl.politeness.host_record import Pauses
    from webcrawl.storage.move_mark import MoveMark
    from webcrawl.storage.shared_parts import LearnedT


class UrlStateReader(Protocol):
    """A storage that is open for reading; nothing is changed in it."""

    states_kept: bool
    """False if the seen test is a Bloom filter, which has no states."""

    def queued(self) -> Iterator[UrlEntry]:
        """Yield every URL that is queued or leased, key by key, each key in the order of its queue.

        In a crawl that runs on several workers, URLs that change meanwhile may be included or not.
        """

    def known(self, key: str, fingerprints: Sequence[int]) -> Mapping[int, UrlRecord]:
        """Return the records of the known ones among some URLs of one politeness key; a few hundred at a time."""

    def refused(self) -> Iterator[Sequence[int]]:
        """Yield the fingerprints of all refused URLs, some at a time; one may come twice. Yields none if there are no
        states."""


class WholeCrawl(Protocol):
    """All that a storage keeps of a crawl that does not run. Lists come in parts of at most ``at_once``."""

    begun_with: Mapping[str, str]
    """The settings with which the crawl was begun, and which must not change."""
    states_kept: bool
    """False if the seen test is a Bloom filter: it cannot list what it has seen."""

    left_out: int
    """Number of queued entries that ``queue`` has left out so far."""

    def counts(self) -> Counts:
        """Return the stored counts."""

    def hosts(self, now: float) -> Iterator[HostRecord]:
        """Yield the records of all politeness keys. A key that a killed process held rests its delay from ``now``
        (epoch seconds)."""

    def queue(self, key: str, at_once: int) -> Iterator[Sequence[UrlEntry]]:
        """Yield the queue of a key in its order, without what the frontier queues for itself."""

    def settled(self, key: str, at_once: int) -> Iterator[Sequence[tuple[int, UrlRecord]]]:
        """Yield the fingerprints and records of the URLs of a key that are done, failed or refused."""

    def robots(self, at_once: int) -> Iterator[Sequence[RobotsRecord]]:
        """Yield the robots.txt answers of all origins; one may come twice."""

    def robots_count(self) -> int: ...

    def counted(self) -> Sequence[Counted]:
        """Return what its processes have counted."""

    def rows(self, spec: TableSpec, at_once: int) -> Iterator[Change]:
        """Yield the rows of a table, as changes of an empty one; one may come twice."""

    def row_count(self, spec: TableSpec) -> int:
        """Return the number of rows of a table, without headers."""


LISTED = 1000
"""Number of findings of one kind that are kept; the others are only counted."""


class FindingKind(StrEnum):
    """The kind of disagreement that a finding reports."""

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
    FindingKind.DAMAGED: "the file is damaged",
    FindingKind.UNREADABLE: "cannot be read",
    FindingKind.STRAY: "belongs to nothing that is known",
    FindingKind.MISPLACED: "URL is known in a place where no lookup finds it",
    FindingKind.TWO_STATES: "URL is in two states",
    FindingKind.DISORDER: "queue is out of order",
    FindingKind.UNKNOWN: "URL is queued, but not known",
    FindingKind.SETTLED: "URL is queued, though it was done, failed or refused",
    FindingKind.TWICE: "URL is queued twice",
    FindingKind.NOWHERE: "URL is known as queued, but in no queue",
    FindingKind.LENGTH: "host has a wrong number of queued URLs",
    FindingKind.KNOWN: "host has a wrong number of known URLs",
    FindingKind.LEVEL: "host has a wrong level",
    FindingKind.PLACE: "host is not where its record says",
    FindingKind.HOLDER: "host is held by no known worker",
    FindingKind.ROBOTS: "answer of robots.txt and its time of expiry are not both there",
    FindingKind.TOTAL: "running total is wrong",
    FindingKind.FENCE: "number of a lease would be given again",
}
"""Each kind in words."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that does not agree with another."""

    kind: FindingKind
    subject: str
    """The URL, host or total; the fingerprint if only that is known of a URL."""
    detail: str = ""
    """The value that is stored and the value that should be; the same in two checks if nothing changed."""
    where: str = ""
    """The part of the storage."""

    def __str__(self) -> str:
        rest = [part for part in (self.detail, self.where) if part]
        return f"{self.subject} ({'; '.join(rest)})" if rest else self.subject


@dataclass(slots=True)
class Findings:
    """Any number of findings: all are counted, the first of each kind are kept."""

    counts: Counter[FindingKind] = field(default_factory=Counter)
    listed: dict[FindingKind, list[Finding]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.counts)

    def add(self, finding: Finding) -> None:
        self.extend(finding.kind, (finding,), 1)

    def extend(self, kind: FindingKind, examples: Iterable[Finding], number: int) -> None:
        """Add ``number`` findings of one kind, some of which are ``examples``."""
        if number:
            self.counts[kind] += number
            kept = self.listed.setdefault(kind, [])
            kept.extend(list(examples)[: LISTED - len(kept)])

    def merge(self, other: Findings) -> None:
        """Add all of ``other``."""
        for kind, number in other.counts.items():
            self.extend(kind, other.listed.get(kind, ()), number)


@dataclass(slots=True)
class CheckResult:
    """The result of a check: what was checked, and the findings."""

    urls: int = 0
    """Known URLs."""
    queued: int = 0
    hosts: int = 0
    left: Findings = field(default_factory=Findings)
    """Disagreements that are left."""
    repaired: Findings = field(default_factory=Findings)
    """Disagreements that were repaired."""
    running_workers: set[str] = field(default_factory=set)
    """Names of processes that changed things meanwhile. Findings are then those that were wrong in two checks."""
    uncompared: list[str] = field(default_factory=list)
    """Parts whose totals changed while they were counted, so that they could not be compared."""
    unchecked: list[str] = field(default_factory=list)
    """Parts of which this crawl keeps no record, in words."""

    @property
    def agrees(self) -> bool:
        return not self.left


class UrlSelection(NamedTuple):
    """The URLs whose queue entries an inspection counts."""

    may_have: Callable[[str], bool]
    """Returns True if a politeness key may have such URLs; the queues of other keys are not read."""
    is_hit: Callable[[str], bool]
    """Returns True if a URL is one of them."""


@dataclass(slots=True)
class ExclusionImpact:
    """Queued URLs that an exclusion hits, including those in flight: a URL keeps its place in the queue until it is
    settled."""

    queued: int = 0
    hosts: int = 0
    """Politeness keys that have such URLs."""
    leased: int = 0
    """Queued URLs whose keys a process holds, to fetch from them now or next."""
    leased_hosts: int = 0
    """The keys of these URLs. Each of them has at most one request open."""

    def add(self, urls: int, *, is_leased: bool) -> None:
        """Count ``urls`` hit on one key."""
        if urls:
            self.queued += urls
            self.hosts += 1
        if urls and is_leased:
            self.leased += urls
            self.leased_hosts += 1


HOSTS_COUNTED = 100_000
"""Idle keys are counted up to this number."""


class Activity(StrEnum):
    """The activity of a key."""

    ACTIVE = "active"
    """A process holds it, or held it when it was killed."""
    IDLE = "idle"
    """It has URLs and waits to become active."""
    GIVEN_UP = "given_up"
    EMPTY = "empty"
    """It has no URLs."""


@dataclass(frozen=True, slots=True)
class KeySnapshot:
    """A politeness key as it is stored: its holder may know more than it has written yet."""

    record: HostRecord
    queued: int
    """URLs in its queue."""
    activity: Activity
    holder: str | None = None
    """The process that holds it, if it is active and the holder is known."""
    held_until: float | None = None
    """Time at which its holder's lease ends unless it is renewed (epoch seconds); None if there are no leases."""
    hosts_before: int | None = None
    """Idle keys of its level whose turn comes before it, counted up to ``HOSTS_COUNTED``; None unless it is idle."""


HOSTS_AT_ONCE = 2000
"""Hosts that are read in one step, while the crawl runs."""


class HostSummary(NamedTuple):
    """A politeness key in a list of all keys, as it is stored: its holder may know more than it has written yet."""

    key: str
    activity: Activity
    is_parked: bool
    queued: int
    """URLs in its queue."""
    delay_seconds: float
    """The delay that was owed after its last request."""
    next_fetch_at: float
    """The earliest time of the next request (epoch seconds)."""
    requests: int
    pages: int
    failures: int
    """Requests in a row that failed through the host's fault."""
    last_error: str | None
    waits_for_robots: bool = False
    """True if all its URLs wait for a robots.txt that could not be had."""


@dataclass(frozen=True, slots=True)
class Use:
    """The state of a shared clock, for inspection."""

    free_at: float
    """Epoch seconds. While it is held: the earliest time at which it is free."""
    holder: str | None = None
    """The process that holds it at this moment."""


class Demand(StrEnum):
    """The operations that operators want of a crawl as a whole."""

    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"
    """The crawl stops. It goes on when a worker is started after all others have ended."""


@dataclass(frozen=True, slots=True)
class UrlSnapshot:
    """A URL at one moment, or in a storage of several servers at nearly one moment."""

    now: float
    """Epoch seconds by the crawl's own clock."""
    known: bool
    """True if the seen test has it; a Bloom filter may wrongly report a few as known."""
    record: UrlRecord | None
    """None if it is not known, or if the seen test keeps no states and it is not queued."""
    entry: UrlEntry | None
    """Its entry in the queue."""
    before: int
    """Number of entries of the same queue that come before it."""
    key: KeySnapshot | None
    """None for an unknown key."""
    robots: RobotsRecord | None
    """The robots.txt answer of its origin."""
    rules_kept: bool = True
    """True if this storage keeps the rules of records."""
    demand: Demand = Demand.RUN
    running_workers: tuple[str, ...] = ()
    """The workers of the crawl at this moment."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The settings that the crawl was begun with, as it stored them."""

    @property
    def state(self) -> State | None:
        """The state in ``record``."""
        return None if self.record is None else self.record.state


@dataclass(frozen=True, slots=True)
class Worker:
    """A process of the crawl. Times are epoch seconds by the crawl's own clock."""

    name: str
    started_at: float | None
    heartbeat_at: float
    """The time of its last heartbeat."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """The figures that it published; see ``SharedBackend.heartbeat``."""
    exclusions: str = ""
    """The version of the exclusion list in force there; empty if there is none, or if it was not published."""
    latest_at: float | None = None
    """The time of these figures; None for those of its heartbeat."""
    host: str = ""
    """The name of its machine, if it was published."""
    process: int = 0
    """The number of its process there."""
    lease_seconds: float | None = None
    """A worker of a shared crawl that was silent for this long has lost its hosts, and begins nothing. None for a
    crawl of one process."""


@dataclass(frozen=True, slots=True)
class CrawlStatus:
    """A crawl at one moment. A running crawl goes on meanwhile, so figures of one snapshot may be of two moments."""

    now: float
    """The moment, by the crawl's own clock."""
    counts: Counts
    active_hosts: int
    """Hosts with URLs that a process holds."""
    workers: list[Worker]
    """The workers in the order in which they started."""
    demand: Demand = Demand.RUN
    is_shared: bool = False
    """True if several processes can work on it."""
    counted: Sequence[Counted] = ()
    """The counts of each process of all runs."""

    @property
    def totals(self) -> Counter[str]:
        """The sums of the counts of all processes of all runs; see ``Tally.counted``."""
        total: Counter[str] = Counter()
        for one in self.counted:
            total.update(one.numbers)
        return total


class StoredTables(Tables, Protocol):
    """The tables of a crawl for another process: ``open`` opens those that were named by then."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...


class Inspection(Protocol):
    """Inspects a stored crawl from outside, also while it runs. Only ``repair`` changes it; no process may work on it
    then.

    All methods block, and may raise a CrawlError: there is no crawl, or it cannot be reached or read.
    """

    def hosts(self) -> Iterator[Sequence[HostSummary]]:
        """Yield all politeness keys, ``HOSTS_AT_ONCE`` or fewer at a time, each of its own moment. Of a storage that
        several processes share, one may come twice."""
        ...

    def queue(self, key: str, most: int) -> list[UrlEntry]:
        """Return the first entries of the queue of a key; none for an unknown key."""
        ...

    def url_states(self) -> AbstractContextManager[UrlStateReader]:
        """Open the states of its URLs. All results are of one moment, unless several processes share the storage."""
        ...

    def impact(self, selection: UrlSelection) -> ExclusionImpact:
        """Return the effect of an exclusion on its queues."""
        ...

    def check(self, progress: Callable[[int, int], None] | None = None) -> CheckResult:
        """``progress``, if the storage has parts: called with the number of parts that are checked, and of all."""
        ...

    def repair(self, progress: Callable[[int, int], None] | None = None) -> CheckResult:
        """:raises StartRefused: processes are known to work on it"""
        ...


class FolderInspection(Inspection, Protocol):
    """Inspects the crawl of one process in its JOBDIR."""

    def status(self, now: float) -> CrawlStatus:
        """Return the status of the crawl; ``now`` in epoch seconds."""
        ...

    def snapshot(
        self, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str, now: float
    ) -> UrlSnapshot:
        """Return the snapshot of one URL. ``key_of`` gets the settings with which the crawl was begun, and returns
        the politeness key of the URL."""
        ...

    def whole(self) -> AbstractContextManager[WholeCrawl]:
        """Open all that is kept of it."""
        ...

    def tables(self, *, changing: bool) -> StoredTables:
        """Return its tables, not opened yet. They are only read unless ``changing`` is set."""
        ...


class SharedInspection(Inspection, Protocol):
    """Inspects a crawl that several processes share, and gives it commands, without being one of its workers. Each
    query has a connection of its own."""

    @property
    def place(self) -> str:
        """The location of the crawl's state, as ``SharedBackend.place`` has it."""
        ...

    @property
    def address(self) -> str:
        """The place of the crawl, for programs."""
        ...

    def snapshot(
        self, key_of: Callable[[Mapping[str, str]], str], fingerprint: int, origin: str
    ) -> UrlSnapshot:
        """See ``FolderInspection.snapshot``."""
        ...

    def seeded(self, hosts: Sequence[str]) -> bool:
        """Return True if the operator named one of ``hosts``, by a seed or a pushed URL."""
        ...

    def named_hosts(self) -> dict[str, Sequence[str]]:
        """Return what the operator named, with the first addresses of each, as far as they are known."""
        ...

    def uses(self, pauses: Pauses) -> dict[str, Use]:
        """Return the states of clocks that are held, or were held lately."""
        ...

    def whole(self) -> AbstractContextManager[WholeCrawl]:
        """Open all that is kept of it. No process may work on it."""
        ...

    def learners(self, make: Callable[[], LearnedT]) -> list[tuple[LearnedT, bytes]]:
        """Return what was learned, one learner for each focus, with its state as it was packed last; empty if it
        never was. ``make``: as for ``learner``."""
        ...

    # -- moves of the crawl to another place, and from there; see ``move_mark.py`` --------------------------------

    def move_mark(self) -> MoveMark | None: ...

    def set_move_mark(self, mark: MoveMark | None) -> None:
        """Store a mark; None removes it. If the crawl has arrived, all shared clocks rest from now."""
        ...

    def keep_still(self, holder: str, seconds: float) -> str | None:
        """Let no process begin to work on the crawl for ``seconds``. Return None if ``holder`` has achieved that,
        else the name of another holder."""
        ...

    def end_stillness(self, holder: str) -> None: ...

    def remove(self) -> None:
        """Delete all that is kept of the crawl. The lists to which clients push URLs stay."""
        ...

    def learner(self, make: Callable[[], LearnedT]) -> LearnedT | None:
        """Return the learner with the most examples; None if nothing was learned. ``make`` makes one that knows
        nothing."""
        ...

    def connected(self) -> AbstractAsyncContextManager[ControlConnection]:
        """Open a connection for several queries in an event loop."""
        ...


class ControlConnection(Protocol):
    """A connection to a shared crawl. Every coroutine may raise StorageAway, StorageFull or StorageLost."""

    @property
    def tables(self) -> Tables:
        """Its tables, which may be read and written while workers run."""
        ...

    async def now(self) -> float:
        """Return epoch seconds by the clock that the workers use."""
        ...

    async def status(self) -> CrawlStatus: ...

    async def move_mark(self) -> MoveMark | None:
        """See ``SharedInspection``."""
        ...

    async def request_reload(self, when: str) -> None:
        """Have all workers read their exclusion files at once; ``when`` must be another text each time."""
        ...

    async def workers(self) -> list[Worker]:
        """Return all workers that reported and did not leave, in the order in which they started."""
        ...
