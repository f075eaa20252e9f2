"""A spider whose statistics are compared: the same Requests under this crawler and under plain Scrapy."""

import json
from pathlib import Path

from scrapy import Request, Spider
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

PATHS = (
    "/x/ok?a",
    "/x/ok?b",
    "/x/ok?b",
    "/x/ok",
    "/x/status?code=404",
    "/x/status?code=500",
    "/x/redirect-chain?hops=1",
)


class Counted(Spider):
    """-a origin=... -a output=FILE ; writes its statistics to a file when it is closed."""

    name = "counted"

    def __init__(self, origin, **arguments):
        super().__init__(**arguments)
        self.origin = origin
        self.allowed_domains = [origin.split("//")[1].split(":")[0]]

    async def start(self):
        yield Request(f"{self.origin}/x/ok")

    def parse(self, response):
        yield {"url": response.url}
        if response.url.endswith("/x/ok"):
            for path in PATHS:
                yield response.follow(path)
            yield Request("http://elsewhere.test/")
            yield response.follow("/x/ok?a", method="POST")
            yield response.follow("/x/ok?b", dont_filter=True)

    def closed(self, reason):
        stats = self.crawler.stats.get_stats()
        Path(self.output).write_text(json.dumps(stats, default=str), encoding="utf-8")


class CountedRules(CrawlSpider):
    """-a origin=... ; all links of a site, as ``broad`` follows them."""

    name = "counted_rules"
    rules = (Rule(LinkExtractor(), callback="found", follow=True),)

    def __init__(self, origin, **arguments):
        super().__init__(**arguments)
        self.origin = origin
        self.allowed_domains = [origin.split("//")[1].split(":")[0]]

    async def start(self):
        # Those of start_urls are not remembered by plain Scrapy, which would fetch the page again.
        yield Request(f"{self.origin}/")

    def found(self, response):
        yield {"url": response.url}
