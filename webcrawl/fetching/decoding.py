"""Decoding of content codings (RFC 9110, section 8.4.1), with a limit on the output."""

from __future__ import annotations

import mmap
import sys
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import brotli
from isal import isal_zlib

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CODINGS_MAX = 3
"""The number of codings in a row that are decoded; real responses have fewer."""

MEMBERS_MAX = 1_000
"""The number of members of a gzip stream, or frames of a zstd stream, that are decoded."""

USUAL_RATIO = 3
"""HTML is at least so many times as large as its compressed form, as a rule."""

# Bytes that a decoder is fed at a time; the second value is for a damaged stream, since the error discards the output
# of the last piece.
_FED_BYTES = 65_536
_CAREFUL_BYTES = 256

# Brotli may return twice as much as requested, so little is requested at a time.
_BROTLI_BYTES = 65_536

# RFC 9659: a decoder for HTTP need not accept windows of more than 8 MiB.
_ZSTD_OPTIONS = {int(zstd.DecompressionParameter.window_log_max): 23}

_GZIP_MAGIC = b"\x1f\x8b"
# The cast is needed since the stubs declare this class as an instance.
_IsalError = cast(type[Exception], isal_zlib.IsalError)
_ERRORS = (zlib.error, _IsalError, brotli.error, zstd.ZstdError, EOFError)

_Decoder = Callable[[memoryview, int, int], Iterator[bytes]]
"""Called with a payload, the number of its bytes to feed at a time, and the number of output bytes after which to
stop.
"""


@dataclass(slots=True, frozen=True)
class Decoded:
    """A payload with its content codings removed, as far as possible.

    ``truncated`` if there was more than the limit. ``error`` says why the body is not the one that the server meant
    to send: ``body`` is then the part that could be decoded, or the payload itself if the coding is unknown or not
    the one that the payload has.
    """

    body: bytes
    truncated: bool = False
    error: str | None = None


def decode(payload: bytes, content_encoding: str | None, limit: int) -> Decoded:
    """Decode the codings of a Content-Encoding header and return at most ``limit`` bytes. Never raises.

    Supports gzip, deflate (with the zlib wrapper or raw), br and zstd. Memory and time are bounded by the limit, not
    by the decoded size.
    """
    names = [name.strip().lower() for name in (content_encoding or "").split(",")]
    codings = [name for name in names if name not in {"", "identity"}]
    if len(codings) > CODINGS_MAX:
        return _cut(payload, limit, f"more than {CODINGS_MAX} content codings")
    truncated, error = False, None
    for name in reversed(codings):
        decoder = _DECODERS.get(name)
        if decoder is None:
            return _cut(payload, limit, f"unknown content coding {name[:40]}")
        step = _undone(payload, decoder, limit)
        payload, truncated = step.body, truncated or step.truncated
        if step.error is not None:
            error = error or f"{name}: {step.error}"
    whole = _cut(payload, limit, error)
    return Decoded(whole.body, truncated or whole.truncated, error)


def expected_bytes(payload: bytes, content_encoding: str) -> int:
    """Return about how many bytes a payload has without its coding: what gzip says at its end, else ``USUAL_RATIO``
    times its own size. Only a guess: the end of a hostile payload says anything.
    """
    if content_encoding.strip().lower() in {"gzip", "x-gzip"}:
        return int.from_bytes(payload[-4:], "little")
    return USUAL_RATIO * len(payload)


def decoded_chunks(path: str, content_encoding: str, limit: int) -> Generator[bytes, None, None]:
    """Yield the payload of a file without its content coding, piece by piece, up to the end of the piece that exceeds
    ``limit`` bytes. A damaged payload yields the part before the damage.

    gzip is not decoded here: the readers of such payloads detect it by its first bytes, since most are compressed
    without a header that says so.
    """
    names = [name.strip().lower() for name in content_encoding.split(",")]
    codings = [name for name in names if name not in {"", "identity", "gzip", "x-gzip"}]
    with Path(path).open("rb") as file:
        if len(codings) != 1 or codings[0] not in _DECODERS:
            while chunk := file.read(_FED_BYTES):
                yield chunk
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
            # A few bytes of a decompression bomb are much output: a decoder returns all output of the bytes it is
            # fed.
            yield from _joined(_DECODERS[codings[0]](view, _CAREFUL_BYTES, limit + 1), limit)


def _joined(pieces: Iterator[bytes], limit: int) -> Iterator[bytes]:
    """Join the pieces into pieces that are not too small."""
    joined = bytearray()
    try:
        for piece in pieces:
            joined += piece
            limit -= len(piece)
            if len(joined) >= _FED_BYTES or limit < 0:
                yield bytes(joined)
                joined.clear()
            if limit < 0:
                break
    except _ERRORS:
        pass
    if joined:
        yield bytes(joined)


def _cut(body: bytes, limit: int, error: str | None) -> Decoded:
    return Decoded(body[:limit], len(body) > limit, error)


def _undone(payload: bytes, decoder: _Decoder, limit: int) -> Decoded:
    """Decode one coding; if the stream turns out to be damaged decode it again in small steps."""
    decoded = _collected(decoder(memoryview(payload), _FED_BYTES, limit + 1), limit)
    if decoded.error is not None:
        decoded = _collected(decoder(memoryview(payload), _CAREFUL_BYTES, limit + 1), limit)
        if not decoded.body and decoder is _gunzip and not payload.startswith(_GZIP_MAGIC):
            return Decoded(payload, error="not compressed")
    return decoded


def _collected(pieces: Iterator[bytes], limit: int) -> Decoded:
    body = bytearray()
    try:
        for piece in pieces:
            body += piece
            if len(body) > limit:
                return Decoded(bytes(body[:limit]), truncated=True)
    except _ERRORS as error:
        return Decoded(bytes(body), error=str(error) or "damaged")
    return Decoded(bytes(body))


def _inflate_one(payload: memoryview, wbits: int, fed: int, enough: int) -> Generator[bytes, None, int]:
    """Yield the content of one deflate stream and return its end."""
    stream = isal_zlib.decompressobj(wbits)
    for start in range(0, len(payload), fed):
        piece = payload[start : start + fed]
        # The output is complete in one step: no caller requests more than this.
        yield stream.decompress(piece, enough)
        if stream.eof:
            return start + len(piece) - len(stream.unused_data)
    raise EOFError("ends early")


def _gunzip(payload: memoryview, fed: int, enough: int) -> Iterator[bytes]:
    for _ in range(MEMBERS_MAX):
        if not payload:
            return
        end = yield from _inflate_one(payload, 31, fed, enough)
        payload = payload[end:]
        if payload[:2] != _GZIP_MAGIC:
            # Padding or garbage after the last member, which every decoder ignores.
            return
    raise EOFError(f"more than {MEMBERS_MAX} members")


def _inflate(payload: memoryview, fed: int, enough: int) -> Iterator[bytes]:
    if payload:
        # The zlib wrapper that RFC 1950 requires, or none, as some servers send it.
        wrapped = len(payload) > 1 and payload[0] & 0x0F == 8 and (payload[0] << 8 | payload[1]) % 31 == 0
        yield from _inflate_one(payload, 15 if wrapped else -15, fed, enough)


def _unbrotli(payload: memoryview, fed: int, enough: int) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    piece_max = min(_BROTLI_BYTES, enough)
    for start in range(0, len(payload), fed):
        yield stream.process(payload[start : start + fed], output_buffer_limit=piece_max)
        while not stream.can_accept_more_data():
            yield stream.process(b"", output_buffer_limit=piece_max)
        if stream.is_finished():
            return
    # The decoder accepts more input before it has returned all output.
    while payload and not stream.is_finished():
        piece = stream.process(b"", output_buffer_limit=piece_max)
        if not piece:
            raise EOFError("ends early")
        yield piece


def _unzstd_one(payload: memoryview, fed: int, enough: int) -> Generator[bytes, None, int]:
    stream = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)
    for start in range(0, len(payload), fed):
        piece = payload[start : start + fed]
        yield stream.decompress(piece, enough)
        if stream.eof:
            return start + len(piece) - len(stream.unused_data)
    raise EOFError("ends early")


def _unzstd(payload: memoryview, fed: int, enough: int) -> Iterator[bytes]:
    for _ in range(MEMBERS_MAX):
        if not payload:
            return
        end = yield from _unzstd_one(payload, fed, enough)
        payload = payload[end:]
    raise EOFError(f"more than {MEMBERS_MAX} frames")


_DECODERS: dict[str, _Decoder] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
