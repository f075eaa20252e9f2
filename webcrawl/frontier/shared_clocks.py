"""The limiter of shared clocks: keys whose own time has come wait here for the clocks that they share with others.

A key is in one of four places: its host's address is being looked up, its request to the clocks is under way, it
waits in the line of the clock that was not free, or its lease was granted and it is fetched from next. Only the first
of a line requests it, when the clock may be free: thousands of hosts at one address cost one request a fetch.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from webcrawl.frontier.active_key import ActiveKey
from webcrawl.frontier.policies import Policies
from webcrawl.frontier.records import UrlEntry
from webcrawl.frontier.storage_retry import StorageRetry, Tasks
from webcrawl.politeness.host_record import HostRecord, Pauses
from webcrawl.storage.contract import (
    FOREVER,
    NO_RATE_LIMITS,
    ClockStore,
    Counts,
    LeaseValidity,
    RateLimitDenial,
    RateLimitLease,
    RateLimitRequest,
    RateLimitReturn,
)
from webcrawl.urls.politeness_key import get_host

LINE_MAX = 500
"""Keys in the line of one clock; further ones wait in the backend until it may be their turn."""


@dataclass(slots=True, eq=False)
class _Waiter:
    active: ActiveKey
    ticket: int
    host: str
    address: str | None = None
    pauses: Pauses = field(default_factory=dict)
    in_line: bool = False
    tried_line: str | None = None
    """The clock in whose line it waited before its request."""


@dataclass(slots=True)
class _WaitQueue:
    waiting: deque[_Waiter] = field(default_factory=deque)
    at: float | None = None
    """Time of the request for its first key; None while that is not known."""


class SharedRateLimiter:
    """Grants leases of shared clocks to keys, one URL at a time. All methods run on the event loop."""

    def __init__(
        self,
        policies: Policies,
        store: ClockStore,
        clock: Callable[[], float],
        retry: StorageRetry,
        changed: Callable[[], None],
        broken: Callable[[BaseException], None],
        turned_away: Callable[[ActiveKey], None],
        get_delay: Callable[[HostRecord], float],
    ) -> None:
        """``changed``: called when a lease was granted. ``turned_away``: called with a key that finds too long a line
        before it; its record has the time to come again. ``get_delay`` returns the delay of a key. The rest is as for
        the frontier."""
        self._policy = policies.shared_clocks
        self._shares = bool(self._policy)
        self._locate = policies.locate
        self._get_delay = get_delay
        self._store = store
        self._clock = clock
        self._retry = retry
        self._changed = changed
        self._tickets = itertools.count(1)
        self._waiters: dict[str, _Waiter] = {}
        """The waiter of each key that is here, in any place, until its lease is granted."""
        self._granted: deque[ActiveKey] = deque()
        self._lines: dict[str, _WaitQueue] = {}
        self._in_lines = 0
        self._due: list[tuple[float, str]] = []
        """The times of the requests for the first of each line; also stale entries, of lines that changed since."""
        self._wanted: list[_Waiter] = []
        self._returned: list[RateLimitReturn] = []
        self._tasks = Tasks(broken)
        self._exchanging = False
        self._turned_away = turned_away

    def __len__(self) -> int:
        """Number of keys that are here."""
        return len(self._waiters) + len(self._granted)

    @property
    def pending(self) -> int:
        """Number of these that have a lease or may have one in a moment."""
        return len(self) - self._in_lines

    @property
    def in_line(self) -> int:
        """Number of these that wait for a clock."""
        return self._in_lines

    def begin(self, counts: Counts) -> None:
        """Begin with the counts of the opened crawl."""
        if counts.done or counts.queued:
            self._store.rest(self._clock())

    # -- calls of the frontier ---------------------------------------------------------------------------------

    def claim(self, active: ActiveKey, entry: UrlEntry) -> RateLimitLease | None:
        """Return the lease under which ``entry`` may be fetched now. None: it was requested; the key waits here, and
        ``entry`` is back in its queue."""
        if not self._shares:
            return NO_RATE_LIMITS
        claim = self._claim(active, entry)
        if claim is None:
            active.put_back(entry)
        return claim

    def _claim(self, active: ActiveKey, entry: UrlEntry) -> RateLimitLease | None:
        claim, active.rate_limit_lease = active.rate_limit_lease, None
        host = get_host(entry.url) if entry.origin is not None else ""
        if claim is not None:
            if claim.host == host and not claim.validity.is_over():
                return claim
            # Meanwhile another URL came to the head of the queue.
            self.give_back(claim, None)
        if not host:
            return NO_RATE_LIMITS
        waiter = _Waiter(active, next(self._tickets), host)
        if not self._policy.needs_address:
            waiter.pauses = self._policy.of(host, None, self._get_delay(active.record))
            if not waiter.pauses:
                return _granted(waiter, FOREVER)
        self._waiters[active.key] = waiter
        active.awaits_rate_limit = True
        if self._policy.needs_address:
            self._tasks.start(self._find_address(waiter))
        else:
            self._enter_line(waiter)
        return None

    def give_back(self, claim: RateLimitLease, ended_at: float | None) -> None:
        """Give back a lease; ``ended_at`` is the end of the fetch, None if there was none."""
        if not claim.pauses:
            return
        self._returned.append(RateLimitReturn(claim.ticket, claim.pauses, ended_at))
        self._exchange()
        now = self._clock()
        for name, pause in claim.pauses.items():
            if (line := self._lines.get(name)) is not None:
                self._schedule(name, line, now if ended_at is None else max(ended_at + pause, now))

    def drop(self, active: ActiveKey) -> None:
        """Drop a key that this process does not hold any more, or that is not active."""
        waiter = self._waiters.pop(active.key, None)
        self._in_lines -= waiter is not None and waiter.in_line
        active.awaits_rate_limit = False
        claim, active.rate_limit_lease = active.rate_limit_lease, None
        if claim is not None:
            self.give_back(claim, None)

    def advance(self, now: float) -> None:
        """Request the clocks that may be free by now for the first of their lines."""
        while self._due and self._due[0][0] <= now:
            at, name = heapq.heappop(self._due)
            line = self._lines.get(name)
            if line is not None and line.at == at:
                self._request_for_first(name, line)

    def next_at(self) -> float | None:
        """Return the time of the next request for the first of a line."""
        while self._due:
            at, name = self._due[0]
            if (line := self._lines.get(name)) is not None and line.at == at:
                return at
            heapq.heappop(self._due)
        return None

    def pop_granted(self, *, inline: bool = False) -> ActiveKey | None:
        """Take out a key that has its lease; None if there is none. ``inline``: one that has an inline request;
        otherwise one whose turn is not that of an inline request."""
        for _ in range(len(self._granted)):
            active = self._granted.popleft()
            if active.rate_limit_lease is None or not active.awaits_rate_limit:
                continue
            if bool(active.inline) if inline else not active.takes_inline():
                active.awaits_rate_limit = False
                return active
            self._granted.append(active)
        return None

    async def close(self) -> None:
        """Give back unused leases."""
        for active in [waiter.active for waiter in self._waiters.values()] + list(self._granted):
            self.drop(active)
        await self._tasks.all_ended()

    # -- lines -----------------------------------------------------------------------------------------------

    async def _find_address(self, waiter: _Waiter) -> None:
        waiter.address = await self._locate(waiter.host) or ""
        waiter.pauses = self._policy.of(waiter.host, waiter.address, self._get_delay(waiter.active.record))
        if not self._is_here(waiter):
            return
        if waiter.pauses:
            self._enter_line(waiter)
        else:
            self._grant(waiter, FOREVER)

    def _enter_line(self, waiter: _Waiter) -> None:
        """Put it in the line of one of its clocks; if none has a line, request them."""
        for name, pause in waiter.pauses.items():
            line = self._lines.get(name)
            if line is None:
                continue
            if len(line.waiting) >= LINE_MAX:
                self._turn_away(waiter.active, len(line.waiting) * pause)
            else:
                line.waiting.append(waiter)
                self._count_in_line(waiter)
            return
        self._request(waiter)

    def _count_in_line(self, waiter: _Waiter) -> None:
        waiter.in_line = True
        self._in_lines += 1

    def _turn_away(self, active: ActiveKey, seconds: float) -> None:
        self.drop(active)
        active.record.next_fetch_at = max(active.record.next_fetch_at, self._clock() + seconds)
        self._turned_away(active)

    def _schedule(self, name: str, line: _WaitQueue, at: float) -> None:
        line.at = at
        heapq.heappush(self._due, (at, name))
        self._changed()

    def _request_for_first(self, name: str, line: _WaitQueue) -> None:
        """Send a request for the first key of a line that still waits; a line without any is removed."""
        line.at = None
        while line.waiting:
            waiter = line.waiting.popleft()
            if self._is_here(waiter):
                self._in_lines -= 1
                waiter.in_line, waiter.tried_line = False, name
                self._request(waiter)
                return
        del self._lines[name]

    def _is_here(self, waiter: _Waiter) -> bool:
        return self._waiters.get(waiter.active.key) is waiter

    # -- requests ----------------------------------------------------------------------------------------------

    def _request(self, waiter: _Waiter) -> None:
        self._wanted.append(waiter)
        self._exchange()

    def _exchange(self) -> None:
        if not self._exchanging:
            self._exchanging = True
            self._tasks.start(self._exchange_all())

    async def _exchange_all(self) -> None:
        """Send one request at a time, with everything that was added meanwhile."""
        try:
            while self._returned or self._wanted:
                returned, self._returned = self._returned, []
                wanted, self._wanted = self._wanted, []
                requests = [RateLimitRequest(waiter.ticket, waiter.pauses) for waiter in wanted]
                replies = await self._retry.with_retry(partial(self._store.exchange, returned, requests))
                for waiter, reply in zip(wanted, replies, strict=True):
                    self._on_reply(waiter, reply)
        finally:
            self._exchanging = False

    def _on_reply(self, waiter: _Waiter, reply: LeaseValidity | RateLimitDenial) -> None:
        line, waiter.tried_line = waiter.tried_line, None
        if isinstance(reply, LeaseValidity):
            self._grant(waiter, reply)
            return
        if self._is_here(waiter):
            denying = self._lines.setdefault(reply.clock, _WaitQueue())
            denying.waiting.appendleft(waiter)
            self._count_in_line(waiter)
            self._schedule(reply.clock, denying, self._clock() + reply.wait_seconds)
        if line is not None and line in self._lines and not (waiter.in_line and line == reply.clock):
            # That clock was not the reason of the denial: the next key of its line may try.
            self._schedule(line, self._lines[line], self._clock())

    def _grant(self, waiter: _Waiter, validity: LeaseValidity) -> None:
        claim = _granted(waiter, validity)
        if not self._is_here(waiter):
            self.give_back(claim, None)
            return
        del self._waiters[waiter.active.key]
        waiter.active.rate_limit_lease = claim
        self._granted.append(waiter.active)
        self._changed()


def _granted(waiter: _Waiter, validity: LeaseValidity) -> RateLimitLease:
    return RateLimitLease(waiter.ticket, waiter.host, waiter.address, waiter.pauses, validity)
