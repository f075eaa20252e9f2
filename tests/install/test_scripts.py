"""Crawls that scripts begin, as Scrapy's documentation has them: polite and resumable, with files."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter

import pytest

from tests.commands import ROOT
from tests.fakeweb import witness
from tests.install import project

DELAY = 0.2
MEASURING_ERROR = 0.005
SECONDS = 120.0
FILES = 2
SHELF = f'''
import sys

import scrapy


class Shelf(scrapy.Spider):
    name = "shelf"

    async def start(self):
        yield scrapy.Request(self.origin + "/x/ok?shelf")

    async def parse(self, response):
        asked = await self.crawler.engine.download_async(scrapy.Request(self.origin + "/x/echo?asked"))
        yield {{
            "url": response.url,
            "asked": asked.status,
            "file_urls": [f"{{self.origin}}/x/image?{{number}}" for number in range({FILES})],
        }}


def settings(origin):
    """Each crawl has a feed of its own."""
    return {{
        "FETCH_PRIVATE_ADDRESSES": True,
        "POLITENESS_KEY": "host",
        "POLITENESS_FACTOR": 0,
        "POLITENESS_MIN_DELAY": {DELAY},
        "LOG_LEVEL": "WARNING",
        "ITEM_PIPELINES": {{"scrapy.pipelines.files.FilesPipeline": 1}},
        "FILES_STORE": "files",
        "FEEDS": {{f"{{origin.partition('//')[2].partition('.')[0]}}.jsonl": {{"format": "jsonlines"}}}},
    }}


ADDON = {{"ADDONS": {{"webcrawl.Addon": 100}}}}
'''
# The same spider several times at once.
ASYNC_PROCESS = """
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from shelf import *

process = AsyncCrawlerProcess(ADDON)
for origin in sys.argv[1:]:
    process.crawl(Crawler(Shelf, ADDON | settings(origin)), origin=origin)
process.start()
"""
PROCESS = """
from scrapy.crawler import CrawlerProcess
from shelf import *

process = CrawlerProcess(ADDON | settings(sys.argv[1]) | {"JOBDIR": "job"})
process.crawl(Shelf, origin=sys.argv[1])
process.start()
"""
# One after the other, with the settings of this project.
RUNNER = """
from scrapy.crawler import CrawlerRunner
from scrapy.settings import Settings
from scrapy.utils.log import configure_logging
from scrapy.utils.reactor import install_reactor
from twisted.internet import defer

from shelf import *

install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor", "uvloop.Loop")
configure_logging()


@defer.inlineCallbacks
def crawl():
    for origin in sys.argv[1:]:
        given = Settings()
        given.setmodule("mine")
        given.setdict(settings(origin))
        yield CrawlerRunner(given).crawl(Shelf, origin=origin)
    reactor.stop()


from twisted.internet import reactor

crawl()
reactor.run()
"""
ASYNC_RUNNER = """
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.defer import deferred_f_from_coro_f
from scrapy.utils.reactor import install_reactor
from twisted.internet.task import react

from shelf import *


async def crawl(_):
    for origin in sys.argv[1:]:
        await AsyncCrawlerRunner(ADDON | settings(origin)).crawl(Shelf, origin=origin)


install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
react(deferred_f_from_coro_f(crawl))
"""


@pytest.fixture
def script(tmp_path):
    """Starts a script in a folder of its own, with the words of its command line."""
    (tmp_path / "shelf.py").write_text(SHELF)
    (tmp_path / "mine.py").write_text("from webcrawl.settings import *\n")
    environment = project.environment(ROOT, tmp_path)
    running = []

    def begin(text, *words):
        with (tmp_path / "stderr").open("w") as said:
            begun = subprocess.Popen(
                [sys.executable, "-c", text, *words], cwd=tmp_path, env=environment, stderr=said
            )
        running.append(begun)
        return begun

    yield begin
    for begun in running:
        begun.kill()
        begun.wait()


def ended(begun, folder):
    assert begun.wait(SECONDS) == 0, (folder / "stderr").read_text()
    assert "Traceback" not in (folder / "stderr").read_text()


def items(folder):
    return [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]


def assert_complete(found, origins, folder):
    assert {item["url"] for item in found} == {f"{origin}/x/ok?shelf" for origin in origins}
    for item in found:
        assert item["asked"] == 200
        assert len(item["files"]) == FILES
        assert all((folder / "files" / file["path"]).stat().st_size for file in item["files"])


def assert_polite(web):
    hits = web.hits()
    assert not witness.violations(hits, lambda hit: DELAY, tolerance=MEASURING_ERROR)
    assert all(of_host[0].is_robots for of_host in witness.by_key(hits, witness.host_of).values())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ASYNC_PROCESS, id="async-process"),
        pytest.param(RUNNER, id="runner"),
        pytest.param(ASYNC_RUNNER, id="async-runner", marks=pytest.mark.soak),
    ],
)
def test_crawls_of_a_script_have_files_and_inline_requests_in_the_turns_of_their_hosts(
    script, serve, tmp_path, text
):
    web = serve(hosts=2, pages=2)
    origins = [web.web.origin(number) for number in range(2)]
    ended(script(text, *origins), tmp_path)

    assert_complete(items(tmp_path), origins, tmp_path)
    assert_polite(web)
    assert set(Counter((hit.host, hit.path) for hit in web.hits()).values()) == {1}
    assert len(list((tmp_path / "crawls").glob("*/report.html"))) == len(origins)


def test_a_script_that_was_killed_among_files_goes_on_when_it_is_run_again(script, serve, tmp_path):
    web = serve(hosts=1, pages=1)
    origins = [web.web.origin(0)]
    first = script(PROCESS, *origins)
    until = time.monotonic() + SECONDS
    while not any("image" in hit.path for hit in web.hits()):
        assert time.monotonic() < until, (tmp_path / "stderr").read_text()
        time.sleep(0.01)
    first.kill()
    first.wait()
    ended(script(PROCESS, *origins), tmp_path)

    assert_complete(items(tmp_path), origins, tmp_path)
    assert_polite(web)
