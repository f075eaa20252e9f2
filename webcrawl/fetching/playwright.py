"""Pages drawn by a browser: scrapy-playwright's download handler under the rules of the crawl.

In ``DOWNLOAD_HANDLERS``, ``webcrawl.fetching.playwright.PlaywrightDownloadHandler`` takes the place of
``scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler``. A Request with ``meta["playwright"]`` is drawn by the
browser, which fetches through ``BrowserProxy``; all others, robots.txt among them, are fetched as without one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import DownloadFailedError, DownloadTimeoutError, NotSupported
from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler

from webcrawl.crawl.context import context_of
from webcrawl.fetching.browser_proxy import BrowserProxy
from webcrawl.fetching.http import HttpDownloadHandler
from webcrawl.fetching.network import network_of
from webcrawl.urls.politeness_key import host_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

REMOTE = ("PLAYWRIGHT_CDP_URL", "PLAYWRIGHT_CONNECT_URL")
ARGUMENTS = ("--force-webrtc-ip-handling-policy=disable_non_proxied_udp",)
"""Without it a page can have the browser send datagrams past the proxy."""


class PlaywrightDownloadHandler(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc]
    """Draws the requests with ``meta["playwright"]``."""

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        if name := next((name for name in REMOTE if settings.get(name)), None):
            raise NotSupported(
                f"{name}: private addresses and exclusions cannot be checked for a browser that runs elsewhere"
            )
        super().__init__(crawler)
        self._plain = HttpDownloadHandler.from_crawler(crawler)
        self._maxsize = settings.getint("DOWNLOAD_TEXT_MAXSIZE") or settings.getint("DOWNLOAD_MAXSIZE")
        self._seconds = settings.getfloat("DOWNLOAD_TIMEOUT")
        self._of_crawl = crawler
        self._proxy: BrowserProxy | None = None
        crawler.signals.connect(self._start_proxy, signals.spider_opened)

    async def _start_proxy(self) -> None:
        exclusions = context_of(self._of_crawl).exclusions

        def objection(url: str) -> str | None:
            detail = None if exclusions is None else exclusions.look(url, host_of(url))[0]
            return None if detail is None else f"it is covered by {detail}"

        self._proxy = BrowserProxy(
            network_of(self._of_crawl), objection, maxsize=self._maxsize, seconds=self._seconds
        )
        options: dict[str, Any] = self.config.launch_options
        # By default Chromium does not use the proxy for loopback addresses.
        options["proxy"] = {"server": self._proxy.url, "bypass": "<-loopback>"}
        options["args"] = [*options.get("args", ()), *ARGUMENTS]
        await self._proxy.start()

    async def download_request(self, request: Request) -> Response:
        """Draw a page, or fetch it. Raises Scrapy's exceptions."""
        if not request.meta.get("playwright"):
            return await self._plain.download_request(request)
        from playwright.async_api import Error
        from playwright.async_api import TimeoutError as BrowserTimeoutError

        try:
            async with asyncio.timeout(self._seconds):
                response: Response = await super().download_request(request)
        except (TimeoutError, BrowserTimeoutError) as error:
            raise DownloadTimeoutError(f"{request.url} was not drawn within {self._seconds:g} s") from error
        except Error as error:
            raise DownloadFailedError(str(error).partition("\n")[0]) from error
        return response if len(response.body) <= self._maxsize else _cut(response, self._maxsize)

    async def close(self) -> None:
        """Close the browser, the proxy and all connections."""
        await super().close()
        if self._proxy is not None:
            await self._proxy.close()
        await self._plain.close()


def _cut(response: Response, size: int) -> Response:
    return response.replace(body=response.body[:size])
