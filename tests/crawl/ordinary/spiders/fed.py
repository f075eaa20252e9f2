"""A spider of scrapy-redis, as its documentation has them."""

from __future__ import annotations

import json

from scrapy import Request
from scrapy_redis.spiders import RedisSpider


class Fed(RedisSpider):
    """Reads ``fed:jobs``; an entry is a JSON list of a URL and a number."""

    name = "fed"
    redis_key = "%(name)s:jobs"
    max_idle_time = 2

    def make_request_from_data(self, data):
        url, number = json.loads(data)
        if number:
            yield Request(url, self.page, cb_kwargs={"number": number})

    def page(self, response, number):
        yield {"number": number, "url": response.url}
