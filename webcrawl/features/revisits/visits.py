"""Visits of a crawl: how a visit changes the remembered page, and their storage after the archive."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from webcrawl.features.revisits.estimate import History
from webcrawl.features.revisits.page import RevisitedPage, Visit, VisitOutcome
from webcrawl.features.revisits.policies import LearningPolicy
from webcrawl.features.revisits.store import Hint, RevisitStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawl.archive.capture import ArchiveEntry
    from webcrawl.features.revisits.estimate import Expectation
    from webcrawl.features.revisits.page import PageId, Visit
    from webcrawl.features.revisits.policies import RevisitPolicy
    from webcrawl.features.revisits.store import VisitStore


HOUR_SECONDS = 3600.0
DAY_SECONDS = 86_400.0
LONGEST_WAIT_SECONDS = 7 * DAY_SECONDS
"""Maximum wait before the next visit of a page that is gone, fails or is refused; the waits double up to this."""
FAILED_MAX = 12
"""Number of consecutive failures, some five weeks, after which a page is dropped."""


@dataclass(frozen=True, slots=True)
class VisitRules:
    """Rules by which visits are evaluated."""

    policy: RevisitPolicy
    gone_max: int = 3
    """Number of consecutive visits that find a page gone after which it is dropped."""
    fresh_max_seconds: float = 7 * DAY_SECONDS
    """The longest time for which Cache-Control or Expires keeps a page from being visited again; 0: they are
    ignored."""
    learner: LearningPolicy | None = field(init=False)
    """The policy, if it learns from all pages."""

    def __post_init__(self) -> None:
        # This isinstance check takes half as long as a policy takes for a visit.
        object.__setattr__(self, "learner", self.policy if isinstance(self.policy, LearningPolicy) else None)

    def due_at(self, history: History, now: float, fresh_seconds: float | None = None) -> float:
        """Return when a page is due whose visit has just ended, and which is fresh for so long by its own word. A
        policy that learns learns from the visit, once."""
        if self.learner is not None:
            self.learner.learn(history, now)
        return max(self.policy.next_visit_at(history, now), self.fresh_until(history, fresh_seconds))

    def fresh_until(self, history: History, fresh_seconds: float | None) -> float:
        """Return the time before which the page is not visited again, because its header fields call it fresh. They
        may be wrong, so this is bounded."""
        return history.last_at + min(fresh_seconds or 0.0, self.fresh_max_seconds)


def after(page: RevisitedPage | None, visit: Visit, now: float, rules: VisitRules) -> RevisitedPage | None:
    """Return the page as remembered after a visit; None if it is not remembered (any more).

    A visit that is reported twice, as after a crash, changes nothing the second time.
    """
    if page is None:
        return _first(visit, now, rules)
    if visit.finding is VisitOutcome.CAME:
        return _again(page, visit, now, rules)
    if visit.at <= page.history.last_at:
        return page
    gone = page.gone + (visit.finding is VisitOutcome.GONE)
    failed = 0 if visit.finding is VisitOutcome.GONE else page.failed + 1
    if gone >= rules.gone_max or failed >= FAILED_MAX:
        return None
    first = HOUR_SECONDS if visit.finding is VisitOutcome.FAILED else DAY_SECONDS
    wait = min(first * 2.0 ** (max(gone, failed) - 1), LONGEST_WAIT_SECONDS)
    return replace(page, gone=gone, failed=failed, next_visit_at=now + wait)


def is_changed(known: bytes, digest: bytes | None) -> bool:
    """Return whether the content differs from the known content; a digest of None is a 304."""
    return digest is not None and digest != known


def _first(visit: Visit, now: float, rules: VisitRules) -> RevisitedPage | None:
    if visit.finding is not VisitOutcome.CAME or visit.digest is None:
        return None
    history = History.first(visit.at, visit.modified_at)
    return RevisitedPage(
        visit.key,
        visit.fingerprint,
        visit.url,
        history,
        rules.due_at(history, now, visit.fresh_seconds),
        visit.digest,
        visit.stored_at or visit.at,
        visit.etag,
        visit.last_modified,
        visit.kind,
        visit.depth,
        visit.via,
        visit.payload,
        visit.fresh_seconds,
    )


def _again(page: RevisitedPage, visit: Visit, now: float, rules: VisitRules) -> RevisitedPage:
    history = page.history.visited(visit.at, is_changed(page.digest, visit.digest), visit.modified_at)
    if history is page.history:
        return page
    fresh = visit.fresh_seconds
    if fresh is None and visit.digest is None:
        # Fields that a 304 does not repeat stay in force (RFC 9111, section 3.2).
        fresh = page.fresh_seconds
    due_at = rules.due_at(history, now, fresh)
    kept = replace(page, history=history, next_visit_at=due_at, fresh_seconds=fresh, gone=0, failed=0)
    if visit.digest is None:
        # A 304 need not repeat known validators (RFC 9110, section 15.4.5).
        return replace(
            kept, etag=visit.etag or page.etag, last_modified=visit.last_modified or page.last_modified
        )
    return replace(
        kept,
        digest=visit.digest,
        came_at=visit.stored_at or visit.at,
        etag=visit.etag,
        last_modified=visit.last_modified,
    )


BREATH = 16
"""Number of visits evaluated in one turn of the event loop: a policy that learns takes some 0.1 ms for each."""


class AsyncArchive(Protocol):
    """Destination of pages and of the fetch log, see ``frontier.committer.Store``."""

    async def append(self, entries: Sequence[ArchiveEntry]) -> None: ...


class Visits:
    """Takes visits from the event loop and stores the resulting pages.

    It is the frontier's archive: the entries of a group of fetches are archived first, then their visits are stored,
    and only then does the frontier mark the URLs as done. So a page that is done has its next visit, whenever a
    process is killed.
    """

    def __init__(
        self,
        store: VisitStore,
        rules: VisitRules,
        clock: Callable[[], float],
        archive: AsyncArchive | None,
        identify: Callable[[str], PageId],
    ) -> None:
        """``clock`` returns epoch seconds. ``identify`` returns the id of the page at a URL."""
        self.store = store
        self.rules = rules
        self._clock = clock
        self._archive = archive
        self._identify = identify
        self._recorded: dict[int, tuple[ArchiveEntry, Visit]] = {}
        """Visits by the ``id()`` of their archive entry, until that is archived."""
        self._archived: Sequence[ArchiveEntry] | None = None
        self._loose: list[Visit] = []
        """Visits without an archive entry."""
        self.status = RevisitStatus()
        """Status of the last count, updated by the pages stored since."""
        self.news = asyncio.Event()
        """Set when more pages may be available: a page that was out was visited, or a page is due earlier than
        before."""

    # -- reporting -------------------------------------------------------------------------------------------

    def record(self, visit: Visit, entry: ArchiveEntry | None) -> None:
        """Record a completed visit. ``entry``: the entry that the archive is about to get; None if
        nothing was sent."""
        if entry is None:
            self._loose.append(visit)
        else:
            self._recorded[id(entry)] = entry, visit

    async def append(self, entries: Sequence[ArchiveEntry]) -> None:
        """Archive the entries, then store their visits. :raises StorageFull: the same entries may be
        given again"""
        if self._archive is not None and self._archived is not entries:
            await self._archive.append(entries)
            self._archived = entries
        recorded = (self._recorded.get(id(entry)) for entry in entries)
        await self._store_visits([visit[1] for visit in recorded if visit is not None])
        self._archived = None
        for entry in entries:
            self._recorded.pop(id(entry), None)

    async def store_loose(self) -> None:
        """Store the visits without an archive entry; those that cannot be stored are stored by the next call."""
        visits = self._loose
        if visits:
            await self._store_visits(visits[:])
            self._loose = self._loose[len(visits) :]

    async def _store_visits(self, visits: Sequence[Visit]) -> None:
        if not visits:
            return
        known: dict[PageId, RevisitedPage | None] = {}
        ids = list(dict.fromkeys(visit.id for visit in visits))
        known.update(zip(ids, await self.store.find(ids), strict=True))
        before, now = dict(known), self._clock()
        for number, visit in enumerate(visits, start=1):
            known[visit.id] = after(known[visit.id], visit, now, self.rules)
            if number % BREATH == 0:
                await asyncio.sleep(0)
        kept = [page for page in known.values() if page is not None]
        dropped = [mark for mark, page in known.items() if page is None and before[mark] is not None]
        if kept or dropped:
            await self.store.keep(kept, dropped)
            new = sum(before[page.id] is None for page in kept)
            if new < len(kept) or self.status.next_at is None:
                self.news.set()
            self._update_status(new - len(dropped), [page.next_visit_at for page in kept])

    def _update_status(self, more: int, times: Sequence[float]) -> None:
        """Update the status until the next count: ``more`` pages are remembered, and some are due at ``times``."""
        before = self.status
        known = times if before.next_at is None else [*times, before.next_at]
        self.status = replace(before, pages=before.pages + more, next_at=min(known, default=None))

    # -- learning --------------------------------------------------------------------------------------------

    async def recall(self, worker: str) -> None:
        """Load the state that the policies of this worker and of others have learned, if the policy learns."""
        policy = self.rules.learner
        if policy is not None:
            learned = await self.store.lessons()
            policy.recall(learned.pop(worker, None), learned.values(), self.status.pages)

    async def share_lessons(self, worker: str) -> None:
        """Store the state that the policy of this worker has learned, and load those of others."""
        policy = self.rules.learner
        if policy is not None:
            await self.store.save_lessons(worker, policy.lessons())
            learned = await self.store.lessons()
            learned.pop(worker, None)
            policy.recall(None, learned.values(), self.status.pages)

    # -- queries ---------------------------------------------------------------------------------------------

    async def hint(self, url: str, at: float) -> bool:
        """Make the page at ``url`` due at ``at`` (epoch seconds), since it may have changed, unless it is due earlier
        or out. Return False if the page is not remembered. May raise the errors of the storage."""
        [known] = await self.store.hint([Hint(*self._identify(url), at)])
        if known:
            self.news.set()
        return known

    def expected(self, page: RevisitedPage) -> Expectation:
        """Return the current expectation of our copy of a page, by the state that the policy has learned or
        by the default distribution."""
        # A crawl that visits each page once does not import this.
        from webcrawl.features.revisits.estimate import expected, posterior
        from webcrawl.features.revisits.freshness import START

        policy, history, now = self.rules.learner, page.history, self._clock()
        if policy is not None:
            return policy.expected(history, now)
        return expected(posterior(history, START), max(now - history.last_at, 0.0))

    async def count(self) -> RevisitStatus:
        """Count the pages and the due pages; the result is kept in ``status``."""
        self.status = await self.store.status(self._clock())
        return self.status
