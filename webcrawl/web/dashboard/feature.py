"""Starts the dashboard's process beside the crawl, and again if it dies. The crawl goes on whatever happens to it."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from webcrawl.child_process import frame, receive_from
from webcrawl.config.setting import MIB
from webcrawl.crawl.companion import Companion
from webcrawl.crawl.feature import Feature
from webcrawl.web.dashboard.process import describe_source, with_token

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter

    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import RunningCrawl

MODULE = "webcrawl.web.dashboard.process"

logger = logging.getLogger(__name__)


class DashboardFeature(Feature):
    """The dashboard's process of one crawl."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._given: dict[str, Any] = {}
        self._companion: Companion | None = None

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        if not self._parts.configuration.storage.is_lasting:
            name = self._parts.configuration.storage.name
            logger.warning(
                "There is no dashboard: a crawl with FRONTIER_BACKEND=%s cannot be read from outside", name
            )
            return
        spider = scheduler.spider
        self._given = describe_source(spider.settings, spider, spider.name, self._parts.folder)
        self._companion = Companion(
            "dashboard", MODULE, self._converse, self._parts.configuration.child_memory_mib * MIB
        )
        self._companion.begin()

    async def close(self) -> None:
        if self._companion is not None:
            await self._companion.end()

    async def _converse(self, reader: StreamReader, writer: StreamWriter) -> bool:
        """Tell the process which crawl it serves, and log what it says."""
        writer.write(frame(self._given))
        while True:
            match await receive_from(reader):
                case ("listening", str(address), str(token), str(file)):
                    announce(address, token, file)
                case ("refused", str(sentence)):
                    logger.warning("There is no dashboard, and the crawl goes on: %s", sentence)
                    return False
                case ("log", int(level), str(message)):
                    logger.log(level, "%s", message)


def announce(address: str, token: str, file: str) -> None:
    """Log the address without the token, which logs are no place for; a terminal shows both."""
    logger.info("Dashboard: %s%s", address, f" (its token is in {file})" if file else "")
    if token and sys.stderr.isatty():
        sys.stderr.write(f"Dashboard: {with_token(address, token)}\n")


def build(parts: Parts) -> DashboardFeature:
    """Return the dashboard of a crawl."""
    return DashboardFeature(parts)
