"""Wiring of hints: entries of sitemaps and feeds make pages due earlier."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from webcrawl.crawl.feature import Feature
from webcrawl.errors import StorageFull
from webcrawl.features.hints.hints import Claim, Hints
from webcrawl.features.hints.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from webcrawl.crawl.feature import Parts
    from webcrawl.features.revisits.feature import RevisitsFeature
    from webcrawl.features.revisits.visits import Visits
    from webcrawl.frontier.intake import Intake
    from webcrawl.frontier.records import UrlEntry

logger = logging.getLogger(__name__)


class HintsFeature(Feature):
    """Passes on claims about pages under the politeness key of the sitemap or feed: no site makes claims about
    another."""

    reads_listings = True

    def __init__(self, hints: Hints, visits: Visits, intake: Intake, clock: Callable[[], float]) -> None:
        self._hints = hints
        self._visits = visits
        self._identify = intake.identify
        self._clock = clock
        self._failed = False

    async def listed(self, entry: UrlEntry, hints: Mapping[str, str | None]) -> int:
        claims = []
        for url, text in hints.items():
            if text is None:
                continue
            key, fingerprint = self._identify(url)
            if key == entry.key and (claim := Claim.of(fingerprint, text)) is not None:
                claims.append(claim)
        if not claims:
            return 0
        try:
            count = await self._hints.take(entry.key, claims, self._clock())
        except StorageFull as error:
            # The next reading of the sitemap repeats the data.
            if not self._failed:
                logger.warning("Hints of sitemaps cannot be used at the moment: %s", error)
            self._failed = True
            return 0
        self._failed = False
        if count:
            self._visits.news.set()
        return count


def build(parts: Parts) -> HintsFeature:
    """Return the hints of a crawl that visits pages again."""
    configuration = parts.configuration
    revisits: RevisitsFeature = parts.features.get("revisits")
    visits = revisits.visits
    least_seconds = configuration.revisit_interval_min_seconds
    store = TrustStore(parts.backend.tables)
    hints = Hints(visits.store, store, visits.rules.policy, configuration.hints_trust_min, least_seconds)
    return HintsFeature(hints, visits, parts.intake, parts.clock)
