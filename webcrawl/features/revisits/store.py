"""Contract of the stores that keep the pages of a continuous crawl."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.features.revisits.page import Page, PageId

DUE_COUNTED = 100_000
"""Due pages are counted up to this number."""
DOUBLINGS = 6
"""Number of times that the time doubles after which taken pages are due again, while no visit of their key is
recorded."""


class DueKey(NamedTuple):
    """A politeness key with due pages, and since when. Sorts in the order of service."""

    at: float
    key: str


class Hint(NamedTuple):
    """A page that may have changed and should be visited at ``at`` (epoch seconds)."""

    key: str
    fingerprint: int
    at: float


@dataclass(frozen=True, slots=True)
class RevisitStatus:
    """Numbers of remembered and due pages, and the time at which the first is due (epoch seconds)."""

    pages: int = 0
    due: int = 0
    next_at: float | None = None


@dataclass(frozen=True, slots=True)
class Lookup:
    """Data about a page for inspecting a crawl from outside."""

    page: Page | None = None
    lessons: tuple[str, ...] = ()
    """Lessons of the policies of all workers."""
    pages: int = 0
    """Number of all remembered pages."""


class VisitStore(Protocol):
    """Pages by politeness key, each with the time of its next visit.

    A taken page is out: it is not due again until its time is over or it is kept again. A key with as many pages out
    as allowed is not due until a visit of one of them is recorded. Every method may raise the CrawlError of its
    storage: then nothing was changed, or the same step can safely be repeated.
    """

    async def open(self) -> None:
        """Open the store. :raises webcrawl.errors.StartRefused: the store cannot be used"""
        ...

    async def close(self) -> None: ...

    async def find(self, ids: Sequence[PageId]) -> list[Page | None]:
        """Return each remembered page; None for an unknown one."""
        ...

    async def keep(self, pages: Sequence[Page], dropped: Sequence[PageId] = ()) -> None:
        """Store pages in one step; they are no longer out. Delete those that are ``dropped``."""
        ...

    async def due_keys(self, now: float, most: int, after: DueKey | None = None) -> list[DueKey]:
        """Return the first keys with pages due at ``now``, after ``after``, in the order in which they became due."""
        ...

    async def take(self, keys: Sequence[str], now: float, seconds: float, most: int) -> list[Page]:
        """Take the pages of each key that are due longest, so that at most ``most`` of the key are out; no other
        caller gets them.

        They are due again after ``seconds``, or a multiple of that while no visit of the key's taken pages is
        recorded (twice as long each time, ``DOUBLINGS`` times).
        """
        ...

    async def hint(self, hints: Sequence[Hint]) -> list[bool]:
        """Make each page due at its time unless it is due earlier or out; in one step. False: the page is not
        remembered."""
        ...

    async def learnt(self, worker: str, lessons: str) -> None:
        """Store the lessons of a worker's policy; see ``policies.LearningPolicy``."""
        ...

    async def lessons(self) -> dict[str, str]:
        """Return the stored lessons, by worker."""
        ...

    async def standing(self, now: float) -> RevisitStatus: ...
