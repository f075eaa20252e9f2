"""Requests get the default headers that Scrapy's middleware of the same name gives them."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request
from scrapy.downloadermiddlewares.defaultheaders import DefaultHeadersMiddleware as Scrapys
from scrapy.utils.test import get_crawler

from webcrawl.downloadermiddlewares.default_headers import DefaultHeadersMiddleware

DEFAULTS = {
    "Accept": "text/html",
    "accept-language": ["de", "en"],
    "ACCEPT": "*/*",
    "X-Number": 1,
    "X-None": None,
}


@pytest.mark.parametrize("defaults", [DEFAULTS, {}])
@pytest.mark.parametrize("own", [{}, {"accept": "image/png"}, {"Accept-Language": []}, {"X-Own": ["1", "2"]}])
def test_a_request_gets_what_it_does_not_say_itself(own: dict[str, Any], defaults: dict[str, Any]) -> None:
    crawler = get_crawler(settings_dict={"DEFAULT_REQUEST_HEADERS": defaults})
    ours, scrapys = (Request("http://a.test/", headers=own) for _ in range(2))
    DefaultHeadersMiddleware.from_crawler(crawler).process_request(ours)
    Scrapys.from_crawler(crawler).process_request(scrapys)
    assert list(ours.headers.items()) == list(scrapys.headers.items())


def test_what_is_added_to_one_request_is_not_added_to_the_next() -> None:
    middleware = DefaultHeadersMiddleware({"Accept": "text/html"}.items())
    first, second = Request("http://a.test/1"), Request("http://a.test/2")
    middleware.process_request(first)
    first.headers.appendlist("Accept", "text/plain")
    middleware.process_request(second)
    assert second.headers.getlist("Accept") == [b"text/html"]
