"""The trial message of ``scrapy notify``."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING

from webcrawl.features.notifications.messages import CrawlOrigin, Message
from webcrawl.features.notifications.receivers import NotDelivered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.features.notifications.receivers import Receiver


def trial(text: str, worker: str) -> Message:
    """Return a message that tells nothing but that messages arrive."""
    crawl = CrawlOrigin("scrapy notify", "", worker, socket.gethostname(), None)
    return Message("test", time.time(), crawl, text)


async def deliver(message: Message, receivers: Sequence[Receiver]) -> list[tuple[str, str | None]]:
    """Make one attempt with each receiver. Return the names of the receivers, and why it failed; None if it did
    not."""

    async def attempt(receiver: Receiver) -> tuple[str, str | None]:
        try:
            await receiver.take(message)
        except NotDelivered as error:
            return receiver.name, str(error)
        return receiver.name, None

    return await asyncio.gather(*map(attempt, receivers))
