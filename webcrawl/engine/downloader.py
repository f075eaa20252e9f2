"""Scrapy's downloader without its queues: requests that come here are due, and go straight to the network.

Scrapy keeps a slot with a queue and a delay for every host. Here the frontier has applied both before a request
exists, so a slot would be a second, idle implementation of politeness; leaving it out also saves two tasks and three
conversions between Deferred and Future per page.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.core.downloader import Downloader
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.downloadermiddlewares.httpauth import HttpAuthMiddleware
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.utils.defer import deferred_from_coro

from webcrawl.crawl import essentials
from webcrawl.crawl.refused_start import answering
from webcrawl.engine import chains
from webcrawl.errors import StorageFull, StorageLost
from webcrawl.fetching.meta import fetch_meta
from webcrawl.fetching.signals import spare_robots, tell
from webcrawl.frontier.records import Kind
from webcrawl.refusal import Refused
from webcrawl.scrapy_private import split_domains_of_cookies
from webcrawl.urls.politeness_key import suffix_extractor

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response
    from twisted.internet.defer import Deferred

    from webcrawl.fetching.meta import FetchMeta

logger = logging.getLogger(__name__)

_ROUTE = re.compile("proxy|proxies|auth", re.IGNORECASE)
"""Matches the name of a middleware without which requests may not reach their host."""


def _is_for_robots(middleware: type) -> bool:
    """Return True for the middlewares of Scrapy and of this crawler, and for those by which a host is reached."""
    return (
        middleware.__module__.startswith(("scrapy.", "webcrawl."))
        or issubclass(middleware, (HttpProxyMiddleware, HttpAuthMiddleware))
        or _ROUTE.search(middleware.__name__) is not None
    )


AROUND = "around-the-frontier"
"""The rule that refuses requests whose URL a middleware has changed."""


class DirectDownloader(Downloader):
    """``CONCURRENT_REQUESTS``, middlewares, handlers and signals as in Scrapy; no slots, no delays.

    With another scheduler no component would apply delays: so it is created only if the frontier is enabled.
    """

    def __init__(self, crawler: Crawler) -> None:
        with answering(crawler):
            essentials.require(crawler.settings)
        if crawler.settings.getbool("COOKIES_ENABLED"):
            split_domains_of_cookies(suffix_extractor())
        # Before the handlers, which send signals.
        spare_robots(crawler)
        super().__init__(crawler)
        # The frontier does what Scrapy's middleware for robots.txt would ask for and count once more.
        self.middleware = self._chain(lambda middleware: middleware is not RobotsTxtMiddleware)
        self._has_restored_agent = False
        self._chain_of_robots: DownloaderMiddlewareManager | None = None

    def fetch(self, request: Request, spider: Spider | None = None) -> Deferred[Response | Request]:
        # At once: the engine considers a crawl without active requests idle.
        self.active.add(request)
        return deferred_from_coro(self.fetch_active(request))

    async def fetch_active(self, request: Request) -> Response | Request:
        """Do the work of ``fetch`` for a caller that awaits it, and has added the request to the active ones."""
        chain = self.middleware if fetch_meta(request).kind != Kind.ROBOTS else self._robots_chain()
        try:
            if type(chain) is DownloaderMiddlewareManager:
                return await chains.carry(chain, self._download_now, request)
            return await chain.download_async(self._download_now, request)
        except (StorageFull, StorageLost) as error:
            self._tell_scheduler(request, error)
            raise
        finally:
            self.active.remove(request)

    def _tell_scheduler(self, request: Request, error: StorageFull | StorageLost) -> None:
        """Report that a middleware could not access the crawl's storage, which is no failure of the page."""
        scheduler: object = self.crawler.engine.scheduler
        if (failed := getattr(scheduler, "storage_failed", None)) is not None:
            failed(request, error)

    def _robots_chain(self) -> DownloaderMiddlewareManager:
        """Return the middlewares through which a robots.txt passes.

        Those of a project expect pages, and an accident in one of them would be one of the whole host. Proxies and
        authentication are the route to the host.
        """
        if self._chain_of_robots is None:
            self._chain_of_robots = self._chain(_is_for_robots)
        return self._chain_of_robots

    def _chain(self, takes: Callable[[type], bool]) -> DownloaderMiddlewareManager:
        """Return the chain of those downloader middlewares whose class is taken."""
        kept = [middleware for middleware in self.middleware.middlewares if takes(type(middleware))]
        return DownloaderMiddlewareManager(*kept, crawler=self.crawler)

    async def _download_now(self, request: Request) -> Response:
        spider = self.crawler.spider
        meta = fetch_meta(request)
        self._check_unchanged(request, meta)
        meta.contacted = True
        tell(self.signals, signals.request_reached_downloader, request=request, spider=spider)
        try:
            response = await self.handlers.download_request_async(request)
            tell(self.signals, signals.response_downloaded, response=response, request=request, spider=spider)
            return response
        finally:
            tell(self.signals, signals.request_left_downloader, request=request, spider=spider)

    def _check_unchanged(self, request: Request, meta: FetchMeta) -> None:
        """Check what middlewares made of the request, wherever in the chain they are.

        The clock and the robots.txt of the leased URL hold for no other. robots.txt is read for the name with which a
        page is requested: that name is restored.

        :raises Refused: the request is for another URL than the one that was leased
        """
        if meta.url is not None and request.url != meta.url:
            raise Refused(
                AROUND,
                f"a downloader middleware has changed the URL {meta.url} into {request.url}, which has not been "
                "scheduled; return request.replace(url=...) from process_request",
            )
        expected, sent = meta.user_agent, request.headers.get(b"User-Agent")
        if expected is None or sent == expected:
            return
        request.headers[b"User-Agent"] = expected
        if not self._has_restored_agent:
            self._has_restored_agent = True
            logger.warning(
                "A downloader middleware has set the User-Agent %r. Requests are sent as %r all the same, the name "
                "for which robots.txt is read: set USER_AGENT, or the header of a Request. This is logged once",
                (sent or b"").decode("latin-1"),
                expected.decode("latin-1"),
            )
