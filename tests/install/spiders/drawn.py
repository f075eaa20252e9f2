"""scrapy-playwright, as its README adds it."""

from scrapy import Request, Spider
from scrapy_playwright.page import PageMethod


class DrawnSpider(Spider):
    """-a urls=... , separated by commas"""

    name = "drawn"
    custom_settings = {
        "DOWNLOAD_HANDLERS": {
            "http": "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler",
            "https": "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler",
        },
    }

    async def start(self):
        for url in self.urls.split(","):
            methods = [PageMethod("wait_for_selector", "#drawn")]
            meta = {"playwright": True, "playwright_page_methods": methods}
            yield Request(url, self.parse, meta=meta, errback=self.failed)

    def parse(self, response):
        yield {"drawn": response.css("#drawn::text").get(), "url": response.url}

    def failed(self, failure):
        yield {"failed": failure.value.__class__.__name__, "url": failure.request.url}

    def closed(self, reason):
        self.logger.info("Statistics: %s", self.crawler.stats.get_stats())
