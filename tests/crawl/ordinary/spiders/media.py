"""Spiders whose items and callbacks wait for files, as Scrapy's documentation has them."""

from __future__ import annotations

import asyncio
from hashlib import sha1
from urllib.parse import quote

from scrapy import Request, Spider
from scrapy.pipelines.files import FilesPipeline
from scrapy.pipelines.images import ImagesPipeline

from webcrawl import inline_requests

CASES = ("same", "moved", "status", "flaky", "reset", "huge", "forbidden", "refused", "dead", "post", "twice")


class Files(Spider):
    """-a origins=URL,URL -a pages=N -a files=N: each page has files on all origins.

    -a page=PATH -a file=PATH: which pages and files. -a field=NAME: where items have the URLs of these.
    -a stop=SECONDS: how long they go on after a stop.
    """

    name = "files"
    custom_settings = {  # noqa: RUF012 - Scrapy's convention
        "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
    }

    page, file, field = "/x/ok?page", "/x/image?", "file_urls"

    async def start(self):
        inline_requests.STOP_SECONDS = float(getattr(self, "stop", inline_requests.STOP_SECONDS))
        self.hosts = self.origins.split(",")
        for number in range(int(self.pages)):
            for origin in self.hosts:
                yield Request(f"{origin}{self.page}{number}")

    def parse(self, response):
        page = quote(response.url, safe="")
        yield {
            "url": response.url,
            self.field: [
                f"{origin}{self.file}{page}-{number}"
                for number in range(int(self.files))
                for origin in self.hosts
            ],
        }


class Named(FilesPipeline):
    """A subclass as Scrapy's documentation has it: own requests and own paths."""

    def get_media_requests(self, item, info):
        for url in item.get("documents", ()):
            yield Request(url, headers={"X-Own": "yes"})

    def file_path(self, request, response=None, info=None, *, item=None):
        return f"{item['name']}/{sha1(request.url.encode()).hexdigest()[:8]}.bin"

    def item_completed(self, results, item, info):
        item["stored"] = [found["path"] for ok, found in results if ok]
        item["failed"] = [str(failure.value) for ok, failure in results if not ok]
        return item


class Pictures(ImagesPipeline):
    """Scrapy's own, under another name."""


class Between:
    """A downloader middleware that awaits requests before and after the one of ``between``."""

    def __init__(self, crawler):
        self._crawler = crawler
        self._of_robots = []

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_request(self, request):
        if request.url.endswith("?between"):
            spider = self._crawler.spider
            asked = spider.asked(
                "before", Request(f"{spider.origin}/x/ok?b"), Request(f"{spider.other}/x/ok?b")
            )
            request.meta["before"] = [item async for item in asked]

    async def process_response(self, request, response):
        origin = self._crawler.spider.origin
        if request.url.endswith("?between"):
            asked = self._crawler.spider.asked("after", Request(f"{origin}/x/ok?after"))
            request.meta["after"] = [item async for item in asked] + self._of_robots
        elif request.url == f"{origin}/robots.txt":
            asked = self._crawler.spider.asked("robots", Request(f"{origin}/x/ok?robots"))
            self._of_robots = [item async for item in asked]
        elif response.status == 401:
            token = await self._crawler.engine.download_async(Request(f"{origin}/x/ok?token"))
            return request.replace(url=f"{origin}/x/echo?refreshed", headers={"X-Token": str(token.status)})
        return response


class Inline(Spider):
    """-a origin=URL -a other=URL; asks for responses within callbacks, and tells what came."""

    name = "inline"
    allowed_domains = ("h0000.localhost", "h0001.localhost")
    custom_settings = {  # noqa: RUF012 - Scrapy's convention
        "ITEM_PIPELINES": {
            "tests.crawl.ordinary.spiders.media.Named": 1,
            "tests.crawl.ordinary.spiders.media.Pictures": 2,
        },
        "DOWNLOADER_MIDDLEWARES": {"tests.crawl.ordinary.spiders.media.Between": 543},
    }

    async def start(self):
        async for item in self.asked("start", Request(f"{self.origin}/x/ok?login")):
            yield item
        yield Request(f"{self.origin}/x/status?code=401", self.refreshed)
        for case in CASES:
            yield Request(f"{self.origin}/x/ok?{case}", getattr(self, case))
        yield Request(f"{self.origin}/x/ok?documents", self.documents)
        yield Request(f"{self.origin}/x/ok?between", self.between)

    async def asked(self, case, *requests):
        for request in requests:
            try:
                response = await self.crawler.engine.download_async(request)
            except Exception as error:
                yield {"case": case, "error": type(error).__name__, "why": str(error)}
            else:
                yield {
                    "case": case,
                    "status": response.status,
                    "url": response.url,
                    "bytes": len(response.body),
                    "text": response.body[:200].decode("latin-1"),
                    "mine": response.request is request,
                }

    def refreshed(self, response):
        yield {"case": "refreshed", "text": response.text}

    def same(self, response):
        return self.asked(
            "same", Request(f"{self.origin}/x/ok?inline"), Request(f"{self.other}/x/image?inline")
        )

    def moved(self, response):
        return self.asked("moved", Request(f"{self.origin}/x/redirect-chain?hops=2"))

    def status(self, response):
        return self.asked("status", Request(f"{self.origin}/x/status?code=404"))

    def flaky(self, response):
        return self.asked("flaky", Request(f"{self.origin}/x/flaky?times=1"))

    def reset(self, response):
        return self.asked("reset", Request(f"{self.origin}/x/reset"))

    def huge(self, response):
        return self.asked(
            "huge",
            Request(f"{self.origin}/x/huge-announced?bytes=3000000"),
            Request(f"{self.origin}/x/huge-chunked?bytes=3000000"),
        )

    def forbidden(self, response):
        return self.asked("forbidden", Request(f"{self.other}/private/inline"))

    def refused(self, response):
        return self.asked(
            "refused",
            Request(f"{self.origin.replace('h0000', 'h0002')}/x/ok"),
            Request("http://127.0.0.1:1/closed", dont_filter=True),
        )

    def dead(self, response):
        return self.asked("dead", Request("http://nowhere.invalid/", dont_filter=True))

    def post(self, response):
        request = Request(f"{self.origin}/x/echo?post", method="POST", body=b"a=1", headers={"X-Own": "1"})
        return self.asked("post", request)

    async def twice(self, response):
        request = Request(f"{self.origin}/x/echo?twice")
        for got in await asyncio.gather(*(self.crawler.engine.download_async(request) for _ in range(2))):
            yield {"case": "twice", "text": got.text[:20]}

    def documents(self, response):
        yield {
            "case": "documents",
            "name": "named",
            "documents": [
                f"{self.origin}/x/ok?one",
                f"{self.other}/x/status?code=404",
                f"{self.origin}/x/ok?one",
            ],
            "image_urls": [f"{self.other}/x/image?small"],
        }

    def between(self, response):
        return response.meta["before"] + response.meta["after"]
