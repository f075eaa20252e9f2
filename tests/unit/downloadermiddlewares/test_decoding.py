"""Content codings are taken off on the event loop where that is little, and on a thread where it is much."""

from __future__ import annotations

import asyncio
import gzip
import threading
from typing import TYPE_CHECKING

import pytest
from scrapy import Request
from scrapy.http import Response

from webcrawl.downloadermiddlewares.decoding import AT_ONCE_BYTES, DecodingMiddleware
from webcrawl.fetching.body_memory import BodyMemory
from webcrawl.fetching.decoding import USUAL_RATIO, Decoded, decode, expected_bytes
from webcrawl.fetching.meta import fetch_meta

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

LIMIT = 8 * 2**20


def _process(
    size: int, changed: Callable[[bytes], bytes] = bytes
) -> Response | Coroutine[Any, Any, Response]:
    """A page of that size, packed and changed, with memory enough for it."""
    middleware = DecodingMiddleware.__new__(DecodingMiddleware)
    middleware._limit = middleware._text_limit = LIMIT
    request = Request("http://a.test/")
    fetch_meta(request).account = BodyMemory(16 * LIMIT, 1).account()
    headers = {"Content-Encoding": "gzip", "Content-Type": "text/html"}
    response = Response(request.url, headers=headers, body=changed(gzip.compress(b"x" * size)))
    return middleware.process_response(request, response)


@pytest.mark.parametrize("size", [1, AT_ONCE_BYTES, AT_ONCE_BYTES + 1, LIMIT - 1, LIMIT + 1])
def test_more_than_a_megabyte_is_unfolded_on_a_thread(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    here = threading.current_thread()
    limits: list[int] = []

    def watched(payload: bytes, coding: str, limit: int) -> Decoded:
        if threading.current_thread() is here:
            limits.append(limit)
        return decode(payload, coding, limit)

    monkeypatch.setattr("webcrawl.downloadermiddlewares.decoding.decode", watched)
    processed = _process(size)
    if not isinstance(processed, Response):
        processed = asyncio.run(processed)
    assert len(processed.body) == min(size, LIMIT)
    assert ("truncated" in processed.flags) is (size > LIMIT)
    assert max(limits, default=0) <= AT_ONCE_BYTES
    assert bool(limits) is (size <= AT_ONCE_BYTES)


@pytest.mark.parametrize("size", [AT_ONCE_BYTES + 1, LIMIT + 1])
def test_a_payload_whose_end_says_that_it_is_small_is_unfolded_all_the_same(size: int) -> None:
    processed = _process(size, lambda packed: packed + bytes(4))
    assert not isinstance(processed, Response)
    assert len(asyncio.run(processed).body) == min(size, LIMIT)


def test_the_expected_size_is_that_of_the_end_of_gzip_else_a_multiple() -> None:
    assert expected_bytes(gzip.compress(b"x" * 70_000), " GZIP") == 70_000
    assert expected_bytes(b"x", "gzip") == ord("x")
    assert expected_bytes(b"", "br") == 0
    assert expected_bytes(bytes(100), "br") == 100 * USUAL_RATIO
