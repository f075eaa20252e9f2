"""HTTP/2 on one connection, one stream at a time (RFC 9113), without input or output of its own.

The connection (``connection.PageProtocol``) feeds the bytes that it receives, and writes those of ``data_to_send``.
The h2 library knows the states of the protocol and the compression of heads. Each frame is counted before h2 gets it:
a server may send frames without end that say nothing. The head of a response gets the form that it has in HTTP/1.1,
which is what archives and their readers know; an ``Exchange`` takes head and payload.
"""

from __future__ import annotations

import re
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    InformationalResponseReceived,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    WindowUpdated,
)
from h2.exceptions import H2Error, StreamClosedError
from h2.settings import SettingCodes, Settings
from hpack import NeverIndexedHeaderTuple

from webcrawl.fetching.body import announced_lengths
from webcrawl.fetching.failures import EmptyResponseError, Http11RequiredError
from webcrawl.fetching.response_head import MAX_HEAD_BYTES, MAX_INTERIM_HEADS, MAX_LINES, ResponseHead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from webcrawl.fetching.exchange import Exchange

WINDOW_BYTES = 6 << 20
"""Bytes that a server may send ahead, as in Chromium. While there is no memory for them nothing is read."""
MAX_FRAME_BYTES = 1 << 14
"""The longest payload of a frame; larger ones are not announced as allowed."""
FRAMING_FREE_BYTES = 64 * 1024
"""Frames may take this many bytes besides content and heads, plus as many as there is content: some 7,000 empty ones,
or 3,800 pings.
"""
STEPS_AT_ONCE = 128
"""The number of frames that are processed at a time, in two or three milliseconds."""

_FRAME_HEAD_BYTES = 9
_DATA, _HEADERS, _PING, _GOAWAY, _CONTINUATION = 0x0, 0x1, 0x6, 0x7, 0x9
_END_STREAM, _END_HEADERS, _PADDED = 0x1, 0x4, 0x8
_NO_TRAILERS = bytes((0, 0, 0, _HEADERS, _END_STREAM | _END_HEADERS))
"""The beginning of a frame of trailers without fields; the number of the stream follows."""
_OF_CONNECTIONS = frozenset(
    b"connection host http2-settings keep-alive proxy-connection te transfer-encoding upgrade".split()
)
"""Fields of a request that HTTP/2 forbids (section 8.2.2), and the one that ``:authority`` replaces."""
_SECRET = frozenset((b"authorization", b"cookie", b"proxy-authorization"))
"""Fields that are not kept in the table of the compression."""
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_BREAKS = re.compile(rb"[\r\n\0]")
_STATUS = re.compile(rb"[1-9]\d\d")
_PHRASES = {status.value: status.phrase.encode() for status in HTTPStatus}


class StreamBody:
    """A body in DATA frames: the end of the stream ends it. A ``body.BodyReader``."""

    def __init__(self) -> None:
        self.complete = False
        self.excess = False
        self.broken: str | None = None
        self.oversized = False
        self.behind = False
        self.ends_with_connection = False

    def feed(self, data: bytes) -> bytes:
        """See ``BodyReader``."""
        return data


class Http2Connection:
    """The client's side of a connection. After ``is_over`` it takes no further request."""

    def __init__(self) -> None:
        self.is_over = False
        """True if it can take no further request: the server closes it, or broke the protocol."""
        self.behind = False
        """True if received frames are not processed yet: call ``go_on``, and feed nothing before."""
        self.is_urgent = False
        """True if the server waits for what is to be sent."""
        # h2 would reject responses that browsers show, as those with a field Connection.
        self._h2: Any = H2Connection(
            H2Configuration(
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
                validate_inbound_headers=False,
                normalize_inbound_headers=False,
            )
        )
        self._h2.local_settings = Settings(
            client=True,
            initial_values={
                SettingCodes.ENABLE_PUSH: 0,
                SettingCodes.INITIAL_WINDOW_SIZE: WINDOW_BYTES,
                SettingCodes.MAX_HEADER_LIST_SIZE: MAX_HEAD_BYTES,
            },
        )
        self._h2.decoder.max_header_list_size = MAX_HEAD_BYTES
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(WINDOW_BYTES - self._h2.inbound_flow_control_window)
        self._has_failed = False
        """True if nothing that comes is looked at any more."""
        self._unread = b""
        self._stream = 0
        self._exchange: Exchange | None = None
        self._reader = StreamBody()
        self._unsent: bytes = b""
        """The rest of the request's body, for which the server has no room yet."""
        self._unacknowledged = 0
        self._framing_bytes = 0
        self._head_bytes = 0
        self._content_bytes = 0
        self._interim_heads = 0
        self._in_block = False
        """True within a head of several frames, between which none may come."""
        self._head: ResponseHead | None = None
        self._announced: set[int] = set()
        self._method = b""
        self._handlers: dict[type, Callable[[Any], None]] = {
            ResponseReceived: self._on_head,
            InformationalResponseReceived: self._on_interim_head,
            StreamEnded: self._on_end,
            StreamReset: self._on_reset,
            WindowUpdated: self._on_room,
            RemoteSettingsChanged: self._on_room,
        }

    def data_to_send(self) -> bytes:
        """Return the bytes that are to be sent now."""
        self.is_urgent = False
        data: bytes = self._h2.data_to_send()
        return data

    # -- requests --------------------------------------------------------------------------------------------

    def request(self, exchange: Exchange, scheme: str, head: bytes, body: bytes) -> None:
        """Begin a stream with a request, whose head has the form of HTTP/1.1; the exchange gets the response."""
        self._exchange, self._reader, self._unsent = exchange, StreamBody(), body
        self._framing_bytes = self._head_bytes = self._content_bytes = self._interim_heads = 0
        self._head, self._method = None, head[: head.index(b" ")]
        if self.is_over:
            exchange.lost(None)
            return
        try:
            self._stream = self._h2.get_next_available_stream_id()
            self._h2.send_headers(self._stream, request_fields(head, scheme), end_stream=not body)
        except H2Error as error:
            # The server allows no stream at all.
            self.is_over = True
            exchange.fail(EmptyResponseError(f"the server takes no request: {error}"))
            return
        self._send_body()

    def end(self) -> None:
        """Detach the exchange, which is over. From now on the server is allowed few frames."""
        self._exchange = None
        self._framing_bytes = self._content_bytes = self._head_bytes = 0

    def close(self) -> bool:
        """End the connection. Return True if the server is to be told, since it has not ended the last stream, or
        since it broke the protocol.
        """
        is_unfinished = self._stream and not self._reader.complete
        self.is_over = True
        with suppress(H2Error):  # h2 has closed it
            self._h2.close_connection()
        return bool(is_unfinished or self._has_failed)

    def _send_body(self) -> None:
        """Send as much of the body as the server has room for."""
        while self._unsent:
            self.is_urgent = True
            room = min(self._h2.local_flow_control_window(self._stream), self._h2.max_outbound_frame_size)
            if room <= 0:
                return
            piece, self._unsent = self._unsent[:room], self._unsent[room:]
            self._h2.send_data(self._stream, piece, end_stream=not self._unsent)

    def _on_room(self, _: object) -> None:
        if self._unsent and self._is_open:
            try:
                self._send_body()
            except StreamClosedError:
                self._unsent = b""

    # -- responses -------------------------------------------------------------------------------------------

    @property
    def _is_open(self) -> bool:
        return self._exchange is not None and not self._exchange.done.done()

    def feed(self, data: bytes) -> None:
        """Take bytes that the connection received."""
        self._unread = self._unread + data if self._unread else data
        self.go_on()

    def go_on(self) -> None:
        """Process a limited number of the received frames."""
        self.behind = False
        data, at, steps = self._unread, 0, STEPS_AT_ONCE
        while len(data) - at >= _FRAME_HEAD_BYTES and not self._has_failed:
            length, kind = int.from_bytes(data[at : at + 3]), data[at + 3]
            if length > MAX_FRAME_BYTES:
                self._break(f"a frame of {length} bytes")
                break
            end = at + _FRAME_HEAD_BYTES + length
            if len(data) < end:
                break
            if not steps:
                self.behind = True
                break
            steps -= 1
            if self._counted(kind, length):
                self._take(data[at:end], kind)
            at = end
        self._unread = b"" if self._has_failed else data[at:]

    def _counted(self, kind: int, length: int) -> bool:
        """Count a frame; return False if that was too much."""
        self._framing_bytes += _FRAME_HEAD_BYTES
        if kind == _DATA:
            self._content_bytes += length
        elif kind in (_HEADERS, _CONTINUATION):
            self._head_bytes += length
        else:
            self._framing_bytes += length
        if self._head_bytes > MAX_HEAD_BYTES:
            self._break(f"a head of more than {MAX_HEAD_BYTES} bytes")
        elif self._framing_bytes > FRAMING_FREE_BYTES + self._content_bytes:
            self._break("more bytes of framing than of content", oversized=True)
        return not self._has_failed

    def _take(self, frame: bytes, kind: int) -> None:
        if kind == _GOAWAY:
            self._on_goaway(frame)
            return
        try:
            if kind == _DATA and not self._in_block:
                self._on_data(frame)
                return
            if kind == _HEADERS and (stream := _stream(frame)) != self._stream:
                self._break(f"a response on stream {stream}")
                return
            if kind in (_HEADERS, _CONTINUATION):
                self._in_block = not frame[4] & _END_HEADERS
            self.is_urgent = self.is_urgent or kind == _PING
            events = self._h2.receive_data(frame)
        except H2Error as error:
            self._break(str(error) or type(error).__name__)
            return
        for event in events:
            handler = self._handlers.get(type(event))
            if handler is not None and not self._has_failed:
                handler(event)

    def _on_head(self, event: Any) -> None:
        exchange = self._exchange
        if exchange is None or not self._is_open:
            return
        exchange.silent = False
        try:
            head = response_head(event.headers)
        except ValueError as error:
            self._break(str(error))
            return
        self._head = head
        self._announced = announced_lengths(head) if self._has_content(head) else set()
        exchange.open(head, self._reader)

    def _has_content(self, head: ResponseHead) -> bool:
        return self._method != b"HEAD" and head.status not in (204, 304)

    def _on_interim_head(self, event: Any) -> None:
        if self._exchange is not None:
            self._exchange.silent = False
        self._interim_heads += 1
        if self._interim_heads > MAX_INTERIM_HEADS:
            self._break(f"more than {MAX_INTERIM_HEADS} interim heads")
        elif dict(event.headers).get(b":status") == b"101":
            self._break("the server switches protocols, which HTTP/2 cannot")

    def _on_data(self, frame: bytes) -> None:
        """Take a DATA frame. h2 does not get it, which saves time; at the end of the body h2 gets trailers without
        fields. h2 would reject a body whose length differs from the announced one.
        """
        if _stream(frame) != self._stream or self._reader.complete or self._head is None:
            self._break("content outside of a response")
            return
        data = _data(frame)
        if data is None:
            self._break("a frame with more padding than content")
            return
        padding = len(frame) - _FRAME_HEAD_BYTES - len(data)
        self._content_bytes -= padding
        self._framing_bytes += padding
        self._unacknowledged += len(data) + padding
        is_last = bool(frame[4] & _END_STREAM)
        if self._unacknowledged >= WINDOW_BYTES // 4:
            self._acknowledge(is_last)
        if data and self._is_open and self._exchange is not None:
            self._exchange.feed_body(data)
        if is_last:
            self._h2.receive_data(_NO_TRAILERS + frame[5:9])
            self._on_end(None)

    def _on_end(self, _: object) -> None:
        self._unsent = b""
        self._reader.complete = True
        if self._is_open and self._exchange is not None:
            if self._content_bytes < max(self._announced, default=0):
                self._exchange.lost(None)
            else:
                self._exchange.feed_body(b"")

    def _acknowledge(self, is_last: bool) -> None:
        """Let the server send as many bytes more."""
        self._h2.increment_flow_control_window(self._unacknowledged)
        if not is_last:
            self._h2.increment_flow_control_window(WINDOW_BYTES // 4, self._stream)
        self._unacknowledged = 0
        self.is_urgent = True

    def _on_reset(self, event: Any) -> None:
        if event.stream_id != self._stream or self._exchange is None or not self._is_open:
            return
        self._unsent = b""
        code = event.error_code
        if self._exchange.head is None and code == ErrorCodes.HTTP_1_1_REQUIRED:
            self._exchange.fail(Http11RequiredError("the server wants HTTP/1.1 for this"))
        elif self._exchange.silent and code == ErrorCodes.REFUSED_STREAM:
            # It was not processed (section 8.7): as if the connection had been closed before.
            self._exchange.lost(None)
        else:
            self._exchange.silent = False
            self._exchange.lost(ConnectionResetError(f"the server reset the stream ({_name(code)})"))

    def _on_goaway(self, frame: bytes) -> None:
        """Take no further request; a request that the server has accepted is still answered. h2 would reject that
        answer.
        """
        self.is_over = True
        if len(frame) < _FRAME_HEAD_BYTES + 8:
            self._break("a GOAWAY frame without content")
            return
        last = int.from_bytes(frame[9:13]) & 0x7FFFFFFF
        code = int.from_bytes(frame[13:17])
        if not self._is_open or self._exchange is None:
            return
        if last < self._stream:
            self._exchange.lost(None)
        elif code == ErrorCodes.HTTP_1_1_REQUIRED and self._exchange.head is None:
            self._exchange.fail(Http11RequiredError("the server wants HTTP/1.1"))
        elif code != ErrorCodes.NO_ERROR:
            self._exchange.lost(ConnectionResetError(f"the server closed the connection ({_name(code)})"))

    def _break(self, why: str, *, oversized: bool = False) -> None:
        """End the connection, and the exchange: the server broke the protocol, or wastes time."""
        self.is_over = self._has_failed = True
        exchange = self._exchange
        if exchange is None or not self._is_open:
            return
        exchange.silent = False
        self._reader.broken, self._reader.oversized = f"HTTP/2: {why}", oversized
        exchange.break_off(self._reader.broken)


def request_fields(head: bytes, scheme: str) -> list[tuple[bytes, bytes]]:
    """Return the fields of a request, whose head has the form of HTTP/1.1, as HTTP/2 has them (section 8.3.1)."""
    lines = head.split(b"\r\n")
    method, path, _ = lines[0].split(b" ", 2)
    authority = b""
    fields: list[tuple[bytes, bytes]] = []
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        if not colon:
            continue
        name, value = name.lower(), value.strip(b" \t")
        if name == b"host":
            authority = value
        elif name in _SECRET:
            fields.append(NeverIndexedHeaderTuple(name, value))
        elif name not in _OF_CONNECTIONS:
            fields.append((name, value))
    return [
        (b":method", method),
        (b":scheme", scheme.encode()),
        (b":authority", authority),
        (b":path", path),
        *fields,
    ]


def response_head(fields: Iterable[tuple[bytes, bytes]]) -> ResponseHead:
    """Return the head of a response in the form that it would have in HTTP/1.1: names as received, which is in lower
    case, and the usual phrase for the status, since HTTP/2 has none. Names that are no tokens are left out.

    Raises ValueError if there is no status, or if a value could be taken for more than one field.
    """
    status = b""
    headers: list[tuple[bytes, bytes]] = []
    for name, value in fields:
        if name == b":status":
            status = bytes(value)
        elif _BREAKS.search(value):
            raise ValueError(f"a line break in the field {bytes(name)[:80]!r}")
        elif _NAME.fullmatch(name) and len(headers) < MAX_LINES:
            headers.append((bytes(name), value.strip(b" \t")))
    if not _STATUS.fullmatch(status):
        raise ValueError(f"not a status: {status[:80]!r}")
    lines = [b"HTTP/1.1 %b %b\r\n" % (status, _PHRASES.get(int(status), b""))]
    lines += [b"%b: %b\r\n" % field for field in headers]
    lines.append(b"\r\n")
    return ResponseHead(b"".join(lines), (2, 0), int(status), headers)


def _stream(frame: bytes) -> int:
    return int.from_bytes(frame[5:9]) & 0x7FFFFFFF


def _data(frame: bytes) -> bytes | None:
    """Return the content of a DATA frame; None if it is malformed."""
    body = frame[_FRAME_HEAD_BYTES:]
    if not frame[4] & _PADDED:
        return body
    return body[1 : len(body) - body[0]] if body and body[0] < len(body) else None


def _name(code: int) -> str:
    try:
        return str(ErrorCodes(code).name)
    except ValueError:
        return f"code {code}"
