"""One connection: aiohttp's protocol underneath, an ``Exchange`` on top.

How long a connection may lie idle and still be used: the server must not be closing it when a request arrives.

A request that crosses the end of its connection is lost, and looks like a server that closed without an answer. So a
connection is not used when its time at the server is nearly over. Servers may announce that time; Apache does where
``Connection: keep-alive`` was sent. Pure functions, no input or output.
"""

from __future__ import annotations

import re
from collections import deque
from contextlib import suppress
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from aiohttp.client_proto import ResponseHandler

if TYPE_CHECKING:
    import asyncio

    from aiohttp.connector import Connection

    from webcrawl.fetching.exchange import Exchange
    from webcrawl.fetching.response_head import ResponseHead


ASSUMED_SECONDS = 5.0
"""Where nothing is announced: the default of Apache, Node and lighttpd; few servers have less."""
LONGEST_SECONDS = 30.0
"""However long a server would wait."""
MARGIN_SECONDS = 0.5
"""For clocks that tick coarsely, and for the time until we see what has come."""

_PARAMETER = re.compile(rb"(?:^|[,;])[ \t]*(timeout|max)[ \t]*=[ \t]*\"?(\d{1,9})(?!\d)", re.IGNORECASE)
_LOOKED_AT_BYTES = 256


def idle_seconds(head: ResponseHead, round_trip_seconds: float) -> float:
    """How long after the response the connection may take another request; 0 for not at all.

    The server counted from half a round trip before the response was here, and a request takes another half.
    """
    announced = ASSUMED_SECONDS
    fields = head.values(b"keep-alive")
    if fields:
        said = dict(_parameters(b",".join(fields)[:_LOOKED_AT_BYTES]))
        if said.get(b"max") == 0:
            return 0.0
        announced = min(float(said.get(b"timeout", ASSUMED_SECONDS)), LONGEST_SECONDS)
    return max(0.0, announced - MARGIN_SECONDS - 2 * round_trip_seconds)


def _parameters(value: bytes) -> list[tuple[bytes, int]]:
    return [(name.lower(), int(number)) for name, number in _PARAMETER.findall(value)]


class ConnectionPool(Protocol):
    """Who takes connections back."""

    def keep(self, connection: Connection, protocol: PageProtocol, seconds: float) -> None:
        """Keep a connection for a next request to its host within so many seconds, or close it."""
        ...


class SlowLane:
    """Connections that brought more than is decoded at a time. One of them gets a turn in each round of the event
    loop, so that all of them together hold it no longer than one; from none of them is read meanwhile.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[PageProtocol] = deque()

    def add(self, protocol: PageProtocol) -> None:
        """Give a connection its turns until it is behind no more."""
        self._waiting.append(protocol)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        protocol = self._waiting.popleft()
        try:
            if protocol.catch_up():
                self._waiting.append(protocol)
        finally:
            if self._waiting:
                self._loop.call_soon(self._turn)


class PageProtocol(ResponseHandler):
    """A connection that hands what it receives to an ``Exchange``.

    Until its first exchange it behaves as aiohttp's own protocol, which a CONNECT through a proxy needs.
    While it lies idle any byte from the server closes it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, idle: set[PageProtocol], lane: SlowLane) -> None:
        super().__init__(loop)
        self.exchanges = 0
        """Requests sent on this connection."""
        self.ip: str | None = None
        """The address at the other end."""
        self.opening_seconds = 0.0
        """How long it took to open it, which is at least a round trip."""
        self._exchange: Exchange | None = None
        self._idle = idle
        self._lane = lane
        self._in_lane = False
        self._holds = 0
        """How many do not want more to be read now, the lane apart."""
        self._loss: tuple[BaseException | None] | None = None
        """The connection was lost before what had come was decoded."""
        self._usable_until = inf
        self._closing: asyncio.TimerHandle | None = None

    def begin(self, exchange: Exchange) -> None:
        """From now on the exchange gets everything."""
        self.exchanges += 1
        self._exchange = exchange
        self._wake()

    def end(self) -> None:
        """The exchange is over."""
        self._exchange = None

    def rest(self, seconds: float) -> None:
        """Lie idle, for so long at most: then the server might be closing it, and it is closed."""
        self._usable_until = monotonic() + seconds
        self._closing = self._loop.call_later(seconds, self.close)
        self._idle.add(self)

    @property
    def is_usable(self) -> bool:
        """Whether the server will still be there to take a request."""
        return monotonic() < self._usable_until

    def _wake(self) -> None:
        """It lies idle no more."""
        self._idle.discard(self)
        self._usable_until = inf
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None

    def catch_up(self) -> bool:
        """Take a turn in the slow lane; whether another one is needed."""
        exchange = self._exchange
        if exchange is not None:
            exchange.go_on()
            if exchange.behind:
                return True
        self._in_lane = False
        if self._loss is not None:
            self._lose(self._loss[0])
        else:
            self._read_or_not()
        return False

    def hold(self, change: int) -> None:
        """One more wants nothing to be read, or one less."""
        self._holds = max(0, self._holds + change)
        self._read_or_not()

    def _read_or_not(self) -> None:
        """Read unless there is a reason not to."""
        if self.transport is None:
            return
        with suppress(RuntimeError):  # it is closing
            if self._holds or self._in_lane:
                self.transport.pause_reading()
            else:
                self.transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.ip = str(peer[0]) if peer else None

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        exchange = self._exchange
        if exchange is not None:
            exchange.feed(data)
            if exchange.behind and not self._in_lane:
                self._in_lane = True
                self._read_or_not()
                self._lane.add(self)
        elif self.exchanges:
            self.close()
        else:
            super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """See asyncio.Protocol."""
        self._wake()
        if self._in_lane:
            self._loss = (exc,)
        else:
            self._lose(exc)
        super().connection_lost(exc)

    def _lose(self, exc: BaseException | None) -> None:
        if self._exchange is not None:
            self._exchange.lost(exc if isinstance(exc, Exception) else None)


class PageConnection:
    """An open connection, for one exchange. ``release`` or ``abandon`` must be called, whatever happened."""

    __slots__ = ("_connection", "_keeper", "_protocol", "sent")

    def __init__(self, keeper: ConnectionPool, connection: Connection) -> None:
        protocol = connection.protocol
        assert isinstance(protocol, PageProtocol)
        self._keeper = keeper
        self._connection = connection
        self._protocol = protocol
        self.sent = False
        """Whether the request left for the network: an idle connection may have been closed meanwhile."""

    @property
    def is_reused(self) -> bool:
        """Whether it carries, or would carry, a request that is not its first."""
        return self._protocol.exchanges > self.sent

    @property
    def is_usable(self) -> bool:
        """Whether the server will still be there to take a request."""
        return self._protocol.is_usable

    @property
    def ip(self) -> str | None:
        """The address at the other end."""
        return self._protocol.ip

    def opened_in(self, seconds: float) -> None:
        """Take down how long it took to open it."""
        self._protocol.opening_seconds = seconds

    def send(self, exchange: Exchange, head: bytes, body: bytes) -> None:
        """Send a request; the exchange gets what comes back."""
        self._protocol.begin(exchange)
        transport = self._connection.transport
        if transport is None or transport.is_closing():
            exchange.lost(None)
            return
        self.sent = True
        transport.write(head)
        if body:
            transport.write(body)

    def pause(self) -> None:
        """Read nothing more until ``resume``: what the server sends waits in the buffers of both systems."""
        self._protocol.hold(1)

    def resume(self) -> None:
        """Read on."""
        self._protocol.hold(-1)

    def abandon(self) -> None:
        """There is no exchange: close it. Instead of ``release``."""
        self._connection.close()

    def release(self, exchange: Exchange, *, keep: bool) -> None:
        """The exchange is over: with ``keep`` the connection waits for the next one, if it can carry it."""
        self._protocol.end()
        transport = self._connection.transport
        # A server that answered before it had the whole request may never read the rest.
        if keep and exchange.reusable and transport is not None and not transport.get_write_buffer_size():
            assert exchange.head is not None
            seconds = idle_seconds(exchange.head, self._protocol.opening_seconds)
            self._keeper.keep(self._connection, self._protocol, seconds)
        else:
            self._connection.close()
