"""Wiring of the orders ``in_links`` and ``opic``: synchronises the link counts with their file and with other
workers, until the crawl ends."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from webcrawl.crawl.feature import Feature
from webcrawl.errors import CrawlError
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.features.link_scores.scorer import ENTRIES_KEPT, LOG, Importance, LinkScoreStore
from webcrawl.features.link_scores.worth_table import WorthTable
from webcrawl.storage.contract import SharedBackend

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import RunningCrawl

logger = logging.getLogger(__name__)

SECONDS = 1.0
"""Interval between two steps."""


class LinkScoresFeature(Feature):
    """The counts of the links to URLs, and their store."""

    def __init__(self, importance: Importance, store: LinkScoreStore, clock: Callable[[], float]) -> None:
        self.scorer, self.linked = importance, importance.linked
        self._store = store
        self._clock = clock
        self._ticking = PeriodicTask(SECONDS, self.step, at_once=True)
        self._begun = False
        self._failed = False

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        self._ticking.begin()

    async def before_close(self) -> None:
        self._ticking.end()
        await self.step(last=True)

    async def step(self, *, last: bool = False) -> None:
        """Synchronise the counts. A failed step is retried later."""
        try:
            if not self._begun:
                await self._store.begin(self._clock())
                self._begun = True
            await self._store.step(self._clock(), last=last)
        except CrawlError as error:
            if not self._failed:
                logger.warning("Link counts cannot be saved at the moment: %s", error)
            self._failed = True
        else:
            self._failed = False


def build(parts: Parts) -> LinkScoresFeature:
    """Return the link counts of a crawl."""
    order, backend = parts.configuration.frontier_order, parts.backend
    importance = Importance(WorthTable(), cash=order == "opic")
    log = backend.change_log(f"{LOG}:{order}", ENTRIES_KEPT) if isinstance(backend, SharedBackend) else None
    return LinkScoresFeature(importance, LinkScoreStore(importance, order, parts.folder, log), parts.clock)
