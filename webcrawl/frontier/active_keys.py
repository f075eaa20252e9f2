"""The back end: the active keys, and the heap that decides whose turn it is (Mercator, section 4.2)."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from typing import Any

from webcrawl.frontier.active_key import ActiveKey, Need
from webcrawl.frontier.closed_sites import ClosedSites, LetGo
from webcrawl.frontier.heap import BestFirst, KeyHeap
from webcrawl.frontier.inline import (
    HELD_SECONDS,
    HOST_UNAVAILABLE,
    IN_A_ROW,
    STOPPED,
    InlineRequest,
    InlineWaiting,
)
from webcrawl.frontier.order import LevelSampler
from webcrawl.frontier.policies import FrontierLimits, Policies
from webcrawl.frontier.queue_head import REQUESTED, QueuePosition, expected_place
from webcrawl.frontier.records import UrlEntry
from webcrawl.frontier.shared_clocks import SharedRateLimiter
from webcrawl.frontier.storage_retry import StorageRetry, Tasks
from webcrawl.politeness.host_record import RobotsRecord
from webcrawl.politeness.hours import FetchHours
from webcrawl.storage.contract import HEAD, Activated, Backend, Counts, Idle

ACTIVATED_LEAST = 16
"""Number of keys that are made active at a time, if there are so many."""

READY_LEAST = 32
"""The least number of ready keys. With fewer, others become active at the end of a session."""

LONG_SECONDS = 30.0
"""A key that waits longer than this, or than the crawl's patience, and not because of its delay, is parked."""
ROUNDING_SECONDS = 0.5
"""A wait that is this short is none that the crawl could do without: times have rounding errors."""


BETTER_SECONDS = 1.0
EXCHANGED = 100
"""Best first: how often to look for keys that are better than active ones, and the least number that become
active."""

IDLE_REFRESH_SECONDS = 0.25
"""The greatest age of the information if idle keys could be contacted."""

CAPACITY_KEYS = 1000
"""The number of keys that the capacity is computed from."""
MOVED_AT_ONCE = 256
"""Keys of which the hours are over that are moved in one turn of the event loop."""

SAMPLED = 500
"""Keys of which the number of URLs in memory is counted; it is estimated for more."""

_KEY = attrgetter("key")


class ActiveKeys:
    """The active keys of this process, each in exactly one place.

    An active key is open (a request of it is), in the heap (it has URLs and waits for its time), claiming (its time
    has come, that of the clocks it shares with others has not), loading (its next URLs are on their way from the
    backend), waiting for its results to become durable, or dry (nothing is queued; it is kept a while, since the next
    page often brings more). A key that is none of these is idle, in the backend, where it costs no memory.

    Keys take rate_limiter: one that has given the URLs of its session goes back to the backend if idle keys could be
    contacted. The backend returns those first that could have been contacted for the longest time, so the key comes
    again when each of them had its session. As long as no idle key could be contacted, a session goes on.
    """

    def __init__(
        self,
        backend: Backend,
        policies: Policies,
        limits: FrontierLimits,
        clock: Callable[[], float],
        drain: Callable[[], Coroutine[Any, Any, object]],
        changed: Callable[[], None],
        broken: Callable[[BaseException], None],
        retry: StorageRetry,
        rate_limiter: SharedRateLimiter,
    ) -> None:
        """``drain`` waits until every change so far is durable; ``rate_limiter`` is that of shared clocks; the rest
        is as for the frontier."""
        self._backend = backend
        self._policies = policies
        self._limit(limits)
        self._clock, self._drain = clock, drain
        self._changed = changed
        self._retry = retry
        self._rate_limiter = rate_limiter
        self._keys: dict[str, ActiveKey] = {}
        share = policies.best_first
        self._best = (
            None
            if share is None
            else BestFirst(lambda key: self._keys[key].level, share, policies.best_first_seed)
        )
        self._heap: KeyHeap | BestFirst = KeyHeap() if self._best is None else self._best
        self._better_at = 0.0
        """Time of the next look for idle keys with better URLs than those of ready ones."""
        self._closed = ClosedSites()
        self._moves = 0
        """Number of moves under way: their URLs may be in no queue that is known here."""
        self._dry: dict[str, None] = {}
        self._tasks = Tasks(broken, changed)
        self._reading = asyncio.Lock()
        self._activating = self._looking = self._giving_back = False
        self._early: dict[str, QueuePosition] = {}
        """URLs queued during an activation, perhaps of its keys: the first position of each key."""
        self._idle: Idle | None = None
        """The known state of idle keys; None if it may have changed."""
        self._is_outdated = False
        """True if another process may have queued URLs since the last look for idle keys."""
        self._waiting_at: float | None = None
        """Time at which the first idle key can be contacted, as of the last look; None if no key is idle."""
        self._look_at = 0.0
        """The time from which ``_others_wait`` looks again."""
        self._resting: list[ActiveKey] = []
        """Keys at the end of their session that are given back together."""
        self._sessions_ended = 0
        """Best first: number of sessions that ended since keys were last made active. The keys stay."""
        self._inline = KeyHeap()
        """The active keys with inline requests; also in ``_heap`` if a URL of the queue has its turn."""
        self._inline_waiting = self._waiting_for_keys(drain)
        self._share: int | None = None
        """The number of keys that this process may have while other processes wait for some."""
        self.counts = Counts()
        self.last_parked: str | None = None
        """The key that was parked last."""

    def _limit(self, limits: FrontierLimits) -> None:
        self._limits = limits
        self._unprocessed_max = limits.unprocessed_max
        self._long_seconds = min(LONG_SECONDS, max(limits.patience_seconds, ROUNDING_SECONDS))
        self._dry_max = min(limits.dry_max, limits.active_max // 2)

    def change_policies(self, policies: Policies, limits: FrontierLimits) -> None:
        """Apply other policies and limits from now on. A longer delay holds for the pause that is running, too, and a
        shorter one from the next request on."""
        if policies.hours != self._policies.hours:
            self._change_hours(policies.hours)
        self._policies = policies
        self._limit(limits)
        for active in list(self._keys.values()):
            before, key = active.record.next_fetch_at, active.key
            active.raise_delay(policies.politeness)
            is_moved = active.record.next_fetch_at != before and (key in self._heap or key in self._inline)
            if is_moved:
                self._heap.remove(key)
                self._inline.remove(key)
            if is_moved or active.unprocessed:
                # The limit of its unprocessed pages may have kept it out of the heap.
                self.place(active)

    def _change_hours(self, hours: FetchHours) -> None:
        """Call back the keys that wait for hours that begin earlier now."""
        held, earlier = self._closed.change(hours, self._clock())
        if earlier:
            self._tasks.start(self._call_back(earlier))
        for key in held:
            if (active := self._keys.get(key)) is not None and not active.open:
                self.reschedule(active)

    def get(self, key: str) -> ActiveKey | None:
        return self._keys.get(key)

    def has_work(self, key: str) -> bool:
        """Return True if a key is known to have URLs in its queue; those of idle keys are not known here."""
        active = self._keys.get(key)
        return active is not None and active.has_work()

    def pop_ready(self, now: float, room: int) -> ActiveKey | None:
        """Take the key whose turn it is out of the heap; None if no key's time has come. ``room``: number of URLs
        that may be fetched now: no more keys than this ask for the clocks that they share."""
        rate_limiter = self._rate_limiter
        if self._best is not None and now >= self._better_at:
            self._look_for_better(now)
        rate_limiter.advance(now)
        while (active := rate_limiter.pop_granted()) is not None:
            if self._may_fetch(active, now):
                return active
        if rate_limiter.pending >= room:
            return None
        for _ in range(MOVED_AT_ONCE):
            if (key := self._heap.pop_ready(now)) is None:
                break
            self._inline.remove(key)
            if self._may_fetch(self._keys[key], now):
                return self._keys[key]
        return None

    def _may_fetch(self, active: ActiveKey, now: float) -> bool:
        """Return True for a key that is still held here, and whose hours have not ended; otherwise it is put
        elsewhere."""
        if active.validity.is_over():
            self.drop_key(active.key)
            return False
        hours = self._policies.hours
        if not hours.sites or (at := hours.opens_at(active.key, now)) <= now:
            return True
        self._wait_for_hours(active, at, now)
        return False

    def _wait_for_hours(self, active: ActiveKey, at: float, now: float) -> None:
        """Let a key wait until the hours of its site begin: in the backend, if that is long and it has no requests
        under way."""
        self._closed.add(at, now)
        self._rate_limiter.drop(active)
        if active.inline or active.unsettled or at - now <= self._long_seconds:
            (self._inline if active.inline else self._heap).push(active.key, at)
            self._closed.held.add(active.key)
        else:
            # Not parked: the crawl waits for it, however long that is.
            self._closed.release(active.key, active.record.next_fetch_at, at, now)
            active.record.next_fetch_at = at
            self._release([active])

    async def _call_back(self, keys: dict[str, LetGo]) -> None:
        """Let keys be contacted as before they waited for hours that have been changed."""
        records = []
        # They may just be on their way to the backend.
        await self._drain()
        for key, times in keys.items():
            acquire = partial(self._backend.acquire_key, key, self._clock())
            acquired = await self._retry.with_retry(acquire)
            if isinstance(acquired, Activated):
                if acquired.record.next_fetch_at >= times.opens_at:
                    acquired.record.next_fetch_at = times.before
                records.append(acquired.record)
        await self._retry.with_retry(lambda: self._backend.release_keys(records))
        self._idle = None

    def sites_open_at(self, now: float) -> float | None:
        """Return when the hours of the first site begin if all keys with URLs wait for theirs, as far as is known
        here; None if not."""
        with_urls = len(self._keys) - len(self._dry)
        at = self._closed.first_opens_at
        return at if at > now and not with_urls else None

    def _waiting_for_keys(self, drain: Callable[[], Coroutine[Any, Any, object]]) -> InlineWaiting:
        waiting = InlineWaiting(self._backend, self._clock, self._retry, drain, self._tasks)
        waiting.adopt, waiting.take = self._adopt, self._take_inline
        return waiting

    # -- inline requests ---------------------------------------------------------------------------------------

    def add_inline(self, request: InlineRequest) -> None:
        """Let an inline request wait for its turn."""
        if self._inline_waiting.is_over:
            request.turn_away(STOPPED)
        elif not self._take_inline(request.entry.key, deque([request]), None):
            self._inline_waiting.add(request.entry.key, deque([request]))

    def _take_inline(
        self, key: str, requests: deque[InlineRequest], answers: list[RobotsRecord] | None
    ) -> bool:
        """Hand inline requests to their key. Returns False if it is not active, or what is stored of the robots.txt
        of their origins was not read: ``answers`` is what was read, None for nothing."""
        active = self._keys.get(key)
        if active is None:
            return False
        if answers is None:
            origins = {request.entry.origin for request in requests}
            if any(origin is not None and origin not in active.robots for origin in origins):
                return False
        active.add_robots(answers or ())
        active.inline.extend(requests)
        self.place(active)
        return True

    def pop_inline(self, now: float) -> ActiveKey | None:
        """Take the key with an inline request whose time has come out of the heaps; None if there is none."""
        rate_limiter = self._rate_limiter
        rate_limiter.advance(now)
        while (active := rate_limiter.pop_granted(inline=True)) is not None:
            if self._may_fetch(active, now):
                return active
        while (key := self._inline.pop_ready(now)) is not None:
            self._heap.remove(key)
            if self._may_fetch(self._keys[key], now):
                return self._keys[key]
        return None

    def next_inline_at(self) -> float | None:
        """Return when the next inline request may be sent, as far as time alone decides."""
        times = [self._inline.next_at(), self._rate_limiter.next_at()]
        return min((time for time in times if time is not None), default=None)

    def turn_inline_away(self, rule: str) -> None:
        """End all inline requests that wait, and those that come from now on."""
        self._inline_waiting.turn_away(rule)
        for active in self._keys.values():
            for request in active.drop_inline():
                request.turn_away(rule)
            self._inline.remove(active.key)

    def place_again(self, active: ActiveKey) -> None:
        """Put a key that gave nothing where it belongs, since it has inline requests, or had some."""
        self._rate_limiter.drop(active)
        self.place(active)

    def _adopt(self, activated: Activated) -> ActiveKey:
        """Take a key that the backend made active."""
        active = ActiveKey(activated, self._limits.session_budget)
        active.raise_delay(self._policies.politeness)
        self._keys[active.key] = active
        return active

    def _arm_inline(self, active: ActiveKey) -> bool:
        """Put a key with inline requests into its heap. Returns False if it must not stay, or has none."""
        record = active.record
        wait = record.next_fetch_at - self._clock()
        if record.given_up or wait > max(record.delay_seconds, self._limits.patience_seconds):
            # Nobody waits that long.
            for request in active.drop_inline():
                request.turn_away(HOST_UNAVAILABLE)
        if active.leaving and not active.unsettled and active.inline_in_a_row >= IN_A_ROW:
            return False
        if active.inline:
            skipped = active.is_skipped(self._clock(), self._policies.politeness)
            self._inline.push(active.key, self._clock() if skipped else record.next_fetch_at)
            self._dry.pop(active.key, None)
            self._changed()
        return bool(active.inline)

    def next_at(self) -> float | None:
        """Return when the next key may be contacted, as far as time alone decides."""
        times = [self._heap.next_at(), self._rate_limiter.next_at()]
        if self._idle is not None and self._room() > 0:
            times += [self._idle.at, self._idle.parked_at]
        return min((time for time in times if time is not None), default=None)

    def is_exhausted(self, patience_seconds: float | None = None) -> bool:
        """Return True if no key has a URL that will be available within the crawl's patience, or another one. Looks
        for more keys if that is unknown."""
        if self._tasks or len(self._heap) or len(self._inline) or self._rate_limiter or self._moves:
            return False
        if self._idle is None or self._is_outdated:
            self._idle = None
            self.activate_keys(1)
            return False
        if self._idle.at is not None or self._idle.busy:
            return False
        parked_at = self._idle.parked_at
        patience = self._limits.patience_seconds if patience_seconds is None else patience_seconds
        return parked_at is None or parked_at - self._clock() > patience

    def figures(self) -> tuple[int, int, int]:
        """Active keys that are not dry, ready ones, and those in the heap."""
        ready = self._heap.count_ready(self._clock())
        return len(self._keys) - len(self._dry), ready, len(self._heap) + self._rate_limiter.in_line

    def capacity(self) -> float:
        """Return the pages per second that the active keys with URLs give at most if each is requested whenever its
        delay allows. Clocks that keys share may allow less. With many keys, it is estimated from some of them."""
        with_urls = len(self._keys) - len(self._dry)
        stride = with_urls // CAPACITY_KEYS + 1
        keys = (active for key, active in self._keys.items() if key not in self._dry)
        some = list(itertools.islice(keys, 0, None, stride))
        politeness, now = self._policies.politeness, self._clock()
        rates = (politeness.rate(active.record, now) for active in some)
        return math.fsum(rates) * with_urls / len(some) if some else 0.0

    def in_memory(self) -> tuple[int, int]:
        """Return the number of active keys, and about that of queued URLs that are in memory for them."""
        some = list(itertools.islice(self._keys.values(), SAMPLED))
        urls = sum(len(active.head) for active in some)
        return len(self._keys), round(urls * len(self._keys) / len(some)) if some else 0

    def is_waiting(self) -> bool:
        """Return True if more keys would be of use."""
        return self._heap.next_at() is None or not self._heap.count_ready(self._clock(), at_most=1)

    def turned_away(self, active: ActiveKey) -> None:
        """Release a key that found too long a line before a clock that it shares."""
        if active.unsettled:
            # Its pages may wait for its inline requests.
            self.place(active)
        self._release([active])

    # -- changes by other processes ----------------------------------------------------------------------------

    def drop_key(self, key: str) -> None:
        """Forget a key that this process does not hold any more. Its open requests end without effect on it."""
        if (active := self._keys.pop(key, None)) is not None:
            self._forget(active)
            self._idle = None

    def _forget(self, active: ActiveKey) -> None:
        """Remove it from all places."""
        self._closed.held.discard(active.key)
        self._dry.pop(active.key, None)
        self._heap.remove(active.key)
        self._inline.remove(active.key)
        self._rate_limiter.drop(active)
        # They wait until the key is active again.
        self._inline_waiting.add(active.key, deque(active.drop_inline()))

    def changed_queues(self, key: str, position: QueuePosition) -> None:
        """Note that another process changed its queue, at ``position`` or behind it."""
        active = self._keys.get(key)
        if active is not None and position == REQUESTED:
            self._requested(active)
        elif active is not None:
            active.head.reopen(position)
            self.place(active)
        elif self._activating:
            self._note_early(key, position)

    def _requested(self, active: ActiveKey) -> None:
        """Release a key that another process requests as soon as its pages are settled."""
        active.leaving = True
        if active.requested_at is None:
            active.requested_at = self._clock()
        self._heap.remove(active.key)
        self.place(active)

    def is_overdue(self, key: str) -> bool:
        """Return True if a requested key has been kept long enough, and only its unsettled pages keep it."""
        active = self._keys.get(key)
        if active is None or active.requested_at is None or not active.is_at_rest():
            return False
        return self._clock() - active.requested_at >= HELD_SECONDS

    def release_key(self, key: str) -> None:
        """Release a key although some of its pages are not settled."""
        active = self._keys[key]
        active.unsettled = 0
        self._release([active])

    def forget_idle_times(self) -> None:
        """Note that the known state of idle keys may be out of date."""
        self._idle = None

    def others_queued(self) -> None:
        """Note that URLs are queued that this process did not queue: before the crawl counts as over, idle keys are
        asked for again."""
        self._is_outdated = True

    @contextmanager
    def moving(self) -> Iterator[None]:
        """URLs are on their way from one place in their queue to another: the crawl is not over meanwhile."""
        self._moves += 1
        try:
            yield
        finally:
            self._moves -= 1
            self._idle = None
            self._changed()

    def update_share(self, share: int | None) -> None:
        """Note that idle keys may have changed. ``share``: see ``HeartbeatAnswer``."""
        self._idle = None
        self._share = share
        if share is None:
            return
        staying = [
            active for active in self._keys.values() if not active.leaving and active.key not in self._dry
        ]
        surplus = len(staying) - share
        # A share of many keys changes all the time, and a few more are no harm; of few keys each one counts.
        if surplus > share // 10:
            # Keys that wait for their time and are settled can go at once, others as soon as they are settled.
            staying.sort(key=lambda active: active.unsettled > 0 or active.key not in self._heap)
            for active in staying[:surplus]:
                active.leaving = True
            self._release([active for active in staying[:surplus] if active.key in self._heap])

    # -- the place of a key ------------------------------------------------------------------------------------

    def place(self, active: ActiveKey) -> None:
        """Put a key that is not open where it belongs now; do nothing if it is there already."""
        key, record = active.key, active.record
        if (
            active.open
            or active.awaits_robots
            or active.awaits_rate_limit
            or active.head.loading
            or active.unread
        ):
            return
        is_inline = active.inline and self._keys.get(key) is active and self._arm_inline(active)
        if is_inline and (active.leaving or not active.owes_turn()):
            self._heap.remove(key)
            return
        if active.unprocessed >= self._unprocessed_max:
            # Its pages take long to parse: other keys get the slots until that is done.
            return
        if self._best is not None and active.session == 0:
            active.session = -1
            self._sessions_ended += 1
        if key in self._heap or self._keys.get(key) is not active:
            if self._best is not None:
                self._best.raised(key)
            return
        if record.given_up or (active.leaving and not active.hops):
            self._release([active])
        elif record.next_fetch_at - self._clock() > max(record.delay_seconds, self._long_seconds):
            self._park(active, 0.0)
        elif active.session <= 0 and self._is_over(active):
            self._dry.pop(key, None)
            self._end_session(active)
        elif active.has_work():
            self._dry.pop(key, None)
            now = self._clock()
            skipped = active.is_skipped(now, self._policies.politeness)
            self._heap.push(key, now if skipped else record.next_fetch_at)
            self._changed()
        else:
            self._dry_up(active)

    def set_aside(self, active: ActiveKey, want: Need) -> None:
        """Put a key that has no URL to give where it belongs by what it waits for."""
        self._rate_limiter.drop(active)
        match want:
            case Need.LOAD:
                self.load_queue(active)
            case Need.TIME:
                self._park(active, active.blocked_until())
            case Need.RULES:
                self._tasks.start(self._read_rules(active))
            case Need.CLOCK:
                self._heap.push(active.key, active.record.next_fetch_at)
            case Need.NOTHING:
                self._dry_up(active)

    def load_queue(self, active: ActiveKey) -> None:
        """Load the next part of its queue; until then it keeps its entries."""
        if not active.head.loading:
            active.head.loading = True
            self._dry.pop(active.key, None)
            self._tasks.start(self._load_more(active))

    async def _load_more(self, active: ActiveKey) -> None:
        loaded = await self._retry.with_retry(
            lambda: self._backend.read_queue(active.key, active.head.tail, HEAD)
        )
        active.loaded(loaded)
        active.raise_delay(self._policies.politeness)
        self.place(active)

    async def _read_rules(self, active: ActiveKey) -> None:
        """Parse a long robots.txt on a thread, one at a time."""
        rules = self._policies.robots.rules
        assert active.unread is not None
        record, agent = active.unread
        async with self._reading:
            rules.hold(record, await asyncio.to_thread(rules.parsed, record, agent), agent)
        active.unread = None
        self.place(active)

    def _is_over(self, active: ActiveKey) -> bool:
        """Return True if the session of a key, which has given all its URLs, ends here, since other keys wait."""
        if self._best is not None or active.inline or active.pending:
            return False
        return active.has_work() and not active.hops and self._others_wait()

    def _end_session(self, active: ActiveKey) -> None:
        """End the session of a key. While URLs of it are not settled nothing happens: it is armed again when they
        are."""
        if active.unsettled:
            return
        del self._keys[active.key]
        self._forget(active)
        self._idle = None
        self._resting.append(active)
        if not self._giving_back:
            self._giving_back = True
            self._tasks.start(self._give_back_resting())
        if not self._activating and self._heap.count_ready(self._clock(), READY_LEAST) < READY_LEAST:
            # Before the ready ones run out: the backend takes a moment to answer.
            self.activate_keys(2 * READY_LEAST)

    async def _give_back_resting(self) -> None:
        """Give keys back one step at a time: keys whose sessions end meanwhile go together in the next step."""
        try:
            while self._resting:
                step, self._resting = self._resting, []
                await self._give_back(step)
        finally:
            self._giving_back = False

    def _others_wait(self) -> bool:
        """Return True if idle keys could be contacted, as far as is known; this is looked up again now and then."""
        now = self._clock()
        if now >= self._look_at and not self._looking:
            self._look_at = now + IDLE_REFRESH_SECONDS
            self._looking = True
            self._tasks.start(self._read_idle())
        return self._waiting_at is not None and self._waiting_at <= now

    async def _read_idle(self) -> None:
        try:
            self._note_idle(await self._retry.with_retry(self._backend.read_idle_times))
        finally:
            self._looking = False

    def _note_idle(self, idle: Idle) -> None:
        times = [at for at in (idle.at, idle.parked_at) if at is not None]
        self._waiting_at = min(times, default=None)

    def _dry_up(self, active: ActiveKey) -> None:
        """Note that it has nothing queued. Too many of these must not take the places of keys with URLs."""
        self._dry[active.key] = None
        if len(self._dry) > self._dry_max:
            keys = (self._keys[key] for key in self._dry)
            settled = (active for active in keys if not active.unsettled)
            self._release(list(itertools.islice(settled, max(self._dry_max // 2, 1))))

    def _park(self, active: ActiveKey, blocked_until: float) -> None:
        """Let a key wait in the backend if it waits long, and not because of its delay."""
        if not active.unsettled:
            active.record.parked, active.record.blocked_until = True, blocked_until
            self.last_parked = active.key
            self._release([active])

    def _release(self, keys: list[ActiveKey]) -> None:
        """Release keys. One whose URLs are not settled yet stays: as an idle key it would still have them queued, and
        soon give them again. It is armed again when they are settled."""
        keys = [active for active in keys if not active.unsettled]
        if not keys:
            return
        for active in keys:
            del self._keys[active.key]
            self._forget(active)
        self._idle = None
        self._tasks.start(self._give_back(keys))

    async def _give_back(self, keys: list[ActiveKey]) -> None:
        # After every change of theirs, so that the backend gets their final records last.
        await self._drain()
        records = [active.record for active in keys]
        await self._retry.with_retry(lambda: self._backend.release_keys(records))
        self._idle = None

    def reschedule(self, active: ActiveKey) -> None:
        """Put a key whose time has changed where it belongs now."""
        self._heap.remove(active.key)
        self._inline.remove(active.key)
        self.place(active)

    def answered(self, key: str, answer: RobotsRecord) -> None:
        """Take the answer of a robots.txt of this key, perhaps fetched by another one."""
        active = self._keys.get(key)
        if active is None:
            # It may be waiting for that answer.
            self._tasks.start(self._wake(key))
            return
        active.answered(answer)
        active.raise_delay(self._policies.politeness)
        # The time of its turn may have changed.
        self._heap.remove(key)
        self.place(active)

    async def _wake(self, key: str) -> None:
        # After a release of the same key that waits for the same changes.
        await self._drain()
        await self._retry.with_retry(lambda: self._backend.end_robots_wait([key]))
        self._idle = None

    # -- the origin of keys ------------------------------------------------------------------------------------

    def queued(self, entries: list[UrlEntry]) -> None:
        """Note queued URLs: active keys take them, or remember that there are more; others may become active."""
        # Those of a key are mostly next to each other.
        for key, group in itertools.groupby(entries, _KEY):
            active = self._keys.get(key)
            if active is None:
                self._idle = None
                if self._activating:
                    self._note_early(key, min(map(expected_place, group)))
            elif new := active.head.within(group):
                for entry in new:
                    active.offer(entry)
                self.place(active)

    def _note_early(self, key: str, position: QueuePosition) -> None:
        """Note that an entry was queued for a key that may just be becoming active, after its queue was read."""
        self._early[key] = min(position, self._early.get(key, position))

    def activate_keys(self, wanted: int) -> None:
        """Make about ``wanted`` idle keys active, since nothing is ready, unless it is known that none can be yet."""
        room = self._room()
        if self._activating or room <= 0 or not self._idle_may_be_ready():
            return
        self._activating = True
        self._sessions_ended = 0
        self._tasks.start(
            self._activate_keys(min(room, max(ACTIVATED_LEAST, wanted)), self._policies.sampler)
        )

    def _room(self) -> int:
        """Return how many more keys this process may have."""
        room = self._limits.active_max - len(self._keys)
        if self._share is not None:
            # A dry key is of no use to another process.
            room = min(room, self._share - (len(self._keys) - len(self._dry)))
        return room

    def _idle_may_be_ready(self) -> bool:
        if self._idle is None:
            return True
        now = self._clock()
        return any(at is not None and at <= now for at in (self._idle.at, self._idle.parked_at))

    def _look_for_better(self, now: float) -> None:
        """Best first: make keys with better URLs active although others are ready, in the place of the worst if there
        is no room. Keys that have given the URLs of their session make room for others that are as good."""
        self._better_at = now + BETTER_SECONDS
        wanted = max(EXCHANGED, self._sessions_ended)
        if self._room() > 0:
            self.activate_keys(wanted)
        elif not self._activating and self._idle_may_be_ready():
            self._sessions_ended = 0
            waiting = (
                active for key, active in self._keys.items() if key in self._heap and not active.unsettled
            )
            number = min(wanted, max(len(self._keys) // 2, 1))
            worst = heapq.nsmallest(number, waiting, key=lambda active: (active.level, active.session > 0))
            had_turn = [active for active in worst if active.session <= 0 and active.level == worst[0].level]
            if worst:
                self._activating = True
                above = had_turn[0].level - 1 if had_turn else worst[-1].level
                self._tasks.start(self._exchange(had_turn or worst, self._policies.sampler.above(above)))

    async def _exchange(self, worst: list[ActiveKey], sampler: LevelSampler) -> None:
        before = len(self._keys)
        await self._activate_keys(len(worst), sampler)
        gained = max(len(self._keys) - before, 0)
        self._release([active for active in worst[:gained] if active.key in self._heap])

    async def _activate_keys(self, count: int, sampler: LevelSampler) -> None:
        try:
            self._idle, self._is_outdated = Idle(None, None), False
            activated = await self._retry.with_retry(
                lambda: self._backend.activate_keys(count, self._clock(), sampler)
            )
            for key in activated:
                active = self._adopt(key)
                if (position := self._early.get(active.key)) is not None:
                    active.head.reopen(position)
                self.place(active)
            idle = (
                await self._retry.with_retry(self._backend.read_idle_times)
                if len(activated) < count
                else None
            )
            counts = await self._retry.with_retry(self._backend.read_counts)
            if idle is None:
                # All that were requested came: there may be more.
                self._waiting_at = self._clock()
            else:
                self._note_idle(idle)
            # Keys may have been queued or released meanwhile: this answer may be out of date.
            self._idle = None if self._idle is None else idle
            self.counts = counts
        finally:
            self._activating = False
            self._early.clear()

    async def close(self) -> None:
        """Give all keys back; all earlier changes must be durable."""
        await self._tasks.all_ended()
        # A key with an open request stays marked as active: it is not known yet when it may be contacted again.
        records = [active.record for active in self._keys.values() if not active.open]
        self._keys.clear()
        self._dry.clear()
        if records:
            await self._retry.with_retry(lambda: self._backend.release_keys(records))
