"""Seen tests in Redis: marks of known URLs in segments, host by host, as in ``lua/seen.lua``; sets of integers for a
dupefilter that knows no hosts, which Redis keeps in 8 bytes each; and a local cache of known URLs, so that most links
of a page need not be sent to the server."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from webcrawl.frontier.records import State, UrlEntry, UrlRecord
from webcrawl.storage.redis.packing import decoded, pairs

MARK_BYTES = 9
"""A fingerprint, and a byte for the code of its record."""

_MARK = struct.Struct(">q")
_FULL, _MANY = 64, 16384
"""The size of a full segment, and the number of URLs from which segments are added one by one."""


def mark_bytes(fingerprint: int) -> bytes:
    """Return the bytes of a fingerprint in the seen test."""
    return _MARK.pack(fingerprint)


def segment_count(known: int) -> int:
    """Return the number of segments for the marks of a key with ``known`` URLs."""
    if known > _MANY:
        return -(-known // _FULL)
    segments = 1
    while known > _FULL * segments:
        segments *= 2
    return segments


def segment_number(fingerprint: int, segments: int) -> int:
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


def unpack_marks(segment: bytes) -> Iterator[tuple[int, int]]:
    """Yield fingerprints and the codes of their records in a segment of the seen test.

    :raises ValueError: it is cut off
    """
    if len(segment) % MARK_BYTES:
        raise ValueError("a segment of the seen test ends within a mark")
    for at in range(0, len(segment), MARK_BYTES):
        yield _MARK.unpack_from(segment, at)[0], segment[at + 8]


def state_from(code: int) -> State:
    """Return the state in the code of a record."""
    return State(code % 4)


class Words:
    """The words of the records of a shard, and the records that codes stand for."""

    def __init__(self, stored: Any = ()) -> None:
        """``stored``: the whole of ``reasons``, as Redis answers."""
        words = [(decoded(word), int(number)) for word, number in pairs(stored)]
        self._statuses = {number: word for word, number in words if word.startswith("\n")}
        self._reasons = {number: word for word, number in words if not word.startswith("\n")}

    def record(self, code: int) -> UrlRecord:
        state, number = state_from(code), code // 4
        if state is State.DONE and not number:
            return UrlRecord(state, status=USUAL_STATUS)
        words = self._reasons if state in (State.FAILED, State.REFUSED) else self._statuses
        rule, status = _parts(words.get(number, ""))
        return UrlRecord(state, rule or None, int(status) if status else None)


USUAL_STATUS = 200
"""The status of a done URL without a word."""


def _parts(word: str) -> tuple[str, str]:
    """Return the rule and the status in a word."""
    rule, _, status = word.replace("\t", "\n").partition("\n")
    return rule, status


def pack_result(entry: UrlEntry, record: UrlRecord, words: dict[str, int]) -> bytes:
    """Return the result of a URL as ``lua/seen.lua`` takes it. ``words``: those of this call, with their numbers from
    1 on."""
    number = 0
    if (word := _word(entry, record)) is not None:
        if word not in words and len(words) >= _WORDS_MAX:
            # It says that the record has no rule, and that its status stays as it is.
            word = ""
        number = words.setdefault(word, len(words) + 1)
    return b"%b%b%c" % (
        mark_bytes(entry.fingerprint),
        _repeat(record) if entry.repeat else b"%d" % record.state,
        number,
    )


def _repeat(record: UrlRecord) -> bytes:
    return b"+" if record.state is State.DONE else b"-"


_WORDS_MAX = 254
"""The number of words of a call, besides the empty one: the number of a word is a byte."""


def _word(entry: UrlEntry, record: UrlRecord) -> str | None:
    """Return the word of a result; None for the usual one."""
    if entry.repeat:
        return None if record.status is None else f"\n{record.status}"
    rule = (record.rule or "") if record.state in (State.FAILED, State.REFUSED) else ""
    rule = rule.replace("\t", " ").replace("\n", " ")
    if record.status is not None:
        usual = record.state is State.DONE and record.status == USUAL_STATUS
        return None if usual else f"{rule}\n{record.status}"
    return rule if rule or record.state is State.DONE else None


BUCKET_FULL = 300
"""Requests per bucket, on average, at which a bucket is added. The fullest then has about 420: the limit is 512."""

_MANTISSA = 1_000_000_000


def mark_digits(fingerprint: int) -> str:
    """The decimal digits before an appended zero: 60 bits of the fingerprint, never 0."""
    digits = abs(fingerprint) // 10 or 1
    return f"-{digits}" if fingerprint < 0 else str(digits)


def bucket_number(fingerprint: int, buckets: int) -> int:
    """Linear hashing (Litwin, 1980): return which of ``buckets`` has a fingerprint."""
    hashed = (abs(fingerprint) // 10 or 1) % _MANTISSA
    whole = 1 << (buckets.bit_length() - 1)
    bucket = hashed % (2 * whole)
    return bucket if bucket < buckets else hashed % whole


GENERATION = 150_000


class SeenCache:
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
        wanted = set(fingerprints)
        known = wanted & self._young
        if old := wanted & self._old:
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
