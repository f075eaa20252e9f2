from __future__ import annotations

import gzip
import io

from tests.rows import each_row
from tests.unit.archive.samples import INFO, NOW, capture, noise
from webcrawl.archive.reading import RecordMember, next_whole_member, whole_members
from webcrawl.archive.records import exchange, warcinfo_record

RECORDS = [warcinfo_record("a.warc.gz", NOW, INFO), *exchange(capture(payload=noise(5000))).records]
MEMBERS = [gzip.compress(record) for record in RECORDS]


def ends(*members: bytes) -> list[int]:
    return [sum(map(len, members[: count + 1])) for count in range(len(members))]


@each_row("chunk_bytes", [1, 7, 64, 1 << 16])
def test_every_member_is_found_whatever_the_chunks(chunk_bytes: int) -> None:
    found = list(whole_members(io.BytesIO(b"".join(MEMBERS)), chunk_bytes=chunk_bytes))
    assert [member.end for member in found] == ends(*MEMBERS)
    assert [member.start for member in found] == [0, *ends(*MEMBERS)[:-1]]
    assert [member.record_type for member in found] == ["warcinfo", "response", "request"]


def test_a_record_that_unpacks_to_far_more_than_a_step_is_found() -> None:
    records = exchange(capture(payload=b"\0" * 9_000_000)).records
    members = [gzip.compress(record, 1) for record in records]
    assert [member.end for member in whole_members(io.BytesIO(b"".join(members)))] == ends(*members)
    assert [member.end for member in whole_members(io.BytesIO(members[0]))] == ends(members[0])


@each_row(
    "record",
    [
        b"",
        b"no record at all",
        b"WARC/1.1\r\nWARC-Type: response\r\n\r\nabc\r\n\r\n",
        b"WARC/1.1\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n",
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 4\r\n\r\nabc\r\n\r\n",
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 2\r\n\r\nabc\r\n\r\n",
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 3\r\n\r\nabc\r\n\r\r",
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n\r\n",
        b"HTTP/1.1\r\nWARC-Type: response\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n",
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 3" + b" " * 300_000,
    ],
)
def test_a_member_that_holds_no_whole_record_ends_the_search(record: bytes) -> None:
    stream = io.BytesIO(MEMBERS[0] + gzip.compress(record) + MEMBERS[1])
    assert [member.end for member in whole_members(stream)] == [len(MEMBERS[0])]


def test_a_flipped_bit_that_changes_a_record_ends_the_search_before_it() -> None:
    good, bad = MEMBERS[0], MEMBERS[2]
    harmless = []
    for at in range(len(bad)):
        damaged = bytearray(bad)
        damaged[at] ^= 0x10
        found = list(whole_members(io.BytesIO(good + damaged + good)))
        if [member.end for member in found] != [len(good)]:
            assert gzip.decompress(damaged) == RECORDS[2], at
            harmless.append(at)
    # The time, the flags and the system in gzip's header, and the bits between the last block and the checksum.
    assert harmless[:6] == list(range(4, 10))
    assert len(harmless) <= 7


def test_a_whole_member_behind_rubbish_is_found() -> None:
    rubbish = noise(200_000) + b"\x1f\x8b\x08 almost"
    stream = io.BytesIO(MEMBERS[0] + rubbish + MEMBERS[1])
    start = len(MEMBERS[0]) + len(rubbish)
    assert next_whole_member(stream, len(MEMBERS[0])) == RecordMember(
        start, start + len(MEMBERS[1]), "response"
    )
    assert next_whole_member(stream, start + 1) is None


def test_a_member_whose_start_lies_across_two_reads_is_found() -> None:
    for shift in range(4):
        stream = io.BytesIO(b"x" * ((1 << 16) - shift) + MEMBERS[0])
        found = next_whole_member(stream, 0)
        assert found is not None
        assert found.start == (1 << 16) - shift
