"""Checks periodically whether the exclusion file has changed, so that a site owner's request is obeyed within
minutes, and publishes the version of the list that is applied.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured

from webcrawl.crawl import exclusion_state
from webcrawl.crawl.context import get_context
from webcrawl.extensions.periodic_task import PeriodicTask
from webcrawl.storage.contract import SharedBackend

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from scrapy.crawler import Crawler

    from webcrawl.crawl.feature import CrawlContext
    from webcrawl.scope.exclusion import ExclusionList

logger = logging.getLogger(__name__)

ASKED_SECONDS = 1.0
"""The interval in seconds at which requests of the operator to read the file are checked."""


class Exclusions:
    """Reads the changed file on a thread; queued URLs are checked again before they are fetched.

    The file is checked every ``EXCLUSION_CHECK_SECONDS``, and within a second or two on request: in the JOBDIR, or in
    Redis for all processes of a crawl. The version of the applied list is published in the same places.
    """

    def __init__(self, exclusions: ExclusionList, context: CrawlContext) -> None:
        self._exclusions = exclusions
        self._intake = context.intake
        self._every = context.configuration.exclusion_check_seconds
        self._clock = context.clock
        self._folder: Path | None = None if context.jobdir is None else context.jobdir.path
        self._shared = context.backend if isinstance(context.backend, SharedBackend) else None
        self._published_version = ""
        self.task = PeriodicTask(min(ASKED_SECONDS, self._every), self._watch, at_once=True)
        self._last_request: tuple[int, str] | None = None
        self._look_at = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        context = get_context(crawler)
        if context.exclusions is None:
            raise NotConfigured  # without a message: a missing setting needs no warning
        extension = cls(context.exclusions, context)
        crawler.signals.connect(extension.task.begin, signal=signals.spider_opened)
        crawler.signals.connect(extension.task.end, signal=signals.spider_closed)
        return extension

    async def _watch(self) -> None:
        if not self._exclusions.has_file:
            # Operators may have added entries.
            if self._exclusions.version != self._published_version:
                await asyncio.to_thread(self._publish, self._clock())
            return
        request = await asyncio.to_thread(self._read_request)
        began_at = self._clock()
        if request != self._last_request or began_at >= self._look_at:
            await asyncio.to_thread(self._look)
            # The value before the read: a request during the read may be about a change that came just after it.
            self._last_request, self._look_at = request, began_at + self._every

    def _read_request(self) -> tuple[int, str]:
        """Return a value that changes with each request of the operator."""
        here = 0 if self._folder is None else exclusion_state.request_number(self._folder)
        return here, "" if self._shared is None else self._shared.reload_request

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
            # Links of sites that are no longer in it are taken when they are found again.
            self._intake.forget()
            logger.info(
                "Exclusion file: %d entries now, version %s",
                len(exclusions),
                exclusions.version,
            )
        if exclusions.version != self._published_version:
            self._publish(now)

    def _publish(self, now: float) -> None:
        exclusions = self._exclusions
        if self._shared is not None:
            self._shared.exclusions = exclusions.version
        if self._folder is not None:
            try:
                exclusion_state.write(
                    self._folder,
                    exclusion_state.InForce(exclusions.version, len(exclusions), now, os.getpid()),
                )
            except OSError as error:
                # The list is applied all the same; its version is published when there is room again.
                logger.debug("The version of the exclusion list cannot be written: %s", error)
                return
        self._published_version = exclusions.version
