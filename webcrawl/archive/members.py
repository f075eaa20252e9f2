"""Finding the whole records of a WARC file that may be torn: a gzip member each, checked as it streams by."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from isal import igzip_lib, isal_zlib

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_BYTES = 1 << 16
"""What is read at once. Small, since the rest of a chunk is copied for every member that ends in it."""
OUTPUT_BYTES = 1 << 20
"""The most that one step unpacks."""
HEAD_LIMIT = 1 << 18
"""A record head longer than this is none."""
MEMBER_START = b"\x1f\x8b\x08"
GZIP_MEMBER = 31
"""The zlib window size that stands for: 32 KB and a gzip header."""

_HEAD_END = b"\r\n\r\n"
_RECORD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\nContent-Length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
_TYPE = re.compile(rb"\r\nWARC-Type:[ \t]*([a-z]+)[ \t]*\r\n", re.IGNORECASE)


class Place(NamedTuple):
    """Where a record lies: the name its file has once closed, the offset and length of its gzip member."""

    filename: str
    offset: int
    length: int


class Member(NamedTuple):
    """A gzip member that holds exactly one complete record."""

    start: int
    end: int
    record_type: str


class _Record:
    """Follows the plain bytes of one record and tells in the end whether it was whole."""

    def __init__(self) -> None:
        self.record_type = ""
        self._head = b""
        self._missing: int | None = None  # bytes of block and record end to come; None while in the head
        self._tail = b""

    def feed(self, data: bytes) -> bool:
        """Take the next bytes. False when they cannot belong to a record."""
        if self._missing is None:
            self._head += data
            end = self._head.find(_HEAD_END)
            if end < 0:
                return len(self._head) <= HEAD_LIMIT
            length = _LENGTH.search(self._head, 0, end + 2)
            record_type = _TYPE.search(self._head, 0, end + 2)
            if length is None or record_type is None or not self._head.startswith(b"WARC/1."):
                return False
            self.record_type = record_type[1].decode().lower()
            self._missing = int(length[1]) + len(_RECORD_END)
            data = self._head[end + len(_HEAD_END) :]
        self._missing -= len(data)
        self._tail = (self._tail + data[-len(_RECORD_END) :])[-len(_RECORD_END) :]
        return self._missing >= 0

    def is_whole(self) -> bool:
        return self._missing == 0 and self._tail == _RECORD_END


def whole_members(stream: BinaryIO, start: int = 0, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Member]:
    """The members from ``start`` up to the first that is torn, damaged or no record. Memory stays bounded."""
    stream.seek(start)
    data = b""
    while True:
        unpacker = isal_zlib.decompressobj(GZIP_MEMBER)
        record = _Record()
        end = start
        while not unpacker.eof:
            data = data or stream.read(chunk_bytes)
            before = len(data)
            try:
                plain = unpacker.decompress(data, OUTPUT_BYTES)
            except igzip_lib.IsalError:  # type: ignore[misc]  # the stub calls it an instance
                return
            if not record.feed(plain) or not (data or plain):
                return  # no record; or torn: neither input left nor output held back
            data = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            end += before - len(data)
        if not record.is_whole():
            return
        yield Member(start, end, record.record_type)
        start = end


def next_whole_member(stream: BinaryIO, start: int) -> Member | None:
    """The first whole member that begins at ``start`` or anywhere behind it."""
    window_start, window = start, b""
    while True:
        at = window.find(MEMBER_START)
        if at >= 0:
            found = next(whole_members(stream, window_start + at), None)
            if found is not None:
                return found
            window_start, window = window_start + at + 1, window[at + 1 :]
            continue
        overlap = window[-(len(MEMBER_START) - 1) :]
        stream.seek(window_start + len(window))
        chunk = stream.read(CHUNK_BYTES)
        if not chunk:
            return None
        window_start, window = window_start + len(window) - len(overlap), overlap + chunk
