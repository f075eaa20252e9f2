"""The idiom of nearly every package's README: middlewares and extensions of a spider's own, by custom_settings."""

from scrapy import Request, Spider
from scrapy.downloadermiddlewares.retry import get_retry_request


class Idiom(Spider):
    """-a origin=... ; follows one link, as Scrapy's tutorial does."""

    name = "idiom"
    custom_settings = {  # noqa: RUF012 - Scrapy's convention
        "DOWNLOADER_MIDDLEWARES": {"tests.crawl.ordinary.middlewares.Marking": 543},
        "SPIDER_MIDDLEWARES": {"scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": 50},
        "EXTENSIONS": {"scrapy.extensions.corestats.CoreStats": 500},
        "DOWNLOAD_HANDLERS": {"ftp": None},
        "FEED_EXPORTERS": {"own": "scrapy.exporters.JsonLinesItemExporter"},
    }

    async def start(self):
        yield Request(f"{self.origin}/x/echo?first")

    def parse(self, response):
        yield {"sent": response.text}
        if "first" in response.url:
            yield response.follow("/x/echo?second")


class Again(Spider):
    """-a origin=... ; asks for a page again and again, in the way that Scrapy documents."""

    name = "again"

    async def start(self):
        yield Request(f"{self.origin}/x/ok?again", errback=self.failed)
        yield Request(f"{self.origin}/x/status?code=404", errback=self.failed)

    def parse(self, response):
        yield {"times": response.meta.get("retry_times", 0)}
        yield get_retry_request(response.request, spider=self, reason="not good enough")

    def failed(self, failure):
        yield get_retry_request(failure.request, spider=self, reason="gone")
