"""The start and the end of crawls of somebody's project: what is refused, what is kept in memory, what is said."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.install import home

SPIDERS = '''
from scrapy import Spider


class Public(Spider):
    name = "public"
    start_urls = ["https://www.wikipedia.org/"]


class Local(Spider):
    """-a origin=..."""

    name = "local"

    def __init__(self, *args, origin="", **kwargs):
        super().__init__(*args, **kwargs)
        self.start_urls = [f"{origin}/{number}" for number in range(3)]

    def parse(self, response):
        yield {"url": response.url}
'''
SCRIPT = """
import asyncio, gc, sys, weakref
from twisted.internet import asyncioreactor
asyncioreactor.install()
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.utils.log import configure_logging
from scrapy.utils.project import get_project_settings
from scrapy.utils.reactor import is_asyncio_reactor_installed
from twisted.internet import reactor
from twisted.internet.defer import Deferred

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6

async def crawls():
    runner = AsyncCrawlerRunner(settings)
    kept, sizes = [], []
    for number in range(7):
        crawler = runner.create_crawler("local")
        await runner.crawl(crawler, origin=sys.argv[1])
        kept.append(weakref.ref(crawler))
        crawler = None
        await asyncio.sleep(0.05)
        gc.collect()
        sizes.append(resident())
    alive = sum(reference() is not None for reference in kept)
    print(f"alive {alive} grown {sizes[-1] - sizes[1]:.0f}")
    await asyncio.sleep(float(sys.argv[2]))

settings = get_project_settings()
configure_logging(settings)
def done(_):
    reactor.stop()
reactor.callWhenRunning(lambda: Deferred.fromFuture(asyncio.ensure_future(crawls())).addBoth(done))
reactor.run()
"""


def test_a_crawl_that_may_fetch_nothing_for_want_of_a_contact_does_not_start(folder):
    project = home.bare(folder / "nobody", 'CRAWLER_CONTACT = ""\n', spiders=SPIDERS)
    feed = project.folder / "items.jsonl"
    feed.write_text("of the last crawl\n")
    done = project.scrapy("crawl", "public", "-O", "items.jsonl")

    assert done.status == 2, done.err
    assert "CRAWLER_CONTACT" in done.err
    assert feed.read_text() == "of the last crawl\n"


def test_a_process_with_many_crawls_keeps_none_of_them(folder):
    project = home.bare(folder / "many", spiders=SPIDERS)
    (project.folder / "many.py").write_text(SCRIPT)
    with home.served({f"/{number}": home.page() for number in range(3)}) as site:
        done = subprocess.run(
            [sys.executable, "many.py", site.origin, "0"],
            cwd=project.folder,
            env=project.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    (line,) = [line for line in done.stdout.splitlines() if line.startswith("alive")] or [done.stderr[-3000:]]
    _, alive, _, grown = line.split()
    # The last one is held by the loop's present task.
    assert int(alive) <= 1, line
    assert float(grown) < 15, line
    assert len(site.hits) == 7 * 4
    assert "Stopping for" not in done.stderr


@pytest.mark.parametrize("words", ["fetch(scrapy.Request('{0}'))", "fetch('{0}', redirect=False)"])
def test_scrapys_own_shell_gets_what_it_asks_for(tmp_path, words):
    """It gives a Request to the engine, and sets its callback afterwards. Where the package is on the path alone, the
    commands are Scrapy's."""
    project = home.bare(tmp_path / "home")
    with home.served({"/page": home.page()}) as site:
        done = project.scrapy("shell", "-c", words.format(f"{site.origin}/page"))

    assert done.status == 0, done.err
    assert site.paths() == ["/robots.txt", "/page"]
    assert "NotImplementedError" not in done.err
