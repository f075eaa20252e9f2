"""Looks again and again whether the exclusion file has changed, so that a site owner's wish is obeyed in minutes."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from webcrawl.crawl import exclusion_state
from webcrawl.crawl.context import context_of
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.storage.contract import SharedBackend

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.crawl.context import CrawlContext
    from webcrawl.scope.exclusion import ExclusionList

logger = logging.getLogger(__name__)

ASKED_SECONDS = 1.0
"""How often is looked whether the operator wants the file looked at."""


class Exclusions:
    """Reads the changed file on a thread; what is queued already is asked about again before it is fetched.

    The file is looked at every ``EXCLUSION_CHECK_SECONDS``, and within a second or two when somebody asks for it:
    in the JOBDIR, or in Redis for all processes of a crawl. Which list is in force is told in the same places.
    """

    def __init__(self, exclusions: ExclusionList, context: CrawlContext) -> None:
        self._exclusions = exclusions
        self._every = context.configuration.exclusion_check_seconds
        self._clock = context.clock
        self._folder: Path | None = None if context.jobdir is None else context.jobdir.path
        self._shared = context.backend if isinstance(context.backend, SharedBackend) else None
        self._told = ""
        self.ticking = PeriodicTask(min(ASKED_SECONDS, self._every), self._watch, at_once=True)
        self._heard: tuple[int, str] | None = None
        self._look_at = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.get("EXCLUSION_FILE"):
            raise NotConfigured  # without a word: there being no file is nothing to be warned of
        context = context_of(crawler)
        assert context.exclusions is not None
        extension = cls(context.exclusions, context)
        crawler.signals.connect(extension.ticking.begin, signal=signals.spider_opened)
        crawler.signals.connect(extension.ticking.end, signal=signals.spider_closed)
        return extension

    async def _watch(self) -> None:
        asked = await asyncio.to_thread(self._asked)
        began_at = self._clock()
        if asked != self._heard or began_at >= self._look_at:
            await asyncio.to_thread(self._look)
            # What was asked before the look: who asks during it has changed the file perhaps a moment too late.
            self._heard, self._look_at = asked, began_at + self._every

    def _asked(self) -> tuple[int, str]:
        """Something else each time the operator wants a look."""
        here = 0 if self._folder is None else exclusion_state.asked(self._folder)
        return here, "" if self._shared is None else self._shared.look_asked

    def _look(self) -> None:
        exclusions, now = self._exclusions, self._clock()
        refreshed = exclusions.refresh(now)
        for problem in refreshed.problems:
            logger.warning("Exclusion file: %s", problem)
        if refreshed.problems:
            logger.warning(
                "Exclusion file: the list read before stays in force: %d entries, version %s",
                len(exclusions),
                exclusions.version,
            )
        if refreshed.changed:
            logger.info(
                "Exclusion file: %d entries now, version %s",
                len(exclusions),
                exclusions.version,
            )
        if exclusions.version != self._told:
            self._tell(now)

    def _tell(self, now: float) -> None:
        exclusions = self._exclusions
        if self._shared is not None:
            self._shared.exclusions = exclusions.version
        if self._folder is not None:
            try:
                exclusion_state.tell(
                    self._folder,
                    exclusion_state.InForce(exclusions.version, len(exclusions), now, os.getpid()),
                )
            except OSError as error:
                # What is in force is so all the same; it is told when there is room again.
                logger.debug("Which exclusion list is in force cannot be told: %s", error)
                return
        self._told = exclusions.version
