"""A crawl that meets everything of which Scrapy sends a signal."""

import sys

from scrapy import Request, Spider, signals
from scrapy.exceptions import DropItem

NAMES = [name for name, value in vars(signals).items() if type(value) is object]


class Signalled(Spider):
    """-a origin=... ; each signal is named once on standard error."""

    name = "signalled"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.receivers = []
        self.heard = set()

    def receiver_of(self, name):
        def hear(**_):
            if name not in self.heard:
                self.heard.add(name)
                print(f"heard: {name}", file=sys.stderr, flush=True)

        return hear

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        for name in NAMES:
            # Signals know their receivers weakly.
            receiver = spider.receiver_of(name)
            spider.receivers.append(receiver)
            crawler.signals.connect(receiver, signal=getattr(signals, name))
        return spider

    async def start(self):
        yield Request("ftp://ftp.localhost/out-of-scope")
        for number in range(4):
            yield Request(f"{self.origin}/x/ok?{number}", cb_kwargs={"number": number})

    def parse(self, response, number):
        if number == 3:
            raise RuntimeError("a callback fails")
        yield {"number": number}


class Judging:
    """The first item passes, the second is dropped, the third fails."""

    def process_item(self, item):
        if item["number"] == 1:
            raise DropItem("not wanted")
        if item["number"] == 2:
            raise RuntimeError("a pipeline fails")
        return item


Signalled.custom_settings = {
    "ITEM_PIPELINES": {"tests.crawl.ordinary.pipelines.Dropping": None, Judging: 1},
}
