"""What an extension does again and again while a crawl runs."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)


class Ticking:
    """Takes a step every so many seconds on the event loop, from ``begin`` to ``end``.

    The seconds lie between the end of a step and the next one. A step that raises is the last, and the log says so.
    """

    def __init__(self, seconds: float, step: Callable[[], Awaitable[None]], *, at_once: bool = False) -> None:
        """``at_once``: the first step is taken when it begins, and not only after the first interval."""
        self._seconds = seconds
        self._step = step
        self._at_once = at_once
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._tick())
        self._task.add_done_callback(self._stopped)

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    @property
    def is_on(self) -> bool:
        """Whether it was begun and not ended."""
        return self._task is not None

    async def _tick(self) -> None:
        if self._at_once:
            await self._step()
        while True:
            await asyncio.sleep(self._seconds)
            await self._step()

    def _stopped(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            name = getattr(self._step, "__qualname__", repr(self._step))
            logger.error("%s is called no more: %s", name, error, exc_info=error)
