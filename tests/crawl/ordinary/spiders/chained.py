"""A request a host, one after the other; the last page tells how many Requests are alive."""

import gc

from scrapy import Request, Spider
from scrapy.utils.trackref import live_refs


class Chained(Spider):
    """-a origins=ORIGIN,ORIGIN,..."""

    name = "chained"

    async def start(self):
        self.left = self.origins.split(",")
        yield self.next_one()

    def next_one(self):
        return Request(f"{self.left.pop()}/x/ok")

    def parse(self, response):
        if self.left:
            yield self.next_one()
        else:
            gc.collect()
            yield {"alive": len(live_refs[Request])}
