"""Where a response's body ends, and its bytes without the transfer coding (RFC 9112, sections 6 and 7).

``framing`` chooses one of three readers by the response's head. A reader is fed what the connection received
and returns payload. Chunks may be so small that decoding one network read would hold the event loop: a reader does
a limited number of steps at a time, and says when it is behind. Pure, no input or output.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from webcrawl.fetching.response_head import ResponseHead

MAX_LINE_BYTES = 8 * 1024
"""A chunk's size line with its extensions."""
MAX_TRAILER_BYTES = 64 * 1024
FRAMING_FREE_BYTES = 256 * 1024
"""Size lines, extensions and trailers may take so much on the wire, and as much again as there is payload."""
STEPS_AT_ONCE = 2_000
"""Chunks or lines that are decoded at a time, in one or two milliseconds."""
MAX_LISTED = 64
"""Members of a list in a header that are looked at."""

_HEX = frozenset(b"0123456789abcdefABCDEF")
_BODILESS = frozenset((204, 304))
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:[ \t]*;[^\n]*)?\r\n")
"""As nearly all servers write it; others are read by ``ChunkedBody._line``."""


class BodyReader(Protocol):
    """Takes a body off the wire."""

    complete: bool
    """The whole body has been seen."""
    excess: bool
    """Bytes came after the end of the body, or nobody knows whether some will."""
    broken: str | None
    """Why the end of the body cannot be found any more, or is not looked for; nothing may be fed then."""
    oversized: bool
    """It is ``broken`` because it is too long on the wire for what it holds."""
    behind: bool
    """Not all that was fed has been decoded: feed again, with nothing, before more is read."""

    def feed(self, data: bytes) -> bytes:
        """The payload in ``data``, or some of it: see ``behind``."""
        ...

    @property
    def ends_with_connection(self) -> bool:
        """Whether a connection that closes now leaves the body whole."""
        ...


class LengthBody:
    """A body of announced length. With ``loose`` the announcement is only an upper bound."""

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
        """An unfinished line, or more where it is behind."""
        self._left = 0
        """Bytes of the current chunk still to come."""
        self._after_chunk = False
        """The line end behind a chunk's data is due."""
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
        """Collect the payload as far as that can be known, in a limited number of steps; where it stopped."""
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
        """Take a chunk that is there from its size line to the line end behind it; where it ends, 0 if it is not."""
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
        """The last chunk has come; only the trailer's end may be missing."""
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
    """The lengths that the Content-Length headers name; what is no number is ignored, as browsers do."""
    texts = b",".join(head.values(b"content-length")).split(b",", MAX_LISTED)[:MAX_LISTED]
    return {int(text) for text in map(bytes.strip, texts) if text.isdigit() and len(text) < 20}


def framing(head: ResponseHead, method: str) -> BodyReader:
    """The reader of the body behind ``head`` (RFC 9112, section 6.3).

    Where Content-Length contradicts itself the largest value is a bound and the end of the connection
    decides.
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
