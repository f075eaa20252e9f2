"""Work that is under way on the event loop beside what is asked of the frontier."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Tasks:
    """Starts work and keeps hold of it until its end; an error of it is told to ``broken``, and nothing is lost."""

    def __init__(
        self, broken: Callable[[BaseException], None], ended: Callable[[], None] = lambda: None
    ) -> None:
        """``ended`` is called after each."""
        self._broken = broken
        self._ended = ended
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """How many are under way."""
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finish)

    async def all_ended(self) -> None:
        """Wait for all, those too that are started meanwhile."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._broken(error)
        self._ended()
