"""The contract between the frontier (policy) and the storage of its state (mechanism).

A backend stores; it decides nothing. It keeps four things: a queue per politeness key, ordered by (level descending,
position ascending); the set of URLs ever queued, with the state of each; a record per key; the robots.txt answers per
origin. The memory backend is the executable specification, and one suite of tests and one state machine hold all
backends to it (``tests/contract``, ``tests/properties``).

All methods are coroutines: none may block the event loop. Calls are carried out in the order they were made, and each
is atomic: after a crash it happened wholly or not at all. A shared backend, which may be spread over machines,
promises less of ``commit`` and no less of the crawl: discovered URLs are queued before settled URLs leave their
queues, and each key's part is atomic. Its answers may overtake each other: an entry in the result of a load may be
known from a commit already, or may have left its queue since.

A backend that several processes share is a ``SharedBackend``: there a key is active for one of them, under a lease
with a fencing number. Changes to an active key carry this number (``fence``), and are dropped if another process
holds the key by then; discovered URLs are always taken.

The module also has the contract of shared clocks (``ClockStore``) and ``LeaseValidity``: the time for which a key or
a clock is leased to this process.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from webcrawl.frontier.order import LevelSampler
from webcrawl.frontier.queue_head import QueuePosition
from webcrawl.frontier.records import UrlEntry, UrlRecord
from webcrawl.politeness.host_record import HostRecord, Pauses, RobotsRecord
from webcrawl.storage.tables import Tables

if TYPE_CHECKING:
    from webcrawl.storage.shared_parts import ChangeLog, LearnerStore, SeedLists, StartList

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def uptime() -> float:
    """Seconds on a clock that cannot be set and, where there is one, that also runs while the machine sleeps."""
    return time.clock_gettime(_CLOCK)


@dataclass(slots=True, eq=False)
class LeaseValidity:
    """The validity of a lease: while it lasts, no other process may contact the key.

    On a backend of one process a lease is valid for ever. On a shared one it has to be renewed, and a process that
    was frozen or cut off from the backend must find out that the lease ended before it sends another byte.

    ``until`` is a time of ``uptime``. A renewal moves it on; a lease that has ended stays ended. The backend sets it,
    counting from the moment *before* the renewing call was sent, less a margin: it ends here before it ends there.
    One object may stand for many keys.
    """

    until: float = math.inf
    others: tuple[LeaseValidity, ...] = ()
    """The lease ends with the first of these, too."""

    @property
    def ends_at(self) -> float:
        """The end, as a time of ``uptime``."""
        return min((self.until, *(other.ends_at for other in self.others))) if self.others else self.until

    def is_over(self) -> bool:
        # A crawl of one process asks this several times a page, and needs no clock.
        return self is not FOREVER and self.ends_at <= uptime()

    def intersect(self, other: LeaseValidity) -> LeaseValidity:
        """Return a validity that lasts as long as both do."""
        if self is FOREVER:
            return other
        return self if other is FOREVER else LeaseValidity(others=(self, other))


FOREVER = LeaseValidity()
"""The lease validity of keys in a crawl of one process."""


@dataclass(slots=True, eq=False)
class RateLimitLease:
    """The right to fetch once from ``host`` at ``address``, as far as its shared clocks are concerned."""

    ticket: int
    host: str
    address: str | None
    """Empty: the address is not known, and the host must not be contacted directly. None: any address."""
    pauses: Pauses
    validity: LeaseValidity

    @property
    def longest_pause(self) -> float:
        """Seconds; 0 if no clocks are shared."""
        return max(self.pauses.values(), default=0.0)


NO_RATE_LIMITS = RateLimitLease(0, "", None, {}, FOREVER)
"""The lease of a fetch that shares no clocks."""

Locate = Callable[[str], Awaitable[str | None]]
"""Returns the address at which a host is contacted, None if it has none; from then on it is contacted there."""


@dataclass(frozen=True, slots=True)
class RateLimitRequest:
    """A fetch that asks for all of its clocks at once. ``ticket`` identifies it within the process: a request that is
    repeated with a ticket that was granted is granted again."""

    ticket: int
    pauses: Pauses


@dataclass(frozen=True, slots=True)
class RateLimitReturn:
    """A lease that is given back. ``ended_at``: the time at which the fetch ended, by the crawl's clock; None if
    nothing was sent, so that no pause is owed."""

    ticket: int
    pauses: Pauses
    ended_at: float | None


@dataclass(frozen=True, slots=True)
class RateLimitDenial:
    """One of the clocks is not free. It may be free in ``wait_seconds``, or is worth asking again then."""

    clock: str
    wait_seconds: float


class ClockStore(Protocol):
    """The store of shared clocks. At most one lease is open on a clock, and none is granted before the pause owed
    after the last one is over, in any process."""

    def rest(self, now: float) -> None:
        """Take up a crawl that was begun before: requests that are not known here may have been open a moment ago."""
        ...

    async def exchange(
        self, returned: Sequence[RateLimitReturn], wanted: Sequence[RateLimitRequest]
    ) -> list[LeaseValidity | RateLimitDenial]:
        """Take back leases, then grant or deny each of ``wanted``: all clocks of a request or none. A granted lease
        is held as long as its ``LeaseValidity`` lasts."""
        ...


class OwnClocks:
    """The clocks of a crawl of one process. They are not stored: when a crawl is taken up again, each clock rests its
    pause first, as if a fetch had ended just now."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock``: the crawl's clock, epoch seconds."""
        self._clock = clock
        self._open: dict[str, int] = {}
        self._free_at: dict[str, float] = {}
        self._rested_from = float("-inf")
        self._swept_at = 1024

    def rest(self, now: float) -> None:
        self._rested_from = now

    async def exchange(
        self, returned: Sequence[RateLimitReturn], wanted: Sequence[RateLimitRequest]
    ) -> list[LeaseValidity | RateLimitDenial]:
        for given_back in returned:
            self._take_back(given_back)
        now = self._clock()
        if len(self._free_at) > self._swept_at:
            self._free_at = {name: at for name, at in self._free_at.items() if at > now}
            self._swept_at = max(2 * len(self._free_at), 1024)
        return [self._answer(request, now) for request in wanted]

    def _take_back(self, given_back: RateLimitReturn) -> None:
        for name, pause in given_back.pauses.items():
            if self._open.get(name) == given_back.ticket:
                del self._open[name]
                if given_back.ended_at is not None:
                    self._free_at[name] = given_back.ended_at + pause

    def _answer(self, request: RateLimitRequest, now: float) -> LeaseValidity | RateLimitDenial:
        for name, pause in request.pauses.items():
            if self._open.get(name, request.ticket) != request.ticket:
                # The fetch that holds the clock gives it back; only then is the time known at which it is free.
                return RateLimitDenial(name, pause)
            free_at = max(self._free_at.get(name, 0.0), self._rested_from + pause)
            if free_at > now:
                return RateLimitDenial(name, free_at - now)
        self._open.update(dict.fromkeys(request.pauses, request.ticket))
        return FOREVER


HEAD = 16
"""Number of entries of a queue that are read at a time."""


@dataclass(slots=True)
class Loaded:
    """A part of one key's queue, with the known robots answers of all origins in it."""

    entries: list[UrlEntry]
    more: bool
    """True if the queue may go on behind ``entries``."""
    robots: list[RobotsRecord]


@dataclass(slots=True)
class Activated:
    """A key that became active: it may be contacted by this process alone until it is released."""

    record: HostRecord
    queue: Loaded
    validity: LeaseValidity = FOREVER
    """The validity of this process's lease of the key."""


class Unavailable(StrEnum):
    """The reason why ``acquire_key`` did not make a key active."""

    HELD = "held"
    """The key is active already: here, in another process, or on its way to or from one of them."""
    GIVEN_UP = "given up"


@dataclass(slots=True)
class Settled:
    """The result of a URL that was leased."""

    entry: UrlEntry
    record: UrlRecord
    """The record that the URL gets. If it is a repeat, the state and the rule of the first stay, unless that one
    failed or was refused, and this one is done."""
    again: UrlEntry | None = None
    """The entry that goes back to the queue, with the state QUEUED (same fingerprint, new position)."""
    fence: int = 0
    """The ``HostRecord.fence`` under which the URL was leased; 0 is not checked."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of one process since its start, see ``Tally.counted``. It is stored with each commit, in place
    of what it had counted before, so that a process that is killed leaves the figures of all that is stored."""

    worker: str
    begun_at: float
    """Epoch seconds. With the worker's name it says which process it is."""
    numbers: Mapping[str, int]

    @property
    def name(self) -> str:
        return f"{self.begun_at:.3f} {self.worker}"

    def packed(self) -> str:
        return json.dumps(self.numbers, separators=(",", ":"))

    @classmethod
    def read(cls, name: str, packed: str) -> Counted | None:
        """Return what is stored under a name; None if it cannot be read."""
        begun_at, _, worker = name.partition(" ")
        try:
            numbers = {str(word): int(number) for word, number in json.loads(packed).items()}
            return cls(worker, float(begun_at), numbers)
        except (ValueError, TypeError, AttributeError):
            return None

    @classmethod
    def merge(cls, known: Sequence[Counted]) -> Counted:
        """Return what several processes have counted as that of one, which no process counts further."""
        numbers: Counter[str] = Counter()
        for counted in known:
            numbers.update(counted.numbers)
        return cls("earlier processes", min(counted.begun_at for counted in known), numbers)


@dataclass(slots=True)
class Batch:
    """The changes of one commit. Discovered URLs that are known already are dropped, unless they have ``repeat``
    set."""

    discovered: list[UrlEntry] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)
    hosts: list[HostRecord] = field(default_factory=list)
    """Records of active keys that changed."""
    robots: list[RobotsRecord] = field(default_factory=list)
    counted: Counted | None = None
    """The counts of this process since its start."""
    at: float = 0.0
    """The time of the commit (epoch seconds). An idle key whose queue was empty waits for its turn from then on."""

    def __bool__(self) -> bool:
        return bool(self.discovered or self.settled or self.hosts or self.robots)


FIRST_VISIT_AHEAD_SECONDS = 900.0
"""A key that was never active is treated as if it had waited this much longer: first visits come before further ones,
and a flood of new hosts delays further ones by no more than this."""

QUEUE_FULL = "queue-full"
"""The rule that refuses URLs for which the queue of their key has no room."""


@dataclass(slots=True)
class Committed:
    """The result of a commit: the entries that were really queued, and the number of entries pruned from full
    queues."""

    queued: list[UrlEntry]
    pruned: int
    total_queued: int
    total_hosts: int
    lost: Sequence[str] = ()
    """Keys for which changes were dropped, since this process does not hold them any more."""
    turned_away: int = 0
    """Number of new URLs that were not taken for lack of room: they are not known, and count as new when they are
    found again."""
    crowded_out: int = 0
    """Number of queued URLs that were pruned for lack of room."""
    may_return: Sequence[int] = ()
    """Fingerprints of URLs that were refused, in this commit or before, since their queue was full: they count as new
    when they are found again and there is room. Empty if the seen test keeps no states."""
    offered: int = 0
    """Number of entries that the commit was given to queue; set by the committer."""


@dataclass(slots=True)
class Counts:
    """Figures of the whole crawl."""

    queued: int = 0
    """URLs in queues; a leased URL counts until it is settled."""
    done: int = 0
    failed: int = 0
    refused: int = 0
    hosts: int = 0
    parked_hosts: int = 0
    given_up_hosts: int = 0
    given_up_urls: int = 0
    """Queued URLs of given-up keys: they are kept, but the crawl does not wait for them."""


@dataclass(slots=True)
class Idle:
    """The times (epoch seconds) at which the first of the keys that have URLs and are not active may be contacted."""

    at: float | None
    """The first of the keys that merely rest between two fetches."""
    parked_at: float | None
    """The first of the keys that failed and are parked."""
    busy: bool = False
    """True if active keys, of this process or of others, have URLs: there may be more work later, wherever it comes
    from."""


@dataclass(frozen=True, slots=True)
class Move:
    """A change of the level of a queued entry. Its position stays."""

    entry: UrlEntry
    """The entry as it is in its queue."""
    level: int
    fence: int | None = None
    """The fence of its key, which is active here (0 if no other process could hold it); None if no process holds the
    key."""

    @property
    def new_position(self) -> QueuePosition:
        """The position to which the entry moves."""
        return (-self.level, self.entry.position)

    def moved(self) -> UrlEntry:
        """Return the entry as it is after the move."""
        return replace(self.entry, level=self.level)


ScanCursor = tuple[Any, ...]
"""The progress of a scan of all queues; only the backend knows its content."""


@dataclass(slots=True)
class ScanResult:
    """A part of all queues, and where the scan goes on."""

    entries: list[UrlEntry]
    """Entries of one key are together, in their order."""
    cursor: ScanCursor | None
    """The cursor of the next part; None at the end."""


class Room(StrEnum):
    """The room that a storage with a byte budget has left."""

    PLENTY = "plenty"
    SCARCE = "scarce"
    """New URLs of the lowest levels are turned away."""
    FULL = "full"
    """All new URLs are turned away, and the ends of the longest queues are pruned."""


@dataclass(frozen=True, slots=True)
class Filling:
    """The part of its budget that a storage uses; of several servers the fullest."""

    used_bytes: int
    budget_bytes: int
    room: Room


class BandwidthShare(NamedTuple):
    """A process's share of the bandwidth limit."""

    rate: float
    """Bytes per second."""
    ends_at: float
    """The time from which others may have it, by ``uptime``."""


@dataclass(slots=True)
class HeartbeatAnswer:
    """The answer to a heartbeat."""

    lost: list[str] = field(default_factory=list)
    """Keys that this process does not hold any more."""
    changed_queues: dict[str, QueuePosition] = field(default_factory=dict)
    """Active keys of this process for which others queued URLs, each with a place before which nothing has changed.
    """
    share: int | None = None
    """The number of keys, at least one, that is a fair share for this process while another worker has nothing to do;
    None if no worker waits."""
    filling: Filling | None = None
    """The used part of the budget; None if there is no budget."""
    bandwidth: BandwidthShare | None = None
    """The share of the bandwidth limit; None if the figures name no limit."""


class Backend(Protocol):
    """The storage of a crawl's state."""

    @property
    def tables(self) -> Tables:
        """The state beside the frontier. ``open`` opens the tables that were named by then."""
        ...

    async def open(self, now: float) -> Counts:
        """Open the storage. Keys left active by a crash rest their ``delay_seconds`` from ``now`` before they are
        idle; keys that are given up or wait for a robots.txt get another chance.
        :raises webcrawl.errors.StartRefused: the state cannot be used; the message says what to do.
        """
        ...

    async def close(self) -> None:
        """Release all resources. Keys still active stay marked, as after a crash."""
        ...

    async def activate_keys(self, count: int, now: float, sampler: LevelSampler) -> list[Activated]:
        """Make up to ``count`` idle keys active whose ``next_fetch_at`` and ``blocked_until`` have come.

        ``sampler`` decides how many keys of each level become active. Within a level the keys come first that could
        have been contacted for the longest time: since ``next_fetch_at`` and ``blocked_until``, but not before the
        commit (``Batch.at``) that queued a URL for a key whose queue was empty. A key of which no record was ever
        stored waits since ``FIRST_VISIT_AHEAD_SECONDS`` before that commit. A key's level is the highest in its
        queue. Keys that are given up are passed over.
        """
        ...

    async def acquire_key(self, key: str, now: float, *, given_up: bool = False) -> Activated | Unavailable:
        """Make this key active, new or known, whether or not it has URLs and its time has come; ``given_up``: also if
        it is given up.

        If another process holds the key, its next heartbeat says so (``REQUESTED`` in ``changed_queues``).
        """
        ...

    async def read_queue(self, key: str, after: QueuePosition | None, count: int) -> Loaded:
        """Return the next ``count`` entries behind ``after`` (None: from the start) in the queue of an active key."""
        ...

    async def scan_queues(self, cursor: ScanCursor | None, count: int) -> ScanResult:
        """Return about the next ``count`` entries of all queues, key by key, from ``cursor`` (None: from the start).

        An entry that is queued during the whole scan and is not moved comes at least once. If several processes share
        the crawl, each gets the keys that it holds, and its part of the keys that no process holds.
        """
        ...

    async def change_levels(self, moves: Sequence[Move]) -> list[Move]:
        """Give queued entries other levels. An entry is moved only if it is at the place given in its move, its key
        is held as the move says, and it is not being fetched. Returns the moves that were carried out; the other
        entries stay as they are.
        :raises webcrawl.errors.StorageFull: some of them may have been moved
        """
        ...

    async def commit(self, batch: Batch) -> Committed:
        """Carry out ``batch`` in one atomic step.
        :raises webcrawl.errors.StorageFull: nothing was changed; the same batch may be tried again.
        """
        ...

    async def release_keys(self, records: Sequence[HostRecord]) -> None:
        """End the activity of keys; ``records`` are their final records."""
        ...

    async def end_robots_wait(self, keys: Sequence[str]) -> None:
        """Let those of ``keys`` that are idle and ``blocked_until`` a robots.txt is known wait no longer: it was
        answered."""
        ...

    async def read_idle_times(self) -> Idle:
        """Return the time at which the next idle key can become active."""
        ...

    async def count_available_keys(self, at_most: int) -> int:
        """Return the number of keys that have URLs and are neither parked nor given up, counted up to ``at_most``.

        A shared backend may count active keys whose queues have run dry, as long as some active key has URLs.
        """
        ...

    async def read_counts(self) -> Counts: ...

    async def url_record(self, key: str, fingerprint: int) -> UrlRecord | None:
        """Return the record of a URL, None if it was never queued (or the seen test keeps no states)."""
        ...

    async def read_robots(self, origin: str, key: str) -> RobotsRecord | None:
        """Return the known robots.txt answer of an origin that belongs to ``key``."""
        ...


@runtime_checkable
class SharedBackend(Backend, Protocol):
    """A backend on which several processes work on one crawl.

    ``open`` makes this process one of the workers, ``close`` ends that: others can take the keys that it held at
    once.
    """

    silence_seconds: float
    """A process that sent no heartbeat for this long begins nothing new: it would hardly end in time."""
    heartbeat_seconds: float
    """The interval at which ``heartbeat`` is to be called."""
    clocks: ClockStore
    """The store of the clocks that keys share."""
    exclusions: str
    """The version of the exclusion list in force in this process, for the other workers and the operator; empty if
    there is none."""

    @property
    def reload_request(self) -> str:
        """A text that changes each time the operator wants all processes to read their exclusion files at once."""
        ...

    @property
    def place(self) -> str:
        """The location of the crawl's state, for messages."""
        ...

    @property
    def workers(self) -> int:
        """The number of running processes, this one included, as of the last heartbeat."""
        ...

    async def heartbeat(self, figures: Mapping[str, float]) -> HeartbeatAnswer:
        """Renew every lease, publish the figures of this process, and return what changed.

        ``figures``: any numbers, shown beside the process's name. ``waiting`` means that it could use keys;
        ``bandwidth_limit`` and ``bandwidth_wanted`` ask for a share of the limit, in bytes per second. The shares of
        all processes together never exceed it.
        """
        ...

    async def count_workers_before(self, at: float) -> int:
        """Return the number of other running processes that began before ``at``, epoch seconds."""
        ...

    async def allow_hosts(self, hosts: Sequence[str]) -> None:
        """Allow ``hosts``, which the operator named here, in every process. Each process knows them before it gets a
        URL of theirs that is discovered from now on."""
        ...

    def seed_lists(self) -> SeedLists:
        """Return the lists of seeds, and which process reads each."""
        ...

    def start_list(self, key: str) -> StartList:
        """Return the list ``key``, to which any client pushes URLs for the crawl."""
        ...

    def learner_store(self, focus: str) -> LearnerStore:
        """Return the store by which the processes exchange what they learn for a focus."""
        ...

    def change_log(self, name: str, kept: int) -> ChangeLog:
        """Return a log by which the processes exchange changes; ``kept``: about the number of entries that are kept.
        ``name``: of a feature, or of a feature and a thing of it with a colon between."""
        ...

    async def first_addresses(self, name: str, addresses: Sequence[str]) -> Sequence[str]:
        """Return the addresses that the name of a seed resolved to at first, in any process; ``addresses`` if these
        are not known. An empty ``addresses`` is not stored."""
        ...
