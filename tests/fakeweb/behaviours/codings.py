"""Content codings: good ones, broken ones, and bombs."""

from __future__ import annotations

import functools
import gzip
import struct
import zlib
from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, Step, head, http_answer
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour

if TYPE_CHECKING:
    from collections.abc import Iterator

CODINGS: Registry = {}
_MEGABYTE = 2**20
_BROKEN = Outcome(size=None, disputed=True)
_HTML = ("Content-Type", "text/html; charset=utf-8")


def _coded(stage: Stage, coding: str, body: bytes) -> Answer:
    return http_answer(200, body, [("Content-Encoding", coding)], mime=stage.mime)


@behaviour(CODINGS, "gzip")
def gzipped(stage: Stage) -> Answer:
    """A good page in gzip."""
    return _coded(stage, "gzip", gzip.compress(stage.body, mtime=0))


@behaviour(CODINGS, "gzip-chunked")
def gzipped_in_chunks(stage: Stage) -> Answer:
    """A good page in gzip, in chunks of 100 bytes."""
    packed = gzip.compress(stage.body, mtime=0)
    pieces = [packed[start : start + 100] for start in range(0, len(packed), 100)]
    wire = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    headers = [_HTML, ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked")]
    return Answer(200, head(200, headers) + wire)


@behaviour(CODINGS, "gzip-members")
def gzipped_twice_over(stage: Stage) -> Answer:
    """A good page in two gzip members, one after the other."""
    half = len(stage.body) // 2
    members = [gzip.compress(part, mtime=0) for part in (stage.body[:half], stage.body[half:])]
    return _coded(stage, "x-gzip", b"".join(members))


@behaviour(CODINGS, "deflate")
def deflated(stage: Stage) -> Answer:
    """A good page in deflate as RFC 9110 has it: with a zlib wrapper."""
    return _coded(stage, "deflate", zlib.compress(stage.body))


@behaviour(CODINGS, "deflate-raw")
def deflated_raw(stage: Stage) -> Answer:
    """A good page in deflate as some servers have it: without a wrapper."""
    packer = zlib.compressobj(wbits=-15)
    return _coded(stage, "deflate", packer.compress(stage.body) + packer.flush())


@behaviour(CODINGS, "br")
def brotli_stored(stage: Stage) -> Answer:
    """A good page in Brotli (RFC 7932), in uncompressed meta-blocks."""
    return _coded(stage, "br", stored_brotli(stage.body))


def stored_brotli(data: bytes) -> bytes:
    """Return a Brotli stream with a window of 2**16 whose meta-blocks are stored."""
    out = bytearray()
    for start in range(0, len(data), 2**16):
        block = data[start : start + 2**16]
        bits = len(block) - 1 << 3 | 1 << 19
        out += (bits << 1 if start == 0 else bits).to_bytes(3, "little") + block
    return bytes(out) + (b"\x03" if data else b"\x06")


@behaviour(CODINGS, "codings-two")
def two_codings(stage: Stage) -> Answer:
    """A good page in deflate and then gzip, as a list in one header."""
    return _coded(stage, "deflate, gzip", gzip.compress(zlib.compress(stage.body), mtime=0))


@behaviour(CODINGS, "coding-unknown", _BROKEN)
def unknown_coding(stage: Stage) -> Answer:
    """A coding that nobody knows."""
    return _coded(stage, "rot13", stage.body)


@behaviour(CODINGS, "coding-lie", lambda stage: Outcome(size=len(stage.body), disputed=True))
def not_coded(stage: Stage) -> Answer:
    """Says gzip and sends the page as it is."""
    return _coded(stage, "gzip", stage.body)


@behaviour(CODINGS, "gzip-bad", _BROKEN)
def bad_gzip(stage: Stage) -> Answer:
    """gzip that turns to garbage in the middle."""
    packed = bytearray(gzip.compress(stage.body, mtime=0))
    middle = len(packed) // 2
    packed[middle : middle + 50] = b"\xff" * len(packed[middle : middle + 50])
    return _coded(stage, "gzip", bytes(packed))


@behaviour(CODINGS, "gzip-cut", _BROKEN)
def cut_gzip(stage: Stage) -> Answer:
    """gzip that ends in the middle, under a Content-Length that agrees."""
    packed = gzip.compress(stage.body, mtime=0)
    return _coded(stage, "gzip", packed[: len(packed) // 2])


@behaviour(
    CODINGS, "gzip-bomb", lambda stage: Outcome(size=_bomb_megabytes(stage) * _MEGABYTE, disputed=True)
)
def gzip_bomb(stage: Stage) -> Answer:
    """``megabytes`` (1,000) of blanks in a thousandth of that."""
    megabytes = _bomb_megabytes(stage)
    first, block, last = _bomb_parts(megabytes)

    def steps() -> Iterator[Step]:
        yield first
        for _ in range(megabytes):
            yield block
        yield last

    length = len(first) + megabytes * len(block) + len(last)
    headers = [_HTML, ("Content-Encoding", "gzip"), ("Content-Length", str(length))]
    return Answer(200, head(200, headers), steps())


def _bomb_megabytes(stage: Stage) -> int:
    return int(stage.number("megabytes", 1000))


@functools.lru_cache(maxsize=4)
def _bomb_parts(megabytes: int) -> tuple[bytes, bytes, bytes]:
    """Return the gzip header, a megabyte of blanks that can be repeated, and the trailer."""
    blanks = b" " * _MEGABYTE
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(blanks) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(megabytes):
        checksum = zlib.crc32(blanks, checksum)
    trailer = b"\x03\x00" + struct.pack("<II", checksum, megabytes * _MEGABYTE & 0xFFFFFFFF)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff", block, trailer
