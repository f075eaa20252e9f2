"""One connection: requests are read off the wire, answered in order, and entered in the access log."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from tests.fakeweb.answer import Answer, Cut, Pause, Request, Step, http_answer
from tests.fakeweb.log import AccessLog, Hit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fakeweb.ports import Ports

_REQUEST_LINE = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.[01]\r\n")
_HOST = re.compile(rb"\r\nhost:[ \t]*(\[[^\]]*\]|[^:\r\n]*)", re.IGNORECASE)
_USER_AGENT = re.compile(rb"\r\nuser-agent:[ \t]*([^\r\n]*)", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection:[^\r\n]*close", re.IGNORECASE)
_MAX_HEAD_BYTES = 1 << 20


class Site(Protocol):
    """What is served: any object that answers requests and wants to know its ports once they are known."""

    def bind(self, ports: Ports) -> None:
        """Take note of the ports that absolute links must name."""

    def answer(self, request: Request) -> Answer:
        """Answer one request, without blocking."""


@dataclass(frozen=True, slots=True)
class Line:
    """How far away a server is, and how long it waits for a next request."""

    keep_alive_seconds: float = 0.0
    announced: bool = False
    round_trip_seconds: float = 0.0


NEAR = Line()


class Connection(asyncio.Protocol):
    """One connection: requests are answered one at a time, in order; those that were pipelined wait.

    The write buffer's high-water mark is the least there is, so each piece is on its way before the next one is
    written. A complete answer ended when its last piece was written: the moment before the peer could have it,
    however late this process comes to know that it left. What arrives after the server has closed an idle connection
    is lost, while its end is still on the way to the peer.
    """

    def __init__(
        self,
        site: Site,
        log: AccessLog | None,
        open_ones: set[Connection],
        scheme: str,
        number: int,
        line: Line = NEAR,
    ) -> None:
        self._site = site
        self._log = log
        self._open_ones = open_ones
        self._scheme = scheme
        self._number = number
        self._transport = cast("asyncio.Transport", None)
        self._address = ""
        self._is_resumed = False
        self._incoming = b""
        self._arrived = (0.0, 0.0)
        self._started = (0.0, 0.0)
        self._written: tuple[float, float] | None = None
        self._request: Request | None = None
        self._steps: Iterator[Step] = iter(())
        self._status: int | None = None
        self._sent = 0
        self._close = False
        self._blocked = False
        self._timer: asyncio.TimerHandle | None = None
        self._line = line
        self._idle: asyncio.TimerHandle | None = None
        self._closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._address = self._transport.get_extra_info("sockname")[0]
        tls = self._transport.get_extra_info("ssl_object")
        # uvloop's TLS transport is full at its high-water mark: with 0 it would be so with nothing written.
        self._transport.set_write_buffer_limits(high=0 if tls is None else 1, low=0)
        self._is_resumed = tls is not None and bool(tls.session_reused)
        self._open_ones.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._open_ones.discard(self)
        self._wake_up()
        if self._request is not None:
            self._note(complete=False)

    def eof_received(self) -> bool:
        self._transport.abort()
        return False

    def data_received(self, data: bytes) -> None:
        self._travel(self._arrive, data)

    def _travel(self, arrive: Callable[..., object], *what: bytes) -> None:
        """Half a round trip passes."""
        if self._line.round_trip_seconds:
            asyncio.get_running_loop().call_later(self._line.round_trip_seconds / 2, arrive, *what)
        else:
            arrive(*what)

    def _arrive(self, data: bytes) -> None:
        if self._closed:
            return
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
        self._wake_up()
        body, self._incoming = self._incoming[end + 4 : after], self._incoming[after:]
        self._close = _CLOSE.search(request_head) is not None
        self._started = self._arrived
        self._request = self._parse(request_head, body)
        self._start(self._site.answer(self._request) if self._request.method else self._refusal())

    def _parse(self, request_head: bytes, body: bytes) -> Request:
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
            body,
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
        if self._line.announced and wire.startswith(b"HTTP/1.1 "):
            start, _, rest = wire.partition(b"\r\n")
            wire = b"%b\r\nKeep-Alive: timeout=%d\r\n%b" % (start, self._line.keep_alive_seconds, rest)
        if self._request is not None and self._request.method == "HEAD":
            wire = wire[: wire.find(b"\r\n\r\n") + 4]
            self._steps = iter(())
        self._sent = len(wire)
        self._written = None
        if wire:
            self._write(wire)
        if not self._blocked and not self._transport.is_closing():
            self._advance()

    def _advance(self) -> None:
        """Take the answer's next steps until one has to be waited for; the last one ends the request."""
        self._timer = None
        for step in self._steps:
            if isinstance(step, bytes):
                self._sent += len(step)
                self._write(step)
                if self._blocked or self._transport.is_closing():
                    return
            elif isinstance(step, Pause):
                self._timer = asyncio.get_running_loop().call_later(step.seconds, self._wake)
                return
            else:
                self._cut(step)
                return
        self._note(complete=True)
        if self._close:
            self._travel(self._transport.close)
        elif not self._incoming and self._line.keep_alive_seconds:
            later = asyncio.get_running_loop().call_later
            self._idle = later(self._line.keep_alive_seconds, self._close_idle)
        elif self._incoming:
            asyncio.get_running_loop().call_soon(self._next_request)

    def _write(self, data: bytes) -> None:
        self._written = (time.time(), time.monotonic())
        self._travel(self._send, data)

    def _send(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def _close_idle(self) -> None:
        self._idle = None
        self._closed = True
        self._travel(self._transport.close)

    def _wake_up(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _wake(self) -> None:
        self._timer = None
        if self._request is not None and not self._blocked:
            self._advance()

    def _cut(self, how: Cut) -> None:
        self._note(complete=True)
        if how is Cut.CLOSE:
            self._travel(self._transport.close)
            return
        raw = self._transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def _note(self, *, complete: bool) -> None:
        request, self._request = self._request, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if request is None or self._log is None:
            return
        start, start_mono = self._started
        now = (time.time(), time.monotonic())
        end, end_mono = self._written if complete and self._written is not None else now
        self._log.add(
            Hit(
                start=start,
                end=end,
                start_mono=start_mono,
                end_mono=end_mono,
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
                resumed=self._is_resumed,
            )
        )
