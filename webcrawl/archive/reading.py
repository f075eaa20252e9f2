"""Readers of WARC files: whole records of a file that may be torn, and the content of records.

Each record is a gzip member, which is checked while it is read. The memory is bounded for records of any size.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha1
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from isal import igzip_lib, isal_zlib

from webcrawl.archive.records import RECORD_END, labelled

if TYPE_CHECKING:
    from collections.abc import Iterator


CHUNK_BYTES = 1 << 16
"""Bytes that are read at once. Small, since the rest of a chunk is copied for every member that ends in it."""
OUTPUT_BYTES = 1 << 20
"""The most bytes that one step decompresses."""
HEAD_LIMIT = 1 << 18
"""The longest record head in bytes; a longer one is not accepted as a record."""
MEMBER_START = b"\x1f\x8b\x08"
GZIP_MEMBER = 31
"""The window size parameter of zlib for 32 KB and a gzip header."""

_HEAD_END = b"\r\n\r\n"
_RECORD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\nContent-Length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
_TYPE = re.compile(rb"\r\nWARC-Type:[ \t]*([a-z]+)[ \t]*\r\n", re.IGNORECASE)


class RecordLocation(NamedTuple):
    """The name that the file of a record has once it is closed, and the offset and length of its gzip member."""

    filename: str
    offset: int
    length: int


class RecordMember(NamedTuple):
    """A gzip member that holds exactly one complete record."""

    start: int
    end: int
    record_type: str


class _Record:
    """Follows the plain bytes of one record and checks at the end that it was whole."""

    def __init__(self) -> None:
        self.record_type = ""
        self._head = b""
        self._missing: int | None = None  # bytes of block and record end to come; None while in the head
        self._tail = b""

    def feed(self, data: bytes) -> bool:
        """Take the next bytes. Return False when they cannot belong to a record."""
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


def whole_members(stream: BinaryIO, start: int = 0, chunk_bytes: int = CHUNK_BYTES) -> Iterator[RecordMember]:
    """Yield the members from ``start`` up to the first that is torn, damaged or not a record, in bounded memory."""
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
                return  # not a record; or torn: neither input nor pending output is left
            data = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            end += before - len(data)
        if not record.is_whole():
            return
        yield RecordMember(start, end, record.record_type)
        start = end


def next_whole_member(stream: BinaryIO, start: int) -> RecordMember | None:
    """Return the first whole member that begins at ``start`` or anywhere behind it."""
    window_start, window = start, b""
    while True:
        at = window.find(MEMBER_START)
        if at >= 0:
            member = next(whole_members(stream, window_start + at), None)
            if member is not None:
                return member
            window_start, window = window_start + at + 1, window[at + 1 :]
            continue
        overlap = window[-(len(MEMBER_START) - 1) :]
        stream.seek(window_start + len(window))
        chunk = stream.read(CHUNK_BYTES)
        if not chunk:
            return None
        window_start, window = window_start + len(window) - len(overlap), overlap + chunk


_DIGITS = re.compile(r"\d{1,18}")


class Damaged(Exception):  # noqa: N818 - a state of a file
    """There is no whole record at byte ``at``; ``why`` describes the bytes there."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(f"byte {at}: {why}")
        self.at = at
        self.why = why


@dataclass(slots=True)
class WarcRecord:
    """The fields of one record and its content. Names of fields are in lower case."""

    start: int
    end: int
    version: str
    fields: dict[str, str]
    repeated: tuple[str, ...]
    """Names of fields that occur more than once."""
    message_head: bytes = b""
    """The head of the HTTP message in the record up to its first empty line; empty if there is none."""
    payload_bytes: int = 0
    block_digest: str = ""
    payload_digest: str = ""
    """The digests of the content in the form of the record's own labels; empty unless requested."""

    @property
    def type(self) -> str:
        return self.fields.get("warc-type", "").lower()

    @property
    def url(self) -> str:
        return self.fields.get("warc-target-uri", "")

    @property
    def length(self) -> int:
        """Length of the gzip member in bytes."""
        return self.end - self.start


def parse_head(head: bytes) -> tuple[str, dict[str, str], tuple[str, ...]]:
    """Return version, fields and repeated names of a record head that includes its empty line."""
    version, *lines = head.decode(errors="replace").removesuffix("\r\n\r\n").split("\r\n")
    fields: dict[str, str] = {}
    repeated: tuple[str, ...] = ()
    for line in lines:
        name, _, value = line.partition(":")
        name = name.lower()
        if name in fields:
            repeated = (*repeated, name)
        fields[name] = value.strip(" \t")
    return version, fields, repeated


def records(stream: BinaryIO, start: int = 0, *, digests: bool = False) -> Iterator[WarcRecord]:
    """Yield the records from ``start`` to the end. :raises Damaged: at one that is torn, damaged or not a record"""
    stream.seek(start)
    data = stream.read(CHUNK_BYTES)
    while data:
        unpacker = isal_zlib.decompressobj(GZIP_MEMBER)
        reader = _MemberReader(start, digests)
        end = start
        while not unpacker.eof:
            data = data or stream.read(CHUNK_BYTES)
            before = len(data)
            try:
                plain = unpacker.decompress(data, OUTPUT_BYTES)
            except igzip_lib.IsalError as error:  # type: ignore[misc]  # the stub calls it an instance
                raise Damaged(start, f"the data is no gzip member ({error})") from error
            if not (data or plain):
                raise Damaged(start, "the file ends in the middle of a record")
            reader.feed(plain)
            data = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            end += before - len(data)
        yield reader.record(end)
        start = end
        data = data or stream.read(CHUNK_BYTES)


class _MemberReader:
    """Takes the plain bytes of one gzip member in pieces: a head, a block of the declared length, a record end."""

    def __init__(self, start: int, digests: bool) -> None:
        self._start = start
        self._head = b""
        self._found: WarcRecord | None = None
        self._missing = 0
        self._is_http = False
        self._message = b""  # the block so far, until the head of its message has ended
        self._tail = b""
        self._sums = (sha1(usedforsecurity=False), sha1(usedforsecurity=False)) if digests else None

    def feed(self, data: bytes) -> None:
        if self._found is None:
            self._head += data
            end = self._head.find(_HEAD_END)
            if end < 0:
                if len(self._head) > HEAD_LIMIT:
                    raise Damaged(self._start, f"the record's head does not end within {HEAD_LIMIT} bytes")
                return
            head, data = self._head[: end + 4], self._head[end + 4 :]
            self._begin(head)
        block, self._tail = data[: self._missing], self._tail + data[self._missing :]
        self._missing -= len(block)
        if len(self._tail) > len(RECORD_END):
            raise Damaged(self._start, "the record is longer than its Content-Length says")
        if block:
            self._block(block)

    def record(self, end: int) -> WarcRecord:
        member = self._found
        if member is None:
            raise Damaged(self._start, "the gzip member ends within the head of the record")
        if self._missing or self._tail != RECORD_END:
            raise Damaged(self._start, "the record is shorter than its Content-Length says")
        member.end = end
        if self._sums is not None:
            member.block_digest, member.payload_digest = (labelled(each.digest()) for each in self._sums)
        return member

    def _begin(self, head: bytes) -> None:
        version, fields, repeated = parse_head(head)
        if not version.startswith("WARC/1."):
            raise Damaged(self._start, "the gzip member holds no WARC record")
        if not _DIGITS.fullmatch(length := fields.get("content-length", "")):
            raise Damaged(self._start, "the record has no Content-Length")
        self._missing = int(length)
        self._is_http = fields.get("content-type", "").startswith("application/http")
        self._found = WarcRecord(self._start, 0, version, fields, repeated)

    def _block(self, data: bytes) -> None:
        assert self._found is not None
        if self._sums is not None:
            self._sums[0].update(data)
        if self._is_http:
            self._message += data
            end = self._message.find(_HEAD_END)
            if end < 0:
                if len(self._message) > HEAD_LIMIT:
                    self._is_http, self._message = False, b""
                return
            self._found.message_head, data = self._message[: end + 4], self._message[end + 4 :]
            self._is_http, self._message = False, b""
        self._found.payload_bytes += len(data)
        if self._sums is not None:
            self._sums[1].update(data)


def whole_record(stream: BinaryIO, start: int, bytes_max: int | None = None) -> tuple[dict[str, str], bytes]:
    """Return the fields of the record at ``start`` and its whole block, in memory.

    :raises Damaged: there is no whole record, or it is longer than ``bytes_max``
    """
    stream.seek(start)
    unpacker = isal_zlib.decompressobj(GZIP_MEMBER)
    plain = bytearray()
    while not unpacker.eof:
        data = stream.read(CHUNK_BYTES)
        try:
            plain += unpacker.decompress(data)
            if bytes_max is not None and len(plain) > bytes_max:
                raise Damaged(start, f"the record has more than {bytes_max:,} bytes")
        except igzip_lib.IsalError as error:  # type: ignore[misc]  # the stub calls it an instance
            raise Damaged(start, f"what is there is no gzip member ({error})") from error
        if not data and not unpacker.eof:
            raise Damaged(start, "the file ends in the middle of a record")
    end = plain.find(_HEAD_END)
    version, fields, _ = parse_head(bytes(plain[: end + len(_HEAD_END)])) if end >= 0 else ("", {}, ())
    block = bytes(plain[end + len(_HEAD_END) : -len(RECORD_END)])
    if not version.startswith("WARC/1.") or fields.get("content-length") != str(len(block)):
        raise Damaged(start, "the gzip member holds no whole WARC record")
    return fields, block
