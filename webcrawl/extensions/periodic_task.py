"""Periodic work of an extension while a crawl runs."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from webcrawl.errors import CrawlError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)


class PeriodicTask:
    """Runs a step every so many seconds on the event loop, from ``begin`` to ``end``.

    The seconds are the time between the end of a step and the next one. A step that raises is followed by the next
    one all the same: the missing resource, such as room in a table of open files, may be there again. Each kind of
    failure is logged once.
    """

    def __init__(self, seconds: float, step: Callable[[], Awaitable[None]], *, at_once: bool = False) -> None:
        """``at_once``: the first step runs immediately, and not only after the first interval."""
        self._seconds = seconds
        self._step = step
        self._at_once = at_once
        self._task: asyncio.Task[None] | None = None
        self._logged_errors: set[tuple[type[Exception], int | None]] = set()

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._tick())

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    @property
    def is_on(self) -> bool:
        """True if it was begun and not ended."""
        return self._task is not None

    async def _tick(self) -> None:
        if self._at_once:
            await self._take()
        while True:
            await asyncio.sleep(self._seconds)
            await self._take()

    async def _take(self) -> None:
        try:
            await self._step()
        except Exception as error:
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        kind = type(error), error.errno if isinstance(error, OSError) else None
        if kind in self._logged_errors:
            return
        self._logged_errors.add(kind)
        name = getattr(self._step, "__qualname__", repr(self._step))
        # A shortage of the machine or a storage is described by the error; anything else is a fault of the step.
        trace = None if isinstance(error, OSError | CrawlError) else error
        logger.error(
            "%s failed and is called again, every %g s: %s",
            name,
            self._seconds,
            error or type(error).__name__,
            exc_info=trace,
        )
