"""Scrapy's statistics of requests and responses under Scrapy's names, counted in batches."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.downloadermiddlewares.stats import get_status_size
from scrapy.exceptions import NotConfigured
from scrapy.utils.python import global_object_name

from webcrawl.fetching.meta import KEY, FetchMeta
from webcrawl.frontier.records import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Request, Response
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
        # The names of statistics are made in ``flush``, and not for every request.
        self._methods: defaultdict[str, int] = defaultdict(int)
        self._statuses: defaultdict[int, int] = defaultdict(int)
        self._others: defaultdict[str, int] = defaultdict(int)
        """The counts that few requests have, by the name of the statistic."""
        self._request_bytes = self._response_bytes = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.getbool("DOWNLOADER_STATS"):
            raise NotConfigured
        middleware = cls(crawler.stats)
        crawler.signals.connect(middleware.flush, signal=signals.spider_closed)
        return middleware

    def flush(self) -> None:
        """Add the counts since the last call to the statistics."""
        for name, number in self._take_counts():
            self._stats.inc_value(name, number)

    def _take_counts(self) -> Iterator[tuple[str, int]]:
        """Yield the names and counts since the last call."""
        methods, statuses, others = dict(self._methods), dict(self._statuses), dict(self._others)
        sent, received = self._request_bytes, self._response_bytes
        for counts in (self._methods, self._statuses, self._others):
            counts.clear()
        self._request_bytes = self._response_bytes = 0
        if methods:
            yield "downloader/request_count", sum(methods.values())
            yield "downloader/request_bytes", sent
        for method, number in methods.items():
            yield f"downloader/request_method_count/{method}", number
        if statuses:
            yield "downloader/response_count", sum(statuses.values())
            lines = sum(
                number * (get_status_size(status) + _RESPONSE_ENDS) for status, number in statuses.items()
            )
            yield "downloader/response_bytes", received + lines
        for status, number in statuses.items():
            yield f"downloader/response_status_count/{status}", number
        yield from others.items()

    def process_request(self, request: Request) -> None:
        self._methods[request.method] += 1
        self._request_bytes += _size(request)
        if _is_robots(request):
            self._others["robotstxt/request_count"] += 1

    def process_response(self, request: Request, response: Response) -> Response:
        self._statuses[response.status] += 1
        self._response_bytes += len(response.body) + _fields_size(response.headers)
        if _is_robots(request):
            self._others["robotstxt/response_count"] += 1
            self._others[f"robotstxt/response_status_count/{response.status}"] += 1
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        kind, counts = type(exception), self._others
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
    fields = _fields_size(request.headers) + 2 if request.headers else 0
    return len(request.method) + target + _REQUEST_LINE + fields + len(request.body)


def _fields_size(headers: Headers) -> int:
    """Return the number of bytes of header fields as Scrapy's ``get_header_size`` counts them, whose look-up of each
    field by its name takes most of its time.
    """
    size = 0
    for name, values in dict.items(headers):
        for value in values:
            size += len(name) + len(value) + 2
    return size + 2 * (len(headers) - 1)
