"""Connections of the dashboard: how many there are, how long they may be silent, and how long a reader may be slow.

Whoever connects may send nothing, send a byte a minute, never read, or open connections without end. None of these
holds more than its connection, and each connection ends.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import TYPE_CHECKING, Any

from aiohttp import web
from aiohttp.http_exceptions import LineTooLong

from webcrawl.web.fields import as_json
from webcrawl.web.headers import HEADERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CONNECTIONS_MAX = 256
CONNECTIONS_OF_ONE = 64
"""Connections of one address."""
HEAD_SECONDS = 15.0
"""Time for the head of a request, from the connection or from the last answer on."""
STUCK_SECONDS = 30.0
"""A connection whose answer has not advanced for this long is closed."""
CHECK_SECONDS = 5.0
LINE_MAX = 16 << 10
"""Bytes of a request line, and of each header."""

_SILENT = logging.getLogger(f"{__name__}.peers")
"""Logger to which aiohttp writes errors of requests, with tracebacks. Anyone can send faulty requests, so it is
silenced."""
_SILENT.setLevel(logging.CRITICAL + 1)


class Connections:
    """The open connections."""

    def __init__(self) -> None:
        self._open: dict[_Connection, tuple[int, float]] = {}
        """Bytes that wait to be sent when they were last fewer than before, and that time."""
        self._of: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[_Connection]:
        return iter(self._open)

    def admit(self, connection: _Connection, address: str) -> bool:
        """Count a connection; False if there are too many."""
        if len(self._open) >= CONNECTIONS_MAX or self._of.get(address, 0) >= CONNECTIONS_OF_ONE:
            return False
        self._open[connection] = (0, 0.0)
        self._of[address] = self._of.get(address, 0) + 1
        return True

    def remove(self, connection: _Connection, address: str) -> None:
        """Forget a connection that was admitted."""
        if self._open.pop(connection, None) is not None:
            self._of[address] -= 1
            if not self._of[address]:
                del self._of[address]

    def abort_stuck(self, now: float) -> None:
        """Close the connections whose readers do not read."""
        for connection, (waiting, since) in list(self._open.items()):
            still = connection.waiting_bytes()
            if not still or still < waiting or not waiting:
                self._open[connection] = (still, now)
            elif now - since >= STUCK_SECONDS:
                connection.abort()

    def abort_all(self) -> None:
        """Close all connections."""
        for connection in list(self._open):
            connection.abort()

    async def watch(self) -> None:
        """Close stuck connections until the task is cancelled."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            self.abort_stuck(asyncio.get_running_loop().time())


class _Connection(web.RequestHandler):
    """aiohttp's connection, counted, with errors as JSON."""

    __slots__ = ("_address", "_connections")

    def __init__(self, server: Any, connections: Connections, **options: Any) -> None:
        super().__init__(server, **options)
        self._connections = connections
        self._address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if isinstance(peer, tuple) else ""
        super().connection_made(transport)
        if not self._connections.admit(self, self._address):
            assert isinstance(transport, asyncio.Transport)
            transport.write(_TOO_MANY)
            self.close()
            transport.close()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._connections.remove(self, self._address)
        super().connection_lost(exc)

    def waiting_bytes(self) -> int:
        """Return the number of bytes that the other end has not taken."""
        transport = self.transport
        return 0 if transport is None else transport.get_write_buffer_size()

    def abort(self) -> None:
        """End the connection without sending the rest."""
        if self.transport is not None:
            self.transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a request that is no HTTP, or whose answer failed."""
        if request.writer.output_size > 0:
            raise ConnectionError("a part of the answer is sent")
        sentence = "the request is no HTTP"
        if isinstance(exc, LineTooLong):
            status, sentence = 414, f"the address or a header is longer than {LINE_MAX} bytes"
        elif status >= 500:
            logging.getLogger(__name__).error("A request failed: %s", exc, exc_info=exc)
            sentence = "the dashboard failed"
        answer = web.Response(
            status=status,
            body=as_json({"error": sentence}),
            content_type="application/json",
            headers=HEADERS,
        )
        answer.force_close()
        return answer


def _too_many() -> bytes:
    body = as_json({"error": "too many connections"})
    head = {
        **HEADERS,
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Retry-After": "5",
    }
    lines = [f"{name}: {value}" for name, value in head.items()]
    return (
        "\r\n".join(["HTTP/1.1 503 Service Unavailable", *lines, "Connection: close", "", ""]).encode() + body
    )


_TOO_MANY = _too_many()


class Listener:
    """Listens for an application."""

    def __init__(self, application: web.Application) -> None:
        # Who leaves does not get an answer: an event stream ends at once.
        self._runner = web.AppRunner(
            application, handler_cancellation=True, shutdown_timeout=1.0, access_log=None, logger=_SILENT
        )
        self.connections = Connections()
        self._server: asyncio.Server | None = None
        self._watch: asyncio.Task[None] | None = None
        self.port = 0
        """The port, after ``start``."""

    async def start(self, host: str, port: int) -> None:
        """Listen; port 0 takes any free one. :raises OSError: the address cannot be used"""
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._factory(loop), host, port, backlog=128)
        except OSError:
            await self._runner.cleanup()
            raise
        names = [
            listener.getsockname() for listener in self._server.sockets if listener.family != socket.AF_UNIX
        ]
        self.port = int(names[0][1])
        self._watch = asyncio.create_task(self.connections.watch())

    async def stop(self) -> None:
        """Stop listening, and end all connections."""
        if self._server is not None:
            self._server.close()
        if self._watch is not None:
            self._watch.cancel()
        self.connections.abort_all()
        await self._runner.cleanup()

    def _factory(self, loop: asyncio.AbstractEventLoop) -> Callable[[], asyncio.Protocol]:
        def new() -> asyncio.Protocol:
            return _Connection(
                self._runner.server,
                self.connections,
                loop=loop,
                keepalive_timeout=HEAD_SECONDS,
                lingering_time=5.0,
                access_log=None,
                logger=_SILENT,
                max_line_size=LINE_MAX,
                max_field_size=LINE_MAX,
                auto_decompress=False,
            )

        return new
