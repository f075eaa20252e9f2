"""One request and its response on one connection, without input or output of its own.

The connection (``connection.PageConnection``) feeds the bytes it receives; the handler waits for ``done``. In between
all work is done as the bytes arrive: the head is parsed, the gate decides whether the body is wanted, the body is
collected and cut at its limit. So a page wakes the handler once, and no more than the limit and one network read is
ever in memory. The work per turn is limited, since a server may send chunks of one byte: an exchange that is
``behind`` waits for its next turn.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from webcrawl.fetching.body import framing
from webcrawl.fetching.failures import EmptyResponseError, MalformedResponseError, OtherProtocolError
from webcrawl.fetching.response_head import (
    MAX_HEAD_BYTES,
    MAX_INTERIM_HEADS,
    START_BYTES,
    MalformedHeadError,
    OtherProtocolHeadError,
    end_of_head,
    parse_head,
    start_of_head,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from webcrawl.archive.capture import Truncated
    from webcrawl.fetching.body import BodyReader
    from webcrawl.fetching.response_head import ResponseHead

SWITCHING_PROTOCOLS = 101


class Exchange:
    """The state of one exchange. ``done`` is set exactly once. With ``error`` there is no usable response; ``head``
    and ``payload`` are then the parts that arrived before the error, if the head was complete.

    ``gate`` is called with the head and returns None to go on, or a word for why the body is not read. ``listener``,
    if given, receives each piece of payload and returns whether to go on. ``limit`` is called with the head and
    returns the number of bytes at which the payload is cut, 0 for no limit. ``grown`` is called with the head and the
    size of the payload so far when more will come. ``sink``, if given, receives the payload, which is then not kept
    in memory.

    ``refusal`` is the gate's word, or ``stopped`` by the listener; ``silent`` until a byte has come; ``reusable``
    when the connection may carry another request; ``head_at`` and ``ended_at`` are monotonic seconds.
    """

    def __init__(
        self,
        done: asyncio.Future[None],
        method: str,
        limit: Callable[[ResponseHead], int],
        gate: Callable[[ResponseHead], str | None],
        listener: Callable[[bytes], bool] | None = None,
        grown: Callable[[ResponseHead, int], None] | None = None,
        sink: Callable[[bytes], None] | None = None,
    ) -> None:
        self.done = done
        self.head: ResponseHead | None = None
        self.error: Exception | None = None
        self.truncated: Truncated | None = None
        self.refusal: str | None = None
        self.silent = True
        self.reusable = False
        self.head_at = 0.0
        self.ended_at = 0.0
        self.received: Callable[[int], None] | None = None
        """Called by the connection with the size of each read, if there is a bandwidth limit."""
        self._method = method
        self._limit_of = limit
        self._limit = 0
        self._gate = gate
        self._listener = listener
        self._grown = grown
        self._sink = sink
        self._buffer: bytes | bytearray = b""
        """The head so far, and the 1xx heads before it: the bytes of a single read, or one buffer for several."""
        self._head_from = 0
        """The offset in the buffer at which the next head begins."""
        self._interim_heads = 0
        self._reader: BodyReader | None = None
        self._payload: bytes | bytearray = b""
        """The bytes of a single read, or one buffer for several reads, so that many small reads take little
        memory.
        """
        self._size = 0

    @property
    def payload(self) -> bytes:
        """The body so far, without its transfer coding."""
        if not isinstance(self._payload, bytes):
            self._payload = bytes(self._payload)
        return self._payload

    @property
    def behind(self) -> bool:
        """True if ``go_on`` must be called before more bytes are fed."""
        return self._reader is not None and self._reader.behind and not self.done.done()

    def go_on(self) -> None:
        """Decode more of the fed bytes."""
        if self.behind:
            self.feed_body(b"")

    def feed(self, data: bytes) -> None:
        """Take bytes that the connection received."""
        self.silent = False
        if self.done.done():
            self.reusable = False
            return
        if self._reader is None:
            try:
                data = self._feed_head(data)
            except OtherProtocolHeadError as error:
                self.fail(OtherProtocolError(str(error)))
                return
            except MalformedHeadError as error:
                self.fail(MalformedResponseError(str(error)))
                return
        if data and self.done.done():
            self.reusable = False
        elif data:
            self.feed_body(data)

    def lost(self, error: Exception | None) -> None:
        """End the exchange: the connection was lost with an error, or the peer closed it."""
        if self.done.done():
            self.reusable = False
        elif self._reader is not None:
            self._finish(None if error is None and self._reader.ends_with_connection else "disconnect")
        elif error is not None:
            self.fail(error)
        elif self.silent:
            self.fail(EmptyResponseError("the server closed the connection without an answer"))
        else:
            self.fail(MalformedResponseError("the server closed the connection within the response's head"))

    def expire(self) -> None:
        """End the exchange: its time is over."""
        if self.done.done():
            return
        if self._reader is not None:
            self._finish("time")
        else:
            self.fail(TimeoutError("no response in time"))

    def _feed_head(self, data: bytes) -> bytes:
        """Collect the head; the returned bytes belong to the body, if ``_reader`` is set."""
        scanned = max(self._head_from, len(self._buffer) - 2)
        buffer = self._buffer = _joined(self._buffer, data)
        while True:
            start = start_of_head(buffer, self._head_from)
            end = end_of_head(buffer, max(start, scanned)) if start >= 0 else -1
            if (end if end >= 0 else len(buffer)) > MAX_HEAD_BYTES:
                raise MalformedHeadError(f"a head of more than {MAX_HEAD_BYTES} bytes")
            if end < 0:
                if start < 0:
                    # Only line breaks come before its last bytes.
                    self._head_from = max(self._head_from, len(buffer) - START_BYTES)
                return b""
            head = parse_head(bytes(buffer[start:end]))
            if head.status >= 200:
                break
            if head.status == SWITCHING_PROTOCOLS:
                raise MalformedHeadError("the server switches protocols unasked")
            self._interim_heads += 1
            if self._interim_heads > MAX_INTERIM_HEADS:
                raise MalformedHeadError(f"more than {MAX_INTERIM_HEADS} interim heads")
            self._head_from = scanned = end
        rest = bytes(buffer[end:])
        self._buffer = b""
        self.open(head, framing(head, self._method))
        return rest

    def open(self, head: ResponseHead, reader: BodyReader) -> None:
        """Take the head; ``reader`` decodes the body. HTTP/2 calls it with heads and bodies from its frames."""
        self.head = head
        self.head_at = monotonic()
        self._reader = reader
        self._limit = self._limit_of(head)
        self.refusal = self._gate(head)
        if self.refusal is not None or self._reader.complete:
            self._finish(None)

    def feed_body(self, data: bytes) -> None:
        """Take bytes of the body, as its reader decodes them."""
        reader = self._reader
        assert reader is not None
        payload = reader.feed(data)
        if payload:
            self._size += len(payload)
            over = self._size - self._limit
            cut = self._limit and over > 0
            self._keep(payload[:-over] if cut else payload)
            if self._listener is not None and not self._listener(payload):
                self.refusal = "stopped"
                self._finish(None)
                return
            if cut:
                self._finish("length")
                return
        if reader.complete:
            self._finish(None)
        elif reader.broken is not None and self._size:
            self._finish("length" if reader.oversized else "unspecified")
        elif reader.broken is not None:
            self.fail(MalformedResponseError(reader.broken))
        elif self._grown is not None and self.head is not None:
            self._grown(self.head, self._size)

    def _keep(self, payload: bytes) -> None:
        if self._sink is not None:
            self._sink(payload)
        else:
            self._payload = _joined(self._payload, payload)

    def _finish(self, truncated: Truncated | None) -> None:
        reader, head = self._reader, self.head
        assert reader is not None
        assert head is not None
        self.truncated = truncated
        whole = reader.complete and not reader.excess and truncated is None and self.refusal is None
        self.reusable = whole and head.keeps_alive
        self._end()

    def break_off(self, why: str) -> None:
        """End the exchange: what comes is not of the protocol, or not worth its time. What came is kept."""
        if self.done.done():
            return
        if self._reader is not None:
            self.feed_body(b"")
        else:
            self.fail(MalformedResponseError(why))

    def fail(self, error: Exception) -> None:
        """End the exchange without a usable response."""
        self.error = error
        self.truncated = None if self.head is None else "disconnect"
        self._end()

    def _end(self) -> None:
        self.ended_at = monotonic()
        self.done.set_result(None)


def _joined(before: bytes | bytearray, data: bytes) -> bytes | bytearray:
    """Return all bytes so far without copying the earlier ones at every read."""
    if not before:
        return data
    if isinstance(before, bytes):
        before = bytearray(before)
    before += data
    return before
