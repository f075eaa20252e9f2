"""The head of an HTTP/1 response, parsed as browsers parse it: understandable parts are used, the rest is skipped.

The connection collects bytes until ``end_of_head`` finds the empty line, ``parse_head`` parses them, and
``body.framing`` determines from the head where the body ends. There is no input or output here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_HEAD_BYTES = 256 * 1024
"""The most bytes of all heads of one response together, interim ones (1xx) included; the same limit as in Chromium
and Firefox.
"""

MAX_INTERIM_HEADS = 32
"""The largest number of interim heads (1xx) before the final one."""
MAX_LINES = 2_000
"""The number of header lines that are parsed; later ones are in ``raw`` alone. 256 KiB of tiny lines would block the
event loop.
"""
MAX_OPTIONS_BYTES = 1024
"""The number of bytes of a list of connection options that are read."""
MAX_TYPE_BYTES = 256
"""The number of bytes of a Content-Type that are read, and cached for equal headers."""

_SETTINGS_FRAME = re.compile(rb"\0\0[\0-\xff]\x04\0\0\0\0", re.DOTALL)
"""The beginning of HTTP/2: a frame of settings on stream 0."""
_SLOP_BYTES = 4
"""The number of stray bytes before the status line that are ignored, as in browsers."""
START_BYTES = _SLOP_BYTES + len(b"HTTP")
"""The number of bytes, without leading line breaks, after which the start of the status line is known."""

_NO_BREAK = re.compile(rb"[^\r\n]")
_END = re.compile(rb"\n\r?\n")
_FOLD = re.compile(rb"\r?\n[ \t]+")
_STATUS_LINE = re.compile(rb"HTTP(?:/(\d{1,3})(?:\.(\d{1,3}))?)?[ \t]+([1-9]\d\d)(?!\d)", re.IGNORECASE)
_FIELD = re.compile(rb"^([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*:(.*)$", re.MULTILINE)


class MalformedHeadError(ValueError):
    """The bytes are not the head of an HTTP/1 response."""


class OtherProtocolHeadError(MalformedHeadError):
    """The bytes are HTTP/2."""


@dataclass(slots=True)
class ResponseHead:
    """The head of a response: the bytes as received and the parsed fields."""

    raw: bytes
    """The bytes from the first byte of the status line to the empty line, both included."""
    version: tuple[int, int]
    status: int
    """100 to 999."""
    headers: list[tuple[bytes, bytes]]
    """Names as received, values without surrounding whitespace, in order, repetitions included."""
    _named: dict[bytes, list[bytes]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        named: dict[bytes, list[bytes]] = {}
        for name, value in self.headers:
            named.setdefault(name.lower(), []).append(value)
        self._named = named

    def values(self, name: bytes) -> list[bytes]:
        """Return all values of a header; ``name`` in lower case."""
        return self._named.get(name, [])

    def value(self, name: bytes) -> bytes | None:
        """Return the last value of a header, as Scrapy's ``Headers`` does; ``name`` in lower case."""
        values = self._named.get(name)
        return values[-1] if values else None

    @property
    def keeps_alive(self) -> bool:
        """True if the server will accept another request on this connection (RFC 9112, section 9.3)."""
        values = self.values(b"connection") + self.values(b"proxy-connection")
        if not values:
            return self.version >= (1, 1)
        tokens = b",".join(values)[:MAX_OPTIONS_BYTES].lower()
        options = {token.strip() for token in tokens.split(b",")}
        if b"close" in options:
            return False
        return self.version >= (1, 1) or b"keep-alive" in options


def end_of_head(buffer: bytes | bytearray, start: int) -> int:
    """Return the offset after the empty line that ends a head, or -1; lines may end in LF alone."""
    found = _END.search(buffer, start)
    return found.end() if found else -1


def start_of_head(buffer: bytes | bytearray, start: int) -> int:
    """Return the offset of the status line, searched from ``start`` on; -1 while it is not known yet.

    Raises MalformedHeadError as soon as the bytes cannot become a head.
    """
    blank = _NO_BREAK.search(buffer, start)
    if blank is None:
        return -1
    window = buffer[blank.start() : blank.start() + START_BYTES]
    offset = window.upper().find(b"HTTP")
    if offset >= 0:
        return blank.start() + offset
    if len(window) < START_BYTES:
        return -1
    if _SETTINGS_FRAME.match(window):
        raise OtherProtocolHeadError("HTTP/2 frames in place of an HTTP/1 response")
    raise MalformedHeadError(f"not an HTTP response: {bytes(window)!r}")


def parse_head(raw: bytes) -> ResponseHead:
    """Parse a whole head; lines that are no fields are skipped, a bad status line raises MalformedHeadError."""
    status_line = _STATUS_LINE.match(raw)
    if status_line is None:
        raise MalformedHeadError(f"not a status line: {raw[:80]!r}")
    major, minor, status = status_line.groups()
    lines = raw[status_line.end() :].partition(b"\n")[2]
    if lines.count(b"\n") > MAX_LINES:
        lines = b"\n".join(lines.split(b"\n", MAX_LINES)[:MAX_LINES])
    if b"\n " in lines or b"\n\t" in lines:
        lines = _FOLD.sub(b" ", lines)
    if b"\0" in lines:
        lines = lines.replace(b"\0", b"")
    headers = [(name, value.strip(b" \t\r")) for name, value in _FIELD.findall(lines)]
    version = (int(major), int(minor or 0)) if major else (1, 0)
    return ResponseHead(raw, version, int(status), headers)
