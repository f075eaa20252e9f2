"""The spider of a project on scrapy-redis: its example ``mycrawler_redis``."""

import json
import os

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import Rule
from scrapy_redis.spiders import RedisCrawlSpider

ORDER = json.loads(os.environ["GAUNTLET_ORDER"])


class GauntletSpider(RedisCrawlSpider):
    name = "gauntlet"
    redis_key = "gauntlet:start_urls"
    rules = (Rule(LinkExtractor(deny_domains=ORDER["excluded"]), callback="parse_item", follow=True),)

    def parse_item(self, response):
        return {"url": response.url}
