"""scrapy-playwright, as its README adds it."""

from scrapy import Request, Spider
from scrapy_playwright.page import PageMethod


class DrawnSpider(Spider):
    """-a url=... -a browser=PATH"""

    name = "drawn"

    @classmethod
    def update_settings(cls, settings):
        super().update_settings(settings)
        handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
        settings.set("DOWNLOAD_HANDLERS", {"http": handler, "https": handler}, priority="spider")

    async def start(self):
        yield Request(
            self.url,
            meta={"playwright": True, "playwright_page_methods": [PageMethod("wait_for_selector", "#drawn")]},
        )

    def parse(self, response):
        yield {"drawn": response.css("#drawn::text").get(), "url": response.url}
