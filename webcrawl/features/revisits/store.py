"""The contract of the places where the pages of a continuous crawl are remembered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.features.revisits.page import Page, PageId

DUE_COUNTED = 100_000
"""Pages that are due are counted up to this."""
DOUBLINGS = 6
"""How often the time doubles after which a page that was taken is due again, while nothing is heard of its key."""


class DueKey(NamedTuple):
    """A politeness key with pages that are due: since when, and which. Sorts in the order of service."""

    at: float
    key: str


class Hint(NamedTuple):
    """That a page may have changed: it had better be visited at ``at`` (epoch seconds)."""

    key: str
    fingerprint: int
    at: float


@dataclass(frozen=True, slots=True)
class RevisitStatus:
    """How many pages are remembered, how many of them are due, and when the first is (epoch seconds)."""

    pages: int = 0
    due: int = 0
    next_at: float | None = None


@dataclass(frozen=True, slots=True)
class Lookup:
    """What a crawl that is looked at from outside has of a page."""

    page: Page | None = None
    lessons: tuple[str, ...] = ()
    """What the policies of all workers have learnt."""
    pages: int = 0
    """How many are remembered in all."""


class VisitStore(Protocol):
    """Pages by politeness key, each with the time of its next visit.

    A page that was taken is not due before its time is over, or before it is kept again. A key of which so many
    pages are out as may be is not due before one of them is heard of. Every method may raise the errors of its
    storage, a CrawlError: then nothing was changed, or the same step may be done again.
    """

    async def open(self) -> None:
        """Make ready. :raises webcrawl.errors.StartRefused: the store cannot be used"""
        ...

    async def close(self) -> None: ...

    async def find(self, ids: Sequence[PageId]) -> list[Page | None]:
        """What is remembered of each; None for nothing."""
        ...

    async def keep(self, pages: Sequence[Page], dropped: Sequence[PageId] = ()) -> None:
        """Remember pages as they are now, in one step; they are out no more. Forget those that are ``dropped``."""
        ...

    async def due_keys(self, now: float, most: int, after: DueKey | None = None) -> list[DueKey]:
        """The first keys with pages that are due at ``now``, behind ``after``; those first that are due longest."""
        ...

    async def take(self, keys: Sequence[str], now: float, seconds: float, most: int) -> list[Page]:
        """Of each key the pages that are due longest, so that at most ``most`` of it are out; nobody else gets them.

        They are due again after ``seconds``, or a multiple of that while nothing is heard of what is taken of their
        key (twice as long each time, ``DOUBLINGS`` times).
        """
        ...

    async def hint(self, hints: Sequence[Hint]) -> list[bool]:
        """Each page is due at its time if it is not due earlier, or out; in one step. False: it is not remembered."""
        ...

    async def learnt(self, worker: str, lessons: str) -> None:
        """Remember what a worker's policy has learnt; see ``policies.LearningPolicy``."""
        ...

    async def lessons(self) -> dict[str, str]:
        """What was learnt, by worker."""
        ...

    async def standing(self, now: float) -> RevisitStatus: ...
