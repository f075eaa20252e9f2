"""What a page in a browser gets for its requests, without a browser: a route that only notes how it was answered."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, OrderedDict
from importlib import import_module
from types import ModuleType, SimpleNamespace

import pytest
from scrapy.http import Headers, HtmlResponse, Request, Response

from webcrawl.refusal import Refused

HERE = "http://a.test"
MODULE = "webcrawl.downloadermiddlewares.browser"


class PlaywrightError(Exception):
    """Stands for playwright's."""


class Handler:
    """Stands for scrapy-playwright's: its page does what ``script`` says, which gets the page."""

    async def download_request(self, request):
        tab = Tab()
        await request.meta["playwright_page_init_callback"](tab, request)
        assert await tab.ask(request.url, "document", frame=tab.main_frame) == (200, b"document")
        await self.script(tab)
        return HtmlResponse(request.url, body=b"drawn")


@pytest.fixture
def browser(monkeypatch):
    """The module, imported where neither playwright nor scrapy-playwright is installed."""
    playwright, package = ModuleType("playwright.async_api"), ModuleType("scrapy_playwright.handler")
    playwright.Error, playwright.TimeoutError = PlaywrightError, TimeoutError
    package.ScrapyPlaywrightDownloadHandler = Handler
    for one in (playwright, package):
        monkeypatch.setitem(sys.modules, one.__name__.partition(".")[0], ModuleType("package"))
        monkeypatch.setitem(sys.modules, one.__name__, one)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    yield import_module(MODULE)
    sys.modules.pop(MODULE, None)


class Route:
    """Notes how the browser is answered."""

    def __init__(self):
        self.answer = None

    async def fulfill(self, *, status, headers, body):
        self.answer = (status, body)

    async def abort(self, reason):
        self.answer = reason

    async def continue_(self):
        self.answer = "continued"


class Tab:
    """A page of a browser without cookies."""

    def __init__(self):
        self.main_frame, self.context = object(), self

    async def cookies(self, url):
        return []

    def set_default_timeout(self, milliseconds):
        """There is nothing that takes time."""

    def is_closed(self):
        return True

    async def route(self, pattern, take):
        self.take = take

    async def ask(self, url, kind="fetch", *, frame=None, route=None):
        """How a request is answered."""
        asked, route = Asked(url, kind, frame), route or Route()
        await self.take(route, asked)
        return route.answer


class Asked:
    """A request of a page; ``frame``: that which it would load."""

    method, post_data_buffer = "GET", None

    def __init__(self, url, kind, frame):
        self.url, self.resource_type, self.frame = url, kind, frame

    def is_navigation_request(self):
        return self.frame is not None

    async def all_headers(self):
        return {"accept": "*/*", "host": "other.test", "user-agent": "Chromium"}


class Crawl:
    """The part of a crawl by which embeds are fetched; ``sent``: requests that reached it."""

    def __init__(self, browser, answers, embeds_max=100):
        made = browser.Browser.__new__(browser.Browser)
        self.sent, self.engine, self.counted = [], self, Counter()
        self.answers = answers
        made.embeds_max, made.types, made.abort_request = embeds_max, {"fetch", "script", "document"}, None
        made.stats = SimpleNamespace(inc_value=lambda name: self.counted.update([name.partition("/")[2]]))
        made._of_crawl, made.seconds, made._maxsize = self, 3.0, 100
        made._resources, made._kept_bytes = OrderedDict(), 0
        self._browser = made

    async def download_async(self, request):
        self.sent.append(request)
        await asyncio.sleep(0)
        answer = self.answers[request.url.removeprefix(HERE)]
        if isinstance(answer, Exception):
            raise answer
        return answer.replace(url=request.url, request=request)

    async def draw(self, script):
        """Draw a page with that script."""
        self._browser.script = script
        document = HtmlResponse(f"{HERE}/page", body=b"document")
        drawn = await self._browser.draw(Request(document.url), document)
        assert drawn.body == b"drawn"

    def asked(self):
        """How often which path was asked for."""
        return Counter(request.url.removeprefix(HERE) for request in self.sent)


def answered(body=b"", status=200, **headers):
    return Response(HERE, status, Headers({name: [value] for name, value in headers.items()}), body)


def test_requests_beyond_the_limit_of_a_page_are_not_sent(browser, runner):
    crawl = Crawl(browser, {"/a": answered(b"a")}, embeds_max=2)

    async def script(tab):
        answers = [await tab.ask(f"{HERE}/a") for _ in range(4)]
        assert answers == [(200, b"a")] * 2 + ["failed"] * 2

    runner.run(crawl.draw(script))
    runner.run(crawl.draw(script))
    assert len(crawl.sent) == 4
    assert crawl.counted == {"embeds": 4, "refused/limit": 4}


def test_types_that_are_not_wanted_are_not_sent_and_what_has_no_host_is_left_alone(browser, runner):
    crawl = Crawl(browser, {})

    async def script(tab):
        assert await tab.ask(f"{HERE}/a.png", "image") == "failed"
        assert await tab.ask("data:text/plain,a", "image") == "continued"

    runner.run(crawl.draw(script))
    assert crawl.sent == []
    assert crawl.counted == {"refused/type": 1}


def test_a_refused_embed_fails_alone_and_a_refused_page_ends_the_visit(browser, runner):
    refused = Refused("robots", "/secret")
    crawl, reached = Crawl(browser, {"/secret": refused}), []

    async def script(tab):
        assert await tab.ask(f"{HERE}/secret", "script") == "failed"
        assert await tab.ask(f"{HERE}/secret", "document", frame=object()) == "failed"
        await asyncio.sleep(0)
        reached.append("an embed")
        assert await tab.ask(f"{HERE}/secret", "document", frame=tab.main_frame) == "aborted"
        await asyncio.Event().wait()

    with pytest.raises(Refused) as raised:
        runner.run(crawl.draw(script))
    assert raised.value is refused
    assert reached == ["an embed"]
    assert crawl.counted == {"embeds": 2, "navigations": 1, "refused/robots": 3}


def test_the_browser_learns_where_a_page_leads_and_the_crawl_sends_its_own_user_agent(browser, runner):
    crawl = Crawl(browser, {"/old": answered(status=302, Location="/new?a=1&b=2")})

    async def script(tab):
        forward = b'<meta http-equiv="refresh" content="0; url=http://a.test/new?a=1&amp;b=2">'
        assert await tab.ask(f"{HERE}/old", "document", frame=tab.main_frame) == (200, forward)

    runner.run(crawl.draw(script))
    [sent] = crawl.sent
    assert sent.headers.to_unicode_dict() == {"Accept": "*/*"}
    assert sent.meta["dont_redirect"]


def test_a_script_is_fetched_once_for_all_pages_unless_it_failed_or_may_not_be_kept(browser, runner):
    answers = {
        "/a.js": answered(b"a"),
        "/gone.js": answered(status=404),
        "/secret.js": answered(b"s", **{"Cache-Control": "no-store"}),
        "/broken.js": OSError(),
    }
    crawl = Crawl(browser, answers)

    async def script(tab):
        for path in answers:
            await asyncio.gather(*[tab.ask(f"{HERE}{path}", "script") for _ in range(2)])

    async def draw():
        await crawl.draw(script)
        await crawl.draw(script)

    runner.run(draw())
    assert crawl.asked() == {"/a.js": 1, "/gone.js": 2, "/secret.js": 2, "/broken.js": 2}


def test_what_is_kept_has_a_limit(browser, runner, monkeypatch):
    monkeypatch.setattr(browser, "KEPT_BYTES", 10)
    crawl = Crawl(browser, {path: answered(b"12345678") for path in ("/a.js", "/b.js")})

    async def script(tab):
        for path in ("/a.js", "/b.js", "/b.js", "/a.js"):
            assert await tab.ask(f"{HERE}{path}", "script") == (200, b"12345678")

    runner.run(crawl.draw(script))
    assert crawl.asked() == {"/a.js": 2, "/b.js": 1}


def test_headers_of_a_response_are_given_without_those_of_its_coding(browser, runner):
    class Noting(Route):
        async def fulfill(self, *, status, headers, body):
            self.answer = headers

    crawl = Crawl(browser, {"/a": answered(**{"Content-Encoding": "gzip", "Vary": "Accept"})})
    crawl.answers["/a"].headers.setlist("Set-Cookie", ["a=1", "b=2"])

    async def script(tab):
        given = await tab.ask(f"{HERE}/a", route=Noting())
        assert given == {"Set-Cookie": "a=1\nb=2", "Vary": "Accept"}

    runner.run(crawl.draw(script))
