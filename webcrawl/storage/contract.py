"""The contract between the frontier (policy) and the places its state can live in (mechanism).

A backend stores; it decides nothing. It keeps four things: a queue per politeness key, ordered by (level
descending, position ascending); the set of URLs ever queued, with the state of each; a record per key; the
robots.txt answers per origin. The memory backend is the executable specification, and one suite of tests and
one state machine hold all backends to it (``tests/contract``, ``tests/properties``).

All methods are coroutines: none may block the event loop. Calls are carried out in the order they were made,
and each is atomic: after a crash it happened wholly or not at all. A shared backend, which may be spread over
machines, promises less of ``commit`` and no less of the crawl: what was discovered is queued before what was
settled leaves its queue, and each key's part is atomic. Its answers may overtake each other: what a load brings
may be known from a commit, or have left its queue since.

A backend that several processes share is a ``SharedBackend``: there a key is active for one of them, under a
lease with a fencing number. What is written about an active key carries its number (``fence``), and is dropped
when another holds the key by now; what was discovered is always taken.

Claims on shared clocks: the contract between the turns of keys (policy) and where clocks are kept (mechanism).

Our hold on a politeness key: until when nobody else may contact it.

On a backend of our own that is for ever. On a shared one it is a lease that has to be renewed, and a process
that was frozen, or cut off from the backend, must find out that it ended before it sends another byte.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from webcrawl.features.content_seen.content_seen import ContentStore
from webcrawl.features.revisits.store import VisitStore
from webcrawl.frontier.order import LevelSampler
from webcrawl.frontier.queue_head import Place
from webcrawl.frontier.records import State, UrlEntry
from webcrawl.politeness.host_record import HostRecord, Pauses, RobotsRecord

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def uptime() -> float:
    """Seconds on a clock that nobody sets and that also runs while the machine sleeps, where there is one."""
    return time.clock_gettime(_CLOCK)


@dataclass(slots=True, eq=False)
class LeaseValidity:
    """Ends at ``until`` (as told by ``uptime``). A renewal moves it on; a hold that has ended stays ended.

    The backend sets it, counting from the moment *before* the renewing call was sent, less a margin: it ends
    here before it ends there. One object may stand for many keys.
    """

    until: float = math.inf
    others: tuple[LeaseValidity, ...] = ()
    """It ends with the first of these, too."""

    @property
    def ends_at(self) -> float:
        """As told by ``uptime``."""
        return min((self.until, *(other.ends_at for other in self.others))) if self.others else self.until

    def is_over(self) -> bool:
        # Where one process has the crawl, this is asked several times a page, and no clock need be.
        return self is not FOREVER and self.ends_at <= uptime()

    def and_of(self, other: LeaseValidity) -> LeaseValidity:
        """What lasts while both do."""
        if self is FOREVER:
            return other
        return self if other is FOREVER else LeaseValidity(others=(self, other))


FOREVER = LeaseValidity()
"""Keys of a crawl that has one process."""


@dataclass(slots=True, eq=False)
class RateLimitLease:
    """The right to fetch once from ``host`` at ``address``, as far as its shared clocks go."""

    ticket: int
    host: str
    address: str | None
    """Empty: not known, and the host must not be contacted directly. None: any."""
    pauses: Pauses
    hold: LeaseValidity

    @property
    def longest_pause(self) -> float:
        """Seconds; 0 where no clocks are shared."""
        return max(self.pauses.values(), default=0.0)


NO_CLAIM = RateLimitLease(0, "", None, {}, FOREVER)
"""Where no clocks are shared."""

Locate = Callable[[str], Awaitable[str | None]]
"""The address at which a host is contacted, None where there is none; from then on it is contacted there."""


@dataclass(frozen=True, slots=True)
class RateLimitRequest:
    """A fetch that wants all of its clocks at once. ``ticket`` is its own within the process: what was granted
    under it is granted when it is asked for again."""

    ticket: int
    pauses: Pauses


@dataclass(frozen=True, slots=True)
class RateLimitReturn:
    """A claim that is given back. ``ended_at``: when the fetch had ended, by the crawl's clock; None when nothing was
    sent, so that nothing is owed."""

    ticket: int
    pauses: Pauses
    ended_at: float | None


@dataclass(frozen=True, slots=True)
class RateLimitDenial:
    """One of the clocks is not free: in so many seconds it may be, or is worth another question."""

    clock: str
    wait_seconds: float


class ClockStore(Protocol):
    """Where shared clocks are kept. At most one claim is open on a clock, and none is granted before the pause is
    over that was owed after the last one, whichever process had it."""

    def rest(self, now: float) -> None:
        """The crawl was begun before: requests may have been open a moment ago of which nothing is known here."""
        ...

    async def exchange(
        self, returned: Sequence[RateLimitReturn], wanted: Sequence[RateLimitRequest]
    ) -> list[LeaseValidity | RateLimitDenial]:
        """Take back, then grant or deny each of ``wanted``: all clocks of one or none. What is granted is held while
        its ``Hold`` lasts."""
        ...


class OwnClocks:
    """The clocks of a crawl that has one process. They are not written down: a crawl that is taken up again lets each
    rest its pause first, as if it had ended just now."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """``clock``: the crawl's, epoch seconds."""
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
        for one in returned:
            self._take_back(one)
        now = self._clock()
        if len(self._free_at) > self._swept_at:
            self._free_at = {name: at for name, at in self._free_at.items() if at > now}
            self._swept_at = max(2 * len(self._free_at), 1024)
        return [self._answer(one, now) for one in wanted]

    def _take_back(self, one: RateLimitReturn) -> None:
        for name, pause in one.pauses.items():
            if self._open.get(name) == one.ticket:
                del self._open[name]
                if one.ended_at is not None:
                    self._free_at[name] = one.ended_at + pause

    def _answer(self, one: RateLimitRequest, now: float) -> LeaseValidity | RateLimitDenial:
        for name, pause in one.pauses.items():
            if self._open.get(name, one.ticket) != one.ticket:
                # Who has it gives it back, and with that it is known when it will be free.
                return RateLimitDenial(name, pause)
            free_at = max(self._free_at.get(name, 0.0), self._rested_from + pause)
            if free_at > now:
                return RateLimitDenial(name, free_at - now)
        self._open.update(dict.fromkeys(one.pauses, one.ticket))
        return FOREVER


HEAD = 16
"""How many entries of a queue travel at a time."""


@dataclass(slots=True)
class Loaded:
    """A stretch of one key's queue, with the robots answers of every origin in it that are known."""

    entries: list[UrlEntry]
    more: bool
    """Whether the queue may go on behind ``entries``."""
    robots: list[RobotsRecord]


@dataclass(slots=True)
class Activated:
    """A key that became active, i.e. is ours to contact until it is released."""

    record: HostRecord
    queue: Loaded
    hold: LeaseValidity = FOREVER
    """How long it is ours."""


@dataclass(slots=True)
class Settled:
    """What became of a URL that was leased.

    With ``state`` QUEUED it goes back to its queue as ``again`` (same fingerprint, new position).
    """

    entry: UrlEntry
    state: State
    rule: str | None = None
    """For REFUSED the rule that refused it, for FAILED the error."""
    again: UrlEntry | None = None
    fence: int = 0
    """The ``HostRecord.fence`` under which the URL was leased; 0 is not checked."""


@dataclass(slots=True)
class Batch:
    """What one commit changes. Discovered URLs that are known already are dropped, unless they say
    ``repeat``.
    """

    discovered: list[UrlEntry] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)
    hosts: list[HostRecord] = field(default_factory=list)
    """Records of active keys that changed."""
    robots: list[RobotsRecord] = field(default_factory=list)
    at: float = 0.0
    """The time of the commit (epoch seconds): an idle key whose queue was empty waits for its turn from then on."""

    def __bool__(self) -> bool:
        return bool(self.discovered or self.settled or self.hosts or self.robots)


FIRST_VISIT_AHEAD_SECONDS = 900.0
"""A key that was never active waits for its turn as if it had waited for so much longer: first visits come before
further ones, and a flood of new hosts delays these by no more than this."""

QUEUE_FULL = "queue-full"
"""The rule by which URLs are refused for which there is no place in the queue of their key."""


@dataclass(slots=True)
class Committed:
    """What a commit did: the entries that were really queued, and how many were pruned from full queues."""

    queued: list[UrlEntry]
    pruned: int
    total_queued: int
    total_hosts: int
    lost: Sequence[str] = ()
    """Keys about which something was dropped, since they are not ours any more."""
    turned_away: int = 0
    """New URLs that were not taken for lack of room: they are not known, and new when they are found again."""
    crowded_out: int = 0
    """Queued URLs that were pruned for lack of room."""
    may_return: Sequence[int] = ()
    """Fingerprints of URLs that were refused since their queue was full, now or before: they are taken as new when
    they are found again and there is room. Nothing is told where the seen test keeps no states."""


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
    """Queued URLs of given-up keys: kept, not waited for."""


@dataclass(slots=True)
class Idle:
    """The keys that have URLs and are not active: when the first of them may be contacted (epoch seconds)."""

    at: float | None
    """Of those that merely rest between two fetches."""
    parked_at: float | None
    """Of those that failed and are parked."""
    busy: bool = False
    """Active keys, ours or those of others, have URLs: there may be more work later, wherever it comes from."""


@dataclass(frozen=True, slots=True)
class Move:
    """A queued entry that is to have another level. Its position stays."""

    entry: UrlEntry
    """As it stands in its queue."""
    level: int
    fence: int | None = None
    """Of its key, which is active here (0 where no other process could hold it); None: it is active for nobody."""

    @property
    def place(self) -> Place:
        """Where it is to stand."""
        return (-self.level, self.entry.position)

    def moved(self) -> UrlEntry:
        """The entry as it stands then."""
        return replace(self.entry, level=self.level)


Spot = tuple[Any, ...]
"""How far a walk has come; what is in it only the backend knows."""


@dataclass(slots=True)
class Walked:
    """A stretch of all queues."""

    entries: list[UrlEntry]
    """Those of one key together, in their order."""
    spot: Spot | None
    """Where to go on, None at the end."""


class OperatorCommand(StrEnum):
    """What the operator wants of a crawl that several processes share."""

    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"


class Room(StrEnum):
    """How much room a storage with a byte budget has left."""

    PLENTY = "plenty"
    SCARCE = "scarce"
    """New URLs of the lowest levels are turned away."""
    FULL = "full"
    """All new URLs are turned away, and the ends of the longest queues are pruned."""


@dataclass(frozen=True, slots=True)
class Filling:
    """How much of its budget a storage uses; of several servers the fullest."""

    used_bytes: int
    budget_bytes: int
    room: Room


@dataclass(slots=True)
class HeartbeatAnswer:
    """What a sign of life brought back."""

    command: OperatorCommand = OperatorCommand.RUN
    lost: list[str] = field(default_factory=list)
    """Keys that are not ours any more."""
    changed_queues: dict[str, Place] = field(default_factory=dict)
    """Active keys of ours that others queued URLs for, with a place before which nothing has changed."""
    share: int | None = None
    """The keys that are a fair part for us, at least one, when somebody else has nothing to do; None when nobody
    waits."""
    filling: Filling | None = None
    """None where there is no budget."""


class Backend(Protocol):
    """Where a crawl's state lives."""

    async def open(self, now: float) -> Counts:
        """Make ready. Keys left active by a crash rest their ``delay_seconds`` from ``now`` before they are
        idle; keys that are given up or wait for a robots.txt get another chance.

        :raises webcrawl.errors.StartRefused: the state cannot be used; the message says what to do.
        """
        ...

    async def close(self) -> None:
        """Give everything back. Keys still active stay marked, as after a crash."""
        ...

    async def activate(self, count: int, now: float, draw: LevelSampler) -> list[Activated]:
        """Make up to ``count`` idle keys active whose ``next_fetch_at`` and ``blocked_until`` have come.

        ``draw`` says how many of each level; within a level those come first that could have been contacted for the
        longest time: since ``next_fetch_at`` and ``blocked_until``, but not before the commit (``Batch.at``) that
        queued a URL for a key whose queue was empty. A key of which no record was ever stored waits since
        ``FIRST_VISIT_AHEAD_SECONDS`` before that commit. A key's level is the highest in its queue. Keys that are
        given up are passed over.
        """
        ...

    async def load(self, key: str, after: Place | None, count: int) -> Loaded:
        """The next ``count`` entries behind ``after`` (None: from the start) in the queue of an active key."""
        ...

    async def walk(self, spot: Spot | None, count: int) -> Walked:
        """The next some ``count`` entries of all queues, key by key, from ``spot`` on (None: from the start).

        What is queued from the begin of a walk to its end and is not moved comes at least once. Where several
        processes share the crawl, each has what it holds, and of what nobody holds its part.
        """
        ...

    async def move(self, moves: Sequence[Move]) -> list[Move]:
        """Give queued entries other levels: those that stand where they are said to, in a key that is held as it is
        said to be, and that nobody fetches. Returns those that were moved; the others stay as they are.

        :raises webcrawl.errors.StorageFull: some of them may have been moved
        """
        ...

    async def commit(self, batch: Batch) -> Committed:
        """Carry out ``batch`` in one atomic step.

        :raises webcrawl.errors.StorageFull: nothing was changed; the same batch may be tried again.
        """
        ...

    async def release(self, records: Sequence[HostRecord]) -> None:
        """The keys are active no more; ``records`` are their last words."""
        ...

    async def wake(self, keys: Sequence[str]) -> None:
        """A robots.txt was answered: those of ``keys`` that wait for one, idle and ``blocked_until``, do so no
        more."""
        ...

    async def idle(self) -> Idle:
        """When the next idle key can become active."""
        ...

    async def keys_at_hand(self, at_most: int) -> int:
        """How many keys have URLs and are neither parked nor given up, counted up to ``at_most``.

        A shared backend may count active keys whose queues have run dry, as long as some active key has URLs.
        """
        ...

    async def counts(self) -> Counts: ...

    async def state_of(self, key: str, fingerprint: int) -> State | None:
        """The state of a URL, None when it was never queued (or the seen test keeps no states)."""
        ...

    async def robots_of(self, origin: str, key: str) -> RobotsRecord | None:
        """What is known of the robots.txt of an origin that belongs to ``key``."""
        ...

    async def checkpoint(self, directory: Path) -> None:
        """Write a consistent copy of the state into ``directory``."""
        ...


@runtime_checkable
class SharedBackend(Backend, Protocol):
    """A backend on which several processes work on one crawl.

    ``open`` makes this process one of the crew, ``close`` lets it go: what it held can be had at once.
    """

    silence_seconds: float
    """So long after its last sign of life a process begins nothing new: what it began would hardly end in time."""
    pulse_seconds: float
    """How often ``pulse`` is to be called."""
    clocks: ClockStore
    """Where the clocks are kept that keys share."""
    contents: ContentStore
    """Where bodies are remembered."""
    visits: VisitStore
    """Where pages are remembered that are visited again."""
    exclusions: str
    """The version of the exclusion list in force in this process, for the others and the operator; empty for none."""

    @property
    def look_asked(self) -> str:
        """Another text each time the operator wants all processes to look at their exclusion files at once."""
        ...

    @property
    def place(self) -> str:
        """Where the crawl is kept, for people."""
        ...

    @property
    def workers(self) -> int:
        """How many processes were at work when that was last heard, this one among them."""
        ...

    async def heartbeat(self, figures: Mapping[str, float]) -> HeartbeatAnswer:
        """Renew every lease, tell the others how this process fares, and hear what is new.

        ``figures``: any numbers, shown beside the process's name. ``waiting`` means that it could use keys.
        """
        ...

    async def allow_hosts(self, hosts: Sequence[str]) -> None:
        """The operator named ``hosts`` here: every process knows it before it is given a URL of theirs that is
        discovered from now on."""
        ...

    async def first_addresses(self, name: str, addresses: Sequence[str]) -> Sequence[str]:
        """What the name of a seed resolved to at first, in whatever process; ``addresses``, if that is not known.
        With none given nothing is remembered."""
        ...
