"""The visits of a crawl: told as they end, kept behind the archive, asked about by whoever wants to know."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from webcrawl.visits.judging import Rules, after
from webcrawl.visits.store import Hint, Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawl.archive.capture import Entry
    from webcrawl.visits.estimate import Expectation
    from webcrawl.visits.page import Page, PageId, Visit
    from webcrawl.visits.store import VisitStore

BREATH = 16
"""Visits that are judged in one turn of the event loop: a policy that learns takes some 0.1 ms for each."""


class Archive(Protocol):
    """What keeps pages and the fetch log, see ``frontier.committer.Store``."""

    async def append(self, entries: Sequence[Entry]) -> None: ...


class Visits:
    """Takes visits from the event loop and keeps what they make of their pages.

    It stands where the frontier knows the archive: what a group of fetches left is archived first, then its visits
    are kept, and only then the frontier calls the URLs done. So a page that is done has its next visit, whatever
    is killed when.
    """

    def __init__(
        self,
        store: VisitStore,
        rules: Rules,
        clock: Callable[[], float],
        archive: Archive | None,
        identify: Callable[[str], PageId],
    ) -> None:
        """``clock``: epoch seconds. ``identify``: what stands for the page at a URL."""
        self.store = store
        self.rules = rules
        self._clock = clock
        self._archive = archive
        self._identify = identify
        self._told: dict[int, tuple[Entry, Visit]] = {}
        """By the identity of the archive's entry that it belongs to, until that is archived."""
        self._archived: Sequence[Entry] | None = None
        self._loose: list[Visit] = []
        """What left nothing for the archive."""
        self.standing = Standing()
        """As of the last look, and what was kept since."""
        self.news = asyncio.Event()
        """Set when there may be more to be had: a page was heard of that was out, or is due earlier than it was."""

    # -- what is told ----------------------------------------------------------------------------------------

    def tell(self, visit: Visit, entry: Entry | None) -> None:
        """A visit has ended. ``entry``: what the archive is about to be given of it; None where nothing was sent."""
        if entry is None:
            self._loose.append(visit)
        else:
            self._told[id(entry)] = entry, visit

    async def append(self, entries: Sequence[Entry]) -> None:
        """Archive what was fetched, then keep its visits. :raises StorageFull: the same entries may be given again"""
        if self._archive is not None and self._archived is not entries:
            await self._archive.append(entries)
            self._archived = entries
        told = (self._told.get(id(entry)) for entry in entries)
        await self._keep([one[1] for one in told if one is not None])
        self._archived = None
        for entry in entries:
            self._told.pop(id(entry), None)

    async def keep_loose(self) -> None:
        """Keep what left nothing for the archive; what cannot be kept now is kept with the next call."""
        visits = self._loose
        if visits:
            await self._keep(visits[:])
            self._loose = self._loose[len(visits) :]

    async def _keep(self, visits: Sequence[Visit]) -> None:
        if not visits:
            return
        known: dict[PageId, Page | None] = {}
        ids = list(dict.fromkeys(visit.id for visit in visits))
        known.update(zip(ids, await self.store.find(ids), strict=True))
        before, now = dict(known), self._clock()
        for number, visit in enumerate(visits, start=1):
            known[visit.id] = after(known[visit.id], visit, now, self.rules)
            if number % BREATH == 0:
                await asyncio.sleep(0)
        kept = [page for page in known.values() if page is not None]
        dropped = [one for one, page in known.items() if page is None and before[one] is not None]
        if kept or dropped:
            await self.store.keep(kept, dropped)
            new = sum(before[page.id] is None for page in kept)
            if new < len(kept) or self.standing.next_at is None:
                self.news.set()
            self._reckon(new - len(dropped), [page.next_visit_at for page in kept])

    def _reckon(self, more: int, times: Sequence[float]) -> None:
        """Until the next look: so many more pages are remembered, and some are due at ``times``."""
        said = self.standing
        known = times if said.next_at is None else [*times, said.next_at]
        self.standing = replace(said, pages=said.pages + more, next_at=min(known, default=None))

    # -- what is learnt --------------------------------------------------------------------------------------

    async def recall(self, worker: str) -> None:
        """Go on with what was learnt of this crawl, by this worker and by others; for a policy that learns."""
        policy = self.rules.learner
        if policy is not None:
            lessons = await self.store.lessons()
            policy.recall(lessons.pop(worker, None), lessons.values(), self.standing.pages)

    async def share_lessons(self, worker: str) -> None:
        """Keep what was learnt here, and take what others have learnt since."""
        policy = self.rules.learner
        if policy is not None:
            await self.store.learnt(worker, policy.lessons())
            lessons = await self.store.lessons()
            lessons.pop(worker, None)
            policy.recall(None, lessons.values(), self.standing.pages)

    # -- what is asked ---------------------------------------------------------------------------------------

    async def hint(self, url: str, at: float) -> bool:
        """The page at ``url`` has perhaps changed: it is due at ``at`` (epoch seconds), unless it is due earlier or
        on its way. False: no such page is remembered. May raise the errors of the storage.
        """
        [known] = await self.store.hint([Hint(*self._identify(url), at)])
        if known:
            self.news.set()
        return known

    def expected(self, page: Page) -> Expectation:
        """What is to be expected of our copy of a page now, by what the policy learnt, or by what is usual."""
        # Who visits each page once does not wait for what this takes to import.
        from webcrawl.visits.census import START
        from webcrawl.visits.estimate import expected, posterior

        policy, history, now = self.rules.learner, page.history, self._clock()
        if policy is not None:
            return policy.expected(history, now)
        return expected(posterior(history, START), max(now - history.last_at, 0.0))

    async def look(self) -> Standing:
        """How many pages there are, and are due; ``standing`` is what this said last."""
        self.standing = await self.store.standing(self._clock())
        return self.standing
