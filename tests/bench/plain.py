"""The crawl to compare with: a broad crawl as Scrapy's documentation describes it, a Request for each link."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapy import Spider
from scrapy.http import Request, TextResponse
from scrapy.linkextractors import LinkExtractor


class PlainSpider(Spider):
    """Follows every link it has not seen."""

    name = "plain"
    custom_settings = {  # noqa: RUF012 - Scrapy's convention
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
        "CONCURRENT_REQUESTS": 100,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "INFO",
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "ROBOTSTXT_OBEY": True,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "EXTENSIONS": {"tests.bench.meter.Meter": 0},
    }

    def __init__(self, seeds: str) -> None:
        super().__init__()
        self.start_urls = Path(seeds).read_text().split()
        self._links = LinkExtractor()

    def parse(self, response: Any, **kwargs: Any) -> Iterator[Request]:
        if isinstance(response, TextResponse):
            for link in self._links.extract_links(response):
                yield Request(link.url)
