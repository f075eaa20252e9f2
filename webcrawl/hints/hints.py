"""From claims to pages that are due earlier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from webcrawl.visits.store import Hint

if TYPE_CHECKING:
    from webcrawl.hints.claims import Claim
    from webcrawl.hints.store import TrustStore
    from webcrawl.hints.trust import Trust
    from webcrawl.visits.page import Page, PageId
    from webcrawl.visits.policies import RevisitPolicy

AT_ONCE = 500
"""Claims that are looked up together."""


class Pages(Protocol):
    """The pages that are remembered, see ``visits.store``."""

    async def find(self, ids: Sequence[PageId]) -> list[Page | None]: ...

    async def hint(self, hints: Sequence[Hint]) -> list[bool]: ...


class Hints:
    """Believes the claims of each site as far as they proved true, and below ``least`` not at all."""

    def __init__(self, pages: Pages, store: TrustStore, policy: RevisitPolicy, least: float) -> None:
        """``least``: the share of true claims below which claims change nothing. They are still judged."""
        self._pages = pages
        self._policy = policy
        self._least = least
        self.store = store

    async def take(self, key: str, claims: Sequence[Claim], now: float) -> int:
        """Take in what a sitemap or feed of a politeness key says of pages of that key; how many are due earlier.

        May raise the errors of the stores.
        """
        count = 0
        for start in range(0, len(claims), AT_ONCE):
            count += await self._take(key, claims[start : start + AT_ONCE], now)
        return count

    async def _take(self, key: str, claims: Sequence[Claim], now: float) -> int:
        before = await self.store.load(key)
        marks = list(before.marks)
        found = await self._pages.find([(key, one) for one in (*marks, *(claim.fingerprint for claim in claims))])
        histories = {
            one: None if page is None else page.history
            for one, page in zip(marks, found[: len(marks)], strict=True)
        }
        trust = before.judged(histories, now)
        hints: list[Hint] = []
        for claim, page in zip(claims, found[len(marks) :], strict=True):
            # What is gone or fails waits for reasons of its own.
            if page is None or page.gone or page.failed or not claim.says_changed(page.history, now):
                continue
            trust = trust.marked(claim.fingerprint, now)
            if (hint := self._hint(page, trust, now)) is not None:
                hints.append(hint)
        if hints:
            await self._pages.hint(hints)
        if trust != before:
            await self.store.save(key, trust)
        return len(hints)

    def _hint(self, page: Page, trust: Trust, now: float) -> Hint | None:
        """None where the page is due as early without."""
        if trust.share < self._least:
            return None
        last_at = page.history.last_at
        at = trust.due_at(last_at, self._policy.next_visit_at(page.history, last_at), now)
        return Hint(*page.id, at) if at < page.next_visit_at else None
