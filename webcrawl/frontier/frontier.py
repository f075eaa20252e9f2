"""The URL frontier: what is fetched next, and what becomes of it (Mercator, section 4; DESIGN in docs).

Everything here runs on the event loop and answers from memory; what has to be read or written goes through tasks
to the backend and comes back as a callback. The frontier knows the rules only through ``Policies``.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from webcrawl.frontier import robots_desk
from webcrawl.frontier.active_key import ActiveKey, Want
from webcrawl.frontier.backend import HEAD, Backend, Committed, Counts, Idle, Settled
from webcrawl.frontier.committer import Change, Committer, Store
from webcrawl.frontier.heap import KeyHeap
from webcrawl.frontier.lease import Ending, Lease, Outcome, Result
from webcrawl.frontier.policies import BUSY_STATUSES, Limits, Policies
from webcrawl.frontier.records import Kind, State, UrlEntry
from webcrawl.frontier.tally import Snapshot, Tally
from webcrawl.hosts.health import HOST_FAILURES
from webcrawl.hosts.record import RobotsRecord

LONG_SECONDS = 30.0
"""A key that waits longer than this, and not because of its delay, is parked."""

_STATES = {
    Result.FETCHED: State.DONE,
    Result.REDIRECTED: State.DONE,
    Result.FAILED: State.FAILED,
    Result.REFUSED: State.REFUSED,
}


class Frontier:
    """A queue per politeness key, a heap of active keys by the time each may next be contacted.

    Always true of an active key: it is either open (one request of it is), in the heap (it has work), loading, or
    dry (nothing queued, kept a while). A key that is none of these is idle, in the backend.
    """

    def __init__(
        self,
        backend: Backend,
        store: Store | None,
        policies: Policies,
        limits: Limits,
        clock: Callable[[], float],
        *,
        changed: Callable[[], None] = lambda: None,
        broken: Callable[[BaseException], None] = lambda error: None,
        commit_interval_seconds: float = 0.02,
    ) -> None:
        """``clock``: epoch seconds that never run backwards. ``changed`` is called when ``next`` may have an
        answer again, or the crawl may be finished; ``broken`` when state can no longer be kept."""
        self._backend = backend
        self._policies = policies
        self._limits = limits
        self._clock = clock
        self._changed = changed
        self._broken = broken
        self._committer = Committer(backend, store, self._on_committed, broken, commit_interval_seconds)
        self._active: dict[str, ActiveKey] = {}
        self._heap = KeyHeap()
        self._dry: dict[str, None] = {}
        self._unsettled: dict[int, Lease] = {}
        self._lease_ids = itertools.count(1)
        self._tasks: set[asyncio.Task[None]] = set()
        self._activating = False
        self._idle: Idle | None = None
        """What is known of idle keys; None when it may have changed."""
        self._counts = Counts()
        self._closing = False
        self.tally = Tally()

    # -- life ----------------------------------------------------------------------------------------------------

    async def open(self) -> Counts:
        """Take up the state that is there. :raises webcrawl.errors.StartRefused: it cannot be used."""
        self._counts = await self._backend.open(self._clock())
        return self._counts

    async def close(self) -> None:
        """Make everything durable and give all keys back; open leases are forgotten, their URLs stay queued."""
        self._closing = True
        await self._committer.drain()
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        records = [active.record for active in self._active.values()]
        self._active.clear()
        if records:
            await self._backend.release(records)
        await self._backend.close()

    async def checkpoint(self, write: Callable[[Backend], Coroutine[Any, Any, None]]) -> None:
        """Let ``write`` copy the backend's state at a moment when all that happened before is durable."""
        await self._committer.drain()
        await write(self._backend)

    # -- what comes in ---------------------------------------------------------------------------------------------

    def add(self, entries: Sequence[UrlEntry]) -> None:
        """Queue those of ``entries`` that were never seen. They are durable some moments later."""
        self._committer.add(Change(discovered=[self.place(entry) for entry in entries]))

    def place(self, entry: UrlEntry) -> UrlEntry:
        """Give an entry its level and position, once."""
        return entry if entry.position else self._policies.order.place(entry)

    async def drain(self) -> None:
        """Wait until all that was added is durable: for those who add much."""
        await self._committer.drain()

    # -- what goes out ---------------------------------------------------------------------------------------------

    def next(self) -> Lease | None:
        """The next URL to fetch, or None when there is none now. Never waits."""
        if len(self._unsettled) >= self._limits.open_max or self._closing:
            return None
        now = self._clock()
        while (key := self._heap.pop_ready(now)) is not None:
            lease = self._lease(self._active[key], now)
            if lease is not None:
                return lease
        self._activate_more()
        return None

    def next_at(self) -> float | None:
        """When ``next`` may have an answer again, as far as time alone decides."""
        if len(self._unsettled) >= self._limits.open_max:
            return None
        times = [self._heap.next_at()]
        if self._idle is not None and len(self._active) < self._limits.active_max:
            times += [self._idle.at, self._idle.parked_at]
        return min((time for time in times if time is not None), default=None)

    def is_finished(self) -> bool:
        """Whether the crawl is over: nothing queued that can be had, nothing open, nothing on its way."""
        if self._unsettled or self._committer.busy or self._tasks or len(self._heap):
            return False
        if self._idle is None or self._closing:
            self._activate_more()
            return self._closing
        if self._idle.at is not None:
            return False
        parked_at = self._idle.parked_at
        return parked_at is None or parked_at - self._clock() > self._limits.patience_seconds

    def snapshot(self) -> Snapshot:
        """How the frontier stands, for people."""
        now = self._clock()
        counts = self._counts
        opened = sum(lease.ended_at is None for lease in self._unsettled.values())
        return Snapshot(
            queued=counts.queued,
            known_hosts=counts.hosts,
            active_hosts=len(self._active) - len(self._dry),
            ready_hosts=self._heap.count_ready(now),
            waiting_hosts=len(self._heap),
            parked_hosts=counts.parked_hosts,
            given_up_hosts=counts.given_up_hosts,
            in_flight=opened,
            unsettled=len(self._unsettled) - opened,
            next_ready_at=self._heap.next_at(),
            stalled=self._committer.stalled,
        )

    def _lease(self, active: ActiveKey, now: float) -> Lease | None:
        pick = active.pick(now, self._policies, self._limits.blocked_max)
        for entry, rule in pick.refused:
            self._settle_refused(entry, rule)
        if pick.entry is None:
            self._rest(active, pick.want)
            return None
        if not active.head.loading and active.head.more and len(active.head) < HEAD // 4:
            self._load(active)
        active.open = True
        lease = Lease(next(self._lease_ids), pick.entry, now)
        self._unsettled[lease.id] = lease
        return lease

    def _rest(self, active: ActiveKey, want: Want) -> None:
        """The key has no URL to give now: what it waits for instead of the heap."""
        match want:
            case Want.LOAD:
                self._load(active)
            case Want.TIME:
                active.record.next_fetch_at = max(active.record.next_fetch_at, active.blocked_until())
                self._park(active)
            case Want.NOTHING:
                self._dry[active.key] = None
                self._release_dry()

    def _settle_refused(self, entry: UrlEntry, rule: str) -> None:
        self.tally.refusals += 1
        self.tally.refused_by_rule[rule] += 1
        self._committer.add(Change(settled=[Settled(entry, State.REFUSED, rule)]))

    # -- what comes back -------------------------------------------------------------------------------------------

    def ended(self, lease: Lease, ending: Ending) -> None:
        """The response has ended (or failed): the key's clock restarts now. Called once per lease."""
        lease.ended_at = ending.ended_at
        active = self._active.get(lease.entry.key)
        if active is None:
            return
        active.open = False
        self._judge(active, lease, ending)
        if lease.entry.kind == Kind.ROBOTS:
            # The key's next request waits until the answer is durable: a crash must not forget a Crawl-delay.
            return
        self._arm(active)

    def _judge(self, active: ActiveKey, lease: Lease, ending: Ending) -> None:
        record, policies = active.record, self._policies
        if ending.started_at is None:
            return
        self._count(lease.entry, ending)
        policies.politeness.fetched(record, ending.started_at, ending.ended_at)
        if ending.error is not None:
            if ending.error in HOST_FAILURES:
                policies.health.failed(record, ending.error, ending.ended_at)
        elif ending.status in BUSY_STATUSES:
            policies.health.busy(record, ending.ended_at, ending.retry_after_seconds)
        else:
            policies.health.succeeded(record)

    def settle(self, lease: Lease, outcome: Outcome) -> None:
        """Everything the fetch gave was processed: make it lasting. Called once per lease, after ``ended``."""
        entry = lease.entry
        active = self._active.get(entry.key)
        change = Change(discovered=[self.place(found) for found in outcome.discovered], entry=outcome.entry)
        change.then = lambda: self._settled(lease)
        if active is not None:
            change.host = active.record
        if outcome.robots is not None:
            self._take_robots(lease, outcome.robots, change)
        if robots_desk.is_stored(entry):
            change.settled.append(self._verdict(entry, outcome))
        self._committer.add(change)

    def _verdict(self, entry: UrlEntry, outcome: Outcome) -> Settled:
        """The state a URL ends in, or its next attempt."""
        result = outcome.result
        if result is Result.ABANDONED:
            return Settled(entry, State.QUEUED, again=self._again(entry, entry.attempts))
        if result is Result.RETRY and entry.attempts < self._policies.retry_times:
            self.tally.retries += 1
            return Settled(entry, State.QUEUED, again=self._again(entry, entry.attempts + 1))
        if result is Result.RETRY:
            result = Result.FAILED
        if result is Result.FAILED:
            self.tally.failures += 1
        elif result is Result.REDIRECTED:
            self.tally.redirects += 1
        elif result is Result.REFUSED:
            self.tally.refusals += 1
            self.tally.refused_by_rule[outcome.rule or "other"] += 1
        return Settled(entry, _STATES[result], outcome.rule)

    def _again(self, entry: UrlEntry, attempts: int) -> UrlEntry:
        again = UrlEntry(
            entry.url,
            entry.key,
            entry.fingerprint,
            entry.level,
            0,
            entry.depth,
            entry.via,
            entry.kind,
            entry.redirects,
            attempts,
            entry.repeat,
            entry.payload,
        )
        return self._policies.order.place_again(again)

    def _take_robots(self, lease: Lease, reply: robots_desk.RobotsReply, change: Change) -> None:
        """A robots.txt was answered: its origin's record, or the next hop of a redirect."""
        origin, _ = robots_desk.origin_asked(lease.entry)
        owner = self._policies.key_of(f"{origin}/")
        active = self._active.get(owner)
        previous = active.robots.get(origin) if active else None
        record, hop = robots_desk.answer(lease.entry, reply, previous, self._clock(), self._policies.robots)
        if hop is not None and hop.key == lease.entry.key and hop.key in self._active:
            self._active[hop.key].hops.append(hop)
            return
        if hop is not None:
            change.discovered.append(self._policies.order.place_again(hop))
        change.robots.append(record)
        change.then = lambda: self._robots_durable(lease, record, owner)

    def _robots_durable(self, lease: Lease, record: RobotsRecord, owner: str) -> None:
        active = self._active.get(owner)
        if active is not None:
            active.robots[record.origin] = record
            delays = [known.crawl_delay_seconds or 0.0 for known in active.robots.values()]
            active.record.crawl_delay_seconds = max(delays) or None
            if lease.ended_at is not None and owner == lease.entry.key:
                self._policies.politeness.rest(active.record, lease.ended_at)
            self._arm(active)
        self._settled(lease)

    def _settled(self, lease: Lease) -> None:
        self._unsettled.pop(lease.id, None)
        active = self._active.get(lease.entry.key)
        if active is not None:
            self._arm(active)
        self._changed()

    # -- keys: in the heap, loading, dry, released -----------------------------------------------------------------

    def _arm(self, active: ActiveKey) -> None:
        """Put the key where it belongs now."""
        key = active.key
        if active.open or active.head.loading or key in self._heap or self._active.get(key) is not active:
            return
        record, now = active.record, self._clock()
        if record.given_up:
            self._release([active])
        elif record.next_fetch_at - now > max(record.delay_seconds, LONG_SECONDS):
            self._park(active)
        elif active.has_work():
            self._dry.pop(key, None)
            self._heap.push(key, record.next_fetch_at)
            self._changed()
        else:
            self._dry[key] = None

    def _load(self, active: ActiveKey) -> None:
        active.head.loading = True
        self._dry.pop(active.key, None)
        self._start(self._load_more(active))

    async def _load_more(self, active: ActiveKey) -> None:
        loaded = await self._backend.load(active.key, active.head.tail, HEAD)
        active.loaded(loaded)
        self._arm(active)

    def _release_dry(self) -> None:
        limit = min(self._limits.dry_max, self._limits.active_max // 2)
        if len(self._dry) > limit:
            oldest = list(itertools.islice(self._dry, max(limit // 2, 1)))
            self._release([self._active[key] for key in oldest])

    def _park(self, active: ActiveKey) -> None:
        """What waits long and not for its delay waits in the backend, where it costs no memory."""
        active.record.parked = True
        self._release([active])

    def _release(self, keys: list[ActiveKey]) -> None:
        for active in keys:
            del self._active[active.key]
            self._dry.pop(active.key, None)
            self._heap.remove(active.key)
        self._idle = None
        self._start(self._give_back(keys))

    async def _give_back(self, keys: list[ActiveKey]) -> None:
        # Behind every change of theirs, so that the backend hears their last words last.
        await self._committer.drain()
        await self._backend.release([active.record for active in keys])
        self._idle = None
        self._changed()

    def _activate_more(self) -> None:
        """Nothing is ready: make idle keys active, unless it is known that none can be yet."""
        room = self._limits.active_max - len(self._active)
        if self._activating or self._closing or room <= 0:
            return
        if self._idle is not None and not self._idle_ready():
            return
        self._activating = True
        free = self._limits.open_max - len(self._unsettled)
        self._start(self._activate(min(room, max(16, 2 * free))))

    def _idle_ready(self) -> bool:
        now = self._clock()
        idle = self._idle
        return idle is not None and any(at is not None and at <= now for at in (idle.at, idle.parked_at))

    async def _activate(self, count: int) -> None:
        try:
            await self._activate_idle(count)
        finally:
            self._activating = False
        self._changed()

    async def _activate_idle(self, count: int) -> None:
        self._idle = Idle(None, None)
        activated = await self._backend.activate(count, self._clock(), self._policies.draw)
        for one in activated:
            active = ActiveKey(one)
            self._active[active.key] = active
            self._arm(active)
        idle = await self._backend.idle() if len(activated) < count else None
        counts = await self._backend.counts()
        # Queued or released meanwhile: what was just learned may be out of date.
        self._idle = None if self._idle is None else idle
        self._counts = counts

    def _on_committed(self, committed: Committed) -> None:
        self._counts.queued, self._counts.hosts = committed.total_queued, committed.total_hosts
        for entry in committed.queued:
            active = self._active.get(entry.key)
            if active is None:
                self._idle = None
            else:
                active.offer(entry)
                self._arm(active)
        self._changed()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finish_task)

    def _finish_task(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._broken(error)
        self._changed()

    def _count(self, entry: UrlEntry, ending: Ending) -> None:
        tally = self.tally
        tally.bytes += ending.payload_bytes
        if ending.error is not None:
            tally.errors[ending.error] += 1
        if entry.kind == Kind.ROBOTS:
            tally.robots += 1
        elif ending.status is not None:
            tally.pages += 1
            tally.statuses[ending.status] += 1
            if ending.mime:
                tally.mimes[ending.mime] += 1
