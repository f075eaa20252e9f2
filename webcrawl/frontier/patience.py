"""A full disk is waited out: whatever could not be written is written again until there is room."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from webcrawl.errors import StorageFull

_T = TypeVar("_T")

RETRY_SECONDS = 2.0
"""How long a full disk is left alone before the same step is tried again."""

logger = logging.getLogger(__name__)


class Patience:
    """Repeats steps that found no room. Says once that it waits, and once that it goes on."""

    def __init__(self) -> None:
        self._waiting = 0

    @property
    def stalled(self) -> str | None:
        """Why nothing can be made durable at the moment, in words; None when all is well."""
        return "disk full" if self._waiting else None

    async def insist(self, step: Callable[[], Awaitable[_T]]) -> _T:
        """Do ``step`` until it does not raise StorageFull."""
        waits = False
        while True:
            try:
                done = await step()
            except StorageFull as error:
                if not waits:
                    waits = True
                    self._waiting += 1
                    if self._waiting == 1:
                        logger.warning("No room left, the crawl pauses until there is: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                if waits:
                    self._waiting -= 1
                    if not self._waiting:
                        logger.warning("There is room again, the crawl goes on")
                return done
