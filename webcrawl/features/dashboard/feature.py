"""Starts the dashboard's process beside the crawl, and again if it dies. The crawl goes on whatever happens to it."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from webcrawl.child_process import frame, receive_from, start_on_socket
from webcrawl.features.dashboard.process import given_of
from webcrawl.features.feature import Feature, stop

if TYPE_CHECKING:
    from webcrawl.crawl.context import CrawlContext
    from webcrawl.features.feature import Parts
    from webcrawl.scheduler import Scheduler

MODULE = "webcrawl.features.dashboard.process"
PAUSES = (1.0, 5.0, 30.0, 120.0)
"""Seconds before each new start of a process that died; after the last one there is none."""
LIVED_SECONDS = 600.0
"""A process that lived for this long died for another reason than the one before."""
END_SECONDS = 2.0

logger = logging.getLogger(__name__)


class DashboardFeature(Feature):
    """The dashboard's process of one crawl."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._task: asyncio.Task[None] | None = None

    def begin(self, context: CrawlContext, scheduler: Scheduler) -> None:
        if not self._parts.configuration.storage.is_lasting:
            name = self._parts.configuration.storage.name
            logger.warning(
                "There is no dashboard: a crawl with FRONTIER_BACKEND=%s cannot be read from outside", name
            )
            return
        spider = scheduler.spider
        given = given_of(spider.settings, spider, spider.name, self._parts.folder)
        self._task = asyncio.get_running_loop().create_task(self._keep(given))

    async def close(self) -> None:
        await stop(self._task)

    async def _keep(self, given: dict[str, Any]) -> None:
        """Run the process, again and again if it dies."""
        pauses = list(PAUSES)
        while True:
            started_at = time.monotonic()
            try:
                if not await self._run(given):
                    return
                why = "ended"
            except OSError as error:
                why = f"cannot be started: {error.strerror or error}"
            if time.monotonic() - started_at >= LIVED_SECONDS:
                pauses = list(PAUSES)
            if not pauses:
                logger.warning("The process of the dashboard %s again and again; there is none any more", why)
                return
            pause = pauses.pop(0)
            logger.warning("The process of the dashboard %s; it is started again in %g s", why, pause)
            await asyncio.sleep(pause)

    async def _run(self, given: dict[str, Any]) -> bool:
        """Run the process to its end; return False if it refused to begin. :raises OSError: it cannot be started"""
        process, ours = await asyncio.to_thread(start_on_socket, MODULE, {}, stdout=subprocess.DEVNULL)
        writer = None
        try:
            reader, writer = await asyncio.open_connection(sock=ours)
            writer.write(frame(given))
            while True:
                match await receive_from(reader):
                    case ("listening", str(address)):
                        logger.info("Dashboard: %s", address)
                    case ("refused", str(sentence)):
                        logger.warning("There is no dashboard, and the crawl goes on: %s", sentence)
                        return False
                    case ("log", int(level), str(message)):
                        logger.log(level, "%s", message)
        except (asyncio.IncompleteReadError, ConnectionError):
            return True
        finally:
            if writer is None:
                ours.close()
            else:
                writer.close()
            await asyncio.shield(asyncio.to_thread(_end, process))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process whose connection is closed, which is its sign to end."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)
        return
    process.kill()
    process.wait()


def build(parts: Parts) -> DashboardFeature:
    """Return the dashboard of a crawl."""
    return DashboardFeature(parts)
