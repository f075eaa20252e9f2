"""Wiring of continuous crawling: leases and responses become visits, and due pages become queue entries."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from webcrawl.crawl import request_codec
from webcrawl.crawl.feature import Feature, stop
from webcrawl.errors import CrawlError, StorageFull
from webcrawl.features.revisits.due_pages import Feeder, Portions
from webcrawl.features.revisits.page import Visit, VisitOutcome, modified_at
from webcrawl.features.revisits.policies import Pace
from webcrawl.features.revisits.store import VisitStore
from webcrawl.features.revisits.visits import VisitRules, Visits, is_changed
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.storage.contract import SharedBackend

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from webcrawl.archive.capture import ArchiveEntry, Fact
    from webcrawl.config import Configuration
    from webcrawl.crawl.feature import CrawlContext, Parts
    from webcrawl.crawl.running import InFlightRequest, RunningCrawl
    from webcrawl.features.revisits.estimate import Expectation
    from webcrawl.features.revisits.page import RevisitedPage
    from webcrawl.features.revisits.policies import RevisitPolicy
    from webcrawl.frontier.frontier import Frontier
    from webcrawl.frontier.order import Order
    from webcrawl.storage.contract import Counts

logger = logging.getLogger(__name__)

PAYLOAD_MAX = 4096
"""Maximum length of an ordinary Request as text; a page requested with a longer one is not revisited."""
BUSY_SECONDS, IDLE_SECONDS = 0.1, 1.0
"""Minimum time between two steps, and between two steps without news."""
WAIT_SECONDS_MAX = 5.0
"""Maximum wait of a step while nothing is due: another process may have recorded a change."""
SHARE_SECONDS = 60.0
"""Interval at which the learned state of the policy is stored and shared."""
GRACE_SECONDS = 10.0
"""Maximum wait for a step when the crawl ends, and time for which a count of pages is valid for deciding that end."""
COUNT_SECONDS = 5.0
"""Interval at which pages are counted."""
GONE_STATUSES = frozenset({404, 410})


@dataclass(frozen=True, slots=True)
class KnownPage:
    """Data about a revisited page that its queue entry carries."""

    digest: bytes
    came_at: float
    """Epoch seconds when the known content was requested."""
    etag: str | None
    last_modified: str | None
    since: float | None = None
    """Epoch seconds of the visit before; None if an older version queued the entry."""
    expected: Mapping[str, float] = field(default_factory=dict)
    """Expectation when the entry was queued: the probability that the page was ``unchanged``, and the mean time in
    seconds for which our copy had been stale, its ``age``."""


def known_page(entry: UrlEntry) -> KnownPage | None:
    """Return the known data of an entry; None if the page is visited for the first time."""
    packed = request_codec.read_revisit(entry.payload)
    if packed is None:
        return None
    digest, came_at, *more, etag, last_modified = packed
    since, unchanged, age = more or (None, None, None)
    expected = {} if unchanged is None else {"unchanged": unchanged, "age": age}
    return KnownPage(bytes.fromhex(digest), float(came_at), etag, last_modified, since, expected)


def entry_at(page: RevisitedPage, level: int, order: Order, expected: Expectation) -> UrlEntry:
    """Return the queue entry of a due page, with its position. ``expected``: current expectation of our copy."""
    came = [page.digest.hex(), page.came_at]
    estimated = [page.history.last_at, round(expected.unchanged, 4), round(expected.age_seconds, 1)]
    known = [*came, *estimated, page.etag, page.last_modified]
    return order.place_again(
        UrlEntry(
            page.url,
            page.key,
            page.fingerprint,
            level,
            depth=page.depth,
            via=page.via,
            kind=page.kind,
            repeat=True,
            payload=request_codec.with_revisit(page.payload, known),
        )
    )


class RevisitsFeature(Feature):
    """Turns settled requests of a crawl into visits. A task adds due pages to the frontier: it sleeps until the next
    page is due, and wakes the engine."""

    def __init__(self, visits: Visits, clock: Callable[[], float], retry_times: int, worker: str) -> None:
        """``worker``: name under which the learned state of this worker's policy is stored."""
        self.visits = self.results = visits
        self._worker = worker
        self._clock = clock
        self._retry_times = retry_times
        self._task: asyncio.Task[None] | None = None
        self._counted_at = 0.0
        self._shared_at = clock()
        self._failed = False
        self._over = False
        self._idle_since: float | None = None

    async def open(self, counts: Counts) -> None:
        """Load the status, and the state that the policy has learned."""
        await self.visits.count()
        if counts.done and not self.awaits_urls():
            logger.warning(
                "Pages fetched before the crawl became continuous are not recorded, and not revisited"
            )
        await self.visits.recall(self._worker)

    async def share_lessons(self) -> None:
        """Store the learned state of the policy, and load those of other workers."""
        await self.visits.share_lessons(self._worker)

    def begin(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        # Without this task the crawl would never end.
        self._task = scheduler.run_beside(self._feed_on(context, scheduler))

    def awaits_urls(self) -> bool:
        """Return whether there are remembered pages, which will become due at some time."""
        return self.visits.status.pages > 0

    def keeps_open(self) -> bool:
        """Return True until pages are counted again: another process may have fetched some since the last count."""
        if self._task is None or self._task.done() or self._over:
            return False
        now = self._clock()
        if self._idle_since is None or now - self._idle_since > GRACE_SECONDS:
            self._idle_since = now
            self.visits.news.set()
        return self._counted_at < self._idle_since

    async def before_close(self) -> None:
        """Stop taking pages. Store the last visits and the learned state if the storage allows it."""
        self._over = True
        self.visits.news.set()
        if self._task is not None:
            # Pages that are taken but not added would wait for an hour.
            await asyncio.wait([self._task], timeout=GRACE_SECONDS)
            await stop(self._task)
        with suppress(CrawlError):
            await self.visits.store_loose()
            await self.share_lessons()

    async def _feed_on(self, context: CrawlContext, scheduler: RunningCrawl) -> None:
        configuration, visits, order = context.configuration, self.visits, context.policies.order
        portions = Portions(
            configuration.revisit_share, configuration.revisit_hosts_pages, configuration.concurrent_requests
        )
        feeder = Feeder(
            visits,
            context.frontier,
            lambda page, level: entry_at(page, level, order, visits.expected(page)),
            portions,
        )
        while not self._over:
            visits.news.clear()
            await self._step(context.frontier, scheduler, feeder)
            await asyncio.sleep(BUSY_SECONDS)
            if not feeder.waits_for_share:
                with suppress(TimeoutError):
                    await asyncio.wait_for(visits.news.wait(), self._wait_seconds())

    def _wait_seconds(self) -> float:
        next_at = self.visits.status.next_at
        wait = WAIT_SECONDS_MAX if next_at is None else next_at - self._clock()
        return min(max(wait, IDLE_SECONDS), WAIT_SECONDS_MAX)

    async def _step(self, frontier: Frontier, scheduler: RunningCrawl, feeder: Feeder) -> None:
        """Run one step of the feeder; if the storage is full or unavailable, wait as the rest of the crawl does."""
        visits, now = self.visits, self._clock()
        if frontier.is_closing():
            return
        tally = frontier.tally
        try:
            await visits.store_loose()
            await feeder.step(now, tally.pages - tally.revisits)
            if self._idle_since is not None or now - self._counted_at >= COUNT_SECONDS:
                tally.due = (await visits.count()).due
                self._counted_at = now
            if now - self._shared_at >= SHARE_SECONDS:
                self._shared_at = now
                await self.share_lessons()
        except StorageFull as error:
            if not self._failed:
                logger.warning("Due pages cannot be read at the moment: %s", error)
            self._failed = True
            return
        self._failed = False
        if not self.awaits_urls():
            # The crawl may be finished.
            scheduler.wake()

    def settled(self, flight: InFlightRequest) -> None:
        """Record the visit of a request that is about to be settled."""
        entry, outcome = flight.lease.entry, flight.outcome
        known = known_page(entry)
        if entry.kind == Kind.ROBOTS or not _is_plain(entry, known) or self._goes_on(flight):
            return
        status = None if outcome.entry is None else outcome.entry.record.status
        finding = _finding(flight, status, known)
        if known is None and finding is not VisitOutcome.CAME:
            return
        visit = self._visit(flight, finding)
        if outcome.entry is not None and known is not None:
            outcome.entry.record.extra |= _facts(known, visit)
            tally = flight.tally
            tally.revisits += status is not None and entry.kind == Kind.PAGE
            tally.unchanged += finding is VisitOutcome.CAME and not is_changed(known.digest, visit.digest)
        self.visits.record(visit, outcome.entry)

    def refused(self, entry: UrlEntry) -> None:
        """Record the visit of a queued URL that was refused at its lease."""
        if known_page(entry) is not None:
            visit = Visit(entry.key, entry.fingerprint, entry.url, self._clock(), VisitOutcome.REFUSED)
            self.visits.record(visit, None)

    def _goes_on(self, flight: InFlightRequest) -> bool:
        """Return whether the URL goes back to its queue, or its result does not count."""
        result = flight.outcome.result
        if result is Result.ABANDONED:
            return True
        if result is Result.RETRY and flight.lease.entry.attempts < self._retry_times:
            return True
        return flight.lease.validity.is_over() and result in (Result.RETRY, Result.FAILED)

    def _visit(self, flight: InFlightRequest, finding: VisitOutcome) -> Visit:
        entry, archived = flight.lease.entry, flight.outcome.entry
        plain = Visit(
            entry.key,
            entry.fingerprint,
            entry.url,
            self._clock() if archived is None else archived.record.start,
            finding,
            kind=entry.kind,
            depth=entry.depth,
            via=entry.via,
            payload=request_codec.without_revisit(entry.payload) if entry.payload else None,
        )
        came = flight.came
        if finding is not VisitOutcome.CAME or came is None:
            return plain
        modified = modified_at(came.last_modified, came.date, plain.at)
        return replace(
            plain,
            digest=came.digest,
            etag=came.etag,
            last_modified=came.last_modified,
            modified_at=modified,
            fresh_seconds=came.fresh_seconds,
            stored_at=_stored_at(entry.url, archived),
        )


def _stored_at(url: str, archived: ArchiveEntry | None) -> float | None:
    """Return when the archive stored the payload that ``url`` just returned again: a later 304 confirms
    that record."""
    earlier = None if archived is None else archived.revisit
    return earlier.date if earlier is not None and earlier.target_uri == url else None


def _facts(known: KnownPage, visit: Visit) -> dict[str, Fact]:
    """Return the fields of the fetch log that describe a revisit."""
    facts: dict[str, Fact] = {"revisit": True}
    if visit.finding is VisitOutcome.CAME:
        facts["changed"] = is_changed(known.digest, visit.digest)
        if known.since is not None:
            facts |= {"since": known.since, "expected": known.expected}
        if visit.modified_at is not None:
            facts["modified"] = round(visit.modified_at, 3)
    return facts


def _is_plain(entry: UrlEntry, known: KnownPage | None) -> bool:
    """Return whether an identical request can be made again and is for the same page. Embeds are not visited again: a
    page that changes names its new ones.
    """
    if entry.embed_hops:
        return False
    if known is not None or entry.payload is None:
        return True
    return len(entry.payload) <= PAYLOAD_MAX and request_codec.is_repeatable(entry.payload)


def _finding(flight: InFlightRequest, status: int | None, known: KnownPage | None) -> VisitOutcome:
    result = flight.outcome.result
    if flight.came is not None and (flight.came.digest is not None or known is not None):
        return VisitOutcome.CAME
    if result is Result.REFUSED and status is None:
        return VisitOutcome.REFUSED
    if result is Result.REDIRECTED or status in GONE_STATUSES:
        return VisitOutcome.GONE
    return VisitOutcome.FAILED


def build(parts: Parts) -> RevisitsFeature:
    """Return the revisits of a crawl that visits pages again."""
    configuration, backend = parts.configuration, parts.backend
    rules = visit_rules(configuration)
    visits = Visits(VisitStore(backend.tables), rules, parts.clock, parts.archive, parts.intake.identify)
    # A crawl of one process has one worker, even if its name differs between runs.
    worker = configuration.worker_name if isinstance(backend, SharedBackend) else ""
    return RevisitsFeature(visits, parts.clock, configuration.retry_times, worker)


def visit_rules(configuration: Configuration) -> VisitRules:
    """Return the rules of the settings."""
    fresh_max = min(configuration.revisit_fresh_max_seconds, configuration.revisit_interval_max_seconds)
    return VisitRules(chosen_policy(configuration), configuration.revisit_gone_max, fresh_max)


def chosen_policy(configuration: Configuration) -> RevisitPolicy:
    """Return the policy of the setting REVISIT_POLICY."""
    pace = Pace(
        configuration.revisit_interval_seconds,
        configuration.revisit_interval_min_seconds,
        configuration.revisit_interval_max_seconds,
        configuration.revisit_faster,
        configuration.revisit_slower,
        configuration.revisit_pages_per_day,
    )
    # A crawl that visits each page once does not import this.
    from webcrawl.features.revisits.freshness import build_policy

    return build_policy(configuration.revisit_policy, pace)
