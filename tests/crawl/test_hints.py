"""A crawl that goes on reads sitemaps again, when a hub says so too, and visits earlier what they say has changed."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from tests.crawl.test_websub import until
from tests.fakeweb.ports import free_port
from tests.hub import Hub
from webcrawl.features.hints.trust import Trust
from webcrawl.features.revisits.estimate import History

if TYPE_CHECKING:
    from tests.crawl.crawling import Crawl

INTERVAL = 100_000.0
LISTING = """<?xml version="1.0"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>{root}</loc><lastmod>{at}</lastmod></url>
<url><loc>{root}other</loc><lastmod>2001-01-01</lastmod></url>
<url><loc>http://elsewhere.test/</loc><lastmod>{at}</lastmod></url>
</urlset>"""


class Site:
    """A page, another one, and a sitemap that has a hub."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.changed_at = time.time() - 1000
        self.listed = 0

    async def start(self) -> None:
        application = web.Application()
        application.router.add_get("/robots.txt", self._robots)
        application.router.add_get("/sitemap.xml", self._sitemap)
        application.router.add_get("/", self._page)
        application.router.add_get("/other", self._page)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.root = f"http://127.0.0.1:{self._runner.addresses[0][1]}/"

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _robots(self, request: web.Request) -> web.Response:
        return web.Response(text=f"Sitemap: {self.root}sitemap.xml\n")

    async def _sitemap(self, request: web.Request) -> web.Response:
        self.listed += 1
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.changed_at))
        links = f'<{self.hub.url}>; rel="hub", <{self.root}sitemap.xml>; rel="self"'
        listing = LISTING.format(root=self.root, at=at)
        return web.Response(text=listing, content_type="text/xml", headers={"Link": links})

    async def _page(self, request: web.Request) -> web.Response:
        return web.Response(text=f"<title>{request.path}</title>", content_type="text/html")


@pytest.fixture(scope="module")
def played(start):
    async def play() -> tuple[Crawl, Site]:
        hub = Hub(time.time)
        await hub.start()
        site = Site(hub)
        await site.start()
        port = free_port()
        crawl = start(
            [site.root],
            CRAWL_MODE="continuous",
            REVISIT_POLICY="fixed",
            REVISIT_INTERVAL_SECONDS=INTERVAL,
            POLITENESS_MIN_DELAY=0.01,
            WEBSUB_CALLBACK_URL=f"http://127.0.0.1:{port}/",
            WEBSUB_LISTEN=f"127.0.0.1:{port}",
        )
        await until(crawl, lambda: hub.wishes and len(crawl.lines()) >= 2)
        assert await hub.ask_back() == [True]
        # The time of a sitemap has whole seconds, and is to lie behind the visits.
        site.changed_at = time.time() + 1
        assert await hub.push(f"{site.root}sitemap.xml", b"new") == [202]
        await until(crawl, lambda: len(crawl.lines("sitemap")) >= 2)
        crawl.signal(signal.SIGTERM)
        await asyncio.to_thread(crawl.wait)
        await site.stop()
        await hub.stop()
        return crawl, site

    return asyncio.run(play())


def test_the_crawl_ends_well(played) -> None:
    crawl, _ = played
    crawl.assert_ended_well().assert_sound()


def test_a_sitemap_that_is_pushed_is_read_again(played) -> None:
    crawl, site = played
    assert site.listed == 2
    assert [line.get("hints") for line in crawl.lines("sitemap")] == [0, 1]


def test_a_page_that_it_says_has_changed_is_due_earlier_and_no_other_is(played) -> None:
    crawl, site = played
    pages = {url: page for url, page in crawl.remembered().items() if page.kind == "page"}
    waits = {url: page.next_at - History.of(page.history).last_at for url, page in pages.items()}
    assert waits.pop(site.root) == pytest.approx(INTERVAL / 2, abs=1)
    assert waits.pop(f"{site.root}other") == pytest.approx(INTERVAL, abs=5)
    assert waits == {}


def test_what_was_claimed_is_remembered_until_it_can_be_judged(played) -> None:
    crawl, _ = played
    with closing(sqlite3.connect(crawl.path / "hints.db")) as opened:
        [(key, said)] = opened.execute("SELECT partition, value FROM hints").fetchall()
    assert key == b"127.0.0.1"
    assert len(Trust.of(said).marks) == 1
