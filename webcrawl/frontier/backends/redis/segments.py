"""The seen test as it lies in Redis: marks of known URLs in segments, host by host; the same as ``lua/seen.lua``."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from webcrawl.frontier.records import State

MARK_BYTES = 9
"""A fingerprint, and a byte for state and reason."""

REASONS_MAX = 63
"""Words that a shard can have for why a URL failed or was refused."""

_MARK = struct.Struct(">q")
_FULL, _MANY = 64, 16384
"""A segment is full, and from so many URLs on segments are added one by one."""


def mark_bytes(fingerprint: int) -> bytes:
    """By what the seen test knows a URL."""
    return _MARK.pack(fingerprint)


def segments_of(known: int) -> int:
    """In how many segments the marks of a key are of which so many URLs are known."""
    if known > _MANY:
        return -(-known // _FULL)
    segments = 1
    while known > _FULL * segments:
        segments *= 2
    return segments


def segment_of(fingerprint: int, segments: int) -> int:
    """In which of ``segments`` a mark is."""
    hashed = fingerprint & 0xFFFFFF
    segment = hashed % (1 << segments.bit_length())
    return segment if segment < segments else hashed % (1 << (segments.bit_length() - 1))


def segment_field(key: bytes, segment: int) -> bytes:
    """The name of a segment in ``seen``."""
    return key + segment.to_bytes(4, "big") if segment else key


def segment_from(field: bytes) -> tuple[bytes, int]:
    """Politeness key and number of a segment. No key has a nought in it, and no key has so many segments that the
    first byte of the number would be anything else."""
    if field[-4:-3] == b"\0":
        return field[:-4], int.from_bytes(field[-4:], "big")
    return field, 0


def unpack_marks(segment: bytes) -> Iterator[tuple[int, State, int]]:
    """Fingerprints, states and numbers of reasons (0 for none) in a segment of the seen test.

    :raises ValueError: it is cut off, or has no state
    """
    if len(segment) % MARK_BYTES:
        raise ValueError("a segment of the seen test ends within a mark")
    for at in range(0, len(segment), MARK_BYTES):
        reason, state = divmod(segment[at + 8], 4)
        if reason and state < State.FAILED:
            raise ValueError(f"{segment[at + 8]} is no state of a URL")
        yield _MARK.unpack_from(segment, at)[0], State(state), reason
