"""Whether what is said of a page means that it changed since it was visited last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.documents import listed

if TYPE_CHECKING:
    from webcrawl.visits.history import History

AHEAD_SECONDS = 3_600.0
"""How far a site's clock may be ahead of ours. What changed later than that is no claim that can be true."""
_DAY = 86_400.0
PERIODS = {
    # As often as it is asked for: there is no shorter one to go by.
    "always": 3_600.0,
    "hourly": 3_600.0,
    "daily": _DAY,
    "weekly": 7 * _DAY,
    "monthly": 30 * _DAY,
    "yearly": 365 * _DAY,
}
"""Seconds between two changes by the words of ``changefreq``; a page that never changes makes no claim."""


class Claim(NamedTuple):
    """What a sitemap or feed says of a page."""

    fingerprint: int
    modified_at: float | None
    """When it changed last, epoch seconds. Of a date without a time its beginning: a later change of that day is not
    claimed."""
    period_seconds: float | None
    """How often it changes; counts where no time is said."""

    @classmethod
    def of(cls, fingerprint: int, told: str | None) -> Claim | None:
        """``told``: what a listing says of a URL, as ``documents.listed`` writes it. None where that is no claim."""
        if told is None:
            return None
        facts: Mapping[str, float | str] = listed.facts(told)
        modified, often = facts.get("lastmod"), facts.get("changefreq")
        period = PERIODS.get(often) if isinstance(often, str) else None
        if not isinstance(modified, int | float):
            return None if period is None else cls(fingerprint, None, period)
        return cls(fingerprint, float(modified), period)

    def says_changed(self, history: History, now: float) -> bool:
        """Whether the page is said to have changed since its last visit."""
        if self.modified_at is not None:
            return history.last_at < self.modified_at <= now + AHEAD_SECONDS
        return self.period_seconds is not None and now - history.last_at >= self.period_seconds
