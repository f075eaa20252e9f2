"""Hosts that are parked or given up, and that an operator wants to be contacted again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from copy import copy
from dataclasses import replace

from webcrawl.frontier.active_keys import LONG_SECONDS, ActiveKeys
from webcrawl.frontier.storage_retry import StorageRetry
from webcrawl.politeness.health import Health
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.robots.answer import RobotsState
from webcrawl.storage.contract import Activated, Backend, Batch

ENTRIES = 500
"""Entries of the queue whose robots.txt is requested again if it could not be had."""


class Unparking:
    """Ends the rest of hosts. All methods run on the event loop."""

    def __init__(
        self,
        backend: Backend,
        keys: ActiveKeys,
        clock: Callable[[], float],
        retry: StorageRetry,
        drain: Callable[[], Awaitable[object]],
    ) -> None:
        """``drain`` waits until every change so far is durable."""
        self._backend = backend
        self._keys = keys
        self._clock = clock
        self._retry = retry
        self._drain = drain

    async def unpark(self, key: str, health: Health) -> bool:
        """Let a host be contacted again; see ``Health.unpark``. A robots.txt of it that could not be had is requested
        again. Returns False if the host did not rest, or another process holds it."""
        await self._drain()
        active, now = self._keys.get(key), self._clock()
        if active is not None:
            if not rests(active.record, now) and not missing(active.robots.values(), now):
                return False
            health.unpark(active.record, now)
            for record in missing(active.robots.values(), now):
                active.answered(_again(record, now))
            self._keys.reschedule(active)
            return True
        acquired = await self._retry.with_retry(lambda: self._backend.acquire_key(key, now, given_up=True))
        if not isinstance(acquired, Activated):
            return False
        loaded = await self._retry.with_retry(lambda: self._backend.read_queue(key, None, ENTRIES))
        failed = missing([*acquired.queue.robots, *loaded.robots], now)
        is_resting = rests(acquired.record, now) or bool(failed)
        if is_resting:
            health.unpark(acquired.record, now)
        batch = Batch(hosts=[acquired.record], robots=[_again(record, now) for record in failed], at=now)
        await self._retry.with_retry(lambda: self._backend.commit(batch))
        await self._retry.with_retry(lambda: self._backend.release_keys([acquired.record]))
        self._keys.forget_idle_times()
        return is_resting


def rests(record: HostRecord, now: float) -> bool:
    """Return True if a host is left alone for longer than its delay, or was given up."""
    until = max(record.next_fetch_at, record.blocked_until)
    return record.given_up or record.parks > 0 or until - now > max(record.delay_seconds, LONG_SECONDS)


def missing(records: Iterable[RobotsRecord], now: float) -> list[RobotsRecord]:
    """Return those of some robots.txt that could not be had, and are not due for another request."""
    states = (RobotsState.UNREACHABLE, RobotsState.PENDING)
    unfetched = {
        record.origin: record for record in records if record.state in states and record.expires_at > now
    }
    return list(unfetched.values())


def _again(record: RobotsRecord, now: float) -> RobotsRecord:
    return replace(copy(record), expires_at=now, attempts=0)
