"""The WARC 1.1 records of an exchange as bytes, before compression, and the fields of its metadata record.

Section numbers are those of the WARC 1.1 standard (ISO 28500:2017). The metadata record of a page says how the crawl
found it and what the crawl was allowed to do.
"""

from __future__ import annotations

import re
import uuid
from base64 import b32encode
from datetime import UTC, datetime
from hashlib import sha1
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from webcrawl.archive.capture import Capture, FetchRecord, Revisit, Spooled


CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
PROFILES = "http://netpreserve.org/warc/1.1/revisit/"
RECORD_END = b"\r\n\r\n"
SOURCE = "X-Crawler-Source"
"""The field of a resource record that names where the payload of an HTTP URL came from: see ``Capture.source``."""

_TRANSFER_ENCODING = re.compile(rb"^(transfer-encoding[ \t]*:)", re.IGNORECASE | re.MULTILINE)
_BLANK_LINE = re.compile(rb"\n[^!-~\n]*\n")  # or one without visible characters
_NOT_IN_A_URI = re.compile(r"[\x00-\x20\x7f<>]")
_LINE_BREAKS = re.compile(r"[\r\n]+\s*")


class ResponseRecord(NamedTuple):
    """The record of an answer, and its fields for the index."""

    record: bytes
    fields: dict[str, str]
    """The fields that the index uses, their names in lower case."""
    message_head: bytes
    """The head of the message, as in ``reading.WarcRecord``."""
    payload: Spooled | None = None
    """The payload, if it is in a file: it is written after ``record`` and followed by RECORD_END."""


class ExchangeRecords(NamedTuple):
    """The records of one exchange."""

    answer: ResponseRecord
    """A response record, or the revisit or resource record in its place."""
    others: list[bytes]
    """The request record and the metadata record, if there are any."""

    @property
    def records(self) -> list[bytes]:
        """Return all records in the order in which they are written."""
        return [self.answer.record, *self.others]


def warcinfo_record(filename: str, at: float, info: Mapping[str, str]) -> bytes:
    """Return the first record of a file: the software that wrote it, the operator and the policy (section 6.2)."""
    fields = (
        f"WARC-Type: warcinfo\r\nWARC-Record-ID: {new_record_id()}\r\nWARC-Date: {warc_date(at)}\r\n"
        f"WARC-Filename: {filename}\r\n"
    )
    facts = {"format": "WARC File Format 1.1", "conformsTo": CONFORMS_TO, **info}
    return _plain_record(fields, "application/warc-fields", _as_fields(facts))


def exchange(
    capture: Capture, revisit: Revisit | None = None, facts: Mapping[str, object] | None = None
) -> ExchangeRecords:
    """Return the records of an exchange: ``revisit`` names the earlier record of its payload, ``facts`` are the
    metadata.

    The capture must have a response, or (``resource_type``) a payload without heads, which makes a resource record;
    without a request head there is no request record, without facts no metadata record. The records refer to the
    answer, and all carry the time the request was sent.
    """
    answer_id, request_id = new_record_id(), new_record_id()
    date, target = warc_date(capture.started_at), uri(capture.url)
    about = f"WARC-Date: {date}\r\nWARC-Target-URI: {target}\r\n"
    shared = about
    if capture.ip is not None:
        # A zone index is not part of an address.
        shared += f"WARC-IP-Address: {capture.ip.partition('%')[0]}\r\n"
    if capture.protocol is not None:
        # Extensions of WARC 1.1 that other crawlers write too; the heads have the form of HTTP/1.1.
        shared += f"WARC-Protocol: {capture.protocol}\r\n"
        if capture.cipher_suite is not None:
            shared += f"WARC-Cipher-Suite: {capture.cipher_suite}\r\n"
    identity = f"WARC-Record-ID: {answer_id}\r\n{shared}"
    concurrent = f"WARC-Concurrent-To: {answer_id}\r\n"
    others = []
    if capture.resource_type is not None:
        answer = _resource(capture, identity)
    elif not capture.request_head:
        answer = _answer(capture, identity, revisit)
    else:
        answer = _answer(capture, f"{identity}WARC-Concurrent-To: {request_id}\r\n", revisit)
        fields = f"WARC-Type: request\r\nWARC-Record-ID: {request_id}\r\n{shared}{concurrent}"
        others.append(_request(capture, fields))
    if facts:
        fields = f"WARC-Type: metadata\r\nWARC-Record-ID: {new_record_id()}\r\n{about}{concurrent}"
        others.append(_plain_record(fields, "application/warc-fields", _as_fields(facts)))
    answer.fields.update({"warc-date": date, "warc-target-uri": target})
    return ExchangeRecords(answer, others)


def archived_head(head: bytes) -> bytes:
    """Return the head of a response as it is archived: verbatim, except for fields that would mislead readers.

    The payload is stored without its transfer coding, so the field that announces one gets the name that Common Crawl
    gives it; Content-Length and Content-Encoding stay, even if they are wrong. A head that was cut off before its
    empty line is completed.
    """
    if b"transfer-encoding" in head.lower():
        head = _TRANSFER_ENCODING.sub(rb"X-Crawler-\1", head)
    if not head.endswith((b"\n\r\n", b"\n\n")):
        head += b"\r\n" if head.endswith(b"\n") else RECORD_END
    return head


def digest(*parts: bytes) -> str:
    """Return the labelled digest of the parts in sequence, in the usual form of WARC tools."""
    state = sha1(usedforsecurity=False)
    for part in parts:
        state.update(part)
    return labelled(state.digest())


def digest_parts(parts: Iterable[bytes]) -> str:
    """Return the labelled digest of parts that are produced one after the other."""
    state = sha1(usedforsecurity=False)
    for part in parts:
        state.update(part)
    return labelled(state.digest())


def labelled(sha1_digest: bytes) -> str:
    """Return a digest as records have it, in Base32 (RFC 4648, section 6)."""
    return "sha1:" + b32encode(sha1_digest).decode()


NO_PAYLOAD = digest()
"""The digest of an empty payload, which nearly every request has."""


def warc_date(at: float) -> str:
    """Return epoch seconds as a WARC-Date with microseconds."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def new_record_id() -> str:
    """Return a random UUID (RFC 9562, section 5.4) in the form of a record ID."""
    return f"<urn:uuid:{uuid.uuid4()}>"


def _answer(capture: Capture, identity: str, revisit: Revisit | None) -> ResponseRecord:
    head, payload, spooled = archived_head(capture.response_head), capture.payload, capture.spooled
    if revisit is not None:
        return _revisit(spooled or (payload,), identity, head, revisit)
    fields = f"WARC-Type: response\r\n{identity}"
    index_fields = {"warc-type": "response"}
    if capture.truncated is not None:
        fields += f"WARC-Truncated: {capture.truncated}\r\n"
    if _is_plain(head):
        of_payload = digest_parts(spooled) if spooled else digest(payload) if payload else NO_PAYLOAD
        index_fields["warc-payload-digest"] = of_payload
        fields += f"WARC-Payload-Digest: {of_payload}\r\n"
    if spooled is not None:
        of_block = digest_parts(chain((head,), spooled))
        start = _http_head(fields, "response", of_block, len(head) + spooled.length) + head
        seen = head if _is_plain(head) else _message_head(head + next(iter(spooled)))
        return ResponseRecord(start, index_fields, seen, spooled)
    if _is_plain(head):
        return ResponseRecord(_http_record(fields, "response", head, payload), index_fields, head)
    return ResponseRecord(
        _http_record(fields, "response", head, payload), index_fields, _message_head(head + payload)
    )


def _request(capture: Capture, fields: str) -> bytes:
    head, payload = capture.request_head, capture.request_body
    if _is_plain(head):
        fields += f"WARC-Payload-Digest: {digest(payload) if payload else NO_PAYLOAD}\r\n"
    return _http_record(fields, "request", head, payload)


def _http_record(fields: str, message: str, head: bytes, payload: bytes) -> bytes:
    warc_head = _http_head(fields, message, digest(head, payload), len(head) + len(payload))
    return b"".join((warc_head, head, payload, RECORD_END))


def _http_head(fields: str, message: str, of_block: str, length: int) -> bytes:
    return (
        f"WARC/1.1\r\n{fields}WARC-Block-Digest: {of_block}\r\n"
        f"Content-Type: application/http;msgtype={message}\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def _message_head(message: bytes) -> bytes:
    """Return the head as readers of records find it: up to the first empty line, ended by CR LF."""
    end = message.find(RECORD_END)
    return b"" if end < 0 else message[: end + len(RECORD_END)]


def _resource(capture: Capture, identity: str) -> ResponseRecord:
    """Return the resource record of a payload without heads (section 6.4)."""
    of_payload = digest(capture.payload)
    written = _LINE_BREAKS.sub(" ", capture.resource_type or "").encode(errors="replace").decode()
    content_type = written.strip() or "application/octet-stream"
    fields = f"WARC-Type: resource\r\n{identity}"
    if capture.truncated is not None:
        fields += f"WARC-Truncated: {capture.truncated}\r\n"
    if capture.source is not None:
        fields += f"{SOURCE}: {capture.source}\r\n"
    fields += f"WARC-Payload-Digest: {of_payload}\r\n"
    index_fields = {"warc-type": "resource", "warc-payload-digest": of_payload, "content-type": content_type}
    return ResponseRecord(_plain_record(fields, content_type, capture.payload), index_fields, b"")


def _plain_record(fields: str, content_type: str, block: bytes) -> bytes:
    head = (
        f"WARC/1.1\r\n{fields}WARC-Block-Digest: {digest(block)}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return b"".join((head.encode(errors="replace"), block, RECORD_END))


def _as_fields(facts: Mapping[str, object]) -> bytes:
    """Return a block of application/warc-fields."""
    text = "".join([f"{name}: {_LINE_BREAKS.sub(' ', str(value))}\r\n" for name, value in facts.items()])
    return text.encode(errors="replace")


def _revisit(payload: Iterable[bytes], identity: str, head: bytes, revisit: Revisit) -> ResponseRecord:
    """Return a revisit record with the head alone; for an identical payload also its digest, by which the earlier
    record is found.
    """
    index_fields = {"warc-type": "revisit"}
    fields = (
        f"WARC/1.1\r\nWARC-Type: revisit\r\n{identity}WARC-Profile: {PROFILES}{revisit.profile}\r\n"
        f"WARC-Refers-To-Target-URI: {uri(revisit.target_uri)}\r\n"
        f"WARC-Refers-To-Date: {warc_date(revisit.date)}\r\n"
    )
    if revisit.record_id is not None:
        fields += f"WARC-Refers-To: {revisit.record_id}\r\n"
    if revisit.profile == "identical-payload-digest":
        index_fields["warc-payload-digest"] = of_payload = digest_parts(payload)
        fields += f"WARC-Truncated: length\r\nWARC-Payload-Digest: {of_payload}\r\n"
    fields += (
        f"WARC-Block-Digest: {digest(head)}\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(head)}\r\n\r\n"
    )
    return ResponseRecord(b"".join((fields.encode(), head, RECORD_END)), index_fields, _message_head(head))


def _is_plain(head: bytes) -> bool:
    """Return True if all readers agree that the payload starts at the first empty line, ended by CR and LF.

    Some readers take a line of white space for the end of a head, some do not; some accept only CR LF. If they
    disagree no payload digest is written, since some of them would report it as wrong.
    """
    # With a line break in front the first line is like all others: the pattern then begins with a literal that is
    # searched fast.
    first = _BLANK_LINE.search(b"\n" + head)
    return first is not None and first.end() == len(head) + 1 and head.endswith(RECORD_END)


def uri(url: str) -> str:
    """Return the URL of a request as a header value: without fragment and without characters that could end the
    line.
    """
    uri = url.partition("#")[0].encode(errors="replace").decode()
    return _NOT_IN_A_URI.sub(lambda match: f"%{ord(match.group()):02X}", uri)


def _usage_facts(usage: Any) -> Iterator[tuple[str, object]]:
    """Yield the verdicts on the use of a page and their sources, one after the other in one field each."""
    verdicts = [f"{purpose}={verdict}" for purpose, verdict in usage.items() if purpose != "sources"]
    yield "usage", ", ".join(verdicts) or "unknown"
    yield "usage-sources", "; ".join(f"{source['place']} {source['text']}" for source in usage["sources"])


UNDER_ROBOTS = frozenset({"page", "sitemap"})
"""Kinds of requests that are sent only if robots.txt allows them."""


def metadata_fields(record: FetchRecord) -> dict[str, object]:
    """Return the fields of the record for ``application/warc-fields``: ``via`` and ``fetchTimeMs`` with the names of
    WARC 1.1 (section 6.6), the others with those of the fetch log.
    """
    facts: dict[str, object] = {"via": record.via} if record.via else {}
    facts |= {
        "fetchTimeMs": round((record.end - record.start) * 1000),
        "kind": record.kind,
        "depth": record.depth,
    }
    extra = record.extra
    if (source := extra.get("handler") or (extra.get("cached") and "cache")) is not None:
        facts["source"] = source
    if elsewhere := extra.get("content_location"):
        facts["content-location"] = elsewhere
    if (links := extra.get("links")) is not None:
        facts["links"] = links
    if record.kind in UNDER_ROBOTS and not record.key.endswith(":"):
        facts["robots"] = "allowed"
    elif record.kind == "robots" and (state := extra.get("robots")) is not None:
        facts["robots"] = state
    received_at = extra.get("robots_received")
    if isinstance(received_at, float):
        facts["robots-received"] = warc_date(received_at)
    if tags := [name for name in ("noindex", "nofollow") if extra.get(name)]:
        facts["robots-tags"] = ", ".join(tags)
    if usage := extra.get("usage"):
        facts |= dict(_usage_facts(usage))
    if extra.get("withheld"):
        facts["withheld"] = "usage"
    return facts
