"""Signs of life: what keeps the leases of a process on a shared backend, and brings it the news."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress

from webcrawl.frontier.backend import Command, Pulse, SharedBackend
from webcrawl.frontier.patience import Patience

logger = logging.getLogger(__name__)

_TOLD = {
    Command.PAUSE: "The crawl was paused by its operator: nothing new is fetched until `scrapy frontier resume`",
    Command.RUN: "The crawl was resumed by its operator",
    Command.STOP: "The crawl was stopped by its operator: what is open is finished",
}


class Membership:
    """Calls ``pulse`` again and again while the crawl runs. A backend that is away is waited for."""

    def __init__(
        self,
        backend: SharedBackend,
        patience: Patience,
        figures: Callable[[], Mapping[str, float]],
        heard: Callable[[Pulse], None],
        broken: Callable[[BaseException], None],
    ) -> None:
        self._backend = backend
        self._patience = patience
        self._figures = figures
        self._heard = heard
        self._broken = broken
        self._task: asyncio.Task[None] | None = None
        self._command = Command.RUN

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _run(self) -> None:
        try:
            while True:
                pulse = await self._patience.insist(lambda: self._backend.pulse(self._figures()))
                self._tell(pulse.command)
                self._heard(pulse)
                await asyncio.sleep(self._backend.pulse_seconds)
        except Exception as error:
            self._broken(error)

    def _tell(self, command: Command) -> None:
        """Say once what the operator wants, at a level that is shown where silence would be a riddle."""
        if command is not self._command:
            self._command = command
            logger.warning(_TOLD[command])
