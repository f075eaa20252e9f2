"""Requests, responses and exceptions are counted as by Scrapy's own middleware."""

from __future__ import annotations

import pytest
from scrapy.downloadermiddlewares.stats import DownloaderStats
from scrapy.exceptions import DownloadTimeoutError, NotConfigured
from scrapy.http import Request, Response
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from webcrawl.downloadermiddlewares.stats import StatsMiddleware
from webcrawl.extensions.frontier_stats import figures
from webcrawl.fetching.meta import KEY, FetchMeta
from webcrawl.frontier.records import Kind
from webcrawl.frontier.tally import Tally
from webcrawl.storage.contract import Committed

REQUESTS = [
    Request("http://a.test/"),
    Request("https://a.test:8443/b/c?d=e&f", headers={"X-One": "1", "X-Two": "2"}),
    Request("http://a.test/post", method="POST", body=b"some text"),
]
RESPONSES = [
    Response(
        "http://a.test/", body=b"text", headers={"Content-Type": "text/plain", "Set-Cookie": ["a", "b"]}
    ),
    Response("http://a.test/", status=599),
]


def stats() -> MemoryStatsCollector:
    return MemoryStatsCollector(get_crawler())


def counted(collector: MemoryStatsCollector) -> dict[str, object]:
    return dict(collector.get_stats())


def test_the_figures_are_those_of_scrapys_middleware() -> None:
    ours, theirs = stats(), stats()
    for middleware in (StatsMiddleware(ours), DownloaderStats(theirs)):
        for request in REQUESTS:
            middleware.process_request(request)
            middleware.process_exception(request, DownloadTimeoutError("late"))
        for response in RESPONSES:
            middleware.process_response(REQUESTS[0], response)
        if isinstance(middleware, StatsMiddleware):
            assert counted(ours) == {}
            middleware.flush()
            middleware.flush()
    different = {"downloader/request_bytes"}
    found, expected = counted(ours), counted(theirs)
    assert {name: value for name, value in found.items() if name not in different} == {
        name: value for name, value in expected.items() if name not in different
    }
    # Scrapy leaves the port out of the Host field.
    assert found["downloader/request_bytes"] - len(":8443") == expected["downloader/request_bytes"]


def test_requests_for_robots_txt_are_in_both_counts() -> None:
    collector = stats()
    middleware = StatsMiddleware(collector)
    request = Request("http://a.test/robots.txt", meta={KEY: FetchMeta(1, Kind.ROBOTS)})
    middleware.process_request(request)
    middleware.process_response(request, RESPONSES[1])
    middleware.process_exception(request, DownloadTimeoutError("late"))
    middleware.flush()
    found = counted(collector)
    assert found["downloader/request_count"] == found["robotstxt/request_count"] == 1
    assert found["robotstxt/response_status_count/599"] == found["robotstxt/response_count"] == 1
    assert found["robotstxt/exception_count/<class 'scrapy.exceptions.DownloadTimeoutError'>"] == 1


def test_it_can_be_switched_off() -> None:
    with pytest.raises(NotConfigured):
        StatsMiddleware.from_crawler(get_crawler(settings_dict={"DOWNLOADER_STATS": False}))


def test_the_figures_of_the_frontier_have_scrapys_names() -> None:
    tally = Tally(dequeued=4)
    tally.committed(Committed(queued=[], pruned=0, total_queued=0, total_hosts=0, offered=3, turned_away=1))
    tally.refused("offsite", 7)
    tally.refused("robots", 2)
    assert {name: number for name, number in figures(tally, "disk") if number} == {
        "scheduler/dequeued": 4,
        "scheduler/dequeued/disk": 4,
        "dupefilter/filtered": 2,
        "offsite/filtered": 7,
        "robotstxt/forbidden": 2,
    }
