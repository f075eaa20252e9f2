"""Wiring of continuous crawling: leases and responses become visits, and due pages become queue entries."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from webcrawl import request_codec
from webcrawl.features.revisits.page import Finding, Visit, modified_at
from webcrawl.features.revisits.policies import Pace
from webcrawl.features.revisits.visits import Rules, Visits, is_changed
from webcrawl.frontier.lease import Result
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.storage.contract import SharedBackend
from webcrawl.storage.memory.visits import MemoryVisits
from webcrawl.storage.sqlite.visits import SqliteVisits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from webcrawl.archive.capture import Entry as ArchiveEntry
    from webcrawl.archive.capture import Fact
    from webcrawl.config import Configuration
    from webcrawl.features.revisits.estimate import Expectation
    from webcrawl.features.revisits.page import Page
    from webcrawl.features.revisits.policies import RevisitPolicy
    from webcrawl.features.revisits.store import VisitStore
    from webcrawl.frontier.committer import ArchiveThread
    from webcrawl.frontier.intake import Intake
    from webcrawl.frontier.order import Order
    from webcrawl.scheduler import InFlightRequest
    from webcrawl.storage.contract import Backend

logger = logging.getLogger(__name__)

PAYLOAD_MAX = 4096
"""Maximum length of an ordinary Request as text; a page requested with a longer one is not revisited."""
GONE_STATUSES = frozenset({404, 410})


@dataclass(frozen=True, slots=True)
class Known:
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


def known_of(entry: UrlEntry) -> Known | None:
    """Return the known data of an entry; None if the page is visited for the first time."""
    said = request_codec.revisit_of(entry.payload)
    if said is None:
        return None
    digest, came_at, *more, etag, last_modified = said
    since, unchanged, age = more or (None, None, None)
    expected = {} if unchanged is None else {"unchanged": unchanged, "age": age}
    return Known(bytes.fromhex(digest), float(came_at), etag, last_modified, since, expected)


def entry_at(page: Page, level: int, order: Order, expected: Expectation) -> UrlEntry:
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


class RevisitsFeature:
    """Turns settled requests of a crawl into visits."""

    def __init__(self, visits: Visits, clock: Callable[[], float], retry_times: int, worker: str) -> None:
        """``worker``: name under which the lessons of this worker's policy are stored."""
        self.visits = visits
        self._worker = worker
        self._clock = clock
        self._retry_times = retry_times

    async def open(self, *, has_fetched: bool) -> None:
        """Open the store. ``has_fetched``: the crawl fetched pages before. :raises webcrawl.errors.StartRefused: the
        store cannot be used"""
        await self.visits.store.open()
        await self.visits.look()
        if has_fetched and not self.awaits_pages():
            logger.warning(
                "What this crawl fetched before it was to go on is not remembered, and not visited again"
            )
        await self.visits.recall(self._worker)

    async def share_lessons(self) -> None:
        """Store the policy's lessons, and load those of other workers."""
        await self.visits.share_lessons(self._worker)

    async def close(self) -> None:
        """Close the store; no more visits follow."""
        await self.visits.store.close()

    def awaits_pages(self) -> bool:
        """Return whether there are remembered pages, which will become due at some time."""
        return self.visits.standing.pages > 0

    def on_settled(self, flight: InFlightRequest) -> None:
        """Record the visit of a request that is about to be settled."""
        entry, outcome = flight.lease.entry, flight.outcome
        known = known_of(entry)
        if entry.kind == Kind.ROBOTS or not _is_plain(entry, known) or self._goes_on(flight):
            return
        status = None if outcome.entry is None else outcome.entry.record.status
        finding = _finding(flight, status, known)
        if known is None and finding is not Finding.CAME:
            return
        visit = self._visit(flight, finding)
        if outcome.entry is not None and known is not None:
            outcome.entry.record.extra |= _facts(known, visit)
            tally = flight.scheduler.frontier.tally
            tally.revisits += status is not None and entry.kind == Kind.PAGE
            tally.unchanged += finding is Finding.CAME and not is_changed(known.digest, visit.digest)
        self.visits.tell(visit, outcome.entry)

    def refused(self, entry: UrlEntry) -> None:
        """Record the visit of a queued URL that was refused at its lease."""
        if known_of(entry) is not None:
            visit = Visit(entry.key, entry.fingerprint, entry.url, self._clock(), Finding.REFUSED)
            self.visits.tell(visit, None)

    def _goes_on(self, flight: InFlightRequest) -> bool:
        """Return whether the URL goes back to its queue, or its result does not count."""
        result = flight.outcome.result
        if result is Result.ABANDONED:
            return True
        if result is Result.RETRY and flight.lease.entry.attempts < self._retry_times:
            return True
        return flight.lease.both.is_over() and result in (Result.RETRY, Result.FAILED)

    def _visit(self, flight: InFlightRequest, finding: Finding) -> Visit:
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
        if finding is not Finding.CAME or came is None:
            return plain
        modified = modified_at(came.last_modified, came.date, plain.at)
        return replace(
            plain,
            digest=came.digest,
            etag=came.etag,
            last_modified=came.last_modified,
            modified_at=modified,
            stored_at=_stored_at(entry.url, archived),
        )


def _stored_at(url: str, archived: ArchiveEntry | None) -> float | None:
    """Return when the archive stored the payload that ``url`` just returned again: a later 304 confirms
    that record."""
    earlier = None if archived is None else archived.revisit
    return earlier.date if earlier is not None and earlier.target_uri == url else None


def _facts(known: Known, visit: Visit) -> dict[str, Fact]:
    """Return the fields of the fetch log that describe a revisit."""
    facts: dict[str, Fact] = {"revisit": True}
    if visit.finding is Finding.CAME:
        facts["changed"] = is_changed(known.digest, visit.digest)
        if known.since is not None:
            facts |= {"since": known.since, "expected": known.expected}
        if visit.modified_at is not None:
            facts["modified"] = round(visit.modified_at, 3)
    return facts


def _is_plain(entry: UrlEntry, known: Known | None) -> bool:
    """Return whether an identical request can be made again and asks for the same page."""
    if known is not None or entry.payload is None:
        return True
    return len(entry.payload) <= PAYLOAD_MAX and request_codec.is_repeatable(entry.payload)


def _finding(flight: InFlightRequest, status: int | None, known: Known | None) -> Finding:
    result = flight.outcome.result
    if flight.came is not None and (flight.came.digest is not None or known is not None):
        return Finding.CAME
    if result is Result.REFUSED and status is None:
        return Finding.REFUSED
    if result is Result.REDIRECTED or status in GONE_STATUSES:
        return Finding.GONE
    return Finding.FAILED


def revisits_feature_of(
    configuration: Configuration,
    clock: Callable[[], float],
    backend: Backend,
    folder: Path | None,
    archive: ArchiveThread | None,
    intake: Intake,
) -> RevisitsFeature | None:
    """Return the revisits of a crawl; None if each page is visited once. ``folder``: the JOBDIR."""
    if configuration.crawl_mode != "continuous":
        return None
    rules = Rules(chosen_policy(configuration), configuration.revisit_gone_max)
    store = _store(configuration, backend, folder)
    visits = Visits(store, rules, clock, archive, intake.identify)
    # A crawl of one process has one worker, even if its name differs between runs.
    worker = configuration.worker_name if isinstance(backend, SharedBackend) else ""
    return RevisitsFeature(visits, clock, configuration.retry_times, worker)


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
    from webcrawl.features.revisits.freshness import policy_of

    return policy_of(configuration.revisit_policy, pace)


def _store(configuration: Configuration, backend: Backend, folder: Path | None) -> VisitStore:
    if isinstance(backend, SharedBackend):
        return backend.visits
    if configuration.frontier_backend == "memory" or folder is None:
        return MemoryVisits()
    return SqliteVisits(folder)
