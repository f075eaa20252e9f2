"""The scheduler: the only file that knows both Scrapy's engine and the frontier.

The engine calls ``next_request`` whenever a slot may be free; the answer comes from memory. Between two answers the
engine sleeps, so it is woken (``engine/waking.py``) when the heap's top becomes ready, when an entry was queued, and
when the crawl may be over. A request counts as processed when the engine releases it: then all results of its
callback are known, and its URL is settled together with them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.python.failure import Failure

from webcrawl.crawl.archiving import leave_out
from webcrawl.crawl.beginning import tell_of_beginning
from webcrawl.crawl.context import frontier_limits, get_context, spider_name
from webcrawl.crawl.given_settings import tell_of_settings
from webcrawl.crawl.refused_start import REFUSALS, let_go, refused
from webcrawl.crawl.request_codec import RequestSerializer, is_explicit, may_have_errback
from webcrawl.crawl.running import GIVEN_AT_ONCE, InFlightRequest
from webcrawl.crawl.seeded_hosts import remember_seeds
from webcrawl.engine.shutdown import signals_of_process
from webcrawl.engine.waking import Waking
from webcrawl.errors import CrawlError, JobdirUnusable, StorageFull, StorageLost
from webcrawl.extensions.frontier_stats import FrontierStats
from webcrawl.extensions.heartbeat import Heartbeat
from webcrawl.extensions.stopping import LAST_STEP
from webcrawl.feeds import flush_feeds, mend_feeds
from webcrawl.fetching.failures import refusal
from webcrawl.fetching.meta import KEY, FetchMeta, fetch_meta
from webcrawl.frontier.active_key import ROBOTS_UNREACHABLE as UNREACHED
from webcrawl.frontier.frontier import Frontier
from webcrawl.frontier.lease import FetchEnd, Lease, Outcome, Result
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.frontier.tally import BACKLOG_FULL
from webcrawl.inline_requests import InlineRequests
from webcrawl.reports import run_log, text
from webcrawl.reports.standing import CrawlState, folder_state
from webcrawl.reports.waiting import Oldest, Waits
from webcrawl.scope.url_rules import DepthRule, LengthRule, OffsiteRule
from webcrawl.scrapy_private import engine_slot
from webcrawl.storage.contract import SharedBackend

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator, Sequence

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred

    from webcrawl.crawl.feature import CrawlContext, Feature
    from webcrawl.frontier.robots_requests import RobotsReply
    from webcrawl.scrapy_private import Slot
    from webcrawl.storage.contract import Counts

logger = logging.getLogger(__name__)

PATIENCE_TOLD_SECONDS = 10.0
"""A wait that is longer than this, with nothing else to do, is told."""
ROOM_SECONDS = 2.0
"""Time that seeds that were turned away for lack of room wait before they are added again."""
ADDED_AT_ONCE = 1000
"""Seeds that are queued in one turn of the event loop."""
SILENT = frozenset((OffsiteRule.name, DepthRule.name, LengthRule.name))
"""Rules that refuse Requests of callbacks without a call of their errback, as Scrapy does."""


Step = Callable[[], Awaitable[object] | None]


async def take_all(steps: Iterable[Step], broken: Callable[[CrawlError], None]) -> None:
    """Take all steps of the end of a crawl: one that fails does not keep the others from storing their data.

    ``broken`` gets a storage's error. Any other exception is logged, and the first of them is raised at the end.
    """
    failure: BaseException | None = None
    for step in steps:
        try:
            if (rest := step()) is not None:
                await rest
        except CrawlError as error:
            broken(error)
        except BaseException as error:
            logger.exception("A step of the end of the crawl failed")
            failure = failure or error
    if failure is not None:
        raise failure


def _oldest(flights: Sequence[InFlightRequest], now: float, since: Callable[[Lease], float]) -> Oldest | None:
    """Return the one that ``since`` says was the first."""
    if not flights:
        return None
    first = min((flight.lease for flight in flights), key=since)
    return Oldest(first.entry.url, max(now - since(first), 0.0))


def _name(feature: Feature) -> str:
    """Return the name of a feature in words."""
    return type(feature).__name__.removesuffix("Feature")


class Scheduler:
    """Scrapy's scheduler interface on the frontier."""

    def __init__(self, crawler: Crawler, context: CrawlContext) -> None:
        self.crawler = self._crawler = crawler
        self._context = context
        self._configuration = context.configuration
        self._user_agent = context.configuration.user_agent.encode()
        self._maxsizes: dict[str, int] = {
            Kind.ROBOTS: context.configuration.robots_max_bytes,
            Kind.SITEMAP: context.configuration.sitemap_max_bytes,
        }
        self._flights: dict[int, InFlightRequest] = {}
        self._is_stopped = False
        self._was_asked = False
        """True from the first time on that the engine asks for a request."""
        self.close_reason = ""
        """Scrapy's close reason, while the crawl is being closed."""
        self.stopping_since: float | None = None
        """The time at which the close of the crawl began, on the monotonic clock; None while it runs."""
        self._errbacks: set[asyncio.Task[None]] = set()
        self._last_calls: asyncio.Task[None] | None = None
        self._errbacks_called: set[int] = set()
        """Fingerprints of the queued URLs whose errbacks were called since their host cannot be reached."""
        self._are_all_called = False
        self._has_told_of_patience = False
        self._told_of_hours = 0.0
        self._before_close: list[Callable[[], Awaitable[None]]] = []
        self._waking = Waking(crawler, context.clock)
        self.frontier = context.frontier = Frontier(
            context.backend,
            context.store,
            context.policies,
            frontier_limits(context.configuration),
            context.clock,
            changed=self.wake,
            broken=self.broken,
            clocks=context.clocks,
            bandwidth=context.bandwidth,
            worker=self._configuration.worker_name,
            prepare=context.features.find_before_commit(),
        )
        folder = None if context.jobdir is None else context.jobdir.path
        remember_seeds(context.seeded, context.backend, folder, self.frontier.with_retry)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Scheduler:
        try:
            return cls(crawler, get_context(crawler))
        except REFUSALS:
            let_go(crawler.engine)
            raise

    # -- life, as the engine sees it -------------------------------------------------------------------------

    def open(self, spider: Spider) -> Deferred[None]:
        self.spider = spider
        if not hasattr(spider, "state"):
            # Scrapy gives it to a spider with a JOBDIR; here it is not stored.
            spider.state = {}  # type: ignore[attr-defined]
        self.requests = RequestSerializer(
            self._context.intake, spider, is_shared=isinstance(self._context.backend, SharedBackend)
        )
        self.inline = InlineRequests(self, self._context, self._crawler)
        return deferred_from_coro(self._open())

    def close(self, reason: str) -> Deferred[None]:
        self.close_reason = reason
        return deferred_from_coro(self._close())

    async def _open(self) -> None:
        context, heartbeat = self._context, self._crawler.get_extension(Heartbeat)
        try:
            if context.jobdir is not None:
                context.jobdir.hold()
                context.jobdir.refuse_moved()
                context.jobdir.refuse_another(spider_name(self._crawler))
                if (frontier := context.configuration.storage.frontier_file) is not None:
                    context.jobdir.refuse_remains(frontier)
            if heartbeat is not None:
                # Repairs and a Redis that starts may take minutes.
                heartbeat.begin()
            self._mend_feeds()
            counts = await self._open_state()
            if context.jobdir is not None:
                context.jobdir.belongs_to(spider_name(self._crawler))
        except BaseException as error:
            if heartbeat is not None:
                heartbeat.end()
            if context.jobdir is not None:
                context.jobdir.leave()
            if not isinstance(error, REFUSALS):
                raise
            let_go(self._crawler.engine)
            if isinstance(error, StorageFull | StorageLost):
                # A running crawl would wait for room; one that has not begun fails.
                refusal = JobdirUnusable(f"the crawl cannot be kept: {error}")
                refused(self._crawler, refusal)
                raise refusal from error
            refused(self._crawler, error)
            raise
        tell_of_beginning(context, counts, self._crawler.settings)
        tell_of_settings(self._crawler.settings, self.spider)
        self._waking.watch(self._processed)
        connect = self._crawler.signals.connect
        connect(self._opened, signal=signals.spider_opened)
        connect(self._idle, signal=signals.spider_idle)
        connect(self._callback_failed, signal=signals.spider_error)

    def _mend_feeds(self) -> None:
        """Mend the feeds of a crawl that was killed, before Scrapy opens them."""
        jobdir = self._context.jobdir
        runs: list[run_log.Run] = []
        with suppress(OSError):
            runs = [] if jobdir is None else run_log.read(jobdir.path)
        if runs and folder_state(runs[-1], None) is CrawlState.KILLED:
            for sentence in mend_feeds(self._crawler.settings):
                logger.warning("%s", sentence)

    async def _open_state(self) -> Counts:
        """Open the archive, the frontier and the state of the features. Return the figures of the frontier."""
        context = self._context
        context.doing = "the archive, which is opened and repaired if need be"
        if context.archive is not None:
            for sentence in (await context.archive.open()).sentences:
                logger.info("Repaired after a crash: %s", sentence)
        context.doing = "the frontier, which is opened"
        counts = await self.frontier.open()
        await context.seeded.recall()
        for feature in context.features:
            context.doing = f"{_name(feature)}, which is opened"
            await feature.open(counts)
            if feature.begins_paused():
                # The engine may ask for requests before the features begin.
                self.frontier.pause(paused=True)
        context.doing = None
        return counts

    def _opened(self) -> None:
        for feature in self._context.features:
            try:
                feature.begin(self._context, self)
            except Exception as error:
                self.broken(error)

    def _idle(self) -> None:
        """Keep an idle crawl open for the features. All of them are called: some begin to end their work then."""
        answers = [feature.keeps_open() for feature in self._context.features]
        if any(answers) or self._calls_errbacks():
            raise DontCloseSpider

    def _calls_errbacks(self) -> bool:
        """Call the errbacks of the URLs that stay queued, since the crawl ends. Return True until that is done."""
        if self._last_calls is not None and not self._last_calls.done():
            return True
        queued = self.frontier.snapshot().queued and not self.frontier.is_closing()
        makes_requests = self.requests.has_errbacks or getattr(self.spider, "makes_requests", True)
        if not queued or not makes_requests or self._are_all_called:
            return False
        self._last_calls = self.run_beside(self._call_waiting())
        return True

    async def _call_waiting(self) -> None:
        """Call the errback of each queued URL once. The URL stays queued for the next run."""
        told_before, slot = len(self._errbacks_called), engine_slot(self._crawler.engine)
        async for entry in self.frontier.queued_entries():
            if slot is None or slot.closing is not None:
                return
            if not may_have_errback(entry) or entry.fingerprint in self._errbacks_called:
                continue
            with suppress(ValueError):
                request = self.requests.request(entry)
                if request.errback is not None:
                    self._errbacks_called.add(entry.fingerprint)
                    error = refusal(UNREACHED, entry.url, self.frontier.last_error(entry.key))
                    await self._call_errback(request, error, None)
        # Requests that an errback gave may have errbacks themselves.
        self._are_all_called = len(self._errbacks_called) == told_before
        self.wake()

    def before_close(self, step: Callable[[], Awaitable[None]]) -> None:
        """Have ``step`` called when the crawl is closed, while URLs can still be queued."""
        self._before_close.append(step)

    async def _close(self) -> None:
        self._waking.stop()
        self.inline.close()
        if self._last_calls is not None:
            self._last_calls.cancel()
        await take_all(self._endings(), self.broken)
        self._context.doing = LAST_STEP
        if (stats := self._crawler.get_extension(FrontierStats)) is not None:
            stats.set()

    def _endings(self) -> Iterator[Step]:
        """Yield the steps that end the crawl, in order; see ``crawl/feature_table.py`` for those of features."""
        context = self._context
        features = list(reversed(context.features))
        for feature in features:
            context.doing = f"the end of {_name(feature)}"
            yield feature.before_close
        context.doing = "the end of the seeds"
        yield from self._before_close
        # Features take results until then, and on Redis the frontier closes their connection.
        context.doing = "results to be stored"
        yield self.frontier.drain
        for feature in features:
            context.doing = f"the rest of {_name(feature)}"
            yield feature.drained
        context.doing = "the frontier, which is closed"
        yield self.frontier.close
        for feature in features:
            context.doing = f"{_name(feature)}, which is closed"
            yield feature.close
        if context.archive is not None:
            context.doing = "the archive, whose files are closed"
            yield context.archive.close
        if context.jobdir is not None:
            yield context.jobdir.leave

    # -- requests out ----------------------------------------------------------------------------------------

    def has_pending_requests(self) -> bool:
        if not self.frontier.is_closing() and any(
            feature.awaits_urls() for feature in self._context.features
        ):
            return True
        return not self.frontier.is_finished()

    def next_request(self) -> Request | None:
        self._was_asked = True
        if self._is_stopped:
            # Done here, since an engine that has not called this yet cannot be closed properly.
            self._close_stopped()
            return None
        if self._awaits_bandwidth():
            return None
        while (lease := self.frontier.next_lease()) is not None:
            request = self._request(lease)
            if request is not None:
                return self._begun(lease, request)
        at = self.frontier.next_at()
        if (opens_at := self.frontier.opens_at) is not None:
            self._tell_of_hours(opens_at)
        elif at is not None and not self._has_told_of_patience and not self._flights:
            self._tell_of_patience(at)
        self._waking.wake_at(at)
        return None

    def _tell_of_hours(self, at: float) -> None:
        """Log, once each time, that the crawl waits for its hours."""
        if self._told_of_hours != at:
            self._told_of_hours = at
            logger.info(
                "Waits for the hours in which it may fetch%s: no request begins before %s UTC",
                f" ({self.frontier.hours.crawl})" if self.frontier.hours.crawl else "",
                text.second(at),
            )

    def _tell_of_patience(self, at: float) -> None:
        """Log, once a crawl, that only URLs of hosts that are left alone remain, and which setting ends the wait."""
        seconds, configuration = at - self._context.clock(), self._configuration
        if seconds <= max(PATIENCE_TOLD_SECONDS, configuration.politeness_max_delay / 2):
            return
        self._has_told_of_patience = True
        logger.info(
            "Nothing is left but %s of hosts that fail or asked for a pause; the next request is due in %.0f s. "
            "FRONTIER_PATIENCE_SECONDS=%g says how long the crawl waits for such a host; with 0 it ends without them",
            text.things(self.frontier.snapshot().queued, "URL"),
            seconds,
            configuration.frontier_patience_seconds,
        )

    def next_inline(self) -> Request | None:
        """Return the next inline request, or the robots.txt that one waits for; None if none may be sent now."""
        if self._awaits_bandwidth():
            return None
        while (lease := self.frontier.next_inline()) is not None:
            request = self._request(lease)
            if request is not None:
                return self._begun(lease, request)
        self._waking.wake_at(self.frontier.next_inline_at())
        return None

    def _awaits_bandwidth(self) -> bool:
        """Return True if the bandwidth limit allows no request to begin now; the engine is woken when it may."""
        bandwidth = self._context.bandwidth
        if not bandwidth.is_on or not (seconds := bandwidth.seconds_until_begin()):
            return False
        self._waking.wake_at(self._context.clock() + seconds)
        return True

    def _begun(self, lease: Lease, request: Request) -> Request:
        self._flights[lease.id] = InFlightRequest(lease, request, self, self.frontier.tally)
        if (bandwidth := self._context.bandwidth).is_on:
            fetch_meta(request).reserved_bytes = bandwidth.reserve(lease.entry.kind)
        return request

    async def fetch_inline(self, request: Request) -> Response:
        """Return the response to an inline request: see ``InlineRequests.fetch``."""
        return await self.inline.fetch(request)

    def deliver(self, request: Request, result: Response | Request | BaseException) -> bool:
        """Give the result of an inline request to its caller; returns False if it is none."""
        flight = self.in_flight_request(request)
        if flight is None or flight.lease.inline is None:
            return False
        self.inline.deliver(flight, result)
        return True

    def _request(self, lease: Lease) -> Request | None:
        entry = lease.entry
        try:
            request = self.requests.request(entry) if lease.inline is None else lease.inline.request
        except ValueError as error:
            self._give_up(lease, str(error))
            return None
        if entry.kind == Kind.ROBOTS:
            # As in Scrapy: no callback gets the response.
            request.callback = NO_CALLBACK
        request.meta.update(depth=entry.depth, download_slot=entry.key)
        request.headers.setdefault(b"User-Agent", self._user_agent)
        if entry.redirects:
            request.meta["redirect_times"] = entry.redirects
        if entry.attempts:
            request.meta["retry_times"] = entry.attempts
        embed_hops = entry.embed_hops
        # Embeds are of all types: their element says what they are for.
        is_link = entry.kind == Kind.PAGE and not embed_hops and not is_explicit(entry.payload)
        wanted = self._configuration.mime_types_wanted if is_link else None
        maxsize = self._maxsizes.get(entry.kind)
        request.meta[KEY] = FetchMeta(
            lease.id,
            entry.kind,
            entry.key,
            entry.depth,
            entry.via,
            wanted,
            maxsize,
            validity=lease.validity,
            place=lease.rate_limit_lease.address,
            user_agent=request.headers.get(b"User-Agent"),
            url=request.url,
            pause_seconds=lease.pause_seconds,
            exclusions=self._context.exclusions,
            spool=self._context.spool if entry.kind == Kind.SITEMAP else None,
            embed_hops=embed_hops,
            gives_way=partial(self.frontier.has_inline, entry.key),
        )
        return request

    def keep_queued(self) -> None:
        """Let the URLs of all pages that are being processed stay queued: what they wait for does not come."""
        for flight in self._flights.values():
            flight.is_unkept = flight.is_unkept or flight.lease.entry.kind == Kind.PAGE

    def stopping(self) -> None:
        """Note that the crawl is being closed: it ends when the pages that are being processed are done."""
        if self.stopping_since is None:
            self.stopping_since = monotonic()
        signals_of_process().closing()
        self.inline.stop_soon()

    def waits(self) -> Waits:
        """Return what is left to be done, if no more requests begin."""
        now, flights = self._context.clock(), self._flights.values()
        open_ones = [flight for flight in flights if not flight.over]
        over = [flight for flight in flights if flight.over]
        archived, committed = self.frontier.storing()
        scraper = self._crawler.engine.scraper.slot
        return Waits(
            open=len(open_ones),
            oldest_open=_oldest(open_ones, now, lambda lease: lease.leased_at),
            processed=len(over),
            oldest_processed=_oldest(over, now, lambda lease: lease.ended_at or now),
            items=0 if scraper is None else scraper.itemproc_size,
            archived=archived,
            committed=committed,
            storage="Redis" if self._configuration.storage.is_shared else "disk",
            stalled=self.frontier.snapshot().stalled,
            doing=self._context.doing,
        )

    async def release(self) -> None:
        """Store the known results and release hosts: the process is about to end by force."""
        if self._context.doing is None:
            await self.frontier.release()

    def _give_up(self, lease: Lease, why: str) -> None:
        logger.warning("Cannot fetch %s: %s", lease.entry.url, why)
        self.frontier.ended(lease, FetchEnd(None, self._context.clock()))
        self.frontier.settle(lease, Outcome(Result.FAILED, "request"))

    # -- requests in -----------------------------------------------------------------------------------------

    def enqueue_request(self, request: Request) -> bool:
        """Queue an ordinary Request. Returns False if it is out of scope (a duplicate is dropped later, and
        silently)."""
        known = request.meta.get(KEY)
        flight = (
            self._flights.get(known.lease_id) if isinstance(known, FetchMeta) and known.lease_id else None
        )
        if flight is not None and flight.request is request:
            # A retry: the frontier queues the URL again itself when it settles the lease.
            return True
        self._are_all_called = False
        entry = self.requests.entry(request)
        if isinstance(entry, str):
            self._refused(request.url, entry)
            if request.errback is not None and entry not in SILENT:
                error = refusal(entry, request.url, None)
                task = self.run_beside(self._call_errback(request, error, flight))
                self._errbacks.add(task)
                task.add_done_callback(self._errbacks.discard)
            return False
        if flight is not None and entry.redirects:
            # The features of a link apply to the final target of its redirects.
            entry.link_features = flight.lease.entry.link_features
        discovered = flight.outcome.discovered if flight is not None else []
        discovered.append(entry)
        if flight is None or (len(discovered) >= GIVEN_AT_ONCE and self.gives_early):
            # If a callback gives very many, most are queued before its page is done: perhaps queued twice, never
            # lost.
            self.frontier.add_entries(list(discovered))
            discovered.clear()
        return True

    def _call_errback(
        self, request: Request, error: Exception, flight: InFlightRequest | None
    ) -> Coroutine[Any, Any, None]:
        """Call the errback of a Request that is not fetched. ``flight``: of the response from whose callback it came.

        From now on the engine is not idle, and the flight is not settled before the errback has ended.
        """
        slot = engine_slot(self._crawler.engine)
        assert slot is not None
        slot.add_request(request)
        if flight is not None:
            flight.errbacks += 1
        return self._errback(request, error, flight, slot)

    async def _errback(
        self, request: Request, error: Exception, flight: InFlightRequest | None, slot: Slot
    ) -> None:
        failure = Failure(error)  # type: ignore[no-untyped-call]
        try:
            scraped = self._crawler.engine.scraper.enqueue_scrape(failure, request)
            await maybe_deferred_to_future(scraped)
        finally:
            slot.remove_request(request)
            slot.nextcall.schedule()
            if flight is not None:
                flight.errbacks -= 1
                if flight.is_released and not flight.errbacks:
                    self._processed(flight.request)

    @property
    def gives_early(self) -> bool:
        """True if URLs of one response may be queued before its own URL is done, if there are very many."""
        return not any(feature.records_links for feature in self._context.features)

    async def add_seeds(self, entries: list[UrlEntry]) -> bool:
        """Queue many URLs at once and wait until they are durable. Returns False if they cannot become durable.

        The other processes of the crawl know the named hosts before they know the URLs. If the storage has no room
        for new URLs, this waits: unlike a link, a URL that an operator gives is not found again.
        """
        await self._context.seeded.tell()
        refused = self.frontier.tally.refused_by_rule
        while entries and not self.frontier.is_closing():
            before = refused[BACKLOG_FULL]
            for first in range(0, len(entries), ADDED_AT_ONCE):
                self.frontier.add_entries(entries[first : first + ADDED_AT_ONCE])
                await asyncio.sleep(0)
            if not await self.frontier.drain():
                return False
            if refused[BACKLOG_FULL] == before or not (entries := await self._unknown(entries)):
                return True
            await asyncio.sleep(ROOM_SECONDS)
        return not entries

    async def _unknown(self, entries: list[UrlEntry]) -> list[UrlEntry]:
        """Return those that the seen test does not know."""
        unknown = []
        for entry in entries:
            look = partial(self._context.backend.url_record, entry.key, entry.fingerprint)
            if await self.frontier.with_retry(look) is None:
                unknown.append(entry)
        return unknown

    def _refused(self, url: str, rule: str) -> None:
        self.frontier.tally.refusals += 1
        self.frontier.tally.refused_by_rule[rule] += 1
        logger.debug("Refused %s: %s", url, rule)

    # -- calls of the middlewares ------------------------------------------------------------------------------

    def in_flight_request(self, request: Request) -> InFlightRequest | None:
        known = request.meta.get(KEY)
        return self._flights.get(known.lease_id) if known is not None and known.lease_id else None

    def ended(self, flight: InFlightRequest, ending: FetchEnd) -> None:
        """Note that the response has ended or failed: the key's clock restarts. Later calls change nothing."""
        if not flight.over:
            flight.over = True
            if (bandwidth := self._context.bandwidth).is_on:
                fetch = fetch_meta(flight.request)
                bandwidth.settle(fetch.kind, fetch.reserved_bytes, fetch.received_bytes)
            self.frontier.ended(flight.lease, ending)

    def answered_robots(self, flight: InFlightRequest, reply: RobotsReply) -> None:
        flight.outcome.robots = reply
        flight.outcome.result = Result.FETCHED

    def _processed(self, request: Request) -> None:
        """Settle a request that the engine has released: no more results will come of it."""
        flight = self.in_flight_request(request)
        if flight is None or flight.request is not request:
            return
        flight.is_released = True
        if flight.errbacks:
            return
        del self._flights[flight.lease.id]
        flight.outcome.archived = fetch_meta(request).let_go
        try:
            if not flight.over:
                self._unreported(flight)
            if flight.is_unkept:
                flight.outcome = Outcome(
                    Result.ABANDONED,
                    entry=flight.outcome.entry,
                    earlier=flight.outcome.earlier,
                    archived=flight.outcome.archived,
                )
            if flight.lease.entry.kind == Kind.ROBOTS and not flight.is_unkept:
                self._check_robots(flight)
            if flight.outcome.result not in (Result.RETRY, Result.ABANDONED):
                self.requests.done(flight.lease.entry)
            features = self._context.features if flight.lease.inline is None else ()
            for feature in features:
                feature.rate(flight)
            leave_out(flight.outcome, self._configuration.warc_pages)
            # Its items are in the files before its URL is done.
            flush_feeds(self._crawler)
            for feature in features:
                feature.settled(flight)
            self.frontier.settle(flight.lease, flight.outcome)
        except (StorageFull, StorageLost) as error:
            self.storage_failed(request, error)
            self.frontier.settle(flight.lease, Outcome(Result.ABANDONED))
        except Exception:
            # An internal error must cost this URL, not the slot it came through.
            logger.exception("Could not settle %s", request)
            self.ended(flight, FetchEnd(flight.lease.leased_at, self._context.clock(), error="cancelled"))
            self.frontier.settle(flight.lease, Outcome(Result.FAILED, "internal"))

    def _check_robots(self, flight: InFlightRequest) -> None:
        """Log a warning if a middleware has kept a robots.txt, or its answer, from the frontier."""
        slot = engine_slot(self._crawler.engine)
        is_closing = slot is None or slot.closing is not None
        if is_closing or flight.outcome.robots is not None or flight.outcome.result is Result.ABANDONED:
            return
        # It imports this module.
        from webcrawl.downloadermiddlewares.robots import RobotsMiddleware

        robots = self._crawler.get_downloader_middleware(RobotsMiddleware)
        if robots is not None:
            robots.kept_away(
                flight, "returned another Request in its place", fetch_meta(flight.request).taken_by
            )

    def _unreported(self, flight: InFlightRequest) -> None:
        """End a fetch whose end was not reported, since a middleware kept its answer from ours or gave another
        Request for it. It counts as one that was sent, so that the key's clock restarts."""
        # It imports this module.
        from webcrawl.downloadermiddlewares.outcome import OutcomeMiddleware

        outcome = self._crawler.get_downloader_middleware(OutcomeMiddleware)
        if outcome is not None:
            outcome.unreported(flight)
        self.ended(flight, FetchEnd(flight.lease.leased_at, self._context.clock(), error="cancelled"))

    # -- calls of the frontier ---------------------------------------------------------------------------------

    def wake(self) -> None:
        """Let the engine ask again in the next turn of the loop."""
        self._waking.wake()

    def storage_failed(self, request: Request, error: StorageFull | StorageLost) -> None:
        """Note that a step on the way of a request found no storage: its URL stays queued, and the crawl ends if
        waiting does not help."""
        if (flight := self.in_flight_request(request)) is not None:
            flight.is_unkept = True
        # The archive's own error for a full disk is both.
        if not isinstance(error, StorageFull):
            self.broken(error)

    def _callback_failed(self, failure: Failure, response: Response) -> None:
        if isinstance(failure.value, StorageFull | StorageLost) and response.request is not None:
            self.storage_failed(response.request, failure.value)

    def run_beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work of a feature as a task beside the crawl. An exception in it ends the crawl: see ``broken``."""
        task = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(self._ended_beside)
        return task

    def _ended_beside(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.broken(error)

    def broken(self, error: BaseException) -> None:
        """End the crawl: something that it cannot do without is lost."""
        if self._context.trouble is not None:
            return
        self._context.trouble = error
        logger.error("The crawl's state can no longer be kept: %s", error, exc_info=error)
        deferred_from_coro(self._crawler.engine.close_spider_async(reason="storage_lost"))

    def stop(self) -> None:
        """End the crawl as an operator asks: open requests are finished."""
        self._is_stopped = True
        self.frontier.stop()
        if self._was_asked:
            # Not at the next request: one begins when another has ended, which may take long.
            self._close_stopped()
        self.wake()

    def _close_stopped(self) -> None:
        deferred_from_coro(self._crawler.engine.close_spider_async(reason="stopped"))
