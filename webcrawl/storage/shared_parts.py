"""Contracts of the parts of a shared backend that are not the frontier: lists of seeds, of which one process reads
each; start lists, to which any client pushes URLs; what the workers of a focused crawl learn; and logs of changes
that the processes exchange.

Every coroutine may raise StorageAway, StorageFull and StorageLost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol, TypeVar


class Turn(Enum):
    """The process whose turn it is to read a list."""

    THEIRS = 0
    OURS = 1
    FINISHED = 2
    """All of its seeds are queued."""


class ListProgress(NamedTuple):
    """The progress of reading a list."""

    turn: Turn
    queued: int
    """Seeds from its beginning that are durably queued, wrong lines included."""


class SeedLists(Protocol):
    """The progress of each list of seeds, and the process that reads it. Lists are identified by their digests.

    A reader has the list alone until the lease time has passed without a report of it; the next one goes on from
    there.
    """

    async def request_turn(self, digest: str, queued: int = 0) -> ListProgress:
        """Request the turn, or keep it; ``queued`` seeds are in the crawl."""
        ...

    async def give_up(self, digest: str, queued: int) -> None:
        """Give up the turn: another process may go on at once."""
        ...

    async def finish(self, digest: str, queued: int) -> None:
        """Report that the list was read to its end."""
        ...


@dataclass(slots=True)
class Taken:
    """Taken entries as they were pushed, by their tickets."""

    entries: dict[bytes, bytes] = field(default_factory=dict)
    with_others: int = 0
    """Entries that other processes have taken, or had when they ended, and that are not in the crawl yet."""


class StartList(Protocol):
    """Takes entries off a list so that none is lost and each is given to one process.

    Taken entries have to be ``done`` when they are in the crawl. Otherwise, as when the process that took them was
    killed, they are given out again after the lease time; those that did enter the crawl meanwhile are known there.
    """

    key: str
    """The name of the list."""
    wrong_key: str
    """The name of the list of entries that were set aside."""

    async def take(self, count: int) -> Taken:
        """Take up to ``count`` entries, first those that were taken by a process that is gone.
        :raises StorageLost: the key is no list"""
        ...

    async def done(self, tickets: Sequence[bytes]) -> None:
        """Report that the entries of these tickets are in the crawl, durably, or set aside."""
        ...

    async def set_aside(self, wrong: Sequence[str]) -> None:
        """Keep entries that could not be queued in the list ``wrong_key``, the last 10,000 of them."""
        ...


Deltas = Mapping[int, tuple[float, float]]
"""Place to the amounts added to the two numbers that are there."""


class Learned(Protocol):
    """The learned numbers of a focused crawl, to which each worker adds. A store knows no more of them."""

    @property
    def examples(self) -> int:
        """The number of examples, including those of other processes."""
        ...

    def take_news(self) -> tuple[Deltas, int]:
        """Return the changes by examples learned here since the last call, and the number of these examples."""
        ...

    def give_back(self, news: Deltas, examples: int) -> None:
        """Return changes that could not be shared; the next ``take_news`` includes them."""
        ...

    def add(self, deltas: Deltas, examples: int) -> None:
        """Add the changes that another process learned from ``examples`` examples."""
        ...

    def pack(self, focus: str) -> bytes:
        """Return all that is known, as ``restore`` takes it; ``focus``: the focus for which it was learned."""
        ...

    def restore(self, packed: bytes) -> None:
        """Replace all that is known. :raises ValueError: it is damaged"""
        ...

    def learned(self) -> None:
        """Use what was added from now on."""
        ...


LearnedT = TypeVar("LearnedT", bound=Learned)


class LearnerStore(Protocol):
    """Every method may raise the CrawlError of its storage; then it is called again later, and nothing that was
    learned is lost. While a method runs, nothing is learned."""

    async def begin(self, learner: Learned) -> bool:
        """Load the stored state into the learner. Return whether there was any."""
        ...

    async def step(self, learner: Learned, now: float, *, last: bool = False) -> bool:
        """Save the state, if it is time or the ``last`` step, and load changes of other workers. ``now``: seconds of
        any clock. Return whether anything came from others."""
        ...


class LogEntry(NamedTuple):
    """An entry of a log of changes."""

    position: str
    fields: Mapping[str, bytes]


LOG_START = "0-0"
"""The position before the first entry of a log."""


class ChangeLog(Protocol):
    """A log to which all processes of a crawl append; the last entries are kept."""

    async def append(self, fields: Mapping[str, bytes]) -> None:
        """Append an entry."""
        ...

    async def after(self, position: str, most: int) -> list[LogEntry]:
        """Return the first entries after ``position``."""
        ...
