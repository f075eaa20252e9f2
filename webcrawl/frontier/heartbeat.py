"""The heartbeat of a process on a shared backend: it renews the process's leases and returns changes by others."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Protocol

from webcrawl.frontier.storage_retry import StorageRetry
from webcrawl.storage.contract import (
    BandwidthShare,
    HeartbeatAnswer,
    SharedBackend,
    uptime,
)

CANCELLED_AGAIN_SECONDS = 0.1


class SharedBandwidth(Protocol):
    """A bandwidth limit of which this process has a share."""

    def figures(self) -> Mapping[str, float]:
        """Return the figures that ask for a share; none without a limit."""
        ...

    def granted(self, share: BandwidthShare) -> None:
        """Apply a share of the bandwidth limit."""
        ...


class WorkerHeartbeat:
    """Calls ``heartbeat`` at intervals while the crawl runs. While the backend is away, the call is repeated."""

    def __init__(
        self,
        backend: SharedBackend,
        retry: StorageRetry,
        figures: Callable[[], Mapping[str, float]],
        on_answer: Callable[[HeartbeatAnswer], None],
        broken: Callable[[BaseException], None],
    ) -> None:
        self._backend = backend
        self._retry = retry
        self._figures = figures
        self._on_answer = on_answer
        self._broken = broken
        self._task: asyncio.Task[None] | None = None
        self._answered_at = -math.inf
        """Time of the last heartbeat that was answered, by ``uptime``."""

    @property
    def is_late(self) -> bool:
        """True if the last answered heartbeat is so old that no new request may start."""
        return uptime() - self._answered_at > self._backend.silence_seconds

    @property
    def workers(self) -> int:
        """The number of running processes, this one included."""
        return self._backend.workers

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def end(self) -> None:
        if self._task is not None:
            while not self._task.done():
                # Repeated: Python 3.11 loses a cancellation that meets the end of what redis-py waits for.
                self._task.cancel()
                await asyncio.wait([self._task], timeout=CANCELLED_AGAIN_SECONDS)
            self._task = None

    async def _run(self) -> None:
        try:
            while True:
                heartbeat = await self._retry.with_retry(self._send)
                self._on_answer(heartbeat)
                await asyncio.sleep(self._backend.heartbeat_seconds)
        except Exception as error:
            self._broken(error)

    async def _send(self) -> HeartbeatAnswer:
        at = uptime()
        heartbeat = await self._backend.heartbeat(self._figures())
        self._answered_at = at
        return heartbeat
