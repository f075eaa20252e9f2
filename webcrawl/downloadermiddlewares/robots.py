"""A downloader middleware that gives answers of robots.txt to the frontier. The frontier itself enforces the rules
before it leases pages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.utils.python import global_object_name

from webcrawl.archive.listed_links import link_rows
from webcrawl.crawl.context import get_context
from webcrawl.crawl.running import get_in_flight_request
from webcrawl.downloadermiddlewares.sitemaps import add_link_counts, named_in_robots, resolved_all
from webcrawl.engine.chains import find_raiser
from webcrawl.engine.downloader import AROUND
from webcrawl.fetching.failures import LocalShortageError, failure_word
from webcrawl.fetching.lifetime import response_lifetime
from webcrawl.fetching.meta import fetch_meta
from webcrawl.frontier import robots_requests as requests
from webcrawl.frontier.records import Kind
from webcrawl.frontier.robots_requests import RobotsReply
from webcrawl.politeness.health import http_date, retry_after_seconds
from webcrawl.politeness.refusals import IN_PLACE_OF_CONTENT
from webcrawl.refusal import Refused
from webcrawl.robots.answer import lifetime
from webcrawl.urls.resolve import resolve

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from webcrawl.crawl.running import InFlightRequest
    from webcrawl.politeness.host_record import RobotsRecord


logger = logging.getLogger(__name__)


_NOT_WHOLE = ("cancelled:", "truncated", "dataloss", "download_stopped")
"""The beginnings of the flags of bodies that are not whole. Scrapy's cache does not keep flags."""


class CheckedCachePolicy:
    """The policy of Scrapy's HTTP cache with limits: it stores no body that is not whole, and no failure to get a
    robots.txt. A robots.txt is used no longer after it was received than if it were not in the cache: hosts are
    contacted under it for pages that are not.
    """

    def __init__(self, policy: Any, ttl_seconds: float, ttl_min_seconds: float) -> None:
        """``policy``: an object of the class in HTTPCACHE_POLICY."""
        self._policy = policy
        self._ttl, self._ttl_min = ttl_seconds, ttl_min_seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def should_cache_response(self, response: Response, request: Request) -> bool:
        if any(flag.startswith(_NOT_WHOLE) for flag in response.flags):
            return False
        if fetch_meta(request).refusal is not None:
            return False
        if _is_robots(request) and not _is_answer(response):
            return False
        return bool(self._policy.should_cache_response(response, request))

    def is_cached_response_fresh(self, cachedresponse: Response, request: Request) -> bool:
        if _is_robots(request):
            at = received_at(cachedresponse)
            if at is None or not _is_answer(cachedresponse):
                return False
            fresh = response_lifetime(cachedresponse) if cachedresponse.status < 300 else None
            if time() - at >= lifetime(fresh, self._ttl, self._ttl_min):
                return False
        return bool(self._policy.is_cached_response_fresh(cachedresponse, request))

    def is_cached_response_valid(
        self, cachedresponse: Response, response: Response, request: Request
    ) -> bool:
        if _is_robots(request):
            return response.status == 304
        return bool(self._policy.is_cached_response_valid(cachedresponse, response, request))


def received_at(response: Response) -> float | None:
    """Return the epoch seconds of a response by its Date, which Scrapy's HTTP cache adds if there is none."""
    date = http_date((response.headers.get(b"Date") or b"").decode("latin-1"))
    return None if date is None else min(date, time())


def _is_answer(response: Response) -> bool:
    return 200 <= response.status < 500 and response.status != 429


def _is_robots(request: Request) -> bool:
    return fetch_meta(request).kind == Kind.ROBOTS


LARGE_BYTES = 8_192
"""A larger robots.txt is parsed on a thread: half a megabyte takes a fifth of a second."""


CUT_OFF = "cut off"
"""The reason for the frontier why a robots.txt that came does not count."""


class RobotsMiddleware:
    """Keeps robots.txt responses from the spider and gives them to the frontier, redirects and failures too."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._context = context = get_context(crawler)
        self._has_told = False
        self._keeps_links = context.archive is not None and context.archive.wants_links
        crawler.signals.connect(self._limit_cache, signal=signals.spider_opened)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> RobotsMiddleware:
        return cls(crawler)

    def _limit_cache(self) -> None:
        cache = self._crawler.get_downloader_middleware(HttpCacheMiddleware)
        if cache is not None:
            policy = self._context.policies.robots
            cache.policy = CheckedCachePolicy(cache.policy, policy.ttl_seconds, policy.ttl_min_seconds)

    def process_response(
        self, request: Request, response: Response
    ) -> Response | Coroutine[Any, Any, Response]:
        # No coroutine for pages, which are nearly all responses.
        flight = self._robots_flight(request)
        return response if flight is None else self._take(flight, request, response)

    async def _take(self, flight: InFlightRequest, request: Request, response: Response) -> Response:
        location = location_key = refused = None
        wait = response.headers.get("Retry-After")
        retry_after = retry_after_seconds(wait, self._context.clock()) if wait else None
        header = response.headers.get("Location")
        if 300 <= response.status < 400 and header:
            location = resolve(header.decode("utf-8", "replace"), request.url)
        if location is not None:
            target = self._context.intake.seed_entry(location)
            if isinstance(target, str):
                refused = target
            else:
                location_key = target.key
        reply = RobotsReply(
            response.status,
            response.body,
            None,
            location,
            location_key,
            retry_after,
            refused,
            fresh_seconds=response_lifetime(response),
        )
        if "cached" in response.flags:
            reply = replace(reply, received_at=received_at(response))
        refusal = fetch_meta(request).refusal
        if refusal is not None and refusal.kind in IN_PLACE_OF_CONTENT:
            # Nothing is known of the robots.txt behind a challenge, whatever its status.
            reply = await self._with_previous(flight, RobotsReply(0, b"", refusal.kind))
        elif 200 <= response.status < 300 and is_cut_off(request, response):
            reply = await self._with_previous(flight, RobotsReply(0, b"", CUT_OFF))
        elif requests.is_site_file(flight.lease.entry):
            pass  # its body is for the frontier, and it redirects nowhere
        elif 200 <= response.status < 300:
            reply = await self._read(flight, reply)
        else:
            reply = await self._with_previous(flight, reply)
        flight.scheduler.answered_robots(flight, reply)
        raise Refused("robots.txt", "an answer for the frontier, not for the spider")

    async def _read(self, flight: InFlightRequest, reply: RobotsReply) -> RobotsReply:
        """Return the reply with its record; the sitemaps that it names are queued together with it."""
        context, entry = self._context, flight.lease.entry
        policy, now = context.policies.robots, context.clock()
        if len(reply.body) > LARGE_BYTES:
            read = await asyncio.to_thread(requests.read, entry, reply, now, policy)
        else:
            read = requests.read(entry, reply, now, policy)
        if read.record is not None:
            self._check_crawl_delay(flight, read.record)
        sitemaps = () if read.record is None else policy.rules.rules(read.record).sitemaps
        if sitemaps and self._keeps_links:
            _log(sitemaps, flight)
        # The pages of a sitemap would be requested directly.
        follows = context.configuration.sitemaps_follow and requests.proxy_route(entry) is None
        if sitemaps and follows and read.record is not None:
            key = context.key.of_url(f"{read.record.origin}/")
            flight.outcome.discovered += named_in_robots(context, flight, sitemaps, key)
        return read

    def _check_crawl_delay(self, flight: InFlightRequest, record: RobotsRecord) -> None:
        crawl_delay, key = record.crawl_delay_seconds, self._context.key.of_url(f"{record.origin}/")
        if crawl_delay is not None and self._context.policies.politeness.is_too_long(crawl_delay):
            flight.tally.skip(key, crawl_delay)
            logger.info(
                "Skips %s: its robots.txt asks for a Crawl-delay of %g s, which is more than "
                "POLITENESS_CRAWL_DELAY_MAX",
                record.origin,
                crawl_delay,
            )

    def process_exception(self, request: Request, exception: Exception) -> Coroutine[Any, Any, None] | None:
        flight = self._robots_flight(request)
        if flight is None or flight.outcome.robots is not None or isinstance(exception, LocalShortageError):
            return None
        self._tell_of_stop(flight, exception)
        return self._failed(flight, RobotsReply(0, b"", failure_word(exception)))

    def _tell_of_stop(self, flight: InFlightRequest, exception: Exception) -> None:
        """Log a warning if it was a downloader middleware of others that kept a robots.txt from being requested."""
        if isinstance(exception, Refused):
            if exception.rule == AROUND:
                self.kept_away(flight, "changed its URL", None)
            return
        culprit = find_raiser(self._crawler.engine.downloader.middleware, exception)
        if culprit is not None and not culprit.startswith("webcrawl."):
            self.kept_away(flight, f"raised {type(exception).__name__}", culprit)

    def kept_away(self, flight: InFlightRequest, what: str, culprit: str | None) -> None:
        """Log, once a crawl, that a downloader middleware keeps a robots.txt from being fetched.

        ``what`` says what it did. ``culprit`` is its import path; if it is not known, those that may have done it are
        named.
        """
        if self._has_told:
            return
        self._has_told = True
        origin, _ = requests.origin_and_hops(flight.lease.entry)
        chain = self._crawler.engine.downloader.middleware
        named = culprit or " or ".join(
            name for name in map(_import_path, chain.middlewares) if not _is_ours(name)
        )
        logger.warning(
            "The robots.txt of %s cannot be fetched: a downloader middleware%s %s. No page of the host is fetched "
            "without it: let requests for robots.txt pass through the middleware as they are. This is logged once",
            origin,
            f" ({named})" if named else "",
            what,
        )

    async def _failed(self, flight: InFlightRequest, reply: RobotsReply) -> None:
        flight.scheduler.answered_robots(flight, await self._with_previous(flight, reply))

    async def _with_previous(self, flight: InFlightRequest, reply: RobotsReply) -> RobotsReply:
        """Return a reply without a robots.txt, with the known record of the origin.

        Needed for a redirect to another key: the origin's own key waits for this answer, perhaps not in memory.
        """
        origin, hops = requests.origin_and_hops(flight.lease.entry)
        owner = self._context.key.of_url(f"{origin}/")
        if not hops or owner == flight.lease.entry.key:
            return reply
        look = partial(self._context.backend.read_robots, origin, owner)
        return replace(reply, previous=await self._context.frontier.with_retry(look))

    def _robots_flight(self, request: Request) -> InFlightRequest | None:
        flight = get_in_flight_request(self._crawler, request)
        return flight if flight is not None and flight.lease.entry.kind == Kind.ROBOTS else None


def _import_path(middleware: object) -> str:
    return global_object_name(type(middleware))


def _is_ours(path: str) -> bool:
    return path.startswith(("scrapy.", "webcrawl."))


def _log(sitemaps: Sequence[str], flight: InFlightRequest) -> None:
    """Write the sitemaps that a robots.txt names to the link log."""
    if (kept := flight.outcome.entry) is None:
        return
    urls = resolved_all(sitemaps, flight.lease.entry.url)
    kept.links, kept.other_links = link_rows(dict.fromkeys(urls))
    add_link_counts(kept.record, len(kept.links), len(kept.other_links))


def is_cut_off(request: Request, response: Response) -> bool:
    """Return True if a robots.txt is longer than the part that came, and not because of our own limit: the rest could
    forbid."""
    facts = fetch_meta(request)
    capture = facts.capture
    if capture is None:
        # A handler of others says it with a flag.
        return any(flag.startswith(_NOT_WHOLE) for flag in response.flags)
    if capture.truncated == "length":
        return False
    # A body without any coding, whatever its header says, is read as it is.
    damaged = facts.decode_error is not None and response.body != capture.payload
    return damaged or capture.truncated is not None
