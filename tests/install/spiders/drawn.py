"""scrapy-playwright, as its README adds it."""

from scrapy import Request, Spider
from scrapy_playwright.page import PageMethod


class DrawnSpider(Spider):
    """-a url=..."""

    name = "drawn"
    custom_settings = {
        "DOWNLOAD_HANDLERS": {
            "http": "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler",
            "https": "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler",
        },
    }

    async def start(self):
        yield Request(
            self.url,
            meta={"playwright": True, "playwright_page_methods": [PageMethod("wait_for_selector", "#drawn")]},
        )

    def parse(self, response):
        yield {"drawn": response.css("#drawn::text").get(), "url": response.url}
