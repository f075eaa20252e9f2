from __future__ import annotations

import io
import json
from http.client import HTTPResponse, IncompleteRead
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from tests.rows import each_row
from tests.unit.archive import strictwarc
from tests.unit.archive.samples import INFO, NOW, capture
from webcrawl.archive import records
from webcrawl.archive.capture import Revisit

HEADS = json.loads((Path(__file__).parents[2] / "data" / "archive" / "heads.json").read_text())
PAYLOAD = b"first\r\n\r\nsecond\r\n"


def strict(record: bytes) -> strictwarc.StrictRecord:
    return strictwarc._parse_record(record, 0, 0)


def warcio_payload(record: bytes) -> tuple[bytes, bool | None]:
    """What warcio takes for the payload, and whether it found the digests right."""
    found = next(iter(ArchiveIterator(io.BytesIO(record), check_digests=True)))
    return found.raw_stream.read(), found.digest_checker.passed


class Socket:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


@each_row("case", HEADS, ids=lambda case: str(case["name"]))
def test_a_head_is_archived_verbatim_but_for_the_transfer_coding_and_its_end(case: dict[str, Any]) -> None:
    assert records.archived_head(case["head"].encode("latin-1")) == case["archived"].encode("latin-1")


@each_row("case", HEADS, ids=lambda case: str(case["name"]))
def test_a_payload_digest_is_written_where_readers_agree_on_the_payload_and_only_there(
    case: dict[str, Any],
) -> None:
    head = case["head"].encode("latin-1")
    response = strict(records.exchange(capture(response_head=head, payload=PAYLOAD)).answer.record)
    assert ("WARC-Payload-Digest" in response.fields) == case["payload_digest"]
    payload, digests_right = warcio_payload(
        records.exchange(capture(response_head=head, payload=PAYLOAD)).answer.record
    )
    assert digests_right
    if case["payload_digest"]:
        assert response.payload == payload == PAYLOAD


@pytest.mark.parametrize("length", [5, len(PAYLOAD), 99])
def test_pythons_http_client_finds_the_payload_whatever_length_the_server_announced(length: int) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n" % length
    block = strict(records.exchange(capture(response_head=head, payload=PAYLOAD)).answer.record).block
    answer = HTTPResponse(Socket(block))  # type: ignore[arg-type]
    answer.begin()
    try:
        body = answer.read()
    except IncompleteRead as error:
        body = error.partial
    assert body == PAYLOAD[:length]


def test_response_and_request_name_each_other_and_carry_the_same_facts() -> None:
    response, request = map(strict, records.exchange(capture()).records)
    assert response.fields["WARC-Concurrent-To"] == request.fields["WARC-Record-ID"]
    assert request.fields["WARC-Concurrent-To"] == response.fields["WARC-Record-ID"]
    for found in (response, request):
        assert found.fields["WARC-Date"] == "2026-07-25T17:20:00.123456Z"
        assert found.url == "http://example.test/page"
        assert found.fields["WARC-IP-Address"] == "192.0.2.7"


def test_the_body_of_a_request_is_kept() -> None:
    request = strict(records.exchange(capture(method="POST", request_body=b"a=1&b=2")).records[1])
    assert request.payload == b"a=1&b=2"
    assert request.fields["WARC-Payload-Digest"] == strictwarc.labelled(b"a=1&b=2")


def test_without_a_request_head_the_response_stands_alone() -> None:
    (response,) = map(strict, records.exchange(capture(request_head=b"")).records)
    assert "WARC-Concurrent-To" not in response.fields


@each_row("reason", ["length", "time", "disconnect", "unspecified"])
def test_a_truncated_response_says_why(reason: Any) -> None:
    response, request = map(strict, records.exchange(capture(truncated=reason)).records)
    assert response.fields["WARC-Truncated"] == reason
    assert "WARC-Truncated" not in request.fields


@pytest.mark.parametrize(
    ("ip", "written"),
    [("2001:db8::1", "2001:db8::1"), ("fe80::1%eth0", "fe80::1"), (None, None)],
)
def test_an_address_is_written_as_the_standard_wants_it(ip: str | None, written: str | None) -> None:
    response = strict(records.exchange(capture(ip=ip)).answer.record)
    assert response.fields.get("WARC-IP-Address") == written


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("http://example.test/a#part", "http://example.test/a"),
        ("http://example.test/a b\r\nX: y\t<z>", "http://example.test/a%20b%0D%0AX:%20y%09%3Cz%3E"),
        ("http://example.test/\ud800", "http://example.test/?"),
    ],
)
def test_no_url_can_break_a_record_head(url: str, written: str) -> None:
    assert strict(records.exchange(capture(url=url)).answer.record).url == written


@given(head=st.binary(min_size=1, max_size=60), payload=st.binary(max_size=60))
def test_no_head_or_payload_makes_a_record_that_readers_reject(head: bytes, payload: bytes) -> None:
    for record in records.exchange(capture(response_head=b"HTTP/1.1 " + head, payload=payload)).records:
        strict(record)
        assert warcio_payload(record)[1]


@given(st.floats(min_value=0, max_value=4e9))
def test_a_date_is_written_to_the_microsecond(at: float) -> None:
    assert strictwarc.DATE.fullmatch(records.warc_date(at))


def test_a_warcinfo_tells_the_format_and_what_it_was_given_on_one_line_each() -> None:
    info = strict(records.warcinfo_record("a.warc.gz", NOW, INFO | {"description": "two\r\n lines \u00fc"}))
    lines = info.block.decode().splitlines()
    assert "format: WARC File Format 1.1" in lines
    assert "software: webcrawl/0.1" in lines
    assert "description: two lines \u00fc" in lines
    assert info.fields["WARC-Filename"] == "a.warc.gz"


def test_a_revisit_of_the_same_bytes_keeps_the_head_and_points_to_the_first_capture() -> None:
    earlier = Revisit("identical-payload-digest", "http://example.test/old", NOW - 10, "<urn:uuid:x>")
    revisit, request = map(strict, records.exchange(capture(), earlier).records)
    assert revisit.type == "revisit"
    assert revisit.block == capture().response_head
    assert (
        revisit.fields["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    )
    assert revisit.fields["WARC-Payload-Digest"] == strictwarc.labelled(capture().payload)
    assert revisit.fields["WARC-Truncated"] == "length"
    assert revisit.fields["WARC-Refers-To"] == "<urn:uuid:x>"
    assert revisit.fields["WARC-Refers-To-Target-URI"] == "http://example.test/old"
    assert revisit.fields["WARC-Refers-To-Date"] == "2026-07-25T17:19:50.123456Z"
    assert request.fields["WARC-Concurrent-To"] == revisit.fields["WARC-Record-ID"]


def test_a_revisit_after_not_modified_has_no_payload_to_tell_of() -> None:
    head = b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n'
    earlier = Revisit("server-not-modified", "http://example.test/page", NOW - 10)
    revisit = strict(records.exchange(capture(response_head=head, payload=b""), earlier).answer.record)
    assert revisit.block == head
    assert revisit.fields["WARC-Profile"].endswith("/server-not-modified")
    assert not revisit.fields.keys() & {"WARC-Payload-Digest", "WARC-Truncated", "WARC-Refers-To"}


def test_records_of_http2_name_the_protocols() -> None:
    http2 = capture(protocol="h2", cipher_suite="TLS_AES_128_GCM_SHA256")
    made = records.exchange(http2, facts={"depth": 1})
    named = []
    for record in made.records:
        found = next(iter(ArchiveIterator(io.BytesIO(record), check_digests="raise")))
        found.raw_stream.read()
        told = [
            (name, value)
            for name, value in found.rec_headers.headers
            if name.startswith(("WARC-Pro", "WARC-Cip"))
        ]
        named.append((found.rec_type, [value for name, value in told if name != "WARC-Profile"]))
        strict(record)
    protocols = ["h2", "TLS_AES_128_GCM_SHA256"]
    assert named == [("response", protocols), ("request", protocols), ("metadata", [])]
    assert b"WARC-Protocol" not in b"".join(records.exchange(capture()).records)
