"""Habits of spiders for Scrapy: meta for its downloader, ``state``, and its spiders for sitemaps and feeds."""

from __future__ import annotations

from scrapy import Spider
from scrapy.spiders import SitemapSpider, XMLFeedSpider


class Habits(Spider):
    """-a origin=... ; tells what its ``state`` has at the start, and which of its Requests are refused."""

    name = "habits"

    def __init__(self, origin, **more):
        super().__init__(**more)
        self.start_urls = [f"{origin}/x/ok?start"]

    def parse(self, response):
        yield {"url": response.url}
        if "start" in response.url:
            yield {"state": dict(self.state)}
            self.state["seen"] = True
            forbidden = {"dont_obey_robotstxt": True}
            yield response.follow("/private/page", errback=self.failed, meta=forbidden)
            for slot in ("a", "b", "c"):
                yield response.follow(f"/x/ok?{slot}", meta={"download_slot": slot})

    def failed(self, failure):
        yield {"failed": failure.request.url}


class Mapped(SitemapSpider):
    """-a origin=... ; the pages of the sitemaps that robots.txt names."""

    name = "mapped"

    def __init__(self, origin, **more):
        self.sitemap_urls = [f"{origin}/robots.txt"]
        super().__init__(**more)

    def parse(self, response):
        yield {"url": response.url}


class Nodes(XMLFeedSpider):
    """-a feed=URL ; the places that a sitemap lists."""

    name = "nodes"
    iterator = "xml"
    namespaces = (("map", "http://www.sitemaps.org/schemas/sitemap/0.9"),)
    itertag = "map:url"

    def __init__(self, feed, **more):
        super().__init__(**more)
        self.start_urls = [feed]

    def parse_node(self, response, node):
        yield {"place": node.xpath("map:loc/text()").get()}
