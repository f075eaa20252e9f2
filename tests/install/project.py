"""A project of somebody else, as Scrapy's tutorial makes it, in a folder outside of this tree; and its commands."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests import forked
from tests.commands import ROOT, Done
from tests.forked import Files

if TYPE_CHECKING:
    from collections.abc import Mapping

CRAWLING = '''
from scrapy.linkextractors import LinkExtractor
from scrapy.loader import ItemLoader
from scrapy.spiders import CrawlSpider, Rule

from shop.items import PageItem


class SiteSpider(CrawlSpider):
    """-a origin=... ; every page of the hosts."""

    name = "site"
    allowed_domains = ["localhost"]
    rules = [Rule(LinkExtractor(), callback="parse_page", follow=True)]

    def __init__(self, *args, origin="", **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = [f"{origin}/"]

    def parse_page(self, response):
        loader = ItemLoader(PageItem(), response=response)
        loader.add_value("url", response.url)
        loader.add_css("title", "title::text")
        loader.add_value("marked", response.meta["marked"])
        return loader.load_item()

    parse_start_url = parse_page
'''
LOGIN = '''
from scrapy import FormRequest, Request, Spider


class LoginSpider(Spider):
    """-a origin=... ; settings of its own, a form, cookies, cb_kwargs, an errback, a page that fails at first."""

    name = "login"
    custom_settings = {
        "DOWNLOADER_MIDDLEWARES": {"shop.middlewares.TokenMiddleware": 560},
        "RETRY_TIMES": 1,
        "DEFAULT_REQUEST_HEADERS": {"X-Shop": "one"},
    }

    async def start(self):
        yield Request(f"{self.origin}/x/header-cookies", self.greeted)

    def greeted(self, response):
        yield FormRequest(f"{self.origin}/x/echo?form", formdata={"user": "me"}, callback=self.entered,
                          cb_kwargs={"who": "me"})
        yield response.follow("/x/flaky?times=1", self.came, cb_kwargs={"what": "flaky"})
        yield response.follow("/x/status?code=404", self.came, errback=self.failed)

    def entered(self, response, who):
        sent = response.text.lower()
        yield {"who": who, "form": "user=me" in sent, "token": "x-token: yes" in sent, "cookie": "cookie: " in sent,
               "header": "x-shop: one" in sent}

    def came(self, response, what=""):
        yield {"came": what, "status": response.status}

    def failed(self, failure):
        yield {"failed": type(failure.value).__name__}
'''
ITEMS = """
import scrapy
from itemloaders.processors import TakeFirst


class PageItem(scrapy.Item):
    url = scrapy.Field(output_processor=TakeFirst())
    title = scrapy.Field(output_processor=TakeFirst())
    marked = scrapy.Field(output_processor=TakeFirst())
    seen_by = scrapy.Field()
"""
PIPELINES = """
from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem


class ShopPipeline:
    def process_item(self, item):
        adapter = ItemAdapter(item)
        if "url" in adapter:
            if not adapter.get("title"):
                raise DropItem("no title")
            adapter["seen_by"] = "pipeline"
        return item
"""
MIDDLEWARES = """
class ShopDownloaderMiddleware:
    def process_request(self, request):
        request.meta["marked"] = "yes"


class TokenMiddleware:
    def process_request(self, request):
        request.headers.setdefault("X-Token", "yes")


class ShopSpiderMiddleware:
    async def process_spider_output(self, response, result):
        async for output in result:
            yield output

    async def process_start(self, start):
        async for output in start:
            yield output
"""
EXTENSIONS = '''
from pathlib import Path

from scrapy import signals


class Counting:
    """As in Scrapy's documentation: hears of the beginning, of items and of the end."""

    def __init__(self):
        self.items = 0

    @classmethod
    def from_crawler(cls, crawler):
        extension = cls()
        crawler.signals.connect(extension.scraped, signal=signals.item_scraped)
        crawler.signals.connect(extension.closed, signal=signals.spider_closed)
        return extension

    def scraped(self, item, response, spider):
        self.items += 1

    def closed(self, spider, reason):
        Path("counted.txt").write_text(f"{self.items} {reason}")
'''
SETTINGS = """
EXTENSIONS = {"shop.extensions.Counting": 500}
FEEDS = {"items.jsonl": {"format": "jsonlines"}}
ITEM_PIPELINES = {"shop.pipelines.ShopPipeline": 300}
SPIDER_MIDDLEWARES = {"shop.middlewares.ShopSpiderMiddleware": 543}
DOWNLOADER_MIDDLEWARES = {"shop.middlewares.ShopDownloaderMiddleware": 543}
"""
FILES = {
    "items.py": ITEMS,
    "pipelines.py": PIPELINES,
    "middlewares.py": MIDDLEWARES,
    "extensions.py": EXTENSIONS,
    "spiders/site.py": CRAWLING,
    "spiders/login.py": LOGIN,
}
ADDON = 'ADDONS = {"webcrawl.Addon": 100}\n'
SECONDS = 120.0
"""A command that takes longer counts as one that does not end."""
LOOPBACK = 'TWISTED_DNS_RESOLVER = "tests.fakeweb.scrapy_names.LoopbackResolver"\n'
"""Without it Scrapy does not reach the fake web."""


@dataclass
class Project:
    """A project, and the environment in which its commands run."""

    folder: Path
    environment: Mapping[str, str]
    python: str | None = None
    """The interpreter of an environment of its own; None to fork from the one of the tests."""

    def scrapy(self, *words: str, **settings: object) -> Done:
        """Run a command in the folder of the project until it has ended."""
        given = [*words, *[word for name, value in settings.items() for word in ("-s", f"{name}={value}")]]
        with TemporaryDirectory() as home:
            files = Files(Path(os.devnull), Path(home) / "out", Path(home) / "err")
            if self.python is None:
                status = forked.scrapy(given, self.folder, self.environment, files).wait(SECONDS)
            else:
                command = [self.python, "-m", "scrapy", *given]
                with files.stdout.open("wb") as out, files.stderr.open("wb") as err:
                    status = subprocess.run(
                        command,
                        cwd=self.folder,
                        env=self.environment,
                        stdout=out,
                        stderr=err,
                        timeout=SECONDS,
                    ).returncode
            return Done(status, files.stdout.read_text(), files.stderr.read_text())

    def items(self) -> list[str]:
        """The lines of the feed, sorted."""
        return sorted((self.folder / "items.jsonl").read_text().splitlines())

    @property
    def settings(self) -> Path:
        return self.folder / "shop" / "settings.py"


def environment(*paths: Path) -> dict[str, str]:
    """The environment of a person with these folders on the path, who is in no project."""
    # Several processes begin here, each of which would compile the same modules.
    left_out = ("SCRAPY_", "WEBCRAWL_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    path = os.pathsep.join(map(str, paths))
    return {**kept, "PYTHONPATH": path, "TERM": "dumb", "COLUMNS": "200", "PYTHONWARNINGS": "ignore"}


def make(folder: Path, *paths: Path, more: str = ADDON, python: str | None = None) -> Project:
    """Make a project by ``scrapy startproject``, write the files of a tutorial, and add ``more`` to its settings."""
    folder.mkdir(parents=True)
    where = environment(*paths) if paths else environment(ROOT)
    command = [python or sys.executable, "-m", "scrapy", "startproject", "shop", str(folder)]
    subprocess.run(command, cwd=folder, env=where, check=True, stdout=subprocess.DEVNULL)
    for name, text in FILES.items():
        (folder / "shop" / name).write_text(text)
    project = Project(folder, where, python)
    with project.settings.open("a") as settings:
        settings.write(SETTINGS + more)
    return project
