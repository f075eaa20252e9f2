"""The spider of a plain Scrapy project: as ``scrapy genspider -t crawl`` makes it, or for sitemaps."""

import json
import os

import scrapy
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider

ORDER = json.loads(os.environ["GAUNTLET_ORDER"])


class Links(CrawlSpider):
    start_urls = ORDER["seeds"]
    rules = (Rule(LinkExtractor(deny_domains=ORDER["excluded"]), callback="parse_item", follow=True),)

    def parse_item(self, response):
        return {"url": response.url}


class Sitemaps(SitemapSpider):
    sitemap_urls = [  # noqa: RUF012
        f"{seed}robots.txt" for seed in ORDER["seeds"]
    ]

    async def start(self):
        async for request in super().start():
            yield request
        for seed in ORDER["seeds"]:
            yield scrapy.Request(seed, self.parse)

    def parse(self, response):
        yield {"url": response.url}
        for link in LinkExtractor().extract_links(response):
            yield response.follow(link, self.parse)


Base = Sitemaps if "sitemaps" in ORDER["subjects"] else Links


class GauntletSpider(Base):
    name = "gauntlet"
