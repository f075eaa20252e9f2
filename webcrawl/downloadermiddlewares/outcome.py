"""The middleware next to the network: it reports the end of each fetch to the frontier and records it for log and
archive.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.exceptions import IgnoreRequest

from webcrawl.archive.capture import ArchiveEntry, Capture, FetchRecord, LostSending
from webcrawl.archive.records import digest
from webcrawl.crawl.context import get_context
from webcrawl.crawl.essentials import foreign_handlers
from webcrawl.crawl.running import get_in_flight_request
from webcrawl.errors import StorageFull, StorageLost
from webcrawl.fetching.decoding import decode
from webcrawl.fetching.failures import LocalShortageError, failure_word
from webcrawl.fetching.meta import fetch_meta
from webcrawl.fetching.rate_limits import response_rate_limit
from webcrawl.fetching.response_head import MAX_TYPE_BYTES
from webcrawl.frontier.lease import FetchEnd, Result
from webcrawl.frontier.policies import BUSY_STATUSES
from webcrawl.frontier.records import Kind
from webcrawl.parsing import sitemap
from webcrawl.parsing.mime import document_type, mime_type
from webcrawl.politeness.health import retry_after_seconds
from webcrawl.robots import page_directives
from webcrawl.storage.contract import uptime

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from webcrawl.crawl.running import InFlightRequest
    from webcrawl.politeness.refusals import SiteRefusal
    from webcrawl.robots.page_directives import RobotsTags

CONTENT_LOCATION_MAX = 2083
"""The number of bytes of a Content-Location in the log; all of it is in the archive."""

CACHE, MIDDLEWARE = "cache", "middleware"
"""The source of a response that no download handler fetched: Scrapy's HTTP cache, or another middleware."""

_CACHED = "cached"
"""The flag that Scrapy's HTTP cache gives to its responses."""
_WEB, _DATA = ("http:", "https:"), "data:"


class OutcomeMiddleware:
    """Restarts the clock of the politeness key when the response has ended, in whatever way."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        context = get_context(crawler)
        self._clock = context.clock
        self._worker = context.configuration.worker_name
        self._agents = context.rules.agents
        self._obeys_header = context.configuration.robots_header_obey
        self._usage = context.features.get("usage")
        self._exclusions = context.exclusions
        self._foreign = dict(foreign_handlers(crawler.settings))
        self._decoded_max = context.configuration.download_maxsize
        self._refusals = context.features.get("refusals")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> OutcomeMiddleware:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        tags = self._tags(request, response) if self._obeys_header else page_directives.NOTHING
        flight = get_in_flight_request(self._crawler, request)
        if flight is None or flight.over:
            return response
        started, ended, capture = self._times(request, flight)
        source = self._source(request, response) if capture is None else None
        # Nobody was contacted: no pause is owed.
        is_cached = source == CACHE and not fetch_meta(request).contacted and self._has_cache()
        if capture is None:
            capture = self._resource(request, response, started, ended, source)
        is_busy = response.status in BUSY_STATUSES
        header = response.headers.get(b"Retry-After") if is_busy else None
        retry_after = retry_after_seconds(header, ended) if header else None
        limit = response_rate_limit(response, ended)
        if limit is not None and is_busy:
            # One wait is enough, and Retry-After is stronger.
            retry_after = limit.wait_seconds or None if retry_after is None else retry_after
            limit = limit.without_wait()
        mime = response.headers.get(b"Content-Type")
        ending = FetchEnd(
            None if is_cached else started,
            ended,
            status=response.status,
            retry_after_seconds=retry_after,
            rate_limit=limit,
            payload_bytes=len(response.body) or (0 if capture is None else capture.length),
            mime=_mime_type(mime[:MAX_TYPE_BYTES]) if mime else None,
        )
        _add_lost(ending, capture)
        refusal = None if is_cached else self._refusal(request, response, ending)
        record = self._record(request, flight, ending, capture)
        if refusal is not None:
            record.extra |= refusal.facts()
        if source is not None:
            record.extra |= {"cached": True} if source == CACHE else {"handler": source}
            if capture is None:
                record.extra["archived"] = False
        _add_locations(record, response)
        if tags is not page_directives.NOTHING:
            record.extra |= tags.facts()
        if self._usage is not None and record.kind in ("page", "inline"):
            self._record_usage(record, flight, request, response)
        if capture is not None and not capture.response_head and capture.resource_type is None:
            # Another protocol than HTTP replied without a document: there is nothing to archive.
            capture = None
            record.extra["archived"] = False
        flight.outcome.entry = ArchiveEntry(record, capture)
        flight.outcome.result = Result.FETCHED
        flight.scheduler.ended(flight, ending)
        if not is_cached:
            if limit is not None:
                record.extra["rate_limit"] = {
                    name: round(seconds, 3) for name, seconds in limit.told().items()
                }
            _add_pauses(record, flight, ending)
        return response

    def _tags(self, request: Request, response: Response) -> RobotsTags:
        """Return the directives in the header, older and newer field, and keep them for the page."""
        tags = page_directives.NOTHING
        if directives := response.headers.getlist(b"X-Robots-Tag"):
            lines = [line.decode("latin-1") for line in directives]
            tags = page_directives.of_header(lines, self._agents, self._clock())
        if directives := response.headers.getlist(b"Robots-Tag"):
            lines = [line.decode("latin-1") for line in directives]
            tags |= page_directives.of_field(lines, self._agents, self._clock())
        if tags is not page_directives.NOTHING:
            fetch_meta(request).robots_tags = tags
        return tags

    def _record_usage(
        self, record: FetchRecord, flight: InFlightRequest, request: Request, response: Response
    ) -> None:
        """Record what is said about the use of a page by robots.txt and the header."""
        if not (200 <= response.status < 300 or response.status == 304):
            return
        facts = fetch_meta(request)
        facts.usage = self._usage.read_response(flight.lease.usage, flight.lease.entry.url, response.headers)
        facts.withheld = self._usage.note(record, facts.usage)

    def _refusal(self, request: Request, response: Response, ending: FetchEnd) -> SiteRefusal | None:
        """Return the refusal that a response is, as far as its status, head and error page show it. The frontier
        learns whether its host refuses as a whole."""
        if self._refusals is None:
            return None
        refusal: SiteRefusal | None = self._refusals.of_response(response)
        if refusal is not None:
            fetch_meta(request).refusal = refusal
            ending.refusal = refusal.kind if refusal.is_of_host else None
        return refusal

    def process_exception(self, request: Request, exception: Exception) -> None:
        flight = get_in_flight_request(self._crawler, request)
        if flight is None or flight.over:
            return
        if flight.lease.refusal is not None and not isinstance(exception, IgnoreRequest):
            # Its host cannot be reached, and nothing was sent for this URL.
            flight.outcome.result, flight.outcome.rule = Result.FAILED, failure_word(exception)
            flight.scheduler.ended(flight, FetchEnd(None, self._clock()))
            return
        if isinstance(exception, IgnoreRequest):
            flight.outcome.result = Result.REFUSED
            flight.outcome.rule = getattr(exception, "rule", "ignored")
            flight.scheduler.ended(flight, FetchEnd(None, self._clock()))
            return
        if isinstance(exception, LocalShortageError):
            # No request was sent, and not because of the host: the URL goes back to its queue unchanged.
            flight.scheduler.ended(flight, FetchEnd(None, self._clock()))
            return
        if not fetch_meta(request).contacted and failure_word(exception) == "other":
            # An error in a middleware's code: no request was sent, and the host has no part in it.
            flight.outcome.result, flight.outcome.rule = Result.FAILED, "middleware"
            flight.scheduler.ended(flight, FetchEnd(None, self._clock()))
            return
        flight.is_unkept = flight.is_unkept or fetch_meta(request).gave_way
        started, ended, capture = self._times(request, flight)
        # A full disk here is not a failure of the host.
        word = "cancelled" if isinstance(exception, StorageFull | StorageLost) else failure_word(exception)
        ending = FetchEnd(started, ended, error=word)
        _add_lost(ending, capture)
        record = self._record(request, flight, ending, capture)
        # If no response can be built, the archive gets the bytes that were received.
        flight.outcome.entry = ArchiveEntry(
            record, capture if capture is not None and capture.response_head else None
        )
        flight.outcome.result, flight.outcome.rule = Result.FAILED, word
        flight.scheduler.ended(flight, ending)
        _add_pauses(record, flight, ending)

    def unreported(self, flight: InFlightRequest) -> None:
        """End a request of which neither a response nor an exception passed this middleware, because of a middleware
        between this one and the network.

        It is tried again like a failed one, unless other Requests were returned in its place.
        """
        outcome = flight.outcome
        started, ended, capture = self._times(flight.request, flight)
        ending = FetchEnd(started, ended, error="cancelled")
        _add_lost(ending, capture)
        replaced = bool(outcome.discovered)
        outcome.result, outcome.rule = (Result.REDIRECTED, None) if replaced else (Result.RETRY, "cancelled")
        if capture is not None or not replaced:
            outcome.entry = ArchiveEntry(self._record(flight.request, flight, ending, capture), None)
        flight.scheduler.ended(flight, ending)
        if outcome.entry is not None:
            _add_pauses(outcome.entry.record, flight, ending)

    def _has_cache(self) -> bool:
        """Return True if Scrapy's HTTP cache is in force: the flag of another middleware says nothing of contacts."""
        return self._crawler.get_downloader_middleware(HttpCacheMiddleware) is not None

    def _source(self, request: Request, response: Response) -> str | None:
        """Return what a response came from that our handler did not fetch; None for schemes other than the web's."""
        if not request.url.startswith(_WEB):
            return None
        if _CACHED in response.flags:
            return CACHE
        return self._foreign.get(request.url.partition(":")[0], MIDDLEWARE)

    def _resource(
        self, request: Request, response: Response, started: float, ended: float, source: str | None
    ) -> Capture | None:
        """Return the capture of a response of which only the body is known, since other software fetched it.

        A resource record has no status and no method: a redirect, an error or the answer to a POST would be replayed
        as a page. None for these, and for a data URL, which contains its own content.
        """
        body, truncated = response.body, False
        if request.url.startswith(_DATA):
            return None
        if source is not None:
            if request.method != "GET" or not 200 <= response.status < 300:
                return None
            # No head would tell readers of the content coding.
            if coding := response.headers.get(b"Content-Encoding"):
                decoded = decode(body, coding.decode("latin-1"), self._decoded_max)
                body, truncated = decoded.body, decoded.truncated
        mime = response.headers.get(b"Content-Type")
        guessed = document_type(None, body) if source is not None else None
        return Capture(
            request.url,
            "GET",
            started,
            ended,
            ip=None,
            request_head=b"",
            request_body=b"",
            response_head=b"",
            payload=body,
            truncated="length" if truncated else None,
            resource_type=mime.decode("latin-1") if mime else guessed or "application/octet-stream",
            source=source,
        )

    def _times(self, request: Request, flight: InFlightRequest) -> tuple[float, float, Capture | None]:
        facts = fetch_meta(request)
        capture = facts.capture
        if capture is None:
            return flight.lease.leased_at, self._clock(), None
        # The wall clock may have been set since; the frontier's own never runs backwards.
        ended = self._clock()
        return ended - max(capture.ended_at - capture.started_at - facts.held_seconds, 0.0), ended, capture

    def _record(
        self, request: Request, flight: InFlightRequest, ending: FetchEnd, capture: Capture | None
    ) -> FetchRecord:
        entry = flight.lease.entry
        start = capture.started_at if capture else ending.started_at
        end = capture.ended_at if capture else ending.ended_at
        record = FetchRecord(
            start=start or end,
            end=end,
            url=entry.url,
            key=entry.key,
            ip=capture.ip if capture else None,
            kind=str(entry.kind),
            status=ending.status,
            error=ending.error,
            mime=ending.mime,
            bytes=ending.payload_bytes,
            location=None,
            via=entry.via,
            depth=entry.depth,
            worker=self._worker,
        )
        if capture is not None and capture.truncated:
            record.extra["truncated"] = capture.truncated
        if capture is not None and capture.reply is not None:
            record.extra["reply"] = capture.reply
        if capture is not None and (lost := capture.lost) is not None:
            earlier = _record_of_lost(record, lost, flight.lease.pause_seconds)
            flight.outcome.earlier = ArchiveEntry(earlier, lost.capture)
        if capture is not None and capture.protocol is not None:
            record.extra["protocol"] = capture.protocol
        if (robots_received := flight.lease.robots_received) is not None:
            record.extra["robots_received"] = robots_received
        if entry.kind != Kind.ROBOTS and entry.attempts:
            record.extra["attempt"] = entry.attempts + 1
        if entry.listed is not None:
            record.extra |= sitemap.facts(entry.listed)
        if entry.kind == Kind.ROBOTS and capture is not None and 200 <= (ending.status or 0) < 300:
            record.extra["digest"] = digest(capture.payload)
        if self._exclusions is not None and self._exclusions.version:
            # If nothing was sent, the version is that of the list by which the URL passed scope.
            record.extra["exclusions"] = fetch_meta(request).sent_under or self._exclusions.version
        return record


def _add_locations(record: FetchRecord, response: Response) -> None:
    location = response.headers.get(b"Location")
    record.location = location.decode("utf-8", "replace") if location else None
    if elsewhere := response.headers.get(b"Content-Location"):
        record.extra["content_location"] = elsewhere[:CONTENT_LOCATION_MAX].decode("utf-8", "replace")


def _add_lost(ending: FetchEnd, capture: Capture | None) -> None:
    """Record the first sending of a request that was sent twice."""
    if capture is None or (lost := capture.lost) is None:
        return
    ending.resent, ending.lost_status = True, lost.status
    ending.lost_bytes = 0 if lost.capture is None else lost.capture.length


def _record_of_lost(record: FetchRecord, lost: LostSending, pause_seconds: float) -> FetchRecord:
    """Return the line of the first attempt of a request whose second one has ``record``."""
    return replace(
        record,
        start=lost.started_at,
        end=lost.ended_at,
        ip=lost.ip,
        status=lost.status,
        error=lost.error,
        mime=None,
        bytes=0 if lost.capture is None else lost.capture.length,
        location=None,
        extra={"resent": True, "delay": round(pause_seconds, 6)},
    )


@lru_cache(maxsize=1024)
def _mime_type(content_type: bytes) -> str | None:
    return mime_type(content_type.decode("latin-1"))


def _add_pauses(record: FetchRecord, flight: InFlightRequest, ending: FetchEnd) -> None:
    """Record what an audit needs to know about the key's clock: the pause that is owed now, or when the key was
    lost.
    """
    if ending.delay_seconds is not None:
        record.extra["delay"] = round(ending.delay_seconds, 6)
    if ending.parks:
        record.extra["parks"] = ending.parks
    if ending.given_up:
        record.extra["given_up"] = True
    if ending.number is not None:
        record.extra["number"] = ending.number
        if (earlier := flight.outcome.earlier) is not None:
            earlier.record.extra["number"] = ending.number - 1
    if flight.lease.rate_limit_lease.pauses:
        record.extra["clocks"] = dict(flight.lease.rate_limit_lease.pauses)
    validity = flight.lease.key_validity
    if ending.delay_seconds is None:
        # A lease that was ended at once has no end time.
        ago = uptime() - validity.ends_at if validity.is_over() and validity.ends_at > 0 else 0.0
        record.extra["lost_at"] = round(min(max(time.time() - ago, record.start), record.end), 6)
