"""Wiring of hints: entries of sitemaps and feeds make pages due earlier."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from webcrawl.errors import StorageFull
from webcrawl.features.hints.hints import Claim, Hints
from webcrawl.storage.memory.hints import MemoryTrust
from webcrawl.storage.sqlite.hints import SqliteTrust

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from webcrawl.config import Configuration
    from webcrawl.features.hints.trust import TrustStore
    from webcrawl.features.revisits.feature import RevisitsFeature
    from webcrawl.features.revisits.visits import Visits
    from webcrawl.frontier.intake import Intake
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.storage.contract import Backend

logger = logging.getLogger(__name__)


class HintsFeature:
    """Passes on claims about pages under the politeness key of the sitemap or feed: no site makes claims about
    another."""

    def __init__(self, hints: Hints, visits: Visits, intake: Intake, clock: Callable[[], float]) -> None:
        self._hints = hints
        self._visits = visits
        self._identify = intake.identify
        self._clock = clock
        self._failed = False

    async def open(self) -> None:
        """Open the store. :raises webcrawl.errors.StartRefused: it cannot be used"""
        await self._hints.store.open()

    async def close(self) -> None:
        await self._hints.store.close()

    async def listed(self, entry: UrlEntry, told: Mapping[str, str | None]) -> int:
        """Process the URLs of a sitemap or feed with its data about each. Return the number of pages that become due
        earlier."""
        claims = []
        for url, said in told.items():
            if said is None:
                continue
            key, fingerprint = self._identify(url)
            if key == entry.key and (claim := Claim.of(fingerprint, said)) is not None:
                claims.append(claim)
        if not claims:
            return 0
        try:
            count = await self._hints.take(entry.key, claims, self._clock())
        except StorageFull as error:
            # The next reading of the sitemap repeats the data.
            if not self._failed:
                logger.warning("What sitemaps say of pages is passed over at the moment: %s", error)
            self._failed = True
            return 0
        self._failed = False
        if count:
            self._visits.news.set()
        return count


def hints_feature_of(
    configuration: Configuration,
    clock: Callable[[], float],
    backend: Backend,
    folder: Path | None,
    intake: Intake,
    visiting: RevisitsFeature | None,
) -> HintsFeature | None:
    """Return the hints of a crawl; None if pages are visited once, or hints are switched off. ``folder``:
    the JOBDIR."""
    if visiting is None or not configuration.hints_follow:
        return None
    visits = visiting.visits
    least_seconds = configuration.revisit_interval_min_seconds
    store = _store(configuration, backend, folder)
    hints = Hints(visits.store, store, visits.rules.policy, configuration.hints_trust_min, least_seconds)
    return HintsFeature(hints, visits, intake, clock)


def _store(configuration: Configuration, backend: Backend, folder: Path | None) -> TrustStore:
    if configuration.frontier_backend == "redis":
        # A crawl on one machine does not import the Redis backend.
        from webcrawl.storage.redis import RedisBackend
        from webcrawl.storage.redis.hints import RedisTrust

        assert isinstance(backend, RedisBackend)
        return RedisTrust(backend.server, backend.spider)
    if configuration.frontier_backend == "memory" or folder is None:
        return MemoryTrust()
    return SqliteTrust(folder)
