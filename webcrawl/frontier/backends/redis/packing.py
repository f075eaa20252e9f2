"""How entries, records and robots.txt answers are written down in Redis: short, and readable by no code but this."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webcrawl.frontier.queue_head import Place
from webcrawl.frontier.records import UrlEntry
from webcrawl.hosts.record import HostRecord, RobotsRecord

PROTOCOL = "1"
"""Changes whenever processes with the old code could not work on the same crawl any more."""

TOTALS = (
    "queued",
    "done",
    "failed",
    "refused",
    "hosts",
    "given_up_hosts",
    "given_up_urls",
    "held_urls",
    "seen",
)
"""The running totals of a shard. ``totals`` also has ``buckets``, ``fence``, ``epoch``, ``run``, ``quiet_until``,
``stirs``."""

_RANKS = 1 << 47
_POSITIONS = 1 << 63
_HEADER = struct.Struct("<dddddBB")
_LENGTH = struct.Struct(">I")
_VIA, _KIND, _COUNTS, _PAYLOAD = 1, 2, 4, 8
_MANTISSA = 1_000_000_000


def place_bytes(place: Place) -> bytes:
    """14 bytes that sort like places."""
    rank, position = place
    return (_RANKS + rank).to_bytes(6, "big") + max(position + _POSITIONS, 0).to_bytes(8, "big")


def place_from(text: bytes) -> Place:
    return int.from_bytes(text[:6], "big") - _RANKS, int.from_bytes(text[6:14], "big") - _POSITIONS


def level_from(rank: bytes) -> int:
    return _RANKS - int.from_bytes(rank, "big")


# -- fingerprints ----------------------------------------------------------------------------------------


def digits_of(fingerprint: int) -> str:
    """The decimal digits to which a state is appended: 60 bits of the fingerprint, never nought."""
    digits = abs(fingerprint) // 10 or 1
    return f"-{digits}" if fingerprint < 0 else str(digits)


def bucket_of(fingerprint: int, buckets: int) -> int:
    """Linear hashing (Litwin, 1980): which of ``buckets`` a fingerprint is in."""
    hashed = (abs(fingerprint) // 10 or 1) % _MANTISSA
    whole = 1 << (buckets.bit_length() - 1)
    bucket = hashed % (2 * whole)
    return bucket if bucket < buckets else hashed % whole


# -- entries ---------------------------------------------------------------------------------------------


def _varint(number: int) -> bytes:
    if number < 0x80:
        return bytes((number,))
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return number, at
        shift += 7


def _prefixes(key: bytes) -> tuple[bytes, ...]:
    """What URLs of a key begin with, most of them with one of the first four."""
    return (
        b"https://www." + key,
        b"http://www." + key,
        b"https://" + key,
        b"http://" + key,
        b"https://",
        b"http://",
        b"",
    )


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with that are the same."""
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    # The first byte in which they differ is the highest one that is set in the difference of the two numbers.
    difference = int.from_bytes(one[:length], "big") ^ int.from_bytes(other[:length], "big")
    return length - (difference.bit_length() + 7) // 8


def pack_entry(entry: UrlEntry) -> bytes:
    """An entry as ``lua/queue.lua`` describes it. The key is not in it: it is known from the queue."""
    url = _encode(entry.url)
    for code, prefix in enumerate(_prefixes(_encode(entry.key))):  # noqa: B007 - the one it ends with
        if url.startswith(prefix):
            break
    rest = url[len(prefix) :]
    flags = 0
    parts = [_varint(entry.depth), bytes((code,)), _varint(len(rest)), rest]
    if entry.via is not None:
        flags |= _VIA
        via = _encode(entry.via)
        shared = _shared(url, via)
        parts += (_varint(shared), _varint(len(via) - shared), via[shared:])
    if entry.kind != "page":
        flags |= _KIND
        kind = _encode(str(entry.kind))
        parts += (_varint(len(kind)), kind)
    if entry.redirects or entry.attempts:
        flags |= _COUNTS
        parts += (_varint(entry.redirects), _varint(entry.attempts))
    if entry.payload is not None:
        flags |= _PAYLOAD
        parts.append(_encode(entry.payload))
    repeat = b"1" if entry.repeat else b"0"
    body = struct.pack(">cBq", repeat, flags, entry.fingerprint) + b"".join(parts)
    return place_bytes((-entry.level, entry.position)) + _LENGTH.pack(len(body)) + body


def unpack_entries(data: bytes, key: str) -> Iterator[UrlEntry]:
    """The entries of a stretch of the queue of ``key``."""
    prefixes = _prefixes(_encode(key))
    at = 0
    while at < len(data):
        rank, position = place_from(data[at : at + 14])
        (length,) = _LENGTH.unpack_from(data, at + 14)
        body = data[at + 18 : at + 18 + length]
        at += 18 + length
        yield _unpack(body, key, -rank, position, prefixes)


def _unpack(body: bytes, key: str, level: int, position: int, prefixes: tuple[bytes, ...]) -> UrlEntry:
    repeat, flags, fingerprint = struct.unpack_from(">cBq", body)
    depth, at = _read_varint(body, 10)
    prefix = prefixes[body[at]]
    length, at = _read_varint(body, at + 1)
    url = prefix + body[at : at + length]
    at += length
    entry = UrlEntry(_decode(url), key, fingerprint, level, position, depth, repeat=repeat == b"1")
    if flags & _VIA:
        shared, at = _read_varint(body, at)
        length, at = _read_varint(body, at)
        entry.via = _decode(url[:shared] + body[at : at + length])
        at += length
    if flags & _KIND:
        length, at = _read_varint(body, at)
        entry.kind = _decode(body[at : at + length])
        at += length
    if flags & _COUNTS:
        entry.redirects, at = _read_varint(body, at)
        entry.attempts, at = _read_varint(body, at)
    if flags & _PAYLOAD:
        entry.payload = _decode(body[at:])
    return entry


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")


# -- hosts and robots.txt --------------------------------------------------------------------------------


@dataclass(slots=True)
class StoredHost:
    """A key as it is stored."""

    record: HostRecord
    queued: int
    level: int


def pack_rest(record: HostRecord) -> str:
    """What of a record no script looks at."""
    return json.dumps(
        [
            record.download_seconds,
            record.crawl_delay_seconds,
            record.fetches,
            int(record.answered),
            record.failures,
            record.parks,
            record.last_error,
        ],
        separators=(",", ":"),
    )


def unpack_host(key: str, value: bytes) -> StoredHost:
    queued, level, next_at, blocked, delay, parked, given_up = _HEADER.unpack_from(value)
    record = HostRecord(
        key, next_at, delay, parked=bool(parked), given_up=bool(given_up), blocked_until=blocked
    )
    if rest := value[_HEADER.size :]:
        known: list[Any] = json.loads(rest)
        record.download_seconds, record.crawl_delay_seconds, record.fetches = known[0], known[1], known[2]
        record.answered, record.failures, record.parks = bool(known[3]), known[4], known[5]
        record.last_error = known[6]
    return StoredHost(record, int(queued), int(level))


def pack_robots(record: RobotsRecord) -> bytes:
    head = [record.state, record.fetched_at, record.expires_at, record.crawl_delay_seconds, record.attempts]
    return json.dumps(head, separators=(",", ":")).encode() + b"\n" + _encode(record.text)


def unpack_robots(origin: str, value: bytes) -> RobotsRecord:
    head, _, text = value.partition(b"\n")
    state, fetched_at, expires_at, crawl_delay, attempts = json.loads(head)
    return RobotsRecord(origin, state, fetched_at, expires_at, _decode(text), crawl_delay, attempts)
