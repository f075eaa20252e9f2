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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from webcrawl.contents.seen import ContentStore
from webcrawl.frontier.claims import ClockStore
from webcrawl.frontier.draw import Draw
from webcrawl.frontier.hold import FOREVER, Hold
from webcrawl.frontier.queue_head import Place
from webcrawl.frontier.records import State, UrlEntry
from webcrawl.hosts.record import HostRecord, RobotsRecord
from webcrawl.visits.store import VisitStore

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
    hold: Hold = FOREVER
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


class Command(StrEnum):
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
class Pulse:
    """What a sign of life brought back."""

    command: Command = Command.RUN
    lost: list[str] = field(default_factory=list)
    """Keys that are not ours any more."""
    stirred: dict[str, Place] = field(default_factory=dict)
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

    async def activate(self, count: int, now: float, draw: Draw) -> list[Activated]:
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

    async def pulse(self, figures: Mapping[str, float]) -> Pulse:
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
