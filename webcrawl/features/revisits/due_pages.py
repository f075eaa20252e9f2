"""Adds due pages to the frontier, where they are fetched like any other pages, with the same politeness.

Two kinds of capacity are used. Due pages of a host with new URLs are queued above these and get a limited share of
all requests (``Share``). Capacity that is otherwise idle is free: while slots are empty and no host is ready, due
pages of hosts without new URLs are queued below everything else.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from webcrawl.frontier.order import FIRST, LAST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawl.features.revisits.page import RevisitedPage
    from webcrawl.features.revisits.visits import Visits
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.storage.tables import DuePartition


class Share:
    """Token bucket: grants due pages in proportion to the new pages that were fetched.

    Pages may be taken on credit, at most the number that one key gives at a time; the credit is repaid before the
    next grant.
    """

    def __init__(self, share: float, most: float) -> None:
        """``share``: 0 to 1, of all pages; ``most``: capacity of the bucket, in pages."""
        self._each = share / (1 - share) if share < 1 else float("inf")
        self._most = most
        self._saved = most if share == 1 else 0.0

    def fetched(self, new: int) -> None:
        """Add the tokens for ``new`` pages fetched since the last call."""
        if new and self._each:
            self._saved = min(self._saved + new * self._each, self._most)

    def spend(self, pages: int) -> None:
        """Subtract the tokens for ``pages`` pages that were taken."""
        if self._each != float("inf"):
            self._saved -= pages

    def lapse(self, most: int) -> None:
        """Discard tokens beyond ``most`` pages."""
        if self._each != float("inf"):
            self._saved = min(self._saved, most)

    @property
    def granted(self) -> int:
        """Number of pages that may be taken now."""
        return max(int(self._saved), 0)


TAKEN_SECONDS = 3600.0
"""Time after which a page that was taken is due again, if no visit of it was recorded."""
KEYS_AT_ONCE = 256
"""Number of hosts that are requested from the store together."""
BREATH = 16
"""Number of pages queued in one turn of the event loop: the expectation of each takes about 0.1 ms to compute."""
LOOKS = 8
"""Maximum number of requests for due hosts in one step."""


class VisitQueue(Protocol):
    """The part of the frontier that the feeder needs."""

    def add_entries(self, entries: Sequence[UrlEntry]) -> None: ...

    def has_work(self, key: str) -> bool:
        """Return whether a key has URLs in its queue, as far as this process knows."""
        ...

    def is_hungry(self) -> bool:
        """Return whether the crawl has idle capacity: slots are free and no key is ready."""
        ...


@dataclass(frozen=True, slots=True)
class Portions:
    """Limits of the feeder."""

    share: float = 0.3
    """Share of requests for due pages of hosts with new URLs."""
    pages_max: int = 8
    """Maximum number of taken pages of one host at a time."""
    saved_max: int = 64
    """Capacity of the token bucket, in pages."""


class Feeder:
    """Takes due pages from the store and adds them to the frontier.

    Pages that are taken but not added, because the process is killed in between, are due again after
    ``TAKEN_SECONDS``.
    """

    def __init__(
        self,
        visits: Visits,
        queue: VisitQueue,
        make_entry: Callable[[RevisitedPage, int], UrlEntry],
        portions: Portions,
    ) -> None:
        """``make_entry``: returns the queue entry of a page at a level."""
        self._visits = visits
        self._queue = queue
        self._make_entry = make_entry
        self._portions = portions
        self._share = Share(portions.share, portions.saved_max)
        self._new = 0
        self._passed: DuePartition | None = None
        self.waits_for_share = False
        """True if the last step left due pages that are granted once more new pages are fetched."""

    async def step(self, now: float, new: int) -> int:
        """Add the pages that may be added at ``now``; return their number. ``new``: number of new pages fetched so
        far.

        May raise the errors of the storage; pages taken by then are due again later.
        """
        self._share.fetched(new - self._new)
        self._new = new
        if not self.waits_for_share:
            # Unused tokens are discarded unless due pages wait for them.
            self._share.lapse(self._portions.pages_max)
        self.waits_for_share = False
        fed = 0
        for _ in range(LOOKS):
            hungry = self._queue.is_hungry()
            if not hungry and not self._share.granted:
                next_at = self._visits.status.next_at
                self.waits_for_share = next_at is not None and next_at <= now
                break
            due = await self._visits.store.due_keys(now, KEYS_AT_ONCE, self._passed)
            fed += await self._feed(due, now, hungry)
            # After the last key, the next step starts again with the first.
            self._passed = due[-1] if len(due) == KEYS_AT_ONCE else None
            if self._passed is None:
                break
        return fed

    async def _feed(self, due: Sequence[DuePartition], now: float, hungry: bool) -> int:
        busy = [page.partition for page in due if not hungry or self._queue.has_work(page.partition)]
        fed = 0
        if hungry:
            free = [page.partition for page in due if not self._queue.has_work(page.partition)]
            fed += await self._take(free, now, (self._portions.pages_max + 1) // 2, LAST)
        at = 0
        while at < len(busy) and (granted := self._share.granted):
            keys = busy[at : at + -(-granted // self._portions.pages_max)]
            taken = await self._take(keys, now, self._portions.pages_max, FIRST)
            self._share.spend(taken)
            fed, at = fed + taken, at + len(keys)
        self.waits_for_share |= at < len(busy)
        return fed

    async def _take(self, keys: Sequence[str], now: float, most: int, level: int) -> int:
        if not keys:
            return 0
        pages = await self._visits.store.take(keys, now, TAKEN_SECONDS, most)
        for first in range(0, len(pages), BREATH):
            self._queue.add_entries([self._make_entry(page, level) for page in pages[first : first + BREATH]])
            await asyncio.sleep(0)
        return len(pages)
