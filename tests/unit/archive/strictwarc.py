"""A second opinion on WARC files: a strict reader that shares nothing with the code under test.

It holds every file to the WARC 1.1 standard as far as this project uses it, and raises AssertionError with
the reason. It reads gzip with the standard library and finds payloads by the empty line that strict HTTP
demands.
"""

from __future__ import annotations

import ipaddress
import re
import zlib
from base64 import b32encode
from dataclasses import dataclass
from hashlib import sha1
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

STEP = 1 << 16
FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([^\x00-\x1f\x7f]*)")
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
RECORD_ID = re.compile(r"<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>")
URI = re.compile(r"[a-z]+:[!-;=?-~]+")
ALWAYS = {"WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length", "Content-Type", "WARC-Block-Digest"}
ABOUT_A_URI = {"WARC-Target-URI", "WARC-IP-Address", "WARC-Concurrent-To", "WARC-Payload-Digest"}
OF_HTTP2 = {"WARC-Protocol", "WARC-Cipher-Suite"}
ALLOWED = {
    "warcinfo": {"WARC-Filename"},
    "response": ABOUT_A_URI | OF_HTTP2 | {"WARC-Truncated"},
    "request": ABOUT_A_URI | OF_HTTP2,
    "resource": ABOUT_A_URI | {"WARC-Truncated", "X-Crawler-Source"},
    "metadata": {"WARC-Target-URI", "WARC-Concurrent-To"},
    "revisit": ABOUT_A_URI
    | OF_HTTP2
    | {"WARC-Truncated", "WARC-Profile"}
    | {"WARC-Refers-To", "WARC-Refers-To-Target-URI", "WARC-Refers-To-Date"},
}
CONTENT_TYPE = {
    "warcinfo": "application/warc-fields",
    "response": "application/http;msgtype=response",
    "request": "application/http;msgtype=request",
    "revisit": "application/http;msgtype=response",
    "metadata": "application/warc-fields",
}


@dataclass
class StrictRecord:
    """One record and where its gzip member lies."""

    offset: int
    length: int
    fields: dict[str, str]
    block: bytes

    @property
    def type(self) -> str:
        return self.fields["WARC-Type"]

    @property
    def url(self) -> str:
        return self.fields["WARC-Target-URI"]

    @property
    def payload(self) -> bytes:
        return self.block.partition(b"\r\n\r\n")[2]


def strict_records(path: Path, *, repaired: bool = False) -> list[StrictRecord]:
    """All records of a closed file. In a repaired one the last record may stand alone."""
    records = parse(path.read_bytes())
    assert records, "an empty file"
    assert [record.type for record in records].count("warcinfo") == 1, "not one warcinfo"
    assert records[0].fields["WARC-Filename"] == path.name
    _check_references(records, repaired)
    return records


def parse(data: bytes) -> list[StrictRecord]:
    """The records of a file's bytes, each checked by itself."""
    records = []
    offset = 0
    while offset < len(data):
        unpacker = zlib.decompressobj(zlib.MAX_WBITS + 16)
        parts = []
        at = offset
        while not unpacker.eof:
            assert at < len(data), f"the member at {offset} is torn"
            parts.append(unpacker.decompress(data[at : at + STEP]))
            at += STEP
        plain = b"".join(parts)
        length = min(at, len(data)) - offset - len(unpacker.unused_data)
        records.append(_parse_record(plain, offset, length))
        offset += length
    return records


def _parse_record(plain: bytes, offset: int, length: int) -> StrictRecord:
    head, separator, rest = plain.partition(b"\r\n\r\n")
    assert separator, "no end of the record's head"
    version, *lines = head.split(b"\r\n")
    assert version == b"WARC/1.1"
    fields: dict[str, str] = {}
    for line in lines:
        match = FIELD.fullmatch(line)
        assert match, f"no field: {line!r}"
        name = match[1].decode()
        assert name not in fields, f"{name} twice"
        fields[name] = match[2].decode()
    block = rest[: int(fields["Content-Length"])]
    assert rest == block + b"\r\n\r\n", "the length does not fit the block"
    record = StrictRecord(offset, length, fields, block)
    _check_fields(record)
    return record


def _check_fields(record: StrictRecord) -> None:
    fields = record.fields
    assert fields.keys() >= ALWAYS
    assert fields.keys() <= ALWAYS | ALLOWED[record.type]
    assert record.type == "resource" or fields["Content-Type"] == CONTENT_TYPE[record.type]
    assert RECORD_ID.fullmatch(fields["WARC-Record-ID"])
    assert DATE.fullmatch(fields["WARC-Date"])
    assert fields["WARC-Block-Digest"] == labelled(record.block)
    assert fields.get("WARC-Truncated") in {None, "length", "time", "disconnect", "unspecified"}
    if record.type in ("warcinfo", "metadata"):
        assert all(FIELD.fullmatch(line) for line in record.block.split(b"\r\n")[:-1])
        assert record.block.endswith(b"\r\n")
    if record.type != "warcinfo":
        assert URI.fullmatch(fields["WARC-Target-URI"]), fields["WARC-Target-URI"]
    if "WARC-IP-Address" in fields:
        ipaddress.ip_address(fields["WARC-IP-Address"])
    if "WARC-Payload-Digest" in fields and record.type != "revisit":
        payload = record.block if record.type == "resource" else record.payload
        assert fields["WARC-Payload-Digest"] == labelled(payload)


def _check_references(records: list[StrictRecord], repaired: bool) -> None:
    """Identifiers are unique, and what says that it belongs together names each other and has one date."""
    known = {record.fields["WARC-Record-ID"]: record for record in records}
    assert len(known) == len(records)
    for record in records:
        other_id = record.fields.get("WARC-Concurrent-To")
        if other_id is not None and not (repaired and record is records[-1] and other_id not in known):
            other = known[other_id]
            back = other.fields.get("WARC-Concurrent-To")
            assert back == record.fields["WARC-Record-ID"] or record.type == "metadata"
            assert other.fields["WARC-Date"] == record.fields["WARC-Date"]
            assert other.url == record.url


def labelled(data: bytes) -> str:
    return "sha1:" + b32encode(sha1(data).digest()).decode()
