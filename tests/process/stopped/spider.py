"""A spider that stays at one place of a crawl until there is a file named ``go`` in its folder, for tests that stop
it there. ``-a held=callback`` and so on name the place.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import scrapy
from scrapy import signals

GO, THERE = Path("go"), Path("there")


async def hold():
    THERE.touch()  # noqa: ASYNC240
    while not GO.exists():  # noqa: ASYNC110, ASYNC240
        await asyncio.sleep(0.01)


def block():
    THERE.touch()
    while not GO.exists():
        time.sleep(0.01)


def spin():
    THERE.touch()
    while not GO.exists():
        sum(range(1000))


class StoppedSpider(scrapy.Spider):
    name = "stopped"
    held = ""

    async def start(self):
        if self.held == "start":
            await hold()
        for url in self.urls.split(","):
            yield scrapy.Request(url)

    async def parse(self, response):
        if self.held == "callback":
            block()
        elif self.held == "spin":
            spin()
        elif self.held == "await":
            await hold()
        yield {"url": response.url}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)

    async def closed(self, reason):
        if self.held == "closed":
            await hold()
        elif self.held == "blocked close":
            block()


class Pipeline:
    def __init__(self, crawler):
        self.held = crawler.spider.held

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_item(self, item):
        if self.held == "pipeline":
            await hold()
        return item


class Opening:
    """Delays the opening of the spider, when its state is open already."""

    def __init__(self, crawler):
        self.crawler = crawler
        crawler.signals.connect(self.opened, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def opened(self, spider):
        if spider.held == "opened":
            await hold()
