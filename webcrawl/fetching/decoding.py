"""Content codings (RFC 9110, section 8.4.1) undone, with a limit on what may come out."""

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
"""Codings in a row that are undone. Nobody means more."""

MEMBERS_MAX = 1_000
"""Members of a gzip stream, or frames of a zstd stream, that are looked at."""

# Bytes that a decoder is fed at a time; and those for a damaged stream, because what the decoder had of the last
# piece is lost with its error.
_FED_BYTES = 65_536
_CAREFUL_BYTES = 256

# Brotli may give twice what it was asked for, so it is asked for little at a time.
_BROTLI_BYTES = 65_536

# RFC 9659: a decoder for HTTP need not accept windows of more than 8 MiB.
_ZSTD_OPTIONS = {int(zstd.DecompressionParameter.window_log_max): 23}

_GZIP_MAGIC = b"\x1f\x8b"
# The cast: the stubs take this class for an instance.
_IsalError = cast(type[Exception], isal_zlib.IsalError)
_ERRORS = (zlib.error, _IsalError, brotli.error, zstd.ZstdError, EOFError)

_Decoder = Callable[[memoryview, int, int], Iterator[bytes]]
"""Called with a payload, the bytes of it to feed at a time, and the bytes of output that are enough."""


@dataclass(slots=True, frozen=True)
class Decoded:
    """A payload with its content codings undone, as far as that went.

    ``truncated`` when there was more than the limit. ``error`` says why the body is not what the server meant to
    send: ``body`` is then what could be decoded, or the payload itself where the coding is unknown or is not
    what the payload is in.
    """

    body: bytes
    truncated: bool = False
    error: str | None = None


def decode(payload: bytes, content_encoding: str | None, limit: int) -> Decoded:
    """Undo the codings of a Content-Encoding header and return at most ``limit`` bytes. Never raises.

    Knows gzip, deflate (with the zlib wrapper or raw), br and zstd. Neither memory nor time depend on how much
    the payload would unfold to.
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


def decoded_chunks(path: str, content_encoding: str, limit: int) -> Generator[bytes, None, None]:
    """The payload in a file without its content coding, a piece at a time: at most ``limit`` bytes, and what the last
    piece has beyond them. What is damaged gives what is before the damage.

    gzip is left on: who reads such payloads knows it by its first bytes, as most are packed without saying so.
    """
    names = [name.strip().lower() for name in content_encoding.split(",")]
    codings = [name for name in names if name not in {"", "identity", "gzip", "x-gzip"}]
    with Path(path).open("rb") as file:
        if len(codings) != 1 or codings[0] not in _DECODERS:
            while chunk := file.read(_FED_BYTES):
                yield chunk
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
            # A few bytes of a bomb are much: a decoder gives all that it can make of what it is fed.
            yield from _joined(_DECODERS[codings[0]](view, _CAREFUL_BYTES, limit + 1), limit)


def _joined(pieces: Iterator[bytes], limit: int) -> Iterator[bytes]:
    """The pieces, none too small to be handed on by itself."""
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
    """Undo one coding, a second time and carefully when the stream turns out to be damaged."""
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
    """Yield what one deflate stream holds and return where it ends."""
    stream = isal_zlib.decompressobj(wbits)
    for start in range(0, len(payload), fed):
        piece = payload[start : start + fed]
        # All there is comes out at once: nobody asks for more after this much.
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
            # Padding or garbage after the last member, which every decoder overlooks.
            return
    raise EOFError(f"more than {MEMBERS_MAX} members")


def _inflate(payload: memoryview, fed: int, enough: int) -> Iterator[bytes]:
    if payload:
        # The zlib wrapper that RFC 1950 asks for, or none as some servers have it.
        wrapped = len(payload) > 1 and payload[0] & 0x0F == 8 and (payload[0] << 8 | payload[1]) % 31 == 0
        yield from _inflate_one(payload, 15 if wrapped else -15, fed, enough)


def _unbrotli(payload: memoryview, fed: int, enough: int) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    asked = min(_BROTLI_BYTES, enough)
    for start in range(0, len(payload), fed):
        yield stream.process(payload[start : start + fed], output_buffer_limit=asked)
        while not stream.can_accept_more_data():
            yield stream.process(b"", output_buffer_limit=asked)
        if stream.is_finished():
            return
    # It takes more input although not all that it has read was given.
    while payload and not stream.is_finished():
        piece = stream.process(b"", output_buffer_limit=asked)
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
