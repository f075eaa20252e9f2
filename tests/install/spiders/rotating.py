"""scrapy-rotating-proxies, as its README adds it."""

from scrapy import Spider


class RotatingSpider(Spider):
    """-a origin=..."""

    name = "rotating"
    custom_settings = {
        "DOWNLOADER_MIDDLEWARES": {
            "rotating_proxies.middlewares.RotatingProxyMiddleware": 610,
            "rotating_proxies.middlewares.BanDetectionMiddleware": 620,
        },
    }

    def __init__(self, origin, **arguments):
        super().__init__(**arguments)
        self.start_urls = [f"{origin}/x/ok?number={number}" for number in range(3)]

    def parse(self, response):
        yield {"url": response.url}
