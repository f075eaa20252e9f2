"""One connection: aiohttp's protocol underneath, an ``Exchange`` on top."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from aiohttp.client_proto import ResponseHandler

if TYPE_CHECKING:
    import asyncio

    from aiohttp.connector import Connection

    from webcrawl.downloadhandlers.exchange import Exchange


class Keeper(Protocol):
    """Who takes connections back."""

    def keep(self, connection: Connection, protocol: PageProtocol) -> None:
        """Keep a connection for the next request to its host, or close it."""
        ...


class PageProtocol(ResponseHandler):
    """A connection that hands what it receives to an ``Exchange``.

    Until its first exchange it behaves as aiohttp's own protocol, which a CONNECT through a proxy needs.
    While it lies idle any byte from the server closes it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, idle: set[PageProtocol]) -> None:
        super().__init__(loop)
        self.exchanges = 0
        """Requests sent on this connection."""
        self.ip: str | None = None
        """The address at the other end."""
        self._exchange: Exchange | None = None
        self._idle = idle

    def begin(self, exchange: Exchange) -> None:
        """From now on the exchange gets everything."""
        self.exchanges += 1
        self._exchange = exchange
        self._idle.discard(self)

    def end(self) -> None:
        """The exchange is over."""
        self._exchange = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.ip = str(peer[0]) if peer else None

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        if self._exchange is not None:
            self._exchange.feed(data)
        elif self.exchanges:
            self.close()
        else:
            super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """See asyncio.Protocol."""
        self._idle.discard(self)
        if self._exchange is not None:
            self._exchange.lost(exc if isinstance(exc, Exception) else None)
        super().connection_lost(exc)


class PageConnection:
    """An open connection, for one exchange. ``release`` or ``abandon`` must be called, whatever happened."""

    __slots__ = ("_connection", "_keeper", "_protocol", "sent")

    def __init__(self, keeper: Keeper, connection: Connection) -> None:
        protocol = connection.protocol
        assert isinstance(protocol, PageProtocol)
        self._keeper = keeper
        self._connection = connection
        self._protocol = protocol
        self.sent = False
        """Whether the request left for the network: an idle connection may have been closed meanwhile."""

    @property
    def ip(self) -> str | None:
        """The address at the other end."""
        return self._protocol.ip

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
        with suppress(RuntimeError):  # it is closing
            if self._connection.transport is not None:
                self._connection.transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        with suppress(RuntimeError):
            if self._connection.transport is not None:
                self._connection.transport.resume_reading()

    def abandon(self) -> None:
        """There is no exchange: close it. Instead of ``release``."""
        self._connection.close()

    def release(self, exchange: Exchange, *, keep: bool) -> None:
        """The exchange is over: with ``keep`` the connection waits for the next one, if it can carry it."""
        self._protocol.end()
        transport = self._connection.transport
        # A server that answered before it had the whole request may never read the rest.
        if keep and exchange.reusable and transport is not None and not transport.get_write_buffer_size():
            self._keeper.keep(self._connection, self._protocol)
        else:
            self._connection.close()
