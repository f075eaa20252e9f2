"""A response on its way into memory: how long it may take, and what it may take of the memory for bodies."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from webcrawl.archive.errors import translated
from webcrawl.downloadhandlers.body import announced_lengths
from webcrawl.downloadhandlers.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawl.archive.capture import Capture
    from webcrawl.downloadhandlers.connection import PageConnection
    from webcrawl.downloadhandlers.exchange import Exchange
    from webcrawl.downloadhandlers.response_head import ResponseHead
    from webcrawl.meta import FetchMeta

HELD_SECONDS = 0.1
"""How soon the deadline of a response is looked at again that is not being read, at the earliest."""


class Reading:
    """One response. While there is no memory for more of it nothing is read, and its time stands still."""

    def __init__(
        self,
        fetch: FetchMeta,
        limit: Callable[[ResponseHead], int],
        deadline: float,
        connection: PageConnection,
    ) -> None:
        """``limit``: bytes of the payload behind a head, 0 for none; ``deadline``: monotonic seconds. ``fetch``
        has an account."""
        assert fetch.account is not None
        self._account = fetch.account
        self._fetch = fetch
        self._limit = limit
        self._deadline = deadline
        self._connection = connection
        self.spool: Spool | None = None
        """Takes the payload of a response that may be longer than what is held in memory."""
        if fetch.spool is not None:
            self.spool = Spool(fetch.spool, connection.pause, connection.resume)
        self._held_at: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, exchange: Exchange) -> None:
        """The request is about to be sent."""
        self._exchange = exchange
        self._look_at_deadline()

    def grown(self, head: ResponseHead, size: int) -> None:
        """There are so many bytes of payload now, and more will come."""
        account = self._account
        if self.spool is not None:
            account.resize(self.spool.size)
            return
        account.resize(size)
        if account.room or account.asked:
            return
        self._held_at = monotonic()
        if account.ask(self._most(head), self._go_on):
            self._held_at = None
        else:
            self._connection.pause()

    def end(self) -> None:
        """The exchange is over. It knows its reading: if that went on knowing it, both would be garbage in a circle,
        with the body and all else, until the collector comes by."""
        exchange = self._exchange
        del self._exchange
        if self._timer is not None:
            self._timer.cancel()
        if self._held_at is not None:
            self._go_on()
        account = self._account
        account.resize(len(exchange.payload) if self.spool is None else self.spool.size)
        account.trim(0 if exchange.head is None else self._unfolded(exchange.head))
        if self.spool is not None:
            self.spool.go_on()
            if exchange.head is None:
                self.spool.discard()

    async def keep(self, exchange: Exchange, capture: Capture) -> None:
        """Leave the payload of an exchange that is over in the capture.

        Raises:
            StorageFull, StorageLost: it could not be written to its file.
        """
        if self.spool is None:
            capture.payload = exchange.payload
            return
        with translated(Path(self.spool.folder)):
            capture.spooled = await self.spool.finish()
        capture.payload = self.spool.held
        self._account.resize(len(capture.payload))

    def _most(self, head: ResponseHead) -> int | None:
        """What the body may come to, together with what it unfolds to; None where there is no limit."""
        limit = self._limit(head)
        if not limit:
            return None
        announced = max(announced_lengths(head), default=0) or limit
        return min(limit, announced) + self._unfolded(head)

    def _unfolded(self, head: ResponseHead) -> int:
        return self._limit(head) if head.value(b"content-encoding") else 0

    def _go_on(self) -> None:
        assert self._held_at is not None
        self._fetch.held_seconds += monotonic() - self._held_at
        self._held_at = None
        self._connection.resume()

    def _look_at_deadline(self) -> None:
        now = monotonic()
        left = self._deadline + self._fetch.held_seconds - now
        if self._held_at is not None:
            left = max(left + now - self._held_at, HELD_SECONDS)
        if left > 0:
            self._timer = asyncio.get_running_loop().call_later(left, self._look_at_deadline)
        else:
            self._exchange.expire()
