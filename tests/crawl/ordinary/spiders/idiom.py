"""The idiom of nearly every package's README: middlewares and extensions of a spider's own, by custom_settings."""

from scrapy import Request, Spider


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
