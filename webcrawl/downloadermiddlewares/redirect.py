"""Redirects are links: their targets pass scope, the exclusion list, robots.txt, seen test and clocks again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.settings import default_settings

from webcrawl.archive.capture import REDIRECTS
from webcrawl.config.readers import as_switch
from webcrawl.config.scrapy_settings import is_given
from webcrawl.crawl.context import get_context
from webcrawl.crawl.request_codec import CONDITIONS, is_explicit, read_revisit
from webcrawl.crawl.running import get_in_flight_request
from webcrawl.fetching.meta import KEY, FetchMeta, fetch_meta
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import Kind
from webcrawl.refusal import Refused
from webcrawl.urls.politeness_key import get_origin

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from webcrawl.crawl.running import InFlightRequest

logger = logging.getLogger(__name__)

OWN_MAX_TIMES = int(default_settings.REDIRECT_MAX_TIMES)
"""Redirects that are followed for a Request of a spider."""
_SECRETS = ("Authorization", "Cookie", "Proxy-Authorization")


class RedirectMiddleware:
    """Turns a redirect into a Request for its target, permanent or not, ``REDIRECT_MAX_TIMES`` in a chain.

    For a spider's own Request there are as many as in Scrapy if the setting is not given.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        context = get_context(crawler)
        self._max_times, self._schemes = context.configuration.redirect_max_times, context.intake.schemes
        # A spider that asks for a URL wants what is behind it; a link of a page is one of many.
        is_set = is_given(crawler.settings, "REDIRECT_MAX_TIMES")
        self._own_max_times = self._max_times if is_set else max(self._max_times, OWN_MAX_TIMES)
        self._is_on = as_switch(crawler.settings["REDIRECT_ENABLED"])

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RedirectMiddleware:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        if response.status not in REDIRECTS or not response.headers.get("Location"):
            return response
        flight = get_in_flight_request(self._crawler, request)
        # Redirects of robots.txt and of sitemaps lead to another document of their kind.
        kept = flight is not None and flight.lease.entry.kind not in (Kind.PAGE, Kind.INLINE)
        if kept or self._is_for_spider(request, response):
            return response
        target = self._schemes.resolve(_text(response.headers.get("Location")), request.url)
        times = int(request.meta.get("redirect_times", 0)) + 1
        if target is None:
            raise self._ended(
                flight, "redirect-target", f"{request.url} points to no URL that can be fetched"
            )
        is_own = flight is None or is_explicit(flight.lease.entry.payload)
        if times > (self._own_max_times if is_own else self._max_times):
            if is_own:
                logger.info(
                    "Not fetched: %s (redirected %d times, see REDIRECT_MAX_TIMES)", request.url, times
                )
            raise self._ended(flight, "redirects", f"{request.url} is one redirect too many")
        if flight is not None:
            flight.outcome.result = Result.REDIRECTED
        followed = self._follow(request, response, target, times, flight)
        logger.debug("Redirecting (%d) to %s from %s", response.status, followed, request)
        return followed

    def _is_for_spider(self, request: Request, response: Response) -> bool:
        """Return True if the spider handles the redirect itself, in one of Scrapy's ways."""
        meta = request.meta
        own = getattr(self._crawler.spider, "handle_httpstatus_list", ())
        return bool(
            not self._is_on
            or meta.get("dont_redirect")
            or meta.get("handle_httpstatus_all")
            or response.status in meta.get("handle_httpstatus_list", own)
        )

    @staticmethod
    def _ended(flight: InFlightRequest | None, rule: str, detail: str) -> Refused:
        if flight is not None:
            flight.outcome.result, flight.outcome.rule = Result.FAILED, rule
        return Refused(rule, detail)

    def _follow(
        self, request: Request, response: Response, target: str, times: int, flight: InFlightRequest | None
    ) -> Request:
        facts = fetch_meta(request)
        lease_id = flight.lease.id if flight is not None else None
        fresh = FetchMeta(lease_id, depth=facts.depth, via=request.url, embed_hops=facts.embed_hops)
        meta = {"redirect_times": times, "depth": facts.depth, "verbatim_url": True, KEY: fresh}
        is_revisit = flight is not None and read_revisit(flight.lease.entry.payload) is not None
        # The target of a revisited page's redirect is a URL like any other.
        repeat = request.dont_filter and not is_revisit
        fresh.is_link = flight is not None and not is_explicit(flight.lease.entry.payload)
        if fresh.is_link:
            return type(request)(target, meta=meta, dont_filter=repeat)
        urls = [*request.meta.get("redirect_urls", []), request.url]
        followed = request.replace(
            url=target, meta={**request.meta, **meta, "redirect_urls": urls}, dont_filter=repeat
        )
        if is_revisit:
            for condition in CONDITIONS:
                followed.headers.pop(condition, None)
        becomes_get = response.status == 303 or (response.status in (301, 302) and request.method == "POST")
        if becomes_get and request.method != "HEAD":
            followed = followed.replace(method="GET", body=b"")
            for name in ("Content-Type", "Content-Length"):
                followed.headers.pop(name, None)
        if get_origin(target) != get_origin(self._schemes.resolve(request.url, request.url) or target):
            for name in _SECRETS:
                followed.headers.pop(name, None)
        return followed


def _text(header: bytes | None) -> str:
    try:
        return (header or b"").decode("utf-8")
    except UnicodeDecodeError:
        return (header or b"").decode("latin-1")
