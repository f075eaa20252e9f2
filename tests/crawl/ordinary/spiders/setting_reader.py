"""A spider, and a part of each kind, that show which of Scrapy's settings are in force."""

import asyncio

from scrapy import Request, Spider
from scrapy.exceptions import DropItem
from scrapy.exporters import JsonItemExporter
from scrapy.extensions.httpcache import DummyPolicy, FilesystemCacheStorage
from scrapy.logformatter import LogFormatter
from scrapy.pipelines import ItemPipelineManager
from scrapy.spiderloader import SpiderLoader
from scrapy.statscollectors import MemoryStatsCollector


class SettingReader(Spider):
    """-a origin=... ; a page, what was sent for it, a status that is allowed, and an item that is dropped."""

    name = "setting_reader"
    allowed_domains = ["localhost"]  # noqa: RUF012 - Scrapy's convention
    custom_settings = {"PERIODIC_LOG_DELTA": {"include": ["own/custom"]}}  # noqa: RUF012
    download_delay = 0.01
    handle_httpstatus_list = [451]  # noqa: RUF012
    http_user, http_pass = "me", "attributed"
    user_agent = "attributed/1"

    @property
    def http_auth_domain(self):
        return self.origin.partition("//")[2]

    @property
    def start_urls(self):
        return [f"{self.origin}/x/ok?start"]

    def parse(self, response):
        if response.status == 451:
            self.logger.info("came with 451")
            return
        yield {"url": response.url, "other": "not exported"}
        if "start" in response.url:
            yield response.follow("/x/echo?sent", self.sent)
            yield response.follow("/x/status?code=404")
            yield response.follow("/x/status?code=410")
            yield response.follow("/x/status?code=451")
            yield Request("http://elsewhere.test/")
            yield {"drop": True}
            yield {"url": "é"}
            yield {"url": "third"}

    def sent(self, response):
        self.logger.info("sent %s", response.text.replace("\r\n", "|").replace("\n", "|"))
        from twisted.internet import reactor

        self.logger.info("threads %s", reactor.getThreadPool().max)
        self.logger.info("loop %s", type(asyncio.get_running_loop()).__module__)


class Marked:
    """A part of any kind, which says that it was created."""

    @classmethod
    def from_crawler(cls, crawler):
        crawler.stats.inc_value("own/parts")
        return cls()

    def process_item(self, item):
        if "drop" in item:
            raise DropItem("unwanted")
        return item


class Statistics(MemoryStatsCollector):
    """Says that it is in use."""

    def open_spider(self, spider=None):
        self.set_value("own/statistics", True)


class Pipelines(ItemPipelineManager):
    """Says that it is in use."""

    @classmethod
    def from_crawler(cls, crawler):
        crawler.stats.set_value("own/processor", True)
        return super().from_crawler(crawler)


class OwnHandler:
    """A handler for a scheme of its own."""

    lazy = False

    def __init__(self, crawler):
        crawler.stats.set_value("own/handler", True)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def download_request(self, request):
        raise NotImplementedError

    async def close(self):
        pass


class OwnExporter(JsonItemExporter):
    """A format of its own."""


class OwnLogFormatter(LogFormatter):
    """Says that it is in use."""

    def dropped(self, item, exception, response, spider):
        return {
            **super().dropped(item, exception, response, spider),
            "msg": "own word for a dropped item",
            "args": (),
        }


class NoItems:
    """Accepts no item."""

    def __init__(self, options):
        pass

    def accepts(self, item):
        return False


def uri_params(params, spider):
    """Return the parameters of the address of a feed."""
    spider.crawler.stats.set_value("own/uri_params", True)
    return {**params, "own": 1}


class OwnPolicy(DummyPolicy):
    """Stores everything."""


class OwnStorage(FilesystemCacheStorage):
    """Stores it in files."""


class OwnLoader(SpiderLoader):
    """Finds spiders."""
