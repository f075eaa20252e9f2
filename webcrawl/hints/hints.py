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

    def __init__(
        self,
        pages: Pages,
        store: TrustStore,
        policy: RevisitPolicy,
        trust_least: float,
        least_seconds: float = 0.0,
    ) -> None:
        """``trust_least``: the share of true claims below which claims change nothing; they are still judged.
        ``least_seconds``: no page is visited again sooner, whatever is said of it.
        """
        self._pages = pages
        self._policy = policy
        self._trust_least = trust_least
        self._least_seconds = least_seconds
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
        found = await self._pages.find(
            [(key, one) for one in (*marks, *(claim.fingerprint for claim in claims))]
        )
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
            trust = trust.marked(claim.fingerprint, page.history.last_at)
            if (hint := self._hint(page, trust, now)) is not None:
                hints.append(hint)
        if hints:
            await self._pages.hint(hints)
        if trust != before:
            await self.store.save(key, trust)
        return len(hints)

    def _hint(self, page: Page, trust: Trust, now: float) -> Hint | None:
        """When a page is to be visited that is said to have changed: its interval, as it would be by what is known of
        the page itself, is shorter by the share of claims that are true. None where it is due as early without.
        """
        if trust.share < self._trust_least:
            return None
        last_at = page.history.last_at
        planned_at = self._policy.next_visit_at(page.history, last_at)
        at = max(now, last_at + max((planned_at - last_at) * (1.0 - trust.share), self._least_seconds))
        return Hint(*page.id, at) if at < page.next_visit_at else None
