"""The code of a project meets pages only: robots.txt does not pass through it. What it raises is shown at once."""

from __future__ import annotations

import pytest

from tests.install import home

SPIDERS = '''
from scrapy import Request, Spider, signals
from scrapy.exceptions import StopDownload


class Base(Spider):
    """-a origin=... ; a page, and one that robots.txt forbids, with a callback and an errback."""

    def __init__(self, *args, origin="", **kwargs):
        super().__init__(*args, **kwargs)
        self.origin = origin

    async def start(self):
        yield Request(f"{self.origin}/x", self.came, errback=self.failed)
        yield Request(f"{self.origin}/page", self.came, errback=self.failed)

    def came(self, response):
        yield {"came": response.url, "flags": response.flags}

    def failed(self, failure):
        yield {"failed": type(failure.value).__name__}


class Stopping(Base):
    name = "stopping"

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.received, signal=signals.bytes_received)
        crawler.signals.connect(spider.received, signal=signals.headers_received)
        return spider

    def received(self, request, spider, **more):
        raise StopDownload(fail=False)


class Plain(Base):
    name = "plain"


class Loud(Base):
    """Without an errback."""

    name = "loud"

    async def start(self):
        yield Request(f"{self.origin}/page", self.came)


class Bare(Base):
    """As Scrapy allows it: without an attribute ``crawler``."""

    name = "bare"

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = cls(*args, **kwargs)
        spider.settings = crawler.settings
        return spider
'''
MIDDLEWARES = '''
class Html:
    def process_response(self, request, response):
        response.css("title").get()
        return response


class Named:
    def process_request(self, request):
        request.meta["callback"] = request.callback.__name__


class Dividing:
    def process_request(self, request):
        1 / 0


class OwnProxy:
    """A proxy is the way to the host: it has to see all requests."""

    def process_request(self, request):
        request.headers["X-Through"] = "proxy"
'''


HTTP11 = {"DOWNLOAD_HANDLERS": '{"http": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"}'}
"""Scrapy's own download handler, which sends the signals of a download by itself."""


def middleware(name):
    return {"DOWNLOADER_MIDDLEWARES": f'{{"home.middlewares.{name}": 543}}'}


@pytest.fixture(scope="module")
def project(folder):
    return home.bare(folder / "home", spiders=SPIDERS, middlewares=MIDDLEWARES)


@pytest.mark.parametrize(
    ("spider", "settings", "item"),
    [
        ("stopping", {}, '"flags": ["download_stopped"]'),
        ("stopping", HTTP11, '"flags": ["download_stopped"]'),
        ("plain", middleware("Html"), '"came"'),
        ("plain", middleware("Named"), '"came"'),
        ("plain", middleware("Dividing"), '"failed": "ZeroDivisionError"'),
        ("plain", middleware("OwnProxy"), '"came"'),
        ("bare", {}, '"came"'),
    ],
)
def test_an_accident_with_pages_is_none_of_the_host(project, spider, settings, item):
    pages = {"/robots.txt": home.text("User-agent: *\nDisallow: /x\n"), "/page": home.page()}
    with home.served(pages) as site:
        done = project.scrapy("crawl", spider, "-a", f"origin={site.origin}", "-O", "-:jsonlines", **settings)

    assert done.status == 0, done.err
    assert item in done.out, done.err
    assert site.paths()[0] == "/robots.txt"
    assert site.paths()[1:] == ["/page"] * ("came" in item or "flags" in item)
    assert "cannot be reached" not in done.err


def test_what_a_middleware_raises_is_shown_with_its_traceback(project):
    with home.served({"/page": home.page()}) as site:
        done = project.scrapy("crawl", "loud", "-a", f"origin={site.origin}", **middleware("Dividing"))

    assert "Traceback" in done.err
    assert "1 / 0" in done.err
    assert "ZeroDivisionError" in done.err
