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
            yield self.drawing(url)

    def drawing(self, url):
        methods = [PageMethod("wait_for_selector", "#drawn")]
        meta = {"playwright": True, "playwright_page_methods": methods}
        if url.endswith("/kept"):
            meta["playwright_include_page"] = True
        return Request(url, self.parse, meta=meta, errback=self.failed)

    async def parse(self, response):
        item = {"drawn": response.css("#drawn::text").get(), "url": response.url}
        if (page := response.meta.get("playwright_page")) is not None:
            asked = await page.evaluate("fetch('/later.json').then(answer => answer.json())")
            item["later"] = asked["text"]
            await page.close()
        yield item
        for link in response.css("#next::attr(href)").getall():
            yield self.drawing(response.urljoin(link))

    def failed(self, failure):
        yield {"failed": failure.value.__class__.__name__, "url": failure.request.url}

    def closed(self, reason):
        self.logger.info("Statistics: %s", self.crawler.stats.get_stats())
