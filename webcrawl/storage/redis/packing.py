"""The binary form of entries, records and robots.txt answers in Redis: short, and read by this code only.
Also the text of names, and answers that come in one of two forms.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from webcrawl.frontier.queue_head import QueuePosition
from webcrawl.frontier.records import CARRIED, Kind, UrlEntry
from webcrawl.politeness.host_record import HostRecord, RobotsRecord


def encoded(text: str) -> bytes:
    """Return text as bytes for the server; lone surrogates are allowed."""
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    """Return the text that ``encoded`` was given."""
    return data.decode("utf-8", "surrogatepass")


def pairs(answer: Any) -> list[tuple[bytes, bytes]]:
    """Return names and values: some connections answer with a mapping, others with one after the other."""
    if isinstance(answer, Mapping):
        return list(answer.items())
    return list(zip(answer[::2], answer[1::2], strict=True))


PROTOCOL = "5"
"""Changes whenever this code could not continue a crawl of older code, or work on it together with older code."""

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
"""The running totals of a shard. ``totals`` also has ``fence``, ``epoch``, ``run``, ``quiet_until`` and
``queue_changes``."""

_RANKS = 1 << 47
_POSITIONS = 1 << 63
_HEADER = struct.Struct("<III14s6sdddBB")
_RECORD = struct.Struct("<dddBB")
_RATE_LIMIT = struct.Struct("<dd")
_REST = struct.Struct("<IIIIdBdB")
_ANSWERED, _CRAWL_DELAY, _ERROR, _PAGES, _ASKED, _LIMITED, _REFUSED = 1, 2, 4, 8, 16, 32, 64
_REFUSALS = struct.Struct("<III")
_MICROSECONDS = 1_000_000
_ENTRY = struct.Struct(">HIQIcBq")
"""Queue position (two parts of its rank, its position), length of the rest, repeat, flags, fingerprint."""
_PLAIN = struct.Struct(">HIQIcBqBBB")
"""The fields of ``_ENTRY``, then depth, code of the prefix and length of the rest of the URL."""
_BODY = 18
_VIA, _KIND, _COUNTS, _PAYLOAD, _LISTED, _LINK_FEATURES, _FURTHER = 1, 2, 4, 8, 16, 32, 64
_WITH_FLAGS = ("payload", "listed", "link_features")
"""The carried values that have flags of their own."""
_FURTHER_VALUES = tuple(CARRIED)[len(_WITH_FLAGS) :]
"""The other ones: a number, from 0, and a text for each that an entry has, behind their count."""


def position_bytes(position: QueuePosition) -> bytes:
    """Return 14 bytes that sort like queue positions."""
    rank, within_level = position
    return (_RANKS + rank).to_bytes(6, "big") + max(within_level + _POSITIONS, 0).to_bytes(8, "big")


def position_from(text: bytes) -> QueuePosition:
    return int.from_bytes(text[:6], "big") - _RANKS, int.from_bytes(text[6:14], "big") - _POSITIONS


def level_from(rank: bytes) -> int:
    return _RANKS - int.from_bytes(rank, "big")


# -- queues ----------------------------------------------------------------------------------------------


def chunk_prefix(key: bytes) -> bytes:
    """The prefix of the chunks of a key in ``chunks``."""
    return len(key).to_bytes(2, "big") + key


def chunk_key(member: bytes) -> bytes:
    """The key of a chunk."""
    return member[2 : 2 + int.from_bytes(member[:2], "big")]


# -- entries ---------------------------------------------------------------------------------------------


def _varint(number: int) -> bytes:
    if number < 0x80:
        return _SMALL[number]
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_SMALL = [bytes((number,)) for number in range(0x80)]


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        byte = data[at]
        number |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return number, at
        shift += 7


@lru_cache(1 << 12)
def _prefixes(key: bytes) -> tuple[bytes, ...]:
    """The prefixes of URLs of a key; most begin with one of the first four."""
    return (
        b"https://www." + key,
        b"http://www." + key,
        b"https://" + key,
        b"http://" + key,
        b"https://",
        b"http://",
        b"",
    )


def _shared(one: bytes, other: bytes) -> int:
    """Return the length of the common beginning of two texts, or a little less."""
    length = one.rfind(b"/") + 1
    if one[:length] == other[:length]:
        # After the last slash little can be equal.
        return length
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    # The first byte in which they differ is the highest one that is set in the difference of the two numbers.
    difference = int.from_bytes(one[:length], "big") ^ int.from_bytes(other[:length], "big")
    return length - (difference.bit_length() + 7) // 8


def pack_entries(key: str, entries: Iterable[UrlEntry]) -> list[bytes]:
    """Pack entries of one key as ``lua/queue.lua`` describes them. The key is not included: it is known from the
    queue.

    Done for every link that may be new, so common entries are packed in one step.
    """
    prefixes = _prefixes(encoded(key))
    packed = []
    via_text, via = None, b""
    for entry in entries:
        rare = entry.payload is not None or entry.listed is not None
        if rare or entry.via is None or entry.kind != "page" or entry.redirects or entry.attempts:
            packed.append(_pack_rare(entry, prefixes))
            continue
        url = encoded(entry.url)
        if entry.via is not via_text:
            via_text = entry.via
            via = encoded(via_text)
        for code, prefix in enumerate(prefixes):  # noqa: B007 - the one it ends with
            if url.startswith(prefix):
                break
        rest = url[len(prefix) :]
        shared = _shared(url, via)
        size, more = len(rest), len(via) - shared
        if size > 0x7F or shared > 0x7F or more > 0x7F or entry.depth > 0x7F:
            packed.append(_pack_rare(entry, prefixes))
            continue
        rank, length, flags, last = _RANKS - entry.level, size + more + 15, _VIA, b""
        if entry.link_features is not None:
            flags, last = _VIA | _LINK_FEATURES, _text(entry.link_features)
            length += len(last)
        if _FURTHER_VALUES and (further := _further(entry)):
            flags, last = flags | _FURTHER, last + further
            length += len(further)
        repeat = b"1" if entry.repeat else b"0"
        packed.append(
            b"%b%b%c%c%b%b"
            % (
                _PLAIN.pack(
                    rank >> 32,
                    rank & 0xFFFFFFFF,
                    entry.position + _POSITIONS,
                    length,
                    repeat,
                    flags,
                    entry.fingerprint,
                    entry.depth,
                    code,
                    size,
                ),
                rest,
                shared,
                more,
                via[shared:],
                last,
            )
        )
    return packed


def _text(text: str) -> bytes:
    data = encoded(text)
    return _varint(len(data)) + data


def _further(entry: UrlEntry) -> bytes:
    """Return the packed further values of an entry; nothing if it has none."""
    parts: list[bytes] = []
    for number, name in enumerate(_FURTHER_VALUES):
        value = getattr(entry, name)
        if value is not None:
            parts += (_varint(number), _text(value))
    return _varint(len(parts) // 2) + b"".join(parts) if parts else b""


def pack_entry(entry: UrlEntry) -> bytes:
    """Pack a single entry."""
    [packed] = pack_entries(entry.key, [entry])
    return packed


def _pack_rare(entry: UrlEntry, prefixes: tuple[bytes, ...]) -> bytes:
    url = encoded(entry.url)
    code, prefix = next(
        (code, candidate) for code, candidate in enumerate(prefixes) if url.startswith(candidate)
    )
    rest = url[len(prefix) :]
    flags = 0
    parts = [_varint(entry.depth), _SMALL[code], _varint(len(rest)), rest]
    if entry.via is not None:
        flags |= _VIA
        via = encoded(entry.via)
        shared = _shared(url, via)
        parts += (_varint(shared), _varint(len(via) - shared), via[shared:])
    if entry.kind != "page":
        flags |= _KIND
        parts.append(_text(str(entry.kind)))
    if entry.redirects or entry.attempts:
        flags |= _COUNTS
        parts += (_varint(entry.redirects), _varint(entry.attempts))
    if entry.listed is not None:
        flags |= _LISTED
        parts.append(_text(entry.listed))
    if entry.link_features is not None:
        flags |= _LINK_FEATURES
        parts.append(_text(entry.link_features))
    if _FURTHER_VALUES and (further := _further(entry)):
        flags |= _FURTHER
        parts.append(further)
    if entry.payload is not None:
        flags |= _PAYLOAD
        parts.append(encoded(entry.payload))
    # An entry that is never seen is always a repeat; see lua/push.lua.
    repeat = b"2" if entry.kind == Kind.ROBOTS else b"1" if entry.repeat else b"0"
    body = b"".join(parts)
    rank, position = _RANKS - entry.level, max(entry.position + _POSITIONS, 0)
    length = _ENTRY.size - _BODY + len(body)
    head = _ENTRY.pack(rank >> 32, rank & 0xFFFFFFFF, position, length, repeat, flags, entry.fingerprint)
    return head + body


def unpack_entries(data: bytes, key: str) -> Iterator[UrlEntry]:
    """Yield the entries of a part of the queue of ``key``."""
    prefixes = _prefixes(encoded(key))
    at = 0
    while at < len(data):
        high, low, position, length, repeat, flags, fingerprint = _ENTRY.unpack_from(data, at)
        body = data[at + _ENTRY.size : at + _BODY + length]
        at += _BODY + length
        entry = UrlEntry("", key, fingerprint, _RANKS - (high << 32 | low), position - _POSITIONS)
        entry.repeat = repeat != b"0"
        _unpack(body, flags, entry, prefixes)
        yield entry


def _unpack(body: bytes, flags: int, entry: UrlEntry, prefixes: tuple[bytes, ...]) -> None:
    entry.depth, at = _read_varint(body, 0)
    prefix = prefixes[body[at]]
    length, at = _read_varint(body, at + 1)
    url = prefix + body[at : at + length]
    at += length
    entry.url = decoded(url)
    if flags & _VIA:
        shared, at = _read_varint(body, at)
        length, at = _read_varint(body, at)
        entry.via = decoded(url[:shared] + body[at : at + length])
        at += length
    if flags & _KIND:
        length, at = _read_varint(body, at)
        entry.kind = decoded(body[at : at + length])
        at += length
    if flags & _COUNTS:
        entry.redirects, at = _read_varint(body, at)
        entry.attempts, at = _read_varint(body, at)
    if flags & _LISTED:
        length, at = _read_varint(body, at)
        entry.listed = decoded(body[at : at + length])
        at += length
    if flags & _LINK_FEATURES:
        length, at = _read_varint(body, at)
        entry.link_features = decoded(body[at : at + length])
        at += length
    if flags & _FURTHER:
        at = _unpack_further(body, at, entry)
    if flags & _PAYLOAD:
        entry.payload = decoded(body[at:])


def _unpack_further(body: bytes, at: int, entry: UrlEntry) -> int:
    """Set the further values of an entry, and return where they end. Those of later code are left out."""
    count, at = _read_varint(body, at)
    for _ in range(count):
        number, at = _read_varint(body, at)
        length, at = _read_varint(body, at)
        if number < len(_FURTHER_VALUES):
            setattr(entry, _FURTHER_VALUES[number], decoded(body[at : at + length]))
        at += length
    return at


# -- hosts and robots.txt --------------------------------------------------------------------------------


@dataclass(slots=True)
class StoredHost:
    """A key as it is stored."""

    record: HostRecord
    queued: int
    level: int
    known: int
    """Number of known URLs."""
    chunks: int
    """Number of chunks of its queue."""
    last: bytes
    """The highest place that its queue ever had."""


def pack_record(record: HostRecord, slack_seconds: float) -> bytes:
    """Pack a holder's record of a key, as ``lua/leases.lua`` takes it. Its time is put later by ``slack_seconds``."""
    flags = bool(record.answered) * _ANSWERED
    if record.crawl_delay_seconds is not None:
        flags |= _CRAWL_DELAY
    if record.last_error is not None:
        flags |= _ERROR
    if record.pages:
        flags |= _PAGES
    if record.asked_until:
        flags |= _ASKED
    if record.rate_limit_seconds:
        flags |= _LIMITED
    if record.refusals:
        flags |= _REFUSED
    downloads = [
        min(max(round(seconds * _MICROSECONDS), 0), 0xFFFFFFFF) for seconds in record.download_seconds
    ]
    return b"".join(
        (
            _RECORD.pack(
                record.next_fetch_at + slack_seconds,
                record.blocked_until,
                record.delay_seconds,
                record.parked,
                record.given_up,
            ),
            _REST.pack(
                record.fetches,
                record.failures,
                record.parks,
                record.backoffs,
                record.forgiven_at,
                flags,
                record.crawl_delay_seconds or 0.0,
                len(downloads),
            ),
            struct.pack(f"<{len(downloads)}I", *downloads),
            struct.pack("<I", record.pages) if record.pages else b"",
            struct.pack("<d", record.asked_until) if record.asked_until else b"",
            _RATE_LIMIT.pack(record.rate_limit_seconds, record.rate_limit_until)
            if record.rate_limit_seconds
            else b"",
            _REFUSALS.pack(record.refusals, record.refusal_base, record.refusal_rests)
            if record.refusals
            else b"",
            encoded(record.last_error or ""),
        )
    )


def unpack_host(key: str, value: bytes) -> StoredHost:
    """Unpack a value of ``hosts``; see ``lua/shard.lua``."""
    queued, known, chunks, last, rank, next_at, blocked, delay, parked, given_up = _HEADER.unpack_from(value)
    record = HostRecord(
        key, next_at, delay, parked=bool(parked), given_up=bool(given_up), blocked_until=blocked
    )
    if len(value) > _HEADER.size:
        _unpack_rest(record, value[_HEADER.size :])
    return StoredHost(record, queued, level_from(rank), known, chunks, last)


def _unpack_rest(record: HostRecord, rest: bytes) -> None:
    record.fetches, record.failures, record.parks, record.backoffs, record.forgiven_at, *more = (
        _REST.unpack_from(rest)
    )
    flags, crawl_delay, downloads = more
    record.answered = bool(flags & _ANSWERED)
    if flags & _CRAWL_DELAY:
        record.crawl_delay_seconds = crawl_delay
    times = struct.unpack_from(f"<{downloads}I", rest, _REST.size)
    record.download_seconds = [time / _MICROSECONDS for time in times]
    at = _REST.size + 4 * downloads
    if flags & _PAGES:
        [record.pages] = struct.unpack_from("<I", rest, at)
        at += 4
    if flags & _ASKED:
        [record.asked_until] = struct.unpack_from("<d", rest, at)
        at += 8
    if flags & _LIMITED:
        record.rate_limit_seconds, record.rate_limit_until = _RATE_LIMIT.unpack_from(rest, at)
        at += _RATE_LIMIT.size
    if flags & _REFUSED:
        record.refusals, record.refusal_base, record.refusal_rests = _REFUSALS.unpack_from(rest, at)
        at += _REFUSALS.size
    if flags & _ERROR:
        record.last_error = decoded(rest[at:])


def pack_robots(record: RobotsRecord) -> bytes:
    head = [record.state, record.fetched_at, record.expires_at, record.crawl_delay_seconds, record.attempts]
    return json.dumps(head, separators=(",", ":")).encode() + b"\n" + encoded(record.text)


def unpack_robots(origin: str, value: bytes) -> RobotsRecord:
    head, _, text = value.partition(b"\n")
    state, fetched_at, expires_at, crawl_delay, attempts = json.loads(head)
    return RobotsRecord(origin, state, fetched_at, expires_at, decoded(text), crawl_delay, attempts)
