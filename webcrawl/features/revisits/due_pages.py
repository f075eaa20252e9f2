"""Brings pages that are due into the frontier, so that they are fetched like any others, and politely.

Who has new URLs as well gives up a share of its turns: pages of such a host go above its new URLs, and no more of
them than the share grants. Turns that nobody else could use are free: pages of a host without new URLs, while
slots are empty and no host is ready, go below everything else.

The share of requests that goes to pages that are due, while they compete with new ones.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from webcrawl.frontier.order import FIRST, LAST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawl.features.revisits.page import Page
    from webcrawl.features.revisits.store import DueKey
    from webcrawl.features.revisits.visits import Visits
    from webcrawl.frontier.records import UrlEntry


class Share:
    """Grants pages to be visited again by how many new ones were fetched: a bucket of tokens.

    A page may be taken on credit, at most as many at a time as one key gives; it is paid back before the next is.
    """

    def __init__(self, share: float, most: float) -> None:
        """``share``: 0 to 1, of all pages; ``most``: what may be saved up, in pages."""
        self._each = share / (1 - share) if share < 1 else float("inf")
        self._most = most
        self._saved = most if share == 1 else 0.0

    def fetched(self, new: int) -> None:
        """So many new pages were fetched since the last time."""
        if new and self._each:
            self._saved = min(self._saved + new * self._each, self._most)

    def spend(self, pages: int) -> None:
        """So many pages were taken."""
        if self._each != float("inf"):
            self._saved -= pages

    def lapse(self, most: int) -> None:
        """What was saved up beyond ``most`` pages is granted no more."""
        if self._each != float("inf"):
            self._saved = min(self._saved, most)

    @property
    def granted(self) -> int:
        """How many pages may be taken now."""
        return max(int(self._saved), 0)


TAKEN_SECONDS = 3600.0
"""After so long a page that was taken is due again, where nothing was heard of it."""
KEYS_AT_ONCE = 256
"""Hosts that are looked at together."""
BREATH = 16
"""Pages that are queued in one turn of the event loop: what is to be expected of each takes some 0.1 ms."""
LOOKS = 8
"""How often hosts are looked at in one step."""


class Queue(Protocol):
    """The frontier, as far as it is fed."""

    def add(self, entries: Sequence[UrlEntry]) -> None: ...

    def has_work(self, key: str) -> bool:
        """Whether a key has URLs in its queue, as far as this process knows."""
        ...

    def is_hungry(self) -> bool:
        """Whether more could be fetched than there is: slots are free and no key is ready."""
        ...


@dataclass(frozen=True, slots=True)
class Portions:
    """How much is fed."""

    share: float = 0.3
    """Of requests, for pages that are due, of hosts with new URLs."""
    pages_max: int = 8
    """Pages of a host that are on their way at a time."""
    saved_max: int = 64
    """Pages by which the share may be behind for a while."""


class Feeder:
    """Takes pages that are due from the store and adds them to the frontier.

    What is taken and never added, since the process is killed in between, is due again after ``TAKEN_SECONDS``.
    """

    def __init__(
        self,
        visits: Visits,
        queue: Queue,
        entry_of: Callable[[Page, int], UrlEntry],
        portions: Portions,
    ) -> None:
        """``entry_of``: what is queued for a page, at a level."""
        self._visits = visits
        self._queue = queue
        self._entry_of = entry_of
        self._portions = portions
        self._share = Share(portions.share, portions.saved_max)
        self._new = 0
        self._passed: DueKey | None = None
        self.waits_for_share = False
        """Whether pages were due in the last step that are granted when more new ones were fetched."""

    async def step(self, now: float, new: int) -> int:
        """Feed what may be fed at ``now``; how many pages that was. ``new``: how many new pages were fetched so far.

        May raise the errors of the storage; what was taken then is due again later.
        """
        self._share.fetched(new - self._new)
        self._new = new
        if not self.waits_for_share:
            # What nobody could use is not saved up.
            self._share.lapse(self._portions.pages_max)
        self.waits_for_share = False
        fed = 0
        for _ in range(LOOKS):
            hungry = self._queue.is_hungry()
            if not hungry and not self._share.granted:
                next_at = self._visits.standing.next_at
                self.waits_for_share = next_at is not None and next_at <= now
                break
            due = await self._visits.store.due_keys(now, KEYS_AT_ONCE, self._passed)
            fed += await self._feed(due, now, hungry)
            # Behind the last the first are looked at again, with the next step.
            self._passed = due[-1] if len(due) == KEYS_AT_ONCE else None
            if self._passed is None:
                break
        return fed

    async def _feed(self, due: Sequence[DueKey], now: float, hungry: bool) -> int:
        busy = [one.key for one in due if not hungry or self._queue.has_work(one.key)]
        fed = 0
        if hungry:
            free = [one.key for one in due if not self._queue.has_work(one.key)]
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
            self._queue.add([self._entry_of(page, level) for page in pages[first : first + BREATH]])
            await asyncio.sleep(0)
        return len(pages)
