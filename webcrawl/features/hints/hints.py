"""Claims of sitemaps and feeds that a page has changed since its last visit, and the hints that make pages due
earlier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from webcrawl.features.revisits.store import Hint
from webcrawl.parsing import sitemap

if TYPE_CHECKING:
    from webcrawl.features.hints.store import TrustStore
    from webcrawl.features.hints.trust import Trust
    from webcrawl.features.revisits.estimate import History
    from webcrawl.features.revisits.page import PageId, RevisitedPage
    from webcrawl.features.revisits.policies import RevisitPolicy


AHEAD_SECONDS = 3_600.0
"""Maximum time that a site's clock may be ahead of ours. A later change cannot be true and is no claim."""
_DAY = 86_400.0
PERIODS = {
    # A page that always changes gets the shortest period.
    "always": 3_600.0,
    "hourly": 3_600.0,
    "daily": _DAY,
    "weekly": 7 * _DAY,
    "monthly": 30 * _DAY,
    "yearly": 365 * _DAY,
}
"""Seconds between two changes by the words of ``changefreq``; a page that never changes makes no claim."""


class Claim(NamedTuple):
    """Data of a sitemap or feed about a page."""

    fingerprint: int
    modified_at: float | None
    """Time of the last change, epoch seconds. For a date without a time it is the beginning of the day: a later
    change on that day is not claimed."""
    period_seconds: float | None
    """Interval between changes; used if there is no time of the last change."""

    @classmethod
    def of(cls, fingerprint: int, text: str | None) -> Claim | None:
        """Parse the data of a listing about a URL, as ``parsing.sitemap`` writes it (``text``). None if it is no
        claim."""
        if text is None:
            return None
        facts: Mapping[str, float | str] = sitemap.facts(text)
        modified, often = facts.get("lastmod"), facts.get("changefreq")
        period = PERIODS.get(often) if isinstance(often, str) else None
        if not isinstance(modified, int | float):
            return None if period is None else cls(fingerprint, None, period)
        return cls(fingerprint, float(modified), period)

    def says_changed(self, history: History, now: float) -> bool:
        """Return whether the claim is that the page changed since its last visit."""
        if self.modified_at is not None:
            return history.last_at < self.modified_at <= now + AHEAD_SECONDS
        return self.period_seconds is not None and now - history.last_at >= self.period_seconds


AT_ONCE = 500
"""Number of claims that are looked up together."""


class Pages(Protocol):
    """The store of pages, see ``revisits.store``."""

    async def find(self, ids: Sequence[PageId]) -> list[RevisitedPage | None]: ...

    async def hint(self, hints: Sequence[Hint]) -> list[bool]: ...


class Hints:
    """Applies the claims of each site in proportion to the share that proved true, and not at all below a minimum."""

    def __init__(
        self,
        pages: Pages,
        store: TrustStore,
        policy: RevisitPolicy,
        trust_least: float,
        least_seconds: float = 0.0,
    ) -> None:
        """``trust_least``: the share of true claims below which claims have no effect; they are still checked.
        ``least_seconds``: minimum interval between two visits, regardless of claims."""
        self._pages = pages
        self._policy = policy
        self._trust_least = trust_least
        self._least_seconds = least_seconds
        self._store = store

    async def take(self, key: str, claims: Sequence[Claim], now: float) -> int:
        """Process the claims of a sitemap or feed about pages of its own politeness key; return the number of pages
        that become due earlier.

        May raise the errors of the stores.
        """
        count = 0
        for start in range(0, len(claims), AT_ONCE):
            count += await self._take(key, claims[start : start + AT_ONCE], now)
        return count

    async def _take(self, key: str, claims: Sequence[Claim], now: float) -> int:
        before = await self._store.load(key)
        marks = list(before.marks)
        pages = await self._pages.find(
            [(key, mark) for mark in (*marks, *(claim.fingerprint for claim in claims))]
        )
        histories = {
            mark: None if page is None else page.history
            for mark, page in zip(marks, pages[: len(marks)], strict=True)
        }
        trust = before.checked(histories, now)
        hints: list[Hint] = []
        for claim, page in zip(claims, pages[len(marks) :], strict=True):
            # Pages that are gone or fail have their own waits.
            if page is None or page.gone or page.failed or not claim.says_changed(page.history, now):
                continue
            trust = trust.marked(claim.fingerprint, page.history.last_at)
            if (hint := self._hint(page, trust, now)) is not None:
                hints.append(hint)
        if hints:
            await self._pages.hint(hints)
        if trust != before:
            await self._store.save(key, trust)
        return len(hints)

    def _hint(self, page: RevisitedPage, trust: Trust, now: float) -> Hint | None:
        """Return when to visit a page with a claim: its interval by its own history, shortened by the share of true
        claims. None if the page is due by then anyway."""
        if trust.share < self._trust_least:
            return None
        last_at = page.history.last_at
        planned_at = self._policy.next_visit_at(page.history, last_at)
        at = max(now, last_at + max((planned_at - last_at) * (1.0 - trust.share), self._least_seconds))
        return Hint(*page.id, at) if at < page.next_visit_at else None
