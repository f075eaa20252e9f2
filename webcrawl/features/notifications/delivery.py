"""Delivery of messages beside the crawl: a short queue for each receiver, and attempts with growing pauses.

Only its own task waits for a receiver. One that fails costs its messages and a line in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from webcrawl.features.notifications.receivers import NotDelivered

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from webcrawl.features.notifications.messages import Message
    from webcrawl.features.notifications.receivers import Receiver

logger = logging.getLogger(__name__)

PAUSES = (2.0, 10.0, 60.0, 300.0)
"""Seconds before the second, third, ... attempt."""
LAST_PAUSE_SECONDS = 0.5
"""The pause between attempts while the crawl waits for its last messages."""
QUEUED_MAX = 20
"""Messages that may wait for one receiver; the oldest one gives way."""


class _Outbox:
    """The messages that wait for one receiver."""

    def __init__(self, receiver: Receiver, pauses: Sequence[float], hurry: asyncio.Event) -> None:
        self._receiver = receiver
        self._pauses = pauses
        self._hurry = hurry
        self._waiting: deque[Message] = deque(maxlen=QUEUED_MAX)
        self._task: asyncio.Task[None] | None = None

    @property
    def task(self) -> asyncio.Task[None] | None:
        return self._task

    def add(self, message: Message) -> None:
        if len(self._waiting) == QUEUED_MAX:
            self._lost(self._waiting[0], "too many messages wait for this receiver")
        self._waiting.append(message)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._deliver())

    def give_up(self) -> None:
        """Stop, and log the messages that were not delivered."""
        if self._task is not None:
            self._task.cancel()
        for message in self._waiting:
            self._lost(message, "the crawl ends first")
        self._waiting.clear()

    async def _deliver(self) -> None:
        while self._waiting:
            message = self._waiting[0]
            await self._attempts(message)
            # The queue may have lost it meanwhile.
            if self._waiting and self._waiting[0] is message:
                self._waiting.popleft()

    async def _attempts(self, message: Message) -> None:
        for pause in (*self._pauses, None):
            try:
                await self._receiver.take(message)
            except NotDelivered as error:
                if pause is None or error.is_final:
                    self._lost(message, str(error))
                    return
                await self._pause(pause)
            except Exception:
                logger.exception(
                    "The notification %r could not be sent to %s", message.event, self._receiver.name
                )
                return
            else:
                logger.info("Notified %s: %s", self._receiver.name, message.text)
                return

    async def _pause(self, seconds: float) -> None:
        if self._hurry.is_set():
            await asyncio.sleep(min(seconds, LAST_PAUSE_SECONDS))
            return
        try:
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
        except TimeoutError:
            return

    def _lost(self, message: Message, why: str) -> None:
        logger.warning("Not notified: %s: %s. The message was: %s", self._receiver.name, why, message.text)


class Delivery:
    """Delivers messages to all receivers, each in its own time."""

    def __init__(self, receivers: Iterable[Receiver], pauses: Sequence[float] = PAUSES) -> None:
        self._hurry = asyncio.Event()
        self._lines = [_Outbox(receiver, pauses, self._hurry) for receiver in receivers]

    def post(self, message: Message) -> None:
        """Have a message delivered. Returns at once."""
        for line in self._lines:
            line.add(message)

    async def finish(self, seconds: float) -> None:
        """Wait until all messages are delivered, at most for so many seconds; give up the rest."""
        self._hurry.set()
        if tasks := [line.task for line in self._lines if line.task is not None]:
            await asyncio.wait(tasks, timeout=seconds)
        for line in self._lines:
            line.give_up()
