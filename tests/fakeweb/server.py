"""The server: one asyncio Protocol per connection, answers from a Site, every request in the access log."""

from __future__ import annotations

import asyncio
import itertools
import re
import socket
import struct
import time
from typing import TYPE_CHECKING, Protocol, Self, cast

from tests.fakeweb.answer import Answer, Cut, Pause, Request, Step, http_answer
from tests.fakeweb.log import AccessLog, Hit

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Sequence
    from types import TracebackType

_REQUEST_LINE = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.[01]\r\n")
_HOST = re.compile(rb"\r\nhost:[ \t]*(\[[^\]]*\]|[^:\r\n]*)", re.IGNORECASE)
_USER_AGENT = re.compile(rb"\r\nuser-agent:[ \t]*([^\r\n]*)", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection:[^\r\n]*close", re.IGNORECASE)
_MAX_HEAD_BYTES = 1 << 20
_BACKLOG = 4096


class Site(Protocol):
    """What is served: any object that answers requests and wants to know its ports once they are known."""

    def bind(self, port: int, tls_port: int | None) -> None:
        """Take note of the ports that absolute links must name."""

    def answer(self, request: Request) -> Answer:
        """Answer one request, without blocking."""


class FakeWeb:
    """Serves a Site on loopback while the ``async with`` block runs; ``port`` is known inside it.

    ``addresses`` are bound one socket each, all on the same port, so that no other interface can reach it.
    With ``tls`` a second listener with a self-signed certificate answers on ``tls_port``.
    """

    def __init__(
        self,
        site: Site,
        log: AccessLog | None = None,
        *,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        addresses: Sequence[str] = ("127.0.0.1",),
    ) -> None:
        self.site = site
        self.log = log
        self.port = port
        self.tls_port: int | None = None
        self._tls = tls
        self._addresses = addresses
        self._servers: list[asyncio.Server] = []
        self._ids = itertools.count(1)
        self.connections: set[Connection] = set()

    async def __aenter__(self) -> Self:
        self.port = await self._listen(self.port, None)
        if self._tls is not None:
            self.tls_port = await self._listen(0, self._tls)
        self.site.bind(self.port, self.tls_port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        for connection in list(self.connections):
            connection.stop()
        for server in self._servers:
            await server.wait_closed()
        await asyncio.sleep(0)

    async def _listen(self, port: int, tls: ssl.SSLContext | None) -> int:
        loop = asyncio.get_running_loop()
        scheme = "http" if tls is None else "https"
        for address in self._addresses:
            listener = socket.create_server((address, port), backlog=_BACKLOG)
            port = int(listener.getsockname()[1])
            server = await loop.create_server(
                lambda: Connection(self, scheme, next(self._ids)), sock=listener, ssl=tls, backlog=_BACKLOG
            )
            self._servers.append(server)
        return port


class Connection(asyncio.Protocol):
    """One connection: requests are answered one at a time, in order; those that were pipelined wait.

    The write buffer's high-water mark is 0, so ``resume_writing`` tells the moment of the last byte.
    """

    def __init__(self, server: FakeWeb, scheme: str, number: int) -> None:
        self._server = server
        self._site = server.site
        self._scheme = scheme
        self._number = number
        self._transport = cast("asyncio.Transport", None)
        self._address = ""
        self._incoming = b""
        self._arrived = (0.0, 0.0)
        self._started = (0.0, 0.0)
        self._request: Request | None = None
        self._steps: Iterator[Step] = iter(())
        self._status: int | None = None
        self._sent = 0
        self._close = False
        self._blocked = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=0)
        self._address = self._transport.get_extra_info("sockname")[0]
        self._server.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._server.connections.discard(self)
        if self._request is not None:
            self._note(complete=False)

    def eof_received(self) -> bool:
        self._transport.abort()
        return False

    def data_received(self, data: bytes) -> None:
        self._arrived = (time.time(), time.monotonic())
        self._incoming = self._incoming + data if self._incoming else data
        if self._request is None:
            self._next_request()

    def pause_writing(self) -> None:
        self._blocked = True

    def resume_writing(self) -> None:
        self._blocked = False
        if self._request is not None and self._timer is None:
            self._advance()

    def stop(self) -> None:
        """End the connection at once, for the server is closing."""
        self._transport.abort()

    def _next_request(self) -> None:
        if self._request is not None:
            return
        end = self._incoming.find(b"\r\n\r\n")
        if end < 0:
            if len(self._incoming) > _MAX_HEAD_BYTES:
                self._transport.abort()
            return
        request_head = self._incoming[: end + 2]
        length = _LENGTH.search(request_head)
        after = end + 4 + (int(length[1]) if length else 0)
        if len(self._incoming) < after:
            return
        self._incoming = self._incoming[after:]
        self._close = _CLOSE.search(request_head) is not None
        self._started = self._arrived
        self._request = self._parse(request_head)
        self._start(self._site.answer(self._request) if self._request.method else self._refusal())

    def _parse(self, request_head: bytes) -> Request:
        line = _REQUEST_LINE.match(request_head)
        host = _HOST.search(request_head)
        agent = _USER_AGENT.search(request_head)
        method, path = (line[1].decode(), line[2].decode("latin-1")) if line else ("", "")
        return Request(
            method,
            self._scheme,
            host[1].decode("latin-1").lower() if host else "",
            path,
            agent[1].decode("latin-1") if agent else "",
            request_head,
            self._number,
        )

    def _refusal(self) -> Answer:
        self._close = True
        return http_answer(400, b"That was no request.\n", mime="text/plain")

    def _start(self, answer: Answer) -> None:
        self._status = answer.status
        self._steps = answer.steps
        self._close = self._close or answer.close
        wire = answer.wire
        if self._request is not None and self._request.method == "HEAD":
            wire = wire[: wire.find(b"\r\n\r\n") + 4]
            self._steps = iter(())
        self._sent = len(wire)
        if wire:
            self._transport.write(wire)
        if not self._blocked:
            self._advance()

    def _advance(self) -> None:
        """Take the answer's next steps until one has to be waited for; the last one ends the request."""
        self._timer = None
        for step in self._steps:
            if isinstance(step, bytes):
                self._sent += len(step)
                self._transport.write(step)
                if self._blocked:
                    return
            elif isinstance(step, Pause):
                self._timer = asyncio.get_running_loop().call_later(step.seconds, self._wake)
                return
            else:
                self._cut(step)
                return
        self._note(complete=True)
        if self._close:
            self._transport.close()
        elif self._incoming:
            asyncio.get_running_loop().call_soon(self._next_request)

    def _wake(self) -> None:
        self._timer = None
        if self._request is not None and not self._blocked:
            self._advance()

    def _cut(self, how: Cut) -> None:
        self._note(complete=True)
        if how is Cut.CLOSE:
            self._transport.close()
            return
        raw = self._transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def _note(self, *, complete: bool) -> None:
        request, self._request = self._request, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        log = self._server.log
        if request is None or log is None:
            return
        start, start_mono = self._started
        log.add(
            Hit(
                start=start,
                end=time.time(),
                start_mono=start_mono,
                end_mono=time.monotonic(),
                scheme=request.scheme,
                host=request.host,
                address=self._address,
                method=request.method,
                path=request.path,
                status=self._status,
                sent=self._sent,
                complete=complete,
                connection=self._number,
                user_agent=request.user_agent,
            )
        )
