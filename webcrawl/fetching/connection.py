"""A connection: aiohttp's protocol with an ``Exchange`` on top, and the time for which it may be idle.

A request that crosses the close of its connection is lost, and looks like a server that closed without an answer. So
a connection is not used when its idle time at the server is nearly over. Servers may announce that time; Apache does
if ``Connection: keep-alive`` was sent.
"""

from __future__ import annotations

import re
from collections import deque
from contextlib import suppress
from functools import lru_cache
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from aiohttp.client_proto import ResponseHandler

from webcrawl.fetching.tls_sessions import ResumableTls

if TYPE_CHECKING:
    import asyncio

    from aiohttp.connector import Connection
    from twisted.internet.ssl import Certificate

    from webcrawl.fetching.bandwidth import Bandwidth
    from webcrawl.fetching.exchange import Exchange
    from webcrawl.fetching.http2 import Http2Connection
    from webcrawl.fetching.response_head import ResponseHead


HTTP2, HTTP11 = "h2", "http/1.1"
"""The names of the protocols in TLS (ALPN), in archives and in the fetch log."""
ASSUMED_SECONDS = 5.0
"""The idle time in seconds if nothing is announced: the default of Apache, Node and lighttpd; few servers have
less.
"""
LONGEST_SECONDS = 30.0
"""The longest idle time in seconds, whatever the server announces."""
PATIENCE_SECONDS = 0.2
"""Seconds for which the acknowledgement of a server's settings of HTTP/2 waits for other frames to go with it."""
MARGIN_SECONDS = 0.5
"""A safety margin in seconds, for coarse clocks and for the delay until received bytes are noticed."""

_PARAMETER = re.compile(rb"(?:^|[,;])[ \t]*(timeout|max)[ \t]*=[ \t]*\"?(\d{1,9})(?!\d)", re.IGNORECASE)
_LOOKED_AT_BYTES = 256


def idle_seconds(head: ResponseHead, round_trip_seconds: float) -> float:
    """Return how long after the response the connection may take another request, in seconds; 0 for not at all.

    The server started to count half a round trip before the response arrived, and a request takes another half.
    """
    announced = ASSUMED_SECONDS
    fields = head.values(b"keep-alive")
    if fields:
        parameters = dict(_parameters(b",".join(fields)[:_LOOKED_AT_BYTES]))
        if parameters.get(b"max") == 0:
            return 0.0
        announced = min(float(parameters.get(b"timeout", ASSUMED_SECONDS)), LONGEST_SECONDS)
    return max(0.0, announced - MARGIN_SECONDS - 2 * round_trip_seconds)


def _parameters(value: bytes) -> list[tuple[bytes, int]]:
    return [(name.lower(), int(number)) for name, number in _PARAMETER.findall(value)]


class ConnectionPool(Protocol):
    """The pool to which connections are returned."""

    def keep(self, connection: Connection, protocol: PageProtocol, seconds: float) -> None:
        """Keep a connection for the next request to its host within so many seconds, or close it."""
        ...


class SlowLane:
    """Connections that received more than is decoded at a time. One of them gets a turn in each round of the event
    loop, so all of them together block the loop no longer than one; none of them is read meanwhile.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[PageProtocol] = deque()

    def add(self, protocol: PageProtocol) -> None:
        """Give a connection turns until it has caught up."""
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
    """A connection that passes the bytes it receives to an ``Exchange``.

    Until its first exchange it behaves as aiohttp's own protocol, which a CONNECT through a proxy needs. While it is
    idle any byte from the server closes it, except for frames of HTTP/2, if that was agreed on in TLS.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        idle: set[PageProtocol],
        lane: SlowLane,
        bandwidth: Bandwidth,
    ) -> None:
        super().__init__(loop)
        self._bandwidth = bandwidth
        self.exchanges = 0
        """The number of requests sent on this connection."""
        self.ip: str | None = None
        """The remote address."""
        self.certificate: Certificate | None = None
        """The server's certificate; None without TLS."""
        self.opening_seconds = 0.0
        """Seconds that it took to open the connection; at least a round trip."""
        self._exchange: Exchange | None = None
        self._tls: ResumableTls | None = None
        self._http2: Http2Connection | None = None
        self._later: asyncio.TimerHandle | None = None
        """Writes frames that are not urgent."""
        self._idle = idle
        self._lane = lane
        self._in_lane = False
        self._holds = 0
        """The number of reasons to pause reading, the slow lane apart."""
        self._loss: tuple[BaseException | None] | None = None
        """The error with which the connection was lost before all received bytes were decoded."""
        self._usable_until = inf
        self._closing: asyncio.TimerHandle | None = None

    @property
    def is_http2(self) -> bool:
        """True if it speaks HTTP/2."""
        return self._http2 is not None

    @property
    def takes_more(self) -> bool:
        """False if the server, or the end of an exchange, has ended the use of the connection."""
        return self._http2 is None or not self._http2.is_over

    @property
    def cipher_suite(self) -> str:
        """The name of the cipher suite; empty without TLS."""
        cipher = None if self.transport is None else self.transport.get_extra_info("cipher")
        return "" if cipher is None else str(cipher[0])

    def send(self, exchange: Exchange, scheme: str, head: bytes, body: bytes) -> None:
        """Send a request whose head has the form of HTTP/1.1."""
        transport = self.transport
        assert transport is not None
        if self._http2 is not None:
            self._http2.request(exchange, scheme, head, body)
            self._write_frames()
            return
        transport.write(head)
        if body:
            transport.write(body)

    def begin(self, exchange: Exchange) -> None:
        """Pass all received bytes to the exchange from now on."""
        self.exchanges += 1
        self._exchange = exchange
        self._wake()
        if self._tls is not None and self.exchanges == 1:
            self._tls.begun()

    def end(self) -> None:
        """Detach the exchange, which is over."""
        exchange, self._exchange = self._exchange, None
        if self._http2 is not None:
            self._http2.end()
        if self._tls is not None and exchange is not None and exchange.head is not None:
            # Once a connection is enough.
            self._tls.answered()
            self._tls = None

    def rest(self, seconds: float) -> None:
        """Be idle for at most so many seconds, then close: the server might be closing the connection by then."""
        if self._http2 is not None:
            self._write_frames()
        self._usable_until = monotonic() + seconds
        self._closing = self._loop.call_later(seconds, self.close)
        self._idle.add(self)

    @property
    def is_usable(self) -> bool:
        """True if the server can be expected to accept a request."""
        return monotonic() < self._usable_until

    def _wake(self) -> None:
        """End the idle time."""
        self._idle.discard(self)
        self._usable_until = inf
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None

    def catch_up(self) -> bool:
        """Take a turn in the slow lane; return True if another one is needed."""
        exchange = self._exchange
        if self._http2 is not None:
            self._http2.go_on()
            self._write_frames()
            if self._http2.behind:
                return True
        elif exchange is not None:
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
        """Add or remove a reason to pause reading."""
        self._holds = max(0, self._holds + change)
        self._read_or_not()

    def _read_or_not(self) -> None:
        """Pause or resume reading, by the reasons there are."""
        if self.transport is None:
            return
        with suppress(RuntimeError):  # the transport is closing
            if self._holds or self._in_lane:
                self.transport.pause_reading()
            else:
                self.transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.ip = str(peer[0]) if peer else None
        if (tls := transport.get_extra_info("ssl_object")) is not None:
            self.certificate = _certificate(tls.getpeercert(binary_form=True))
            self._tls = tls if isinstance(tls, ResumableTls) else None
            if tls.selected_alpn_protocol() == HTTP2:
                # Few crawls meet it.
                from webcrawl.fetching.http2 import Http2Connection

                self._http2 = Http2Connection()

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        exchange = self._exchange
        if self._http2 is not None:
            self._receive_frames(self._http2, data)
        elif exchange is not None:
            exchange.feed(data)
            if self._bandwidth.is_on and exchange.received is not None:
                exchange.received(len(data))
            if exchange.behind and not self._in_lane:
                self._in_lane = True
                self._read_or_not()
                self._lane.add(self)
        elif self.exchanges:
            self.close()
        else:
            super().data_received(data)

    def _receive_frames(self, http2: Http2Connection, data: bytes) -> None:
        exchange = self._exchange
        http2.feed(data)
        if exchange is None or http2.is_urgent:
            self._write_frames()
        elif not exchange.done.done() and self._later is None:
            # A write costs as much as all else here. When the exchange is over, the connection is closed or kept.
            self._later = self._loop.call_later(PATIENCE_SECONDS, self._write_frames)
        if exchange is not None and self._bandwidth.is_on and exchange.received is not None:
            exchange.received(len(data))
        if http2.behind and not self._in_lane:
            self._in_lane = True
            self._read_or_not()
            self._lane.add(self)
        elif http2.is_over and self._exchange is None:
            self.close()

    def _write_frames(self) -> None:
        """Send the frames that the protocol asks for: settings, acknowledgements, room for more."""
        assert self._http2 is not None
        if self._later is not None:
            self._later.cancel()
            self._later = None
        data = self._http2.data_to_send()
        if data and self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    def close(self) -> None:
        """See aiohttp's ResponseHandler. It tells a server of HTTP/2 that has not ended its stream, or broke the
        protocol."""
        if self._http2 is not None and self._http2.close():
            self._write_frames()
        super().close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """See asyncio.Protocol."""
        self._wake()
        if self._later is not None:
            self._later.cancel()
        if self._in_lane:
            self._loss = (exc,)
        else:
            self._lose(exc)
        super().connection_lost(exc)

    def _lose(self, exc: BaseException | None) -> None:
        if self._exchange is not None:
            self._exchange.lost(exc if isinstance(exc, Exception) else None)


CERTIFICATES = 512
"""The number of certificates that are kept, of a few kB each: most connections are to hosts that had one before."""


@lru_cache(CERTIFICATES)
def _certificate(der: bytes | None) -> Certificate | None:
    """Return a certificate as Scrapy's handlers give it."""
    if der is None:
        return None
    # A crawl without TLS does without them.
    from OpenSSL.crypto import FILETYPE_ASN1
    from twisted.internet.ssl import Certificate

    return Certificate.load(der, FILETYPE_ASN1)


class PageConnection:
    """An open connection, for one exchange. ``release`` or ``abandon`` must be called in every case."""

    __slots__ = ("_connection", "_pool", "_protocol", "sent")

    def __init__(self, pool: ConnectionPool, connection: Connection) -> None:
        protocol = connection.protocol
        assert isinstance(protocol, PageProtocol)
        self._pool = pool
        self._connection = connection
        self._protocol = protocol
        self.sent = False
        """True once the request was written to the network: an idle connection may have been closed before."""

    @property
    def is_reused(self) -> bool:
        """True if its request is not the first one on the connection."""
        return self._protocol.exchanges > self.sent

    @property
    def is_usable(self) -> bool:
        """True if the server can be expected to accept a request."""
        return self._protocol.is_usable

    @property
    def ip(self) -> str | None:
        """The remote address."""
        return self._protocol.ip

    @property
    def is_http2(self) -> bool:
        """True if it speaks HTTP/2."""
        return self._protocol.is_http2

    @property
    def cipher_suite(self) -> str | None:
        """The cipher suite of TLS 1.3 by its registered name; None for an older version, whose names differ."""
        name = self._protocol.cipher_suite
        return name if name.startswith("TLS_") else None

    @property
    def certificate(self) -> Certificate | None:
        """The server's certificate, in Scrapy's type; None without TLS."""
        return self._protocol.certificate

    def opened_in(self, seconds: float) -> None:
        """Record how long it took to open the connection."""
        self._protocol.opening_seconds = seconds

    def send(self, exchange: Exchange, scheme: str, head: bytes, body: bytes) -> None:
        """Send a request, whose head has the form of HTTP/1.1; the exchange receives the response."""
        self._protocol.begin(exchange)
        transport = self._connection.transport
        if transport is None or transport.is_closing():
            exchange.lost(None)
            return
        self.sent = True
        self._protocol.send(exchange, scheme, head, body)

    def pause(self) -> None:
        """Stop reading until ``resume``: the bytes from the server stay in the buffers of both systems."""
        self._protocol.hold(1)

    def resume(self) -> None:
        """Continue to read."""
        self._protocol.hold(-1)

    def abandon(self) -> None:
        """Close the connection without an exchange. Instead of ``release``."""
        self._connection.close()

    def release(self, exchange: Exchange, *, keep: bool) -> None:
        """End the exchange: with ``keep`` the connection is kept for the next one, if it can be reused."""
        self._protocol.end()
        transport = self._connection.transport
        # A server that answered before it had the whole request may never read the rest.
        if (
            keep
            and exchange.reusable
            and self._protocol.takes_more
            and transport is not None
            and not transport.get_write_buffer_size()
        ):
            assert exchange.head is not None
            seconds = idle_seconds(exchange.head, self._protocol.opening_seconds)
            self._pool.keep(self._connection, self._protocol, seconds)
        else:
            self._connection.close()
