"""Inline requests in Scrapy: ``engine.download_async``, Scrapy's media pipelines, and what builds on them.

The frontier gives each its turn (``frontier/inline.py``); the engine carries it through the downloader middlewares as
any request, and the caller gets the response.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy.exceptions import DownloadCancelledError, DownloadFailedError
from scrapy.http import Request, Response

from webcrawl.crawl.request_codec import EXPLICIT, encode, how_sent
from webcrawl.fetching.failures import LocalShortageError
from webcrawl.fetching.meta import CURRENT, detach, fetch_meta
from webcrawl.fetching.transfer import ANNOUNCED_OVERSIZE
from webcrawl.frontier.inline import (
    HOST_UNAVAILABLE,
    ROBOTS_UNAVAILABLE,
    STOPPED,
    InlineRequest,
    TurnedAwayError,
)
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.refusal import Refused
from webcrawl.scope.scope import Candidate
from webcrawl.scope.url_rules import OffsiteRule
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from webcrawl.crawl.feature import CrawlContext
    from webcrawl.crawl.running import InFlightRequest, RunningCrawl

PUT_BACK_MAX = 5
"""The number of times that a request is put back if it was not sent, or its lease ended on the way."""

ADDED_AT_ONCE = 100
"""Requests that are added in one turn of the event loop: an item may have thousands of files."""

STOP_SECONDS = 30.0
"""Seconds that inline requests of pages that are being processed go on after the crawl was stopped."""

_DETAILS = {
    HOST_UNAVAILABLE: "its host failed or asks to be left alone, and is not contacted for now",
    ROBOTS_UNAVAILABLE: "the robots.txt of its origin could not be fetched",
    STOPPED: "the crawl ended before its turn; the page that waits for it stays queued",
}


@dataclass(slots=True)
class _PutBack:
    """The result of a request that says nothing about its host, since the request was not sent or its lease ended on
    the way. The request is put back in its queue."""

    error: BaseException


class InlineRequests:
    """The inline requests of a crawl."""

    def __init__(self, scheduler: RunningCrawl, context: CrawlContext, crawler: Crawler) -> None:
        self._scheduler = scheduler
        self._context = context
        self._fails_on_dataloss = crawler.settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS")
        self._spider = scheduler.spider
        self._usage = context.features.get("usage")
        allowed = getattr(crawler.spider, "allowed_domains", None)
        self._offsite = OffsiteRule(allowed) if allowed else None
        self._stop: asyncio.TimerHandle | None = None
        self._open: set[Request] = set()
        self._adding = asyncio.Semaphore(ADDED_AT_ONCE)

    async def fetch(self, request: Request) -> Response:
        """Return the response to a request, after its redirects and retries.

        Raises:
          Refused: a rule refuses it, or the crawl ended before its turn.
          Exception: as the download handler raised it, or DownloadFailedError if the host cannot be contacted.
        """
        if request in self._open:
            request = request.copy()
        parent = self._parent()
        request.meta.setdefault("download_fail_on_dataloss", self._fails_on_dataloss)
        attempts = put_back = 0
        while True:
            result = await self._result(request, attempts, parent)
            if isinstance(result, Response):
                return result
            if isinstance(result, _PutBack):
                put_back += 1
                if put_back > PUT_BACK_MAX:
                    raise result.error
            elif result is request:  # a retry
                attempts += 1
            else:  # a redirect
                request, attempts = result, 0

    async def _result(
        self, request: Request, attempts: int, parent: InFlightRequest | None
    ) -> Response | Request | _PutBack:
        async with self._adding:
            inline = self._added(request, attempts, parent)
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                inline.answer.cancel()
                raise
        try:
            result: Response | Request | _PutBack = await inline.answer
            return result
        except TurnedAwayError as away:
            if away.rule == STOPPED:
                # Whichever page waits for it, perhaps for the same file as another one, is fetched again.
                self._scheduler.keep_queued()
            detail = f"{request.url}: {_DETAILS.get(away.rule, 'it may not be fetched')}"
            if away.is_refusal or away.rule == STOPPED:
                raise Refused(away.rule, detail) from None
            self._context.tally.failures += 1
            raise DownloadFailedError(detail) from None

    def _added(self, request: Request, attempts: int, parent: InFlightRequest | None) -> InlineRequest:
        """Add a request to the frontier. Raises Refused."""
        entry = self._entry(request, attempts, parent)
        if isinstance(entry, str):
            self._context.tally.refused(entry)
            raise Refused(entry, f"{request.url} is out of scope")
        if parent is not None and (reason := _waits_for(parent, entry.key)):
            self._context.tally.refused("own-key")
            raise Refused("own-key", f"{request.url} is of the same host as {parent.request.url}, {reason}")
        inline = InlineRequest(entry, request)
        self._open.add(request)
        inline.answer.add_done_callback(lambda _: self._open.discard(request))
        self._context.frontier.add_inline(inline)
        self._scheduler.wake()
        return inline

    def _entry(self, request: Request, attempts: int, parent: InFlightRequest | None) -> UrlEntry | str:
        """Return the entry of a request, or the rule that refuses it: those of start requests, and Scrapy's
        ``allowed_domains``."""
        facts = detach(request)
        via, depth = facts.via, facts.depth
        if parent is not None:
            via, depth = parent.lease.entry.url, parent.lease.entry.depth
        redirects = request.meta.get("redirect_times")
        redirects = redirects if isinstance(redirects, int) else 0
        entry = self._context.intake.request_entry(
            request.url, request.method, request.body, depth, via, redirects, False
        )
        if isinstance(entry, str):
            return entry
        if self._offsite is not None and not (request.dont_filter or request.meta.get("allow_offsite")):
            host = get_host(request.url)
            if self._offsite.refuses(Candidate(request.url, host, entry.key, depth)):
                return self._offsite.name
        entry.kind, entry.repeat, entry.attempts = Kind.INLINE.value, True, attempts
        entry.payload = encode(request, self._spider).payload
        entry.payload = how_sent(entry) or EXPLICIT
        return entry

    def _parent(self) -> InFlightRequest | None:
        """Return the in-flight request in whose processing this is called."""
        current = CURRENT.get()
        request = None if current is None else current()
        return None if request is None else self._scheduler.in_flight_request(request)

    def deliver(self, flight: InFlightRequest, result: Response | Request | BaseException) -> None:
        """Give the result of the downloader to the caller that waits for it."""
        inline = flight.lease.inline
        assert inline is not None
        if inline.answer.done():
            return
        lost = flight.lease.validity.is_over() or isinstance(result, LocalShortageError)
        if isinstance(result, BaseException):
            if lost and not isinstance(result, Refused):
                inline.answer.set_result(_PutBack(result))
            else:
                inline.answer.set_exception(result)
        elif isinstance(result, Response) and _is_cut(result, flight.request):
            flight.outcome.result, flight.outcome.rule = Result.FAILED, "length"
            inline.answer.set_exception(
                DownloadCancelledError(f"{flight.request.url} is longer than DOWNLOAD_MAXSIZE")
            )
        elif isinstance(result, Response) and self._is_withheld(flight, result):
            detail = (
                f"{flight.request.url} may not be used for what the crawl is for, and is in the archive alone"
            )
            inline.answer.set_exception(Refused("usage", detail))
        else:
            inline.answer.set_result(result)

    def _is_withheld(self, flight: InFlightRequest, response: Response) -> bool:
        """Return True if a response may not be used for what the crawl is for (USAGE_PURPOSES)."""
        usage = self._usage
        return usage is not None and usage.withholds_response(flight, fetch_meta(flight.request), response)

    def stop_soon(self) -> None:
        """End those that still wait some time after the crawl was stopped."""
        if self._stop is None:
            frontier = self._context.frontier
            self._stop = asyncio.get_running_loop().call_later(STOP_SECONDS, frontier.end_inline)

    def close(self) -> None:
        """Forget the timer: the crawl ends."""
        if self._stop is not None:
            self._stop.cancel()


def _waits_for(parent: InFlightRequest, key: str) -> str | None:
    """Return why a request to ``key`` would wait until ``parent`` has ended, which waits for it; None if it would
    not."""
    if parent.lease.entry.key != key:
        return None
    if parent.lease.entry.kind == Kind.ROBOTS:
        return "and nothing else is sent to the host before that is answered"
    if parent.over:
        return None
    return (
        "which has its turn: nothing else is sent to the host before its response. Await it in start() of the "
        "spider or in process_response of the middleware, and return the request again"
    )


def _is_cut(response: Response, request: Request) -> bool:
    """Return True if the body is incomplete since it is too long."""
    capture = fetch_meta(request).capture
    too_long = capture is not None and capture.truncated == "length"
    return too_long or f"cancelled:{ANNOUNCED_OVERSIZE}" in response.flags
