"""A browser without a network: scrapy-playwright draws the pages, and whatever they ask for comes from the crawl.

Each request of a page is intercepted and made an inline request (``inline_requests.py``): robots.txt, the clock of
its host, the exclusion list, private addresses and limits apply, and the archive has its exchange. What cannot be
intercepted (service workers, WebSockets, other windows, the browser's own requests) meets a proxy that refuses all
connections.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import OrderedDict
from contextlib import suppress
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin
from weakref import ref

from playwright.async_api import Error
from playwright.async_api import TimeoutError as BrowserTimeoutError
from scrapy.exceptions import DownloadFailedError, DownloadTimeoutError, NotSupported
from scrapy.http import Request
from scrapy.utils.misc import load_object
from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler

from webcrawl.archive.capture import REDIRECTS
from webcrawl.crawl.context import get_context
from webcrawl.fetching.meta import CURRENT
from webcrawl.refusal import Refused

if TYPE_CHECKING:
    from playwright.async_api import Page, Route
    from playwright.async_api import Request as Asked
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Response

logger = logging.getLogger(__name__)

ARGUMENTS = ("--force-webrtc-ip-handling-policy=disable_non_proxied_udp",)
"""Without it a page can have the browser send datagrams past the proxy."""
KEPT_BYTES = 32 << 20
"""Memory for scripts, styles, images and fonts that further pages get without another request."""
KEPT_TYPES = frozenset(("script", "stylesheet", "image", "font"))
CLOSE_SECONDS = 30.0
DEFAULT_WAIT = 30_000.0
"""Playwright's own limit of one step in milliseconds, as callbacks with the page find it."""

_NOT_SENT = frozenset(
    ("host", "user-agent", "connection", "content-length", "accept-encoding", "cookie", "proxy-connection")
)
_NOT_TOLD = frozenset(
    (b"content-encoding", b"content-length", b"transfer-encoding", b"connection", b"keep-alive")
)


class Browser(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc]
    """Chromium, as scrapy-playwright's settings ask for it."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings, configuration = crawler.settings, get_context(crawler).configuration
        self.embeds_max = configuration.browser_embeds_max
        self.types = frozenset(configuration.browser_resource_types)
        self.seconds = settings.getfloat("DOWNLOAD_TIMEOUT")
        self._maxsize = settings.getint("DOWNLOAD_TEXT_MAXSIZE") or settings.getint("DOWNLOAD_MAXSIZE")
        self._of_crawl = crawler
        self._resources: OrderedDict[str, asyncio.Task[Response]] = OrderedDict()
        self._kept_bytes = 0
        # It never listens, and no other program gets its port.
        self._wall = socket.socket()
        self._wall.bind(("127.0.0.1", 0))
        # By default Chromium uses no proxy for loopback addresses.
        server = f"http://127.0.0.1:{self._wall.getsockname()[1]}"
        self._proxy = {"server": server, "bypass": "<-loopback>"}
        options: dict[str, Any] = self.config.launch_options
        options["proxy"] = self._proxy
        options["args"] = [*options.get("args", ()), *ARGUMENTS]

    async def _create_browser_context(
        self, name: str, context_kwargs: dict[str, Any] | None, spider: Spider | None = None
    ) -> Any:
        options = {**(context_kwargs or {}), "service_workers": "block"}
        if "proxy" in options:
            raise NotSupported(
                f"The browser context {name} names a proxy, and fetches nothing itself. "
                'Set meta["proxy"] of the Request'
            )
        if "user_data_dir" in options:
            options |= {"proxy": self._proxy, "args": [*options.get("args", ()), *ARGUMENTS]}
        return await super()._create_browser_context(name, options, spider)

    async def close(self) -> None:
        """Close the browser."""
        for task in self._resources.values():
            task.cancel()
        await super().close()
        self._wall.close()

    async def add_cookies(self, request: Request) -> None:
        """Add the cookies that the browser has for a URL."""
        context = self.context_wrappers.get(request.meta.get("playwright_context", "default"))
        if context is None or b"Cookie" in request.headers:
            return
        if cookie := await _cookie(context.context, request.url):
            request.headers[b"Cookie"] = cookie

    async def draw(self, request: Request, response: Response) -> Response:
        """Return the page as the browser has drawn it. ``response``: its document as it was received.

        Raises DownloadTimeoutError, DownloadFailedError, or what an inline request raises for a URL to which the page
        leads.
        """
        visit, meta = _BrowserPage(self, request, response), request.meta
        name = "playwright_page_init_callback"
        callback = meta.get(name)

        async def begin(page: Page, drawn: Request) -> None:
            await visit.begin(page)
            if callback is not None:
                await load_object(callback)(page, drawn)

        meta[name] = begin
        try:
            async with visit.limit:
                drawn: Response = await self.download_request(request)
        except (TimeoutError, BrowserTimeoutError) as error:
            await visit.give_up()
            if visit.refusal is not None:
                raise visit.refusal from None
            raise DownloadTimeoutError(f"{request.url} was not drawn within {visit.seconds:g} s") from error
        except Error as error:
            await visit.give_up()
            raise DownloadFailedError(f"{request.url}: {error.message.partition(chr(10))[0]}") from error
        except BaseException:
            await visit.give_up()
            raise
        finally:
            del meta[name]
            if callback is not None:
                meta[name] = callback
            visit.end()
        drawn = drawn.replace(ip_address=response.ip_address, flags=[*response.flags, *drawn.flags])
        return drawn if len(drawn.body) <= self._maxsize else drawn.replace(body=drawn.body[: self._maxsize])

    async def fetch(self, request: Request, *, kept: bool) -> Response:
        """Return the response to a request of a page. ``kept``: from memory, if another page had it."""
        engine = self._of_crawl.engine
        assert engine is not None
        if not kept:
            return await engine.download_async(request)
        task = self._resources.get(request.url)
        if task is None:
            task = self._resources[request.url] = asyncio.ensure_future(engine.download_async(request))
            task.add_done_callback(partial(self._keep, request.url))
        self._resources.move_to_end(request.url)
        return await asyncio.shield(task)

    def _keep(self, url: str, task: asyncio.Task[Response]) -> None:
        if task.cancelled() or task.exception() is not None or not _may_be_kept(task.result()):
            self._resources.pop(url, None)
            return
        self._kept_bytes += len(task.result().body)
        for other, done in list(self._resources.items()):
            if self._kept_bytes <= KEPT_BYTES:
                return
            if done.done():
                del self._resources[other]
                self._kept_bytes -= len(done.result().body)

    def count(self, name: str) -> None:
        """Count in the statistics of the crawl."""
        self.stats.inc_value(f"browser/{name}")


class _BrowserPage:
    """One page in the browser, from its document to its closed tab."""

    def __init__(self, browser: Browser, request: Request, response: Response) -> None:
        self._browser = browser
        self._request = request
        self._response: Response = response
        self._document: Response | None = None
        self._page: Page | None = None
        self._embeds = self._open = 0
        self._is_over = False
        self.seconds = float(request.meta.get("download_timeout") or browser.seconds)
        self.refusal: Exception | None = None
        """The reason why the page to which this one leads is not loaded."""
        self.limit = asyncio.timeout(None)
        """Ends the visit when nothing has come for ``seconds``; turns of hosts for which it waits do not count."""

    async def begin(self, page: Page) -> None:
        """Answer the requests of a page that is about to load its document."""
        self._page, self._document = page, self._response
        # The limit of the visit takes the place of Playwright's, which would count the turns.
        page.set_default_timeout(0)
        await page.route("**", self._take)
        self._restart()

    def end(self) -> None:
        """Let the page go; a callback may have it, and its requests are still answered."""
        self._is_over = True
        if self._page is not None:
            self._page.set_default_timeout(DEFAULT_WAIT)

    async def give_up(self) -> None:
        """Close the tab."""
        self._is_over = True
        if self._page is None or self._page.is_closed():
            return
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._page.close()
        except (TimeoutError, Error) as error:
            logger.warning("The tab of %s could not be closed: %s", self._request.url, error)

    def _restart(self) -> None:
        if not self._is_over and self.refusal is None and not self.limit.expired():
            ends = asyncio.get_running_loop().time() + self.seconds
            self.limit.reschedule(None if self._open else ends)

    async def _take(self, route: Route, asked: Asked) -> None:
        # Playwright's tasks know nothing of the request for which they run.
        CURRENT.set(ref(self._request))
        # The tab may be closed meanwhile.
        with suppress(Error):
            await self._answer(route, asked)

    async def _answer(self, route: Route, asked: Asked) -> None:
        if not asked.url.startswith(("http://", "https://")):
            # data: and blob: contain their own content; nothing else leads out of the browser.
            await route.continue_()
            return
        navigates = _navigates(asked, self._page)
        if navigates and self._document is not None:
            document, self._document = self._document, None
            await route.fulfill(status=document.status, headers=_headers(document), body=document.body)
            self._restart()
            return
        if (why := await self._objection(asked)) is not None:
            self._browser.count(f"refused/{why}")
            await self._refuse(route, navigates, DownloadFailedError(f"{asked.url} is not loaded: {why}"))
            return
        self._embeds += 1
        self._open += 1
        self._restart()
        try:
            response = await self._fetched(asked, navigates)
        except Exception as error:
            self._browser.count(f"refused/{error.rule}" if isinstance(error, Refused) else "failed")
            logger.debug("%s for the browser: %s", asked.url, error)
            await self._refuse(route, navigates, error)
        else:
            await route.fulfill(status=response.status, headers=_headers(response), body=response.body)
        finally:
            self._open -= 1
            self._restart()

    async def _refuse(self, route: Route, navigates: bool, error: Exception) -> None:
        if navigates and not self._is_over and not self.limit.expired():
            # As with a redirect to a URL that is refused. The page itself would never be complete.
            self.refusal = error
            self.limit.reschedule(0)
        # With any other error a page that leads elsewhere gives way to an error page.
        await route.abort("aborted" if navigates else "failed")

    async def _objection(self, asked: Asked) -> str | None:
        """Return why a request is not to be sent at all."""
        if asked.resource_type not in self._browser.types:
            return "type"
        if self._embeds >= self._browser.embeds_max:
            return "limit"
        if (abort := self._browser.abort_request) is not None:
            answer = abort(asked)
            if answer is True or (hasattr(answer, "__await__") and await answer):
                return "aborted"
        return None

    async def _fetched(self, asked: Asked, navigates: bool) -> Response:
        assert self._page is not None
        self._browser.count("navigations" if navigates else "embeds")
        headers = {
            name: value
            for name, value in (await asked.all_headers()).items()
            if name not in _NOT_SENT and not name.startswith(":")
        }
        if cookie := await _cookie(self._page.context, asked.url):
            headers["cookie"] = cookie
        # Rules for links do not judge what a page is made of. A redirect changes the base of a page's links, so the
        # browser has to know of it.
        meta: dict[str, Any] = {"verbatim_url": True, "dont_merge_cookies": True}
        meta |= {"dont_redirect": True} if navigates else {"allow_offsite": True}
        if "proxy" in self._request.meta:
            meta["proxy"] = self._request.meta["proxy"]
        body = asked.post_data_buffer or b""
        request = Request(asked.url, method=asked.method, headers=headers, body=body, meta=meta)
        kept = asked.method == "GET" and asked.resource_type in KEPT_TYPES
        response = await self._browser.fetch(request, kept=kept)
        location = response.headers.get(b"Location")
        if navigates and response.status in REDIRECTS and location:
            target = urljoin(asked.url, location.decode("latin-1"))
            forward = f'<meta http-equiv="refresh" content="0; url={escape(target)}">'
            response = response.replace(status=200, body=forward.encode("latin-1", "ignore"))
            response.headers[b"Content-Type"] = b"text/html"
        return response


def _navigates(asked: Asked, page: Page | None) -> bool:
    """Return True for a request of a page itself, not of a frame in it."""
    if page is None or not asked.is_navigation_request():
        return False
    try:
        return bool(asked.frame == page.main_frame)
    except Error:
        return False


async def _cookie(context: Any, url: str) -> str:
    """Return the Cookie header for a URL."""
    return "; ".join([f"{cookie['name']}={cookie['value']}" for cookie in await context.cookies(url)])


def _headers(response: Response) -> dict[str, str]:
    """Return the headers of a decoded response in the form that Playwright takes."""
    fields = {}
    headers: Headers = response.headers
    for name in headers:
        if name.lower() not in _NOT_TOLD:
            separator = "\n" if name.lower() == b"set-cookie" else ", "
            fields[name.decode("latin-1")] = separator.join(
                [value.decode("latin-1") for value in headers.getlist(name)]
            )
    return fields


def _may_be_kept(response: Response) -> bool:
    control = b",".join(response.headers.getlist(b"Cache-Control"))
    return response.status == 200 and b"no-store" not in control.lower()
