"""Items that others hear of, on the shortest way that an item can take."""

import asyncio

from scrapy import Request, Spider, signals


class Heard(Spider):
    """-a origin=... ; items without a pipeline, for handlers of every kind."""

    name = "heard"
    custom_settings = {  # noqa: RUF012 - Scrapy's convention
        "CONCURRENT_ITEMS": 1,
        "ITEM_PIPELINES": {"tests.crawl.ordinary.pipelines.Dropping": None},
    }

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        for handler in (spider.plain, spider.waiting, spider.failing, spider.failing_later):
            crawler.signals.connect(handler, signal=signals.item_scraped)
        crawler.signals.connect(spider.closing, signal=signals.spider_closed)
        return spider

    async def start(self):
        for number in range(3):
            yield Request(f"{self.origin}/x/ok?{number}", cb_kwargs={"number": number})

    def parse(self, response, number):
        yield {"number": number}

    def plain(self, item, response, spider):
        self.logger.info("plain: %s of %s by %s", item["number"], response.url[-1], spider.name)

    async def waiting(self, item):
        await asyncio.sleep(0)
        self.logger.info("waiting: %s", item["number"])

    def failing(self):
        raise RuntimeError("a handler fails")

    async def failing_later(self):
        raise RuntimeError("another fails later")

    def closing(self):
        self.logger.info("counted: %s", self.crawler.stats.get_value("item_scraped_count"))
