"""A crawl that hubs can reach: it subscribes politely, visits again what is pushed, and leaves when it ends."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from tests import commands
from tests.fakeweb.ports import free_port
from tests.hub import Hub

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crawl.crawling import Crawl

DELAY = 0.1
SECONDS = 60.0


@dataclass
class Site:
    """A page with a hub on 127.0.0.1, and on 127.0.0.2 one that is not answered before the test says so."""

    hub: Hub
    asked: list[tuple[str, str, float]] = field(default_factory=list)
    """Method, host and path, time."""

    async def start(self) -> None:
        self.may_end = asyncio.Event()
        application = web.Application()
        application.router.add_get("/robots.txt", self._robots)
        application.router.add_get("/", self._page)
        application.router.add_get("/slow", self._slow)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]
        await web.TCPSite(self._runner, "127.0.0.2", self.port).start()
        self.page, self.slow = f"http://127.0.0.1:{self.port}/", f"http://127.0.0.2:{self.port}/slow"

    async def stop(self) -> None:
        await self._runner.cleanup()

    def visits(self, url: str) -> int:
        return Counter(one for one, _, _ in self.asked)[url]

    def _note(self, request: web.Request) -> None:
        self.asked.append((str(request.url), request.method, time.monotonic()))

    async def _robots(self, request: web.Request) -> web.Response:
        self._note(request)
        return web.Response(text="User-agent: *\nDisallow: /private\n")

    async def _page(self, request: web.Request) -> web.Response:
        self._note(request)
        links = f'<{self.hub.url}>; rel="hub", <{self.page}>; rel="self"'
        return web.Response(text="<title>x</title>new", content_type="text/html", headers={"Link": links})

    async def _slow(self, request: web.Request) -> web.Response:
        self._note(request)
        await self.may_end.wait()
        return web.Response(text="<title>slow</title>", content_type="text/html")


async def until(crawl: Crawl, what: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not what():
        assert crawl.process.poll() is None, crawl.stderr[-4000:]
        assert time.monotonic() < deadline, crawl.stderr[-4000:]
        await asyncio.sleep(0.01)


@pytest.fixture(scope="module")
def played(start):
    """The crawl, what the site was asked, and the hub, after all is over."""

    async def play() -> tuple[Crawl, Site, Hub, list[list[int]]]:
        hub = Hub(time.time)
        await hub.start()
        site = Site(hub)
        await site.start()
        port = free_port()
        crawl = start(
            [site.page, site.slow],
            POLITENESS_MIN_DELAY=DELAY,
            WEBSUB_CALLBACK_URL=f"http://127.0.0.1:{port}/websub",
            WEBSUB_LISTEN=f"127.0.0.1:{port}",
            WEBSUB_SECRET="always",
            WEBSUB_DEBOUNCE_SECONDS=0,
            WEBSUB_UNSUBSCRIBE=True,
        )
        await until(crawl, lambda: hub.wishes)
        assert await hub.ask_back() == [True]
        [held] = hub.held.values()
        secret, held.secret = held.secret, "wrong"
        statuses = [await hub.push(site.page, b"forged")]
        held.secret = secret
        statuses.append(await hub.push(site.page, b"new"))
        await until(crawl, lambda: site.visits(site.page) == 2)
        site.may_end.set()
        await until(crawl, lambda: hub.wishes)
        assert await hub.ask_back() == [True]
        await asyncio.to_thread(crawl.wait)
        await site.stop()
        await hub.stop()
        return crawl, site, hub, statuses

    return asyncio.run(play())


def test_the_crawl_ends_well(played) -> None:
    crawl, _, _, _ = played
    crawl.assert_ended_well().assert_sound()


def test_a_signed_push_has_the_page_visited_again_and_a_forged_one_has_not(played) -> None:
    _, site, _, statuses = played
    assert statuses == [[202], [202]]
    assert site.visits(site.page) == 2


def test_hubs_are_asked_by_the_frontier(played) -> None:
    crawl, site, hub, _ = played
    lines = crawl.lines("websub")
    assert [(line["url"], line["status"], line["via"]) for line in lines] == [(hub.url, 202, site.page)] * 2
    assert {line["url"] for line in crawl.lines("robots")} >= {f"{hub.url}robots.txt"}
    assert [form["hub.mode"] for form in hub.forms] == ["subscribe", "unsubscribe"]
    times = sorted((line["start"], line["end"]) for line in crawl.log() if line["key"] == "127.0.0.1")
    assert all(start - end >= DELAY * 0.99 for (_, end), (start, _) in pairwise(times))


def test_what_only_the_hub_may_know_is_in_no_file_that_is_handed_on(played) -> None:
    crawl, _, hub, _ = played
    secret = hub.forms[0]["hub.secret"].encode()
    assert all(hub.url != record.url for record in crawl.records())
    assert all(secret not in record.content for record in crawl.records())
    assert secret not in (crawl.path / "fetch.jsonl").read_bytes()
    assert secret.decode() not in crawl.stderr


def test_when_it_has_ended_no_hub_has_a_subscription_and_neither_have_we(played, capsys, monkeypatch) -> None:
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "webcrawl.settings")
    crawl, _, hub, _ = played
    assert hub.held == {}
    listed = commands.in_process("websub", capsys)("--json", JOBDIR=crawl.path)
    assert listed.told["subscriptions"] == []
    assert "2 requests to hubs, 1 subscriptions confirmed, 0 denied; 1 pushes, 1 ignored" in crawl.stderr


def test_the_archive_is_whole_without_what_was_said_to_hubs(played, capsys, monkeypatch) -> None:
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "webcrawl.settings")
    crawl, _, _, _ = played
    checked = commands.in_process("archive", capsys)("check", str(crawl.path))
    assert (checked.status, checked.said.endswith("Nothing is wrong.\n")) == (0, True), checked.said
