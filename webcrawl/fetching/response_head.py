"""The head of an HTTP/1 response, read as browsers read it: whatever can be understood is, the rest is
skipped.

Where it stands: the connection collects bytes until ``end_of_head`` finds the empty line, ``parse_head``
makes the head of them, ``body.framing`` decides from it where the body ends. Pure functions, no input or
output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MAX_HEAD_BYTES = 256 * 1024
"""All heads of one response together, interim ones (1xx) included; Chromium and Firefox stop there too."""

MAX_INTERIM_HEADS = 32
"""Interim heads (1xx) before the final one."""
MAX_LINES = 2_000
"""Header lines that are read; later ones are in ``raw`` alone. 256 KiB of tiny ones would hold the event loop."""
MAX_OPTIONS_BYTES = 1024
"""So much of a list of connection options is looked at."""
MAX_TYPE_BYTES = 256
"""So much of a Content-Type is looked at, and remembered for those who send the same."""

_SLOP_BYTES = 4
"""Stray bytes in front of the status line that browsers overlook."""
START_BYTES = _SLOP_BYTES + len(b"HTTP")
"""With so many, line breaks before them aside, it is known where the status line starts."""

_NO_BREAK = re.compile(rb"[^\r\n]")
_END = re.compile(rb"\n\r?\n")
_FOLD = re.compile(rb"\r?\n[ \t]+")
_STATUS_LINE = re.compile(rb"HTTP(?:/(\d{1,3})(?:\.(\d{1,3}))?)?[ \t]+([1-9]\d\d)(?!\d)", re.IGNORECASE)
_FIELD = re.compile(rb"^([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*:(.*)$", re.MULTILINE)


class MalformedHeadError(ValueError):
    """The bytes are not the head of an HTTP/1 response."""


@dataclass(slots=True)
class ResponseHead:
    """The head of a response: the bytes as received and what they say."""

    raw: bytes
    """From the first byte of the status line to the empty line, both included."""
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
        """All values of a header; ``name`` in lower case."""
        return self._named.get(name, [])

    def value(self, name: bytes) -> bytes | None:
        """The last value of a header, as Scrapy's ``Headers`` answers; ``name`` in lower case."""
        values = self._named.get(name)
        return values[-1] if values else None

    @property
    def keeps_alive(self) -> bool:
        """Whether the server will answer another request on this connection (RFC 9112, section 9.3)."""
        values = self.values(b"connection") + self.values(b"proxy-connection")
        if not values:
            return self.version >= (1, 1)
        tokens = b",".join(values)[:MAX_OPTIONS_BYTES].lower()
        options = {token.strip() for token in tokens.split(b",")}
        if b"close" in options:
            return False
        return self.version >= (1, 1) or b"keep-alive" in options


def end_of_head(buffer: bytes | bytearray, start: int) -> int:
    """The offset behind the empty line that ends a head, or -1; lines may end in LF alone."""
    found = _END.search(buffer, start)
    return found.end() if found else -1


def start_of_head(buffer: bytes | bytearray, start: int) -> int:
    """The offset of the status line that is looked for from ``start`` on, -1 while that cannot be known yet.

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
    raise MalformedHeadError(f"not an HTTP response: {bytes(window)!r}")


def parse_head(raw: bytes) -> ResponseHead:
    """Read a whole head; lines that are no fields are skipped, a bad status line is a MalformedHeadError."""
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
