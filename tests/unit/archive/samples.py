"""Exchanges and records for the tests of the archive."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from webcrawl.archive.capture import ArchiveEntry, Capture, FetchRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = 1_785_000_000.123456
REQUEST_HEAD = b"GET /page HTTP/1.1\r\nHost: example.test\r\nUser-Agent: webcrawl\r\n\r\n"
RESPONSE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: sample\r\n\r\n"
INFO = {"software": "webcrawl/0.1", "robots": "RFC 9309", "operator": "A. Person <a.person@example.test>"}


def capture(**changes: Any) -> Capture:
    """An ordinary page of an ordinary site."""
    values: dict[str, Any] = {
        "url": "http://example.test/page",
        "method": "GET",
        "started_at": NOW,
        "ended_at": NOW + 0.25,
        "ip": "192.0.2.7",
        "request_head": REQUEST_HEAD,
        "request_body": b"",
        "response_head": RESPONSE_HEAD,
        "payload": b"<p>hello</p>\r\n\r\n<p>there</p>",
    }
    return Capture(**(values | changes))


def record(**changes: Any) -> FetchRecord:
    """The log's view of that page."""
    values: dict[str, Any] = {
        "start": NOW,
        "end": NOW + 0.25,
        "url": "http://example.test/page",
        "key": "example.test",
        "ip": "192.0.2.7",
        "kind": "page",
        "status": 200,
        "error": None,
        "mime": "text/html",
        "bytes": 28,
        "location": None,
        "via": "http://example.test/",
        "depth": 1,
        "worker": "w0",
    }
    return FetchRecord(**(values | changes))


def entry(number: int, payload: bytes | None = None) -> ArchiveEntry:
    """The page with this number; the number is in its URL, its payload unless given, and the log line."""
    url = f"http://example.test/{number}"
    body = b"page %d " % number * 20 if payload is None else payload
    return ArchiveEntry(
        record(url=url, start=NOW + number), capture(url=url, payload=body, started_at=NOW + number)
    )


def ticking(start: float = NOW, step: float = 0.001) -> Iterator[float]:
    """Times for a clock: each a step later than the one before."""
    while True:
        yield start
        start += step


def noise(length: int, seed: int = 1) -> bytes:
    """Bytes that no compressor makes smaller."""
    return random.Random(seed).randbytes(length)
