"""Header fields are found as Scrapy finds them, by their one written form."""

from __future__ import annotations

import pytest
from scrapy.http import Headers, Request

from webcrawl.engine import header_fields

HEADERS = Headers(
    {"content-type": "text/html", "X-ROBOTS-TAG": ["noindex", "nofollow"], "ETag": '"1"', "Empty": []}
)


@pytest.mark.parametrize("name", [b"Content-Type", b"X-Robots-Tag", b"Etag", b"Location", b"Empty"])
def test_a_field_is_found_as_scrapy_finds_it(name: bytes) -> None:
    assert header_fields.last(HEADERS, name) == HEADERS.get(name)
    assert header_fields.values(HEADERS, name) == HEADERS.getlist(name)


def test_fields_that_were_set_later_are_found() -> None:
    request = Request("http://a.test/")
    assert header_fields.last(request.headers, b"Connection") is None
    request.headers["connection"] = "close"
    assert header_fields.last(request.headers, b"Connection") == b"close"
