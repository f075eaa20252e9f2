"""The crawl's data in ``Request.meta`` is typed, travels with copies, and is not shared where that harms."""

from __future__ import annotations

import pytest
from scrapy import Request

from webcrawl.archive.capture import Capture
from webcrawl.fetching.meta import KEY, FetchMeta, begin_fetch, detach, fetch_meta


def _full() -> Request:
    request = Request("http://a.example/")
    capture = Capture("http://a.example/", "GET", 1.0, 2.0, None, b"", b"", b"", b"")
    request.meta[KEY] = FetchMeta(
        7, "robots", "a.example", 3, "http://b.example/", ("text/*",), 100, capture, "bad gzip"
    )
    return request


def test_it_is_made_when_absent_and_then_stays() -> None:
    request = Request("http://a.example/")
    made = fetch_meta(request)
    assert made == FetchMeta()
    assert fetch_meta(request) is made
    assert list(request.meta) == ["webcrawl"]


def test_it_travels_with_copies_of_the_request() -> None:
    request = _full()
    for copy in (request.copy(), request.replace(url="http://c.example/")):
        assert fetch_meta(copy) is fetch_meta(request)


def test_a_fetch_gets_its_own_and_keeps_the_lease() -> None:
    request = _full()
    copy = request.replace(url="http://c.example/")
    own = begin_fetch(copy)
    assert own is fetch_meta(copy)
    assert own == FetchMeta(7, "robots", "a.example", 3, "http://b.example/", ("text/*",), 100)
    assert fetch_meta(request).capture is not None


def test_a_request_on_its_way_into_a_queue_has_no_lease() -> None:
    request = _full()
    copy = request.copy()
    assert detach(copy).lease_id is None
    assert fetch_meta(copy).depth == 3
    assert fetch_meta(copy).capture is None
    assert fetch_meta(request).lease_id == 7


def test_the_key_is_ours_alone() -> None:
    with pytest.raises(TypeError, match="reserved for FetchMeta"):
        fetch_meta(Request("http://a.example/", meta={KEY: {"depth": 1}}))
