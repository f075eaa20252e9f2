"""Scrapy's statistics of requests and responses under Scrapy's names, counted in batches."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.downloadermiddlewares.stats import get_header_size, get_status_size
from scrapy.exceptions import NotConfigured
from scrapy.utils.python import global_object_name

from webcrawl.frontier.records import Kind
from webcrawl.meta import KEY, FetchMeta

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response
    from scrapy.statscollectors import StatsCollector

_ROBOTS = Kind.ROBOTS.value
_REQUEST_LINE = len("  HTTP/1.1\r\n") + len("Host: \r\n") + len("\r\n")
_RESPONSE_ENDS = 4
"""Line feeds that Scrapy counts for a response."""


class StatsMiddleware:
    """Counts ``downloader/*``, and ``robotstxt/*`` for requests for robots.txt, which are in both, as in Scrapy.

    ``DOWNLOADER_STATS=False`` switches it off. A body counts with the bytes that were received and kept. ``flush``
    adds the counts to the statistics, where each call takes longer than all of the counting here.
    """

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats
        self._counts: defaultdict[str, int] = defaultdict(int)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.getbool("DOWNLOADER_STATS"):
            raise NotConfigured
        middleware = cls(crawler.stats)
        crawler.signals.connect(middleware.flush, signal=signals.spider_closed)
        return middleware

    def flush(self) -> None:
        """Add the counts since the last call to the statistics."""
        for name, number in self._counts.items():
            self._stats.inc_value(name, number)
        self._counts.clear()

    def process_request(self, request: Request) -> None:
        counts = self._counts
        counts["downloader/request_count"] += 1
        counts[f"downloader/request_method_count/{request.method}"] += 1
        counts["downloader/request_bytes"] += _size(request)
        if _is_robots(request):
            counts["robotstxt/request_count"] += 1

    def process_response(self, request: Request, response: Response) -> Response:
        counts = self._counts
        counts["downloader/response_count"] += 1
        counts[f"downloader/response_status_count/{response.status}"] += 1
        head = get_header_size(response.headers) + get_status_size(response.status)
        counts["downloader/response_bytes"] += len(response.body) + head + _RESPONSE_ENDS
        if _is_robots(request):
            counts["robotstxt/response_count"] += 1
            counts[f"robotstxt/response_status_count/{response.status}"] += 1
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        kind, counts = type(exception), self._counts
        counts["downloader/exception_count"] += 1
        counts[f"downloader/exception_type_count/{global_object_name(kind)}"] += 1
        if _is_robots(request):
            counts[f"robotstxt/exception_count/{kind}"] += 1


def _is_robots(request: Request) -> bool:
    facts = request.meta.get(KEY)
    return isinstance(facts, FetchMeta) and facts.kind == _ROBOTS


def _size(request: Request) -> int:
    """Return the number of bytes of the request as Scrapy counts them, without building it."""
    url = request.url
    host = url.find("//") + 2
    target = len(url) - host if host > 1 else len(url)
    fields = get_header_size(request.headers) + 2 if request.headers else 0
    return len(request.method) + target + _REQUEST_LINE + fields + len(request.body)
