"""Carries out operators' commands in a process: one table of commands.

A new command is a row of ``COMMANDS`` with a method of ``Commands``. ``SteeringStore.request`` asks for it, and
``control/operating.py`` waits for the answer of each worker.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.config.readers import SettingReader
from webcrawl.config.readers import text as text_reader
from webcrawl.errors import CrawlError
from webcrawl.features.steering.failures import Selection, is_failure
from webcrawl.features.steering.store import KEYS_MOST, Operation
from webcrawl.frontier.records import State
from webcrawl.frontier.tally import BACKLOG_FULL
from webcrawl.reports import text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from webcrawl.crawl.feature import CrawlContext
    from webcrawl.crawl.running import RunningCrawl
    from webcrawl.features.checkpoints.feature import CheckpointsFeature
    from webcrawl.features.steering.failures import FailedUrl, FailureStore
    from webcrawl.features.steering.store import OperatorRequest
    from webcrawl.frontier.records import UrlEntry

POLL_SECONDS = 0.1
"""Interval at which a command looks whether the crawl has got where it asks for."""
CLAIM_SECONDS = 30.0
"""Time for which one worker alone queues failed URLs again; it renews it."""
UNKNOWN = "this version of webcrawl does not know the command"

logger = logging.getLogger(__name__)


class CommandError(CrawlError):
    """A command could not be obeyed; the message says why."""


class Commands:
    """The commands of one process. Each method returns when it is carried out, with what it gave, or None.

    A method that decides about the crawl does so before it waits for anything: commands begin in the order in which
    they were given.
    """

    def __init__(self, context: CrawlContext, scheduler: RunningCrawl, failures: FailureStore) -> None:
        self._context = context
        self._scheduler = scheduler
        self._failures = failures
        self._checkpoints: CheckpointsFeature | None = None
        """Takes the checkpoints of a crawl that takes none by itself."""

    async def carry_out(self, request: OperatorRequest) -> str | None:
        """Carry out a command. :raises CommandError: it was not carried out"""
        if (row := COMMANDS.get(request.command)) is None:
            raise CommandError(UNKNOWN)
        if strange := [name for name in request.arguments if name not in row.arguments]:
            raise CommandError(f"{UNKNOWN}: {request.command} with {', '.join(strange)}")
        try:
            values = {
                name: reader.read(request.arguments.get(name)) for name, reader in row.arguments.items()
            }
        except ValueError as error:
            raise CommandError(str(error)) from error
        return await row.carry_out(self, **values)

    async def pause(self) -> None:
        """Begin no more requests; done when none is open."""
        frontier = self._context.frontier
        if not frontier.is_paused:
            # At a level that is shown even in a quiet log.
            logger.warning(
                "The crawl is paused by its operator: nothing new is fetched until `scrapy resume`"
            )
        frontier.pause(paused=True)
        while frontier.open_requests:
            await asyncio.sleep(POLL_SECONDS)
            if not frontier.is_paused:
                raise CommandError("it was resumed before its open requests had ended")

    async def resume(self) -> None:
        """Begin requests again."""
        frontier = self._context.frontier
        if frontier.is_paused:
            logger.warning("The crawl goes on: its operator has resumed it")
        frontier.pause(paused=False)

    async def stop(self) -> None:
        """End the crawl: open requests are finished."""
        logger.warning("The crawl is stopped by its operator: open requests are finished")
        self._scheduler.stop()

    async def save(self) -> str | None:
        """Store all results, and take a checkpoint if the storage can be copied; return its path.

        :raises CommandError: the results could not be stored, or no checkpoint could be taken
        """
        jobdir = self._context.jobdir
        takes = jobdir is not None and self._context.configuration.storage.takes_checkpoints
        await self._stored("no checkpoint: " if takes else "")
        if jobdir is None or not takes:
            return None
        own: CheckpointsFeature | None = self._context.features.get("checkpoints")
        if own is None and self._checkpoints is None:
            # Most crawls are never saved.
            module = import_module("webcrawl.features.checkpoints.feature")
            self._checkpoints = module.CheckpointsFeature(jobdir.path, self._context.configuration)
        checkpoints = own or self._checkpoints
        assert checkpoints is not None
        try:
            return str(await checkpoints.take_now())
        except OSError as error:
            raise CommandError(f"no checkpoint: {_unusable(error)}") from error
        except ValueError as error:
            raise CommandError(f"no checkpoint: {error}") from error

    async def unpark(self, keys: Sequence[str]) -> str | None:
        """Contact hosts again that are parked or given up; return how many this process has freed."""
        frontier = self._context.frontier
        number = 0
        for key in keys:
            number += await frontier.unpark(key)
        return text.things(number, "host") if number else None

    async def retry(self, host: str, error: str) -> str | None:
        """Queue URLs again whose fetch failed; return how many. Nothing is done if another process does it.

        :raises CommandError: they cannot be queued now
        """
        frontier, failures = self._context.frontier, self._failures
        worker, selection = self._context.configuration.worker_name, Selection(host, error)
        number, after = 0, b""
        while await frontier.with_retry(partial(failures.claim, worker, CLAIM_SECONDS)):
            if not (some := await frontier.with_retry(partial(failures.some, after))):
                break
            after = some[-1].id
            chosen = [failure for failure in some if selection.has(failure)]
            again = [failure.again() for failure in chosen if await self._has_failed(failure)]
            await self._queue(again)
            await frontier.with_retry(partial(failures.remove, chosen))
            number += len(again)
        return text.things(number, "URL") if number else None

    async def _has_failed(self, failure: FailedUrl) -> bool:
        """Return whether a URL has not been fetched since."""
        look = partial(self._context.backend.url_record, failure.entry.key, failure.entry.fingerprint)
        record = await self._context.frontier.with_retry(look)
        if record is None or record.state is State.FAILED:
            return True
        return record.state is State.DONE and record.status is not None and is_failure(record.status)

    async def _queue(self, entries: list[UrlEntry]) -> None:
        """:raises CommandError: they are not queued"""
        frontier = self._context.frontier
        refused = frontier.tally.refused_by_rule
        before = refused[BACKLOG_FULL]
        if entries:
            frontier.add_entries(entries)
            if not await frontier.drain():
                raise CommandError("the URLs cannot be stored any more")
            if refused[BACKLOG_FULL] != before:
                raise CommandError("the storage has no room for more URLs")

    async def _stored(self, failed: str) -> None:
        """Wait until all results are durable. ``failed``: the beginning of the message if they cannot be stored.

        :raises CommandError: they cannot be stored now
        """
        frontier = self._context.frontier
        storing = asyncio.ensure_future(frontier.drain())
        try:
            while not storing.done():
                await asyncio.wait([storing], timeout=POLL_SECONDS)
                if not storing.done() and (why := frontier.stalled) is not None:
                    raise CommandError(f"{failed}the results cannot be stored: {why}")
            if not await storing:
                raise CommandError(f"{failed}the results cannot be stored any more")
        finally:
            storing.cancel()

    async def close(self) -> None:
        """Drop the checkpoint that is being taken."""
        if self._checkpoints is not None:
            await self._checkpoints.close()


def _keys() -> SettingReader:
    def read(value: object) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ValueError("the keys must be a list of texts")
        return value[:KEYS_MOST]

    return SettingReader("a list of politeness keys", read)


_WORD = text_reader("a text")


class CommandRow(NamedTuple):
    """A command of operators."""

    carry_out: Callable[..., Awaitable[str | None]]
    """A method of ``Commands``, which gets the arguments by their names."""
    arguments: Mapping[str, SettingReader] = {}
    """The arguments of the command, with the readers of their values."""


COMMANDS: Mapping[str, CommandRow] = {
    Operation.PAUSE: CommandRow(Commands.pause),
    Operation.RESUME: CommandRow(Commands.resume),
    Operation.STOP: CommandRow(Commands.stop),
    Operation.SAVE: CommandRow(Commands.save),
    Operation.UNPARK: CommandRow(Commands.unpark, {"keys": _keys()}),
    Operation.RETRY: CommandRow(Commands.retry, {"host": _WORD, "error": _WORD}),
}
"""All commands that this version knows."""


def _unusable(error: OSError) -> str:
    why = error.strerror or str(error)
    return f"{error.filename} cannot be used: {why}" if error.filename else why
