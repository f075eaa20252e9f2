"""spidermon, as its tutorial adds it: monitors of items and of statistics, run when the spider closes."""

from scrapy import Spider
from spidermon import Monitor, MonitorSuite, monitors
from spidermon.contrib.scrapy.monitors import UnwantedHTTPCodesMonitor


@monitors.name("Items")
class ItemsMonitor(Monitor):
    @monitors.name("There are items")
    def test_there_are_items(self):
        self.assertGreaterEqual(self.data.stats.item_scraped_count, 3)


class Suite(MonitorSuite):
    monitors = [ItemsMonitor, UnwantedHTTPCodesMonitor]


class WatchedSpider(Spider):
    """-a origin=..."""

    name = "watched"
    custom_settings = {
        "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
        "SPIDERMON_ENABLED": True,
        "SPIDERMON_SPIDER_CLOSE_MONITORS": ["shop.spiders.watched.Suite"],
        "SPIDERMON_UNWANTED_HTTP_CODES": {404: 1},
    }

    def __init__(self, origin, **arguments):
        super().__init__(**arguments)
        missing = [f"{origin}/x/status?code=404&number={number}" for number in range(3)]
        self.start_urls = [*[f"{origin}/x/ok?number={number}" for number in range(3)], *missing]

    def parse(self, response):
        yield {"url": response.url}
