"""Hints, wired: from what a sitemap or feed lists to visits of pages that are due earlier."""

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
    from webcrawl.features.revisits.feature import Visiting
    from webcrawl.features.revisits.visits import Visits
    from webcrawl.frontier.intake import Intake
    from webcrawl.frontier.records import UrlEntry
    from webcrawl.storage.contract import Backend

logger = logging.getLogger(__name__)


class Hinting:
    """Hands on what is claimed of pages under the politeness key of whoever claims it: no site speaks of another."""

    def __init__(self, hints: Hints, visits: Visits, intake: Intake, clock: Callable[[], float]) -> None:
        self._hints = hints
        self._visits = visits
        self._identify = intake.identify
        self._clock = clock
        self._failed = False

    async def open(self) -> None:
        """:raises webcrawl.errors.StartRefused: the store cannot be used"""
        await self._hints.store.open()

    async def close(self) -> None:
        await self._hints.store.close()

    async def listed(self, entry: UrlEntry, told: Mapping[str, str | None]) -> int:
        """A sitemap or feed lists these URLs, and says this of each. How many pages are due earlier for it."""
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
            # The same is said again when it is read again.
            if not self._failed:
                logger.warning("What sitemaps say of pages is passed over at the moment: %s", error)
            self._failed = True
            return 0
        self._failed = False
        if count:
            self._visits.news.set()
        return count


def hinting_of(
    configuration: Configuration,
    clock: Callable[[], float],
    backend: Backend,
    folder: Path | None,
    intake: Intake,
    visiting: Visiting | None,
) -> Hinting | None:
    """None where pages are visited once, or hints are not wanted. ``folder``: the JOBDIR."""
    if visiting is None or not configuration.hints_follow:
        return None
    visits = visiting.visits
    least_seconds = configuration.revisit_interval_min_seconds
    store = _store(configuration, backend, folder)
    hints = Hints(visits.store, store, visits.rules.policy, configuration.hints_trust_min, least_seconds)
    return Hinting(hints, visits, intake, clock)


def _store(configuration: Configuration, backend: Backend, folder: Path | None) -> TrustStore:
    if configuration.frontier_backend == "redis":
        # Who crawls alone does not wait for what he does not need.
        from webcrawl.storage.redis import RedisBackend
        from webcrawl.storage.redis.hints import RedisTrust

        assert isinstance(backend, RedisBackend)
        return RedisTrust(backend.server, backend.spider)
    if configuration.frontier_backend == "memory" or folder is None:
        return MemoryTrust()
    return SqliteTrust(folder)
