"""What a process does when an operator commands it: pause, resume, stop, save."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING

from webcrawl.features.steering.store import Command

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from webcrawl.crawl.context import CrawlContext
    from webcrawl.features.checkpoints.feature import CheckpointsFeature
    from webcrawl.scheduler import Scheduler

logger = logging.getLogger(__name__)


class CommandError(Exception):
    """A command could not be obeyed; the message says why."""


class Commands:
    """The commands of one process. Those that return an awaitable are obeyed when it is done.

    The workers of a shared crawl are paused, resumed and stopped by their heartbeat, and only save comes this way.
    """

    def __init__(self, context: CrawlContext, scheduler: Scheduler) -> None:
        self._context = context
        self._scheduler = scheduler
        self._checkpoints: CheckpointsFeature | None = None
        """Takes the checkpoints of a crawl that takes none by itself."""

    def by_name(self) -> dict[Command, Callable[[], Awaitable[None] | None]]:
        """Return what is done for each command."""
        if self._context.configuration.storage.is_shared:
            return {Command.SAVE: self.save}
        return {
            Command.PAUSE: self.pause,
            Command.RESUME: self.resume,
            Command.STOP: self.stop,
            Command.SAVE: self.save,
        }

    def pause(self) -> None:
        # At a level that is shown even in a quiet log.
        logger.warning("The crawl is paused by its operator: nothing new is fetched until `scrapy resume`")
        self._scheduler.frontier.pause(paused=True)

    def resume(self) -> None:
        logger.warning("The crawl goes on: its operator has resumed it")
        self._scheduler.frontier.pause(paused=False)

    def stop(self) -> None:
        logger.warning("The crawl is stopped by its operator: open requests are finished")
        self._scheduler.frontier.pause(paused=False)
        self._scheduler.stop()

    async def save(self) -> None:
        """Store all results, and take a checkpoint if the storage can be copied.

        :raises CommandError: no checkpoint could be taken
        """
        if not await self._scheduler.frontier.drain():
            raise CommandError("the results of the crawl cannot be stored")
        jobdir = self._context.jobdir
        if jobdir is None or not self._context.configuration.storage.takes_checkpoints:
            return
        own = self._context.features.get("checkpoints")
        if own is None and self._checkpoints is None:
            # Most crawls are never saved.
            module = import_module("webcrawl.features.checkpoints.feature")
            self._checkpoints = module.CheckpointsFeature(jobdir.path, self._context.configuration)
        checkpoints = own or self._checkpoints
        assert checkpoints is not None
        try:
            await checkpoints.take_now()
        except (OSError, ValueError) as error:
            raise CommandError(f"no checkpoint: {error}") from error

    async def close(self) -> None:
        """Drop the checkpoint that is being taken."""
        if self._checkpoints is not None:
            await self._checkpoints.close()
