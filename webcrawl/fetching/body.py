"""The end of a response's body, and its bytes without the transfer coding (RFC 9112, sections 6 and 7).

``framing`` chooses one of three readers by the response's head. A reader takes the bytes that the connection received
and returns payload. Chunks may be so small that decoding one network read would block the event loop: a reader does a
limited number of steps at a time, and reports when it is behind. There is no input or output here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from webcrawl.fetching.response_head import ResponseHead

MAX_LINE_BYTES = 8 * 1024
"""The longest size line of a chunk with its extensions, in bytes."""
MAX_TRAILER_BYTES = 64 * 1024
FRAMING_FREE_BYTES = 256 * 1024
"""Size lines, extensions and trailers may take this many bytes on the wire, plus as many as there is payload."""
STEPS_AT_ONCE = 2_000
"""The number of chunks or lines that are decoded at a time, in one or two milliseconds."""
MAX_LISTED = 64
"""The number of members of a list in a header that are read."""

_HEX = frozenset(b"0123456789abcdefABCDEF")
_BODILESS = frozenset((204, 304))
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:[ \t]*;[^\n]*)?\r\n")
"""A size line as nearly all servers write it; others are read by ``ChunkedBody._line``."""


class BodyReader(Protocol):
    """Decodes a body from the bytes on the wire."""

    complete: bool
    """True once the whole body has been seen."""
    excess: bool
    """True if bytes came after the end of the body, or if it is unknown whether some will come."""
    broken: str | None
    """The reason why the end of the body cannot be found any more, or is not searched for; the reader must not be fed
    then.
    """
    oversized: bool
    """True if it is ``broken`` because it takes too many bytes on the wire for its payload."""
    behind: bool
    """True if some of the fed bytes are not decoded yet: feed empty bytes before more is read."""

    def feed(self, data: bytes) -> bytes:
        """Return the payload in ``data``, or a part of it: see ``behind``."""
        ...

    @property
    def ends_with_connection(self) -> bool:
        """True if the body is whole when the connection closes now."""
        ...


class LengthBody:
    """A body of announced length. With ``loose`` the announced length is only an upper bound."""

    broken: str | None = None
    oversized = False
    behind = False

    def __init__(self, length: int, *, loose: bool = False) -> None:
        self._left = length
        self._loose = loose
        self.complete = length == 0
        self.excess = loose

    def feed(self, data: bytes) -> bytes:
        """See ``BodyReader``."""
        if len(data) > self._left:
            self.excess = True
            data = data[: self._left]
        self._left -= len(data)
        self.complete = self._left == 0
        return data

    @property
    def ends_with_connection(self) -> bool:
        """See ``BodyReader``."""
        return self._loose


class OpenBody:
    """A body that the end of the connection ends (HTTP/1.0)."""

    complete = False
    excess = False
    broken: str | None = None
    oversized = False
    behind = False
    ends_with_connection = True

    def feed(self, data: bytes) -> bytes:
        """See ``BodyReader``."""
        return data


class ChunkedBody:
    """A body in the chunked coding. Lines may end in LF alone; extensions and trailers are skipped."""

    def __init__(self) -> None:
        self.complete = False
        self.excess = False
        self.broken: str | None = None
        self.oversized = False
        self.behind = False
        self._unread = b""
        """An unfinished line, or more bytes if the reader is behind."""
        self._left = 0
        """Bytes of the current chunk still to come."""
        self._after_chunk = False
        """True if the line end after a chunk's data comes next."""
        self._in_trailer = False
        self._trailer_bytes = 0
        self._wire_bytes = 0
        self._payload_bytes = 0

    def feed(self, data: bytes) -> bytes:
        """See ``BodyReader``."""
        if self._unread:
            data, self._unread = self._unread + data, b""
        pieces: list[bytes] = []
        position = self._decode(data, pieces)
        payload = b"".join(pieces)
        self._wire_bytes += position
        self._payload_bytes += len(payload)
        if self._wire_bytes > FRAMING_FREE_BYTES + 2 * self._payload_bytes and not self.complete:
            self.oversized = True
            self.broken = self.broken or "more bytes of framing than of content"
        self.behind = self.behind and self.broken is None
        return payload

    def _decode(self, data: bytes, pieces: list[bytes]) -> int:
        """Decode the payload in a limited number of steps, append it to ``pieces``, and return the position
        reached.
        """
        self.behind = False
        position, steps = 0, STEPS_AT_ONCE
        while position < len(data) and not self.complete and self.broken is None:
            if not steps:
                self.behind = True
                self._unread = data[position:]
                return position
            steps -= 1
            if self._left:
                piece = data[position : position + self._left]
                pieces.append(piece)
                position += len(piece)
                self._left -= len(piece)
                self._after_chunk = not self._left
                continue
            if not self._after_chunk and not self._in_trailer:
                whole = self._whole_chunk(data, position, pieces)
                if whole:
                    position = whole
                    continue
            end = data.find(b"\n", position)
            if end < 0:
                self._keep(data[position:])
                return position
            self._line(data[position:end].strip(b" \t\r"))
            position = end + 1
        self.excess = self.complete and position < len(data)
        return position

    @staticmethod
    def _whole_chunk(data: bytes, position: int, pieces: list[bytes]) -> int:
        """Append a chunk that is complete, from its size line to the line end after it; return its end, 0 if it is
        incomplete.
        """
        line = _SIZE_LINE.match(data, position)
        if line is None:
            return 0
        start = line.end()
        end = start + int(line[1], 16)
        if end == start or data[end : end + 2] != b"\r\n":
            return 0
        pieces.append(data[start:end])
        return end + 2

    @property
    def ends_with_connection(self) -> bool:
        """True once the last chunk has come; only the end of the trailer may be missing."""
        return self._in_trailer

    def _keep(self, unfinished: bytes) -> None:
        if len(unfinished) > MAX_LINE_BYTES:
            self.broken = "a chunk's size line does not end"
        if self._after_chunk and unfinished.strip(b" \t\r"):
            self.broken = "a chunk is longer than announced"
        self._unread = unfinished

    def _line(self, line: bytes) -> None:
        if self._in_trailer:
            self._trailer_bytes += len(line) + 2
            if self._trailer_bytes > MAX_TRAILER_BYTES:
                self.broken = "the trailer does not end"
            self.complete = not line
        elif self._after_chunk:
            if line:
                self.broken = "a chunk is longer than announced"
            self._after_chunk = False
        else:
            size = line.partition(b";")[0].rstrip(b" \t")
            if not 0 < len(size) <= 16 or not _HEX.issuperset(size):
                self.broken = f"not a chunk size: {line[:40]!r}"
                return
            self._left = int(size, 16)
            self._in_trailer = not self._left


def announced_lengths(head: ResponseHead) -> set[int]:
    """Return the lengths in the Content-Length headers; values that are no numbers are ignored, as browsers do."""
    texts = b",".join(head.values(b"content-length")).split(b",", MAX_LISTED)[:MAX_LISTED]
    return {int(text) for text in map(bytes.strip, texts) if text.isdigit() and len(text) < 20}


def framing(head: ResponseHead, method: str) -> BodyReader:
    """Return the reader of the body after ``head`` (RFC 9112, section 6.3).

    If Content-Length values contradict each other the largest one is an upper bound and the end of the connection
    ends the body.
    """
    if method == "HEAD" or head.status in _BODILESS:
        return LengthBody(0)
    coded = head.values(b"transfer-encoding")
    listed = b",".join(coded).lower().split(b",", MAX_LISTED)[:MAX_LISTED]
    codings = [coding.strip() for coding in listed] if coded else []
    if b"chunked" in codings:
        return ChunkedBody()
    lengths = announced_lengths(head)
    if not lengths or any(coding not in (b"", b"identity") for coding in codings):
        return OpenBody()
    return LengthBody(max(lengths), loose=len(lengths) > 1)
