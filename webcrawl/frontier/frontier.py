"""The URL frontier: decides which URL is fetched next, and takes the results (Mercator, section 4).

The design: docs/internals/frontier.md.

All methods run on the event loop and return from memory; reads and writes go through tasks to the backend and come
back as a callback. The rules come only from ``Policies``.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from webcrawl.frontier import robots_requests as requests
from webcrawl.frontier.active_key import ActiveKey, Need
from webcrawl.frontier.active_keys import ActiveKeys
from webcrawl.frontier.committer import Committer, FrontierChange, Store
from webcrawl.frontier.heartbeat import SharedBandwidth, WorkerHeartbeat
from webcrawl.frontier.inline import ROBOTS_UNAVAILABLE, STOPPED, InlineRequest
from webcrawl.frontier.lease import FetchEnd, Lease, Outcome, Result
from webcrawl.frontier.moves import Mover
from webcrawl.frontier.order import FIRST
from webcrawl.frontier.policies import BUSY_STATUSES, FrontierLimits, Policies
from webcrawl.frontier.queue_head import REQUESTED, QueuePosition, expected_place
from webcrawl.frontier.records import Kind, State, UrlEntry, UrlRecord
from webcrawl.frontier.reordering import Reordering
from webcrawl.frontier.shared_clocks import SharedRateLimiter
from webcrawl.frontier.storage_retry import StorageRetry
from webcrawl.frontier.tally import PAUSED, Backlog, Snapshot, Tally
from webcrawl.frontier.unparking import Unparking
from webcrawl.frontier.verdict import count, verdict
from webcrawl.politeness.health import HOST_FAILURES
from webcrawl.politeness.host_record import HostRecord, RobotsRecord, counts, is_success
from webcrawl.politeness.hours import FetchHours
from webcrawl.politeness.refusals import KINDS
from webcrawl.storage.contract import (
    HEAD,
    NO_RATE_LIMITS,
    Backend,
    ClockStore,
    Committed,
    Counts,
    HeartbeatAnswer,
    Move,
    OwnClocks,
    RateLimitLease,
    Settled,
    SharedBackend,
)

_T = TypeVar("_T")

UNANSWERED = "unanswered"
"""The error of a robots.txt whose result was never reported."""
SCANNED_AT_ONCE = 1000
"""Queued entries that are read at a time."""
ERRORS_KEPT = 10_000
"""Hosts whose last failure is remembered after they have left memory."""
USED = frozenset({Kind.PAGE, Kind.INLINE})
"""The kinds of URLs whose content is used."""
USAGE_KIND = "usage"
"""The kind in the fetch log of a request for a file that is requested after a robots.txt."""
NO_REPLY = requests.RobotsReply(0, b"", UNANSWERED)

logger = logging.getLogger(__name__)


class Frontier:
    """A queue per politeness key, a heap of active keys by the time each may next be contacted.

    Leases go out (``next_lease``), endings and outcomes come back (``ended``, ``settle``), and every change becomes
    durable through the committer. Always true: a key has at most one open lease; at most ``open_max`` leases are open
    or not yet durable.
    """

    def __init__(
        self,
        backend: Backend,
        store: Store | None,
        policies: Policies,
        limits: FrontierLimits,
        clock: Callable[[], float],
        *,
        changed: Callable[[], None] = lambda: None,
        broken: Callable[[BaseException], None] = lambda error: None,
        clocks: ClockStore | None = None,
        bandwidth: SharedBandwidth | None = None,
        worker: str | None = None,
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """``clock``: epoch seconds that never run backwards. ``changed`` is called when ``next_lease`` may have an
        answer again, or the crawl may be finished; ``broken`` when state can no longer be kept. ``clocks``: the store
        of the clocks that keys share. ``bandwidth``: the limit of which a shared crawl gives this process a share.
        ``worker``: the name under which its counts are stored. ``prepare`` is called before each commit, see
        ``Committer``."""
        self._backend = backend
        self._bandwidth = bandwidth
        self._policies = policies
        self._limits = limits
        self._clock = clock
        self._changed = changed
        self._broken = broken
        self._is_unheard: Callable[[], bool] = lambda: False
        self._retry = retry = StorageRetry()
        self.tally = tally = Tally(worker, clock())
        self._committer = Committer(
            backend, store, self._on_committed, broken, limits, retry, clock, changed, tally.counted, prepare
        )
        drain = self._committer.drain
        clocks = clocks or OwnClocks(clock)
        self._rate_limiter = limiter = SharedRateLimiter(
            policies, clocks, clock, retry, changed, broken, self._turned_away, self._key_delay
        )
        self._keys = ActiveKeys(backend, policies, limits, clock, drain, changed, broken, retry, limiter)
        self.has_work = self._keys.has_work
        self._mover = Mover(backend, self._keys)
        self._unparking = Unparking(backend, self._keys, clock, retry, drain)
        self.reordering = self._reordering(broken)
        self._unsettled: dict[int, Lease] = {}
        self._has_inline = False
        """True from the first inline request on: most crawls have none."""
        self._inline_unsettled = self._inline_awaited = 0
        """The numbers of inline leases that are unsettled, and of inline requests that somebody waits for."""
        self._kept: dict[tuple[str, QueuePosition], Lease] = {}
        """The unsettled leases whose key was let go."""
        self._lease_ids = itertools.count(1)
        self._closing = self._paused = False
        self._last_errors: dict[str, str] = {}
        self._backlog = Backlog(tally, policies.forget, policies.may_return)
        self._heartbeat: WorkerHeartbeat | None = None
        if isinstance(backend, SharedBackend):
            self._heartbeat = WorkerHeartbeat(backend, retry, self._figures, self._on_heartbeat, broken)

    def _reordering(self, broken: Callable[[BaseException], None]) -> Reordering | None:
        """Return what moves queued URLs when their scores change; None without a scorer."""
        order, share = self._policies.order, self._limits.reordering_share
        if order.scorer is None:
            return None
        return Reordering(order, self._backend, self._mover, self._committer.drain, broken, share)

    # -- life ------------------------------------------------------------------------------------------------

    async def open(self) -> Counts:
        """Open the stored state. :raises webcrawl.errors.StartRefused: it cannot be used."""
        self._keys.counts = await self._backend.open(self._clock())
        self._rate_limiter.begin(self._keys.counts)
        if self._heartbeat is not None:
            self._heartbeat.begin()
        if self.reordering is not None and self._limits.reordering_share > 0:
            self.reordering.begin()
        return self._keys.counts

    async def close(self) -> None:
        """Make everything durable and give all keys back; open leases are forgotten, their URLs stay queued."""
        self._closing = True
        self.end_inline()
        if self.reordering is not None:
            await self.reordering.end()
        await self._committer.drain()
        await self._rate_limiter.close()
        await self._keys.close()
        if self._heartbeat is not None:
            await self._heartbeat.end()
        await self._backend.close()

    async def release(self) -> None:
        """Make the known results durable and give back the keys without open requests, since the process is about to
        end without ``close``. No more leases are given."""
        self._closing = True
        await self._committer.drain()
        await self._keys.close()

    async def checkpoint(self, write: Callable[[Backend], Coroutine[Any, Any, None]]) -> None:
        """Let ``write`` copy the backend's state at a moment when all earlier changes are durable."""
        await self._committer.drain()
        await write(self._backend)

    def change_policies(self, policies: Policies, limits: FrontierLimits) -> None:
        """Apply other policies and limits from now on; the order, the clocks that keys share and what is stored with
        the state must be the same."""
        self._policies = policies
        self._limits = limits
        self._keys.change_policies(policies, limits)
        self._committer.set_limits(limits)
        self._changed()

    # -- intake ------------------------------------------------------------------------------------------------

    def add_entries(self, entries: Sequence[UrlEntry]) -> None:
        """Queue those of ``entries`` that were never seen. They are durable some moments later."""
        self._policies.order.set_time(self._clock())
        self._committer.add(FrontierChange(discovered=self._policies.order.place_all(list(entries))))

    def place_first(self, entry: UrlEntry) -> UrlEntry:
        """Give an entry that is to be added a place at the head of its queue, behind those that got one before."""
        self._policies.order.set_time(self._clock())
        entry.level = FIRST
        return self._policies.order.place_again(entry)

    async def bring_forward(self, entry: UrlEntry) -> bool:
        """Move a queued entry to the front of its queue; of the entry, key and place are needed. Returns False if it
        was not moved: another process holds its key, it is being fetched, or is at another place by now."""
        if entry.level == FIRST:
            return True
        await self._committer.drain()
        return bool(
            await self.with_retry(lambda: self._mover.change_levels([Move(entry, FIRST)], are_whole=False))
        )

    async def unpark(self, key: str) -> bool:
        """Contact a host again that is parked or given up; see ``Unparking.unpark``."""
        is_unparked = await self._unparking.unpark(key, self._policies.health)
        self._changed()
        return is_unparked

    def holds(self, key: str) -> bool:
        """Return whether a key is active in this process."""
        return self._keys.get(key) is not None

    async def drain(self) -> bool:
        """Wait until all added entries are durable. Returns False if they cannot become durable."""
        return await self._committer.drain()

    async def with_retry(self, step: Callable[[], Awaitable[_T]]) -> _T:
        """Run a step of the storage, again and again while it is away or full; the crawl pauses meanwhile."""
        return await self._retry.with_retry(step)

    def last_error(self, key: str) -> str | None:
        """Return the failure of the last request to a host, a word of ``HOST_FAILURES``; None if it did not fail, or
        if that is not known any more."""
        active = self._keys.get(key)
        word = self._last_errors.get(key) if active is None else active.record.last_error
        return word if word in HOST_FAILURES else None

    async def queued_entries(self) -> AsyncIterator[UrlEntry]:
        """Yield the queued entries; of a shared crawl those of this process, and its part of the others."""
        cursor = None
        while True:
            page = await self.with_retry(partial(self._backend.scan_queues, cursor, SCANNED_AT_ONCE))
            for entry in page.entries:
                yield entry
            if (cursor := page.cursor) is None:
                return

    @property
    def open_max(self) -> int:
        """The number of requests that may be open or unsettled at a time."""
        return self._limits.open_max

    @property
    def active_max(self) -> int:
        """The largest number of active keys."""
        return self._limits.active_max

    def in_memory(self) -> tuple[int, int]:
        """Return the number of active keys, and about that of queued URLs that are in memory for them."""
        return self._keys.in_memory()

    def storing(self) -> tuple[int, int]:
        """Return the number of pages that are being archived, and that of changes on their way to the backend."""
        return self._committer.archiving, self._committer.committing

    def forget_idle_times(self) -> None:
        """Ask for idle keys before the crawl counts as finished: other processes may have queued URLs just now."""
        self._keys.forget_idle_times()

    # -- leases ------------------------------------------------------------------------------------------------

    def next_lease(self) -> Lease | None:
        """Return the next URL to fetch, or None if there is none now. Never waits."""
        if (room := self._room()) <= 0 or self._closing or self._is_paused():
            return None
        now = self._clock()
        if self._crawl_opens_at(now) > now:
            return None
        while (active := self._keys.pop_ready(now, room)) is not None:
            lease = self._lease(active, now)
            if lease is not None:
                return lease
        self._keys.activate_keys(2 * room)
        return None

    def next_at(self) -> float | None:
        """Return when ``next_lease`` may have an answer again, as far as time alone decides."""
        if self._room() <= 0 or self._is_paused():
            return None
        return self._when_open(self._keys.next_at())

    def _room(self) -> int:
        """Return how many more URLs of the queues may be fetched. Inline requests do not count: the fetched pages may
        wait for them."""
        return self._limits.open_max - len(self._unsettled) + self._inline_unsettled

    def is_hungry(self) -> bool:
        """Return True if more requests could be started than there are: slots are free, and no key is ready."""
        now = self._clock()
        free = self._room() > 0 and not self._is_paused() and not self._closing
        # While single sites wait for their hours, others can be fetched.
        return free and self._crawl_opens_at(now) <= now and self._keys.is_waiting()

    @property
    def opens_at(self) -> float | None:
        """The time at which the hours begin for which the crawl waits, or all sites that are left; None if it waits
        for none."""
        now = self._clock()
        at = self._crawl_opens_at(now)
        if at > now:
            return at
        return self._keys.sites_open_at(now) if self._policies.hours.sites else None

    @property
    def hours(self) -> FetchHours:
        """The hours in which requests begin."""
        return self._policies.hours

    def _crawl_opens_at(self, now: float) -> float:
        """Return ``now``, or when the hours of the crawl begin."""
        hours = self._policies.hours
        return now if hours.crawl is None else hours.crawl_opens_at(now)

    def _when_open(self, at: float | None) -> float | None:
        """Return a time, or when the hours of the crawl begin, if that is later."""
        return at if at is None else max(at, self._crawl_opens_at(self._clock()))

    @property
    def is_paused(self) -> bool:
        """True if an operator has paused the crawl."""
        return self._paused

    def pause(self, *, paused: bool) -> None:
        """Begin no more requests, or begin them again, as the operator asks."""
        self._paused = paused
        self._changed()

    def stop(self) -> None:
        """Begin no more requests: the crawl ends."""
        self._closing = True
        self._changed()

    def listen(self, is_unheard: Callable[[], bool]) -> None:
        """Begin requests only while ``is_unheard`` returns False: it tells whether this process does not know what
        the operators of a shared crawl want now, as after a freeze."""
        self._is_unheard = is_unheard

    @property
    def open_requests(self) -> int:
        """The number of requests on the network: robots.txt, sitemaps and inline requests count like pages."""
        return sum(lease.ended_at is None for lease in self._unsettled.values())

    @property
    def stalled(self) -> str | None:
        """The reason why nothing can be made durable at the moment, in words; None if all is well."""
        return self._retry.stalled

    def is_closing(self) -> bool:
        """Return True if no more requests will start here: the crawl was stopped, or is being closed."""
        return self._closing

    def is_finished(self) -> bool:
        """Return True if the crawl is over: no queued URL is available, no request is open, no change is under
        way."""
        if self._unsettled or self._inline_awaited or self._committer.busy:
            return False
        if self._closing or self._is_paused():
            return self._closing
        now = self._clock()
        # Hosts that are parked are waited for until the hours begin: their time may have come by then.
        return self._keys.is_exhausted(math.inf if self._crawl_opens_at(now) > now else None)

    def snapshot(self) -> Snapshot:
        """Return the state of the frontier in figures, for display."""
        counts = self._keys.counts
        active, ready, waiting = self._keys.figures()
        opened = [lease for lease in self._unsettled.values() if lease.ended_at is None]
        return Snapshot(
            queued=counts.queued,
            known_hosts=counts.hosts,
            active_hosts=active,
            ready_hosts=ready,
            waiting_hosts=waiting,
            parked_hosts=counts.parked_hosts,
            given_up_hosts=counts.given_up_hosts,
            given_up_urls=counts.given_up_urls,
            in_flight=len(opened),
            unsettled=len(self._unsettled) - len(opened),
            # In the order in which they were leased.
            oldest_open=(opened[0].entry.key, opened[0].leased_at) if opened else None,
            last_parked=self._keys.last_parked,
            next_ready_at=self._when_open(self._keys.next_at()),
            opens_at=self.opens_at,
            stalled=self._retry.stalled or (PAUSED if self._paused else None),
            crowded=self._backlog.crowded,
            workers=None if self._heartbeat is None else self._heartbeat.workers,
        )

    def capacity(self) -> float:
        """Return the pages per second that the delays of the active keys allow; see ``ActiveKeys.capacity``."""
        return self._keys.capacity()

    def _is_paused(self) -> bool:
        """Return True if no new request may start: the operator paused the crawl, or it is unknown which leases are
        valid, or what operators want."""
        member = self._heartbeat
        if self._paused or self._is_unheard():
            return True
        return member is not None and (self._retry.away or member.is_late)

    def _lease(self, active: ActiveKey, now: float) -> Lease | None:
        pick = active.pick(now, self._policies, self._limits.blocked_max)
        for entry, rule in pick.refused:
            self._settle_refused(active, entry, rule)
        if pick.entry is None:
            if active.inline and pick.want is not Need.LOAD and pick.want is not Need.RULES:
                active.inline_in_a_row = 0
                self._keys.place_again(active)
            else:
                self._keys.set_aside(active, pick.want)
            return None
        if self._kept and (active.key, expected_place(pick.entry)) in self._kept:
            # It is being processed here, since before the key was let go.
            self._keys.place_again(active)
            return None
        claim = self._claim(active, pick.entry, pick.refusal)
        if claim is None:
            return None
        lease = self._leased(active, pick.entry, claim, now, pick.refusal)
        if active.head.more and len(active.head) < HEAD // 4:
            self._keys.load_queue(active)
        if not active.awaits_robots:
            active.session -= 1
            active.inline_in_a_row = 0
            self.tally.dequeued += 1
        return lease

    def _leased(
        self,
        active: ActiveKey,
        entry: UrlEntry,
        claim: RateLimitLease,
        now: float,
        refusal: str | None = None,
    ) -> Lease:
        active.open = True
        active.unsettled += 1
        active.awaits_robots = entry.kind == Kind.ROBOTS
        fence, validity = active.record.fence, active.validity
        pause = max(self._policies.politeness.delay(active.record, now), claim.longest_pause)
        lease = Lease(next(self._lease_ids), entry, now, None, fence, validity, claim, refusal, pause)
        if entry.kind != Kind.ROBOTS and (known := active.robots.get(entry.origin or "")) is not None:
            lease.robots_received = requests.version(known)
            if entry.kind in USED:
                lease.usage = self._policies.robots.rules.usage(known, self._policies.request_agent(entry))
        self._unsettled[lease.id] = lease
        return lease

    def _claim(self, active: ActiveKey, entry: UrlEntry, refusal: str | None) -> RateLimitLease | None:
        """Return the lease of the clocks that a fetch shares; None if it has to wait. A refused URL needs none."""
        if refusal is None:
            return self._rate_limiter.claim(active, entry)
        self._rate_limiter.drop(active)
        self._policies.refused(entry)
        return NO_RATE_LIMITS

    def _key_delay(self, record: HostRecord) -> float:
        return self._policies.politeness.delay(record, self._clock())

    def _turned_away(self, active: ActiveKey) -> None:
        self._keys.turned_away(active)

    # -- inline requests ---------------------------------------------------------------------------------------

    def add_inline(self, request: InlineRequest) -> None:
        """Let a request wait for its turn, before the URLs of its key. ``next_inline`` gives its lease, or it is
        turned away."""
        self._has_inline = True
        self._inline_awaited += 1
        request.answer.add_done_callback(self._inline_answered)
        self._keys.add_inline(request)

    def next_inline(self) -> Lease | None:
        """Return the lease of an inline request, or of the robots.txt that one waits for; None if there is none now.

        As many may be open as URLs of the queues, beside those: fetched pages may wait for inline requests, and these
        wait for nothing but the network.
        """
        if not self._has_inline or self._inline_unsettled >= self._limits.open_max or self._is_paused():
            return None
        now = self._clock()
        if self._crawl_opens_at(now) > now:
            return None
        while (active := self._keys.pop_inline(now)) is not None:
            if (lease := self._lease_inline(active, now)) is not None:
                return lease
        return None

    def next_inline_at(self) -> float | None:
        """Return when ``next_inline`` may have an answer again, as far as time alone decides."""
        if not self._has_inline or self._inline_unsettled >= self._limits.open_max or self._is_paused():
            return None
        return self._when_open(self._keys.next_inline_at())

    def has_inline(self, key: str) -> bool:
        """Return True if an inline request waits for a key that is active here."""
        active = self._keys.get(key)
        return active is not None and bool(active.inline)

    def end_inline(self) -> None:
        """Turn away all inline requests that wait, and those that come from now on."""
        self._keys.turn_inline_away(STOPPED)

    def _lease_inline(self, active: ActiveKey, now: float) -> Lease | None:
        pick = active.pick_inline(now, self._policies)
        for _, rule in pick.refused:
            self.tally.refused(rule)
        for request in pick.pending:
            asyncio.get_running_loop().call_later(
                self._limits.patience_seconds, request.turn_away, ROBOTS_UNAVAILABLE
            )
        if pick.entry is None:
            if pick.want is Need.RULES:
                self._keys.set_aside(active, pick.want)
            else:
                self._keys.place_again(active)
            return None
        if (claim := self._rate_limiter.claim(active, pick.entry)) is None:
            return None
        lease = self._leased(active, pick.entry, claim, now, pick.refusal)
        lease.is_inline, lease.inline = True, pick.inline
        self._inline_unsettled += 1
        if pick.inline is not None:
            active.take_inline()
        return lease

    def _inline_answered(self, answer: object) -> None:
        self._inline_awaited -= 1
        if not self._inline_awaited:
            self._changed()

    def _settle_refused(self, active: ActiveKey, entry: UrlEntry, rule: str) -> None:
        self.tally.refused(rule)
        self._policies.refused(entry)
        settled = Settled(entry, UrlRecord(State.REFUSED, rule), fence=active.record.fence)
        self._committer.add(FrontierChange(settled=[settled], then=lambda: active.head.gone(entry)))

    # -- results -----------------------------------------------------------------------------------------------

    def ended(self, lease: Lease, ending: FetchEnd) -> None:
        """Restart the key's clock: the response has ended (or failed). Called once per lease."""
        lease.ended_at = ending.ended_at
        self._rate_limiter.give_back(
            lease.rate_limit_lease, None if ending.started_at is None else ending.ended_at
        )
        if ending.started_at is not None or ending.status is not None:
            # Whoever holds the key now: the log of this process gets a line.
            kind = USAGE_KIND if requests.is_site_file(lease.entry) else lease.entry.kind
            self.tally.ended(kind, ending)
        active = self._holding(lease)
        if active is None:
            return
        active.open = False
        active.unprocessed += 1
        self._update_host(active, lease, ending)
        if lease.entry.kind == Kind.ROBOTS:
            # The key's next request waits until the answer is durable: a crash must not lose a Crawl-delay.
            return
        self._keys.place(active)

    def _update_host(self, active: ActiveKey, lease: Lease, ending: FetchEnd) -> None:
        record, policies = active.record, self._policies
        if ending.started_at is None and ending.status is None:
            return
        if lease.key_validity.is_over():
            # This process may have ended the request itself; the outcome belongs to the present holder of the key.
            return
        if ending.started_at is not None:
            is_robots = lease.entry.kind == Kind.ROBOTS
            record.fetches += ending.resent
            if ending.rate_limit is not None:
                policies.politeness.limit(record, ending.rate_limit, ending.ended_at)
            policies.politeness.fetched(record, ending.started_at, ending.ended_at, is_robots=is_robots)
            self._update_health(record, lease, ending)
            ending.set_pause(record)
        if lease.entry.kind == Kind.PAGE and counts(ending.status, again=lease.entry.repeat):
            record.pages += 1

    def _update_health(self, record: HostRecord, lease: Lease, ending: FetchEnd) -> None:
        health = self._policies.health
        self._last_errors.pop(record.key, None)
        if ending.error in HOST_FAILURES:
            self._last_errors[record.key] = ending.error
            if len(self._last_errors) > ERRORS_KEPT:
                del self._last_errors[next(iter(self._last_errors))]
        if ending.refusal is not None:
            if health.refused(record, ending.refusal, ending.ended_at, ending.retry_after_seconds):
                self._tell_of_refusal(record)
            return
        if record.refusals and (lease.entry.kind == Kind.ROBOTS or not is_success(ending.status)):
            health.while_refused(record, ending.ended_at)
        if ending.error is not None:
            if ending.error in HOST_FAILURES and not lease.rate_limit_lease.validity.is_over():
                health.failed(record, ending.error, ending.ended_at)
        elif ending.status in BUSY_STATUSES:
            again, after = lease.entry.attempts > 0, ending.retry_after_seconds
            health.busy(record, ending.ended_at, after, status=ending.status, again=again)
        else:
            health.succeeded(record)

    def judge(self, lease: Lease, refusal: str | None) -> float | None:
        """Note what the content of a page with status 2xx says, whose response has ended: the kind of its refusal if
        by it the host refuses the crawler as a whole, or None. Return the pause that is owed then, None if it has not
        changed."""
        active = self._holding(lease)
        if active is None or lease.key_validity.is_over() or lease.ended_at is None:
            return None
        record, health = active.record, self._policies.health
        if refusal is None:
            if record.refusals:
                health.welcomed(record)
            return None
        if lease.entry.kind == Kind.PAGE and not lease.entry.repeat and record.pages:
            record.pages -= 1
        before = record.next_fetch_at
        if health.refused(record, refusal, lease.ended_at):
            self._tell_of_refusal(record)
        if record.next_fetch_at == before:
            return None
        self._keys.reschedule(active)
        return record.next_fetch_at - lease.ended_at

    def _tell_of_refusal(self, record: HostRecord) -> None:
        """Log, once until it gives a page again, that a host refuses the crawler and is left alone."""
        kind = record.last_error or ""
        self.tally.refusing_hosts += 1
        self.tally.last_refusing = record.key, kind
        logger.warning(
            "%s refuses this crawler (%s: %s). It gets %d requests a day, and its URLs stay queued. What would help: "
            "%s. This is logged once",
            record.key,
            kind,
            KINDS[kind].meaning,
            self._policies.health.requests_while_refused,
            KINDS[kind].remedy,
        )

    def settle(self, lease: Lease, outcome: Outcome) -> None:
        """Make the results of a fetch durable: all of them were processed. Called once per lease, after ``ended``."""
        entry = lease.entry
        if lease.validity.is_over():
            outcome = outcome.after_lease_end()
        elif entry.kind == Kind.ROBOTS and outcome.robots is None:
            # After any response its robots.txt is requested again later, each time after a longer wait.
            outcome = replace(outcome, result=Result.FAILED, rule=UNANSWERED, robots=NO_REPLY)
        active = self._holding(lease)
        order = self._policies.order
        order.set_time(self._clock())
        if outcome.earlier is not None:
            self._committer.add(FrontierChange(entry=outcome.earlier))
        robots: list[RobotsRecord] = []
        change = FrontierChange(
            discovered=order.place_all(outcome.discovered),
            robots=robots,
            entry=outcome.entry,
            archived=outcome.archived,
            # Without the change itself: a cycle would keep the body until the next collection of garbage.
            then=lambda: self._settled(lease, robots),
        )
        if active is not None:
            change.host = active.record
            active.unprocessed = max(active.unprocessed - 1, 0)
            if active.unprocessed == self._limits.unprocessed_max - 1:
                self._keys.place(active)
        if outcome.robots is not None:
            self._take_robots(lease, outcome.robots, change)
        if requests.is_stored(entry):
            settled = verdict(entry, outcome, self._policies, self.tally)
            settled.fence = lease.fence
            change.settled.append(settled)
        elif lease.inline is not None:
            count(outcome, self.tally)
        self._committer.add(change)

    def _holding(self, lease: Lease) -> ActiveKey | None:
        """Return the key of a lease, if it is held under the same fence. Results under another fence must not change
        it."""
        if self._kept and self._kept.get((lease.entry.key, expected_place(lease.entry))) is lease:
            return None
        active = self._keys.get(lease.entry.key)
        return active if active is not None and active.record.fence == lease.fence else None

    def _take_robots(self, lease: Lease, reply: requests.RobotsReply, change: FrontierChange) -> None:
        """Take the answer of a robots.txt: its origin's record, or the next hop of a redirect."""
        origin, _ = requests.origin_and_hops(lease.entry)
        owner = self._policies.get_key(f"{origin}/")
        active = self._keys.get(owner)
        previous = (active.robots.get(origin) if active else None) or reply.previous
        record, hop = requests.answer(lease.entry, reply, previous, self._clock(), self._policies.robots)
        if not requests.is_site_file(lease.entry):
            requests.add_facts(change.entry, record, self._policies.politeness)
        elif change.entry is not None:
            change.entry.record.kind = USAGE_KIND
        if hop is None:
            record, hop = requests.begin_site_files(lease.entry, owner, record, self._clock(), self._policies)
            if hop is not None and record.crawl_delay_seconds is not None and active is not None:
                # It holds for the file already.
                known = active.record.crawl_delay_seconds or 0.0
                active.record.crawl_delay_seconds = max(record.crawl_delay_seconds, known)
                active.raise_delay(self._policies.politeness)
        if hop is not None and hop.key == lease.entry.key and (here := self._keys.get(hop.key)) is not None:
            here.hops.append(hop)
            return
        if hop is not None:
            change.discovered.append(self._policies.order.place_again(hop))
        change.robots.append(record)

    def _settled(self, lease: Lease, robots: Sequence[RobotsRecord]) -> None:
        """Free the slot of a URL whose change is durable. ``robots``: answers of robots.txt that came with it."""
        for record in robots:
            self._keys.answered(self._policies.get_key(f"{record.origin}/"), record)
        if self._unsettled.pop(lease.id, None) is not None:
            self._inline_unsettled -= lease.is_inline
        if self._kept and self._kept.pop((lease.entry.key, expected_place(lease.entry)), None) is not None:
            if (again := self._keys.get(lease.entry.key)) is not None:
                again.head.gone(lease.entry)
            return
        active = self._holding(lease)
        if active is not None:
            active.head.gone(lease.entry)
            active.unsettled -= 1
            if lease.entry.kind == Kind.ROBOTS:
                active.awaits_robots = False
            self._keys.place(active)

    def _on_committed(self, committed: Committed | None) -> None:
        """Free the slots of a group that is durable: each of its leases is settled."""
        if committed is not None:
            counts = self._keys.counts
            counts.queued, counts.hosts = committed.total_queued, committed.total_hosts
            self._keys.queued(committed.queued)
            if committed.total_queued and not committed.queued:
                # A URL that is known already may be one that another process has just queued.
                self._keys.others_queued()
            self.tally.committed(committed)
            self._backlog.committed(committed)
            for key in committed.lost:
                self._keys.drop_key(key)
        self._changed()

    # -- other processes -------------------------------------------------------------------------------------

    def _figures(self) -> dict[str, float]:
        """The figures of this process, for the other workers and for display."""
        tally, (active, _, _) = self.tally, self._keys.figures()
        return {
            "pages": tally.pages,
            "bytes": tally.bytes,
            "errors": sum(tally.errors.values()),
            **self._backlog.figures(),
            "active": active,
            "open": self.open_requests,
            "paused": float(self._paused),
            "waiting": float(self.is_hungry()),
            **({} if self._bandwidth is None else self._bandwidth.figures()),
        }

    def _on_heartbeat(self, heartbeat: HeartbeatAnswer) -> None:
        if heartbeat.lost:
            self._lose(set(heartbeat.lost))
        for key, position in heartbeat.changed_queues.items():
            self._keys.changed_queues(key, position)
            if position == REQUESTED and self._keys.is_overdue(key):
                self._let_go(key)
        self._backlog.update(heartbeat.filling)
        if self._bandwidth is not None and heartbeat.bandwidth is not None:
            self._bandwidth.granted(heartbeat.bandwidth)
        self._keys.update_share(None if self._closing else heartbeat.share)
        self._changed()

    def _let_go(self, key: str) -> None:
        """Release a requested key whose pages are still being processed: they may wait for keys of the process that
        requests it. Their results count whoever holds the key then, but it may fetch them again."""
        for lease in self._unsettled.values():
            if lease.entry.key == key:
                lease.fence = 0
                if requests.is_stored(lease.entry):
                    self._kept[key, expected_place(lease.entry)] = lease
        self._keys.release_key(key)

    def _lose(self, keys: set[str]) -> None:
        """Drop keys whose leases ended unnoticed, as after a freeze or a network failure: other processes may have
        them."""
        again = sum(lease.entry.key in keys for lease in self._unsettled.values())
        logger.warning("Leases on %d hosts have ended; %d URLs in flight are fetched again", len(keys), again)
        for key in keys:
            self._keys.drop_key(key)
