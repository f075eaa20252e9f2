"""Seen tests in Redis: marks of known URLs in segments, host by host, as in ``lua/seen.lua``; sets of integers for a
dupefilter that knows no hosts, which Redis keeps in 8 bytes each; and a local cache of known URLs, so that most links
of a page need not be sent to the server."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from webcrawl.frontier.records import State

MARK_BYTES = 9
"""A fingerprint, and a byte for state and reason."""

REASONS_MAX = 63
"""Number of different reasons that a shard can have for failed or refused URLs."""

_MARK = struct.Struct(">q")
_FULL, _MANY = 64, 16384
"""The size of a full segment, and the number of URLs from which segments are added one by one."""


def mark_bytes(fingerprint: int) -> bytes:
    """Return the bytes of a fingerprint in the seen test."""
    return _MARK.pack(fingerprint)


def segments_of(known: int) -> int:
    """Return the number of segments for the marks of a key with ``known`` URLs."""
    if known > _MANY:
        return -(-known // _FULL)
    segments = 1
    while known > _FULL * segments:
        segments *= 2
    return segments


def segment_of(fingerprint: int, segments: int) -> int:
    """Return the number of the segment, of ``segments``, that has a mark."""
    hashed = fingerprint & 0xFFFFFF
    segment = hashed % (1 << segments.bit_length())
    return segment if segment < segments else hashed % (1 << (segments.bit_length() - 1))


def segment_field(key: bytes, segment: int) -> bytes:
    """The name of a segment in ``seen``."""
    return key + segment.to_bytes(4, "big") if segment else key


def segment_from(field: bytes) -> tuple[bytes, int]:
    """Return politeness key and number of a segment. No key contains a NUL, and no key has so many segments that the
    first byte of the number is not 0."""
    if field[-4:-3] == b"\0":
        return field[:-4], int.from_bytes(field[-4:], "big")
    return field, 0


def unpack_marks(segment: bytes) -> Iterator[tuple[int, State, int]]:
    """Yield fingerprints, states and numbers of reasons (0 for none) in a segment of the seen test.

    :raises ValueError: it is cut off, or has no state
    """
    if len(segment) % MARK_BYTES:
        raise ValueError("a segment of the seen test ends within a mark")
    for at in range(0, len(segment), MARK_BYTES):
        reason, state = divmod(segment[at + 8], 4)
        if reason and state < State.FAILED:
            raise ValueError(f"{segment[at + 8]} is no state of a URL")
        yield _MARK.unpack_from(segment, at)[0], State(state), reason


BUCKET_FULL = 300
"""Requests per bucket, on average, at which a bucket is added. The fullest then has about 420: the limit is 512."""

_MANTISSA = 1_000_000_000


def digits_of(fingerprint: int) -> str:
    """The decimal digits before an appended zero: 60 bits of the fingerprint, never 0."""
    digits = abs(fingerprint) // 10 or 1
    return f"-{digits}" if fingerprint < 0 else str(digits)


def bucket_of(fingerprint: int, buckets: int) -> int:
    """Linear hashing (Litwin, 1980): return which of ``buckets`` has a fingerprint."""
    hashed = (abs(fingerprint) // 10 or 1) % _MANTISSA
    whole = 1 << (buckets.bit_length() - 1)
    bucket = hashed % (2 * whole)
    return bucket if bucket < buckets else hashed % whole


GENERATION = 150_000


class Known:
    """Fingerprints that the seen test has, as far as this process knows; at most two generations of them.

    About 25 MB when it is full. Each was once in the server: if the server may have forgotten its last second, this
    has to be cleared.
    """

    def __init__(self, generation: int = GENERATION) -> None:
        self._generation = generation
        self._young: set[int] = set()
        self._old: set[int] = set()

    def among(self, fingerprints: Iterable[int]) -> set[int]:
        """Return those of ``fingerprints`` that are known."""
        asked = set(fingerprints)
        known = asked & self._young
        if old := asked & self._old:
            self.update(old)
            known |= old
        return known

    def update(self, fingerprints: Iterable[int]) -> None:
        """Add known fingerprints."""
        if len(self._young) >= self._generation:
            self._old, self._young = self._young, set()
        self._young.update(fingerprints)

    def discard(self, fingerprints: Iterable[int]) -> None:
        """Remove fingerprints that are to be sent again: they may be taken as new."""
        for fingerprint in fingerprints:
            self._young.discard(fingerprint)
            self._old.discard(fingerprint)

    def clear(self) -> None:
        self._young.clear()
        self._old.clear()
