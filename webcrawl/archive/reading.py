"""Reading the records of WARC files, a gzip member each, in memory that no record can make larger."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha1
from typing import TYPE_CHECKING, BinaryIO

from isal import igzip_lib, isal_zlib

from webcrawl.archive.members import CHUNK_BYTES, GZIP_MEMBER, HEAD_LIMIT, OUTPUT_BYTES
from webcrawl.archive.records import RECORD_END, labelled

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(r"\d{1,18}")


class Damaged(Exception):  # noqa: N818 - a state of a file
    """There is no whole record at byte ``at``; ``why`` says what is there instead."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(f"byte {at}: {why}")
        self.at = at
        self.why = why


@dataclass(slots=True)
class Record:
    """What one record says of itself, and what is in it. Names of fields are in lower case."""

    start: int
    end: int
    version: str
    fields: dict[str, str]
    repeated: tuple[str, ...]
    """Names of fields that are there more than once."""
    message_head: bytes = b""
    """The head of the HTTP message in it up to its first empty line; empty where there is none."""
    payload_bytes: int = 0
    block_digest: str = ""
    payload_digest: str = ""
    """As the record would label them; empty unless they are asked for."""

    @property
    def type(self) -> str:
        return self.fields.get("warc-type", "").lower()

    @property
    def url(self) -> str:
        return self.fields.get("warc-target-uri", "")

    @property
    def length(self) -> int:
        """Bytes of the gzip member."""
        return self.end - self.start


def parse_head(head: bytes) -> tuple[str, dict[str, str], tuple[str, ...]]:
    """Version, fields and names that are repeated, of a record head with its empty line."""
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


def records(stream: BinaryIO, start: int = 0, *, digests: bool = False) -> Iterator[Record]:
    """The records from ``start`` to the end. :raises Damaged: where one is torn, damaged or none at all."""
    stream.seek(start)
    data = stream.read(CHUNK_BYTES)
    while data:
        unpacker = isal_zlib.decompressobj(GZIP_MEMBER)
        reader = _Reader(start, digests)
        end = start
        while not unpacker.eof:
            data = data or stream.read(CHUNK_BYTES)
            before = len(data)
            try:
                plain = unpacker.decompress(data, OUTPUT_BYTES)
            except igzip_lib.IsalError as error:  # type: ignore[misc]  # the stub calls it an instance
                raise Damaged(start, f"what is there is no gzip member ({error})") from error
            if not (data or plain):
                raise Damaged(start, "the file ends in the middle of a record")
            reader.feed(plain)
            data = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            end += before - len(data)
        yield reader.record(end)
        start = end
        data = data or stream.read(CHUNK_BYTES)


class _Reader:
    """Takes the plain bytes of one gzip member in pieces: a head, a block of the length it says, a record end."""

    def __init__(self, start: int, digests: bool) -> None:
        self._start = start
        self._head = b""
        self._found: Record | None = None
        self._missing = 0
        self._is_http = False
        self._message = b""  # the block so far, until the head of the message in it has ended
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

    def record(self, end: int) -> Record:
        found = self._found
        if found is None:
            raise Damaged(self._start, "the gzip member ends within the head of the record")
        if self._missing or self._tail != RECORD_END:
            raise Damaged(self._start, "the record is shorter than its Content-Length says")
        found.end = end
        if self._sums is not None:
            found.block_digest, found.payload_digest = (labelled(each.digest()) for each in self._sums)
        return found

    def _begin(self, head: bytes) -> None:
        version, fields, repeated = parse_head(head)
        if not version.startswith("WARC/1."):
            raise Damaged(self._start, "the gzip member holds no WARC record")
        if not _LENGTH.fullmatch(length := fields.get("content-length", "")):
            raise Damaged(self._start, "the record has no Content-Length")
        self._missing = int(length)
        self._is_http = fields.get("content-type", "").startswith("application/http")
        self._found = Record(self._start, 0, version, fields, repeated)

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
