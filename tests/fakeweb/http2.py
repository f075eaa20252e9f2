"""HTTP/2 in the fake web: connections that speak it, and hosts that answer nothing else.

Imported where a web is to speak it alone: h2 is a good part of what a web would import.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded, StreamReset, WindowUpdated
from h2.exceptions import ProtocolError

from tests.fakeweb.answer import Answer, Cut, Pause, Request, http_answer
from tests.fakeweb.log import AccessLog, Hit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.fakeweb.connection import Site
    from tests.fakeweb.ports import Ports

_CHUNK = re.compile(rb"([0-9A-Fa-f]+)[^\n]*\n")
_OF_CONNECTIONS = frozenset((b"connection", b"keep-alive", b"transfer-encoding", b"upgrade"))

WAYS = ("both", "426", "505", "close")
"""What a host does with a request of HTTP/1.1: answers it, answers with that status, or closes the connection."""


class Http2Hosts:
    """A Site whose hosts treat HTTP/1.1 on https in the ways given, by turns; all answer HTTP/2."""

    def __init__(self, site: Site, hosts: Sequence[str], ways: Sequence[str]) -> None:
        self._site = site
        self._ways = {host: ways[number % len(ways)] for number, host in enumerate(hosts)}

    def bind(self, ports: Ports) -> None:
        """See ``Site``."""
        self._site.bind(ports)

    def answer(self, request: Request) -> Answer:
        """See ``Site``."""
        way = self._ways.get(request.host, "both")
        if request.scheme != "https" or request.protocol == "h2" or way == "both":
            return self._site.answer(request)
        if way == "close":
            return Answer(None, close=True)
        upgrade = [("Upgrade", "h2")] if way == "426" else []
        return http_answer(int(way), b"HTTP/2, please.\n", upgrade, "text/plain")


class ByProtocol(asyncio.Protocol):
    """Chooses what serves a connection by the protocol that was agreed on in TLS."""

    def __init__(self, http11: Callable[[], asyncio.Protocol], http2: Callable[[], asyncio.Protocol]) -> None:
        self._http11, self._http2 = http11, http2

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        is_http2 = transport.get_extra_info("ssl_object").selected_alpn_protocol() == "h2"
        protocol = self._http2() if is_http2 else self._http11()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)


@dataclass(slots=True)
class _Stream:
    fields: dict[bytes, bytes]
    body: bytes = b""
    unsent: bytes = b""
    status: int | None = None
    sent: int = 0
    cut: Cut | None = None
    start: tuple[float, float] = field(default_factory=lambda: (time.time(), time.monotonic()))


class Http2Server(asyncio.Protocol):
    """One connection of HTTP/2. Each request is answered at once, or after all pauses of its answer together."""

    def __init__(self, site: Site, log: AccessLog | None, open_ones: set[Any], number: int) -> None:
        self._site, self._log, self._open_ones, self._number = site, log, open_ones, number
        self._h2: Any = H2Connection(
            H2Configuration(
                client_side=False, validate_outbound_headers=False, validate_inbound_headers=False
            )
        )
        self._transport = cast("asyncio.Transport", None)
        self._streams: dict[int, _Stream] = {}
        self._is_resumed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._is_resumed = bool(transport.get_extra_info("ssl_object").session_reused)
        self._open_ones.add(self)
        self._h2.initiate_connection()
        self._flush()

    def connection_lost(self, error: Exception | None) -> None:
        self._open_ones.discard(self)
        for stream in list(self._streams.values()):
            self._note(stream, complete=False)
        self._streams.clear()

    def stop(self) -> None:
        """End the connection at once, for the server is closing."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        try:
            events = self._h2.receive_data(data)
        except ProtocolError:
            self._flush()
            self._transport.close()
            return
        for event in events:
            self._take(event)
        self._flush()

    def _take(self, event: Any) -> None:
        if isinstance(event, RequestReceived):
            self._streams[event.stream_id] = _Stream(dict(event.headers))
        elif isinstance(event, DataReceived):
            self._streams[event.stream_id].body += event.data
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded):
            self._answer(event.stream_id, self._streams[event.stream_id])
        elif (
            isinstance(event, StreamReset)
            and (stream := self._streams.pop(event.stream_id, None)) is not None
        ):
            self._note(stream, complete=False)
        elif isinstance(event, WindowUpdated):
            for number in list(self._streams):
                self._send(number)

    def _request(self, stream: _Stream) -> Request:
        fields = stream.fields
        authority = fields.get(b":authority", b"")
        lines = [b"%b: %b\r\n" % item for item in fields.items() if not item[0].startswith(b":")]
        first = b"%b %b HTTP/2\r\nhost: %b\r\n" % (fields[b":method"], fields[b":path"], authority)
        return Request(
            fields[b":method"].decode(),
            "https",
            re.sub(r":\d+$", "", authority.decode("latin-1").lower()),
            fields[b":path"].decode("latin-1"),
            fields.get(b"user-agent", b"").decode("latin-1"),
            first + b"".join(lines),
            stream.body,
            self._number,
            "h2",
        )

    def _answer(self, number: int, stream: _Stream) -> None:
        answer = self._site.answer(self._request(stream))
        wire, seconds = answer.wire, 0.0
        for step in answer.steps:
            if isinstance(step, bytes):
                wire += step
            elif isinstance(step, Pause):
                seconds += step.seconds
            else:
                stream.cut = step
                break
        stream.status = answer.status
        if not wire:
            stream.cut = stream.cut or Cut.CLOSE
        asyncio.get_running_loop().call_later(seconds, self._begin, number, wire)

    def _begin(self, number: int, wire: bytes) -> None:
        stream = self._streams.get(number)
        if stream is None:
            return
        head, _, body = wire.partition(b"\r\n\r\n")
        fields = [(b":status", str(stream.status or 200).encode())]
        is_chunked = False
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            name = name.lower()
            is_chunked = is_chunked or name == b"transfer-encoding"
            if name not in _OF_CONNECTIONS:
                fields.append((name, value.strip()))
        if wire:
            is_bodiless = stream.fields[b":method"] == b"HEAD" or stream.status in (204, 304)
            stream.unsent = b"" if is_bodiless else _without_chunks(body) if is_chunked else body
            is_over = not stream.unsent and stream.cut is None
            self._h2.send_headers(number, fields, end_stream=is_over)
            stream.sent = len(head)
            if is_over:
                self._end(number)
        self._send(number)
        self._flush()

    def _send(self, number: int) -> None:
        """Send as much of a body as the peer has room for."""
        stream = self._streams.get(number)
        if stream is None:
            return
        while stream.unsent:
            room = min(self._h2.local_flow_control_window(number), self._h2.max_outbound_frame_size)
            if room <= 0:
                return
            piece, stream.unsent = stream.unsent[:room], stream.unsent[room:]
            stream.sent += len(piece)
            is_over = not stream.unsent and stream.cut is None
            self._h2.send_data(number, piece, end_stream=is_over)
            if is_over:
                self._end(number)
        if stream.cut is not None:
            self._cut(number, stream.cut)

    def _cut(self, number: int, how: Cut) -> None:
        self._end(number)
        if how is Cut.RESET:
            self._h2.reset_stream(number, 2)
            self._flush()
            return
        self._flush()
        self._transport.close()

    def _end(self, number: int) -> None:
        self._note(self._streams.pop(number), complete=True)

    def _flush(self) -> None:
        data = self._h2.data_to_send()
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def _note(self, stream: _Stream, *, complete: bool) -> None:
        if self._log is None:
            return
        request = self._request(stream)
        start, start_mono = stream.start
        self._log.add(
            Hit(
                start=start,
                end=time.time(),
                start_mono=start_mono,
                end_mono=time.monotonic(),
                scheme="https",
                host=request.host,
                address=self._transport.get_extra_info("sockname")[0],
                method=request.method,
                path=request.path,
                status=stream.status,
                sent=stream.sent,
                complete=complete,
                connection=self._number,
                user_agent=request.user_agent,
                resumed=self._is_resumed,
                protocol="h2",
            )
        )


def _without_chunks(body: bytes) -> bytes:
    """Return a body without the chunked coding, as far as it is whole."""
    pieces, at = [], 0
    while size := _CHUNK.match(body, at):
        length = int(size[1], 16)
        pieces.append(body[size.end() : size.end() + length])
        at = size.end() + length + 2
    return b"".join(pieces)
