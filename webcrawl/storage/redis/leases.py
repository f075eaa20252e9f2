"""Leases and the clock they depend on: how long a lease lasts, the results of a renewal, the idle keys of a shard,
and an estimate of the server's clock, by which processes on machines with different clocks agree."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from webcrawl.errors import StorageAway
from webcrawl.frontier.queue_head import QueuePosition
from webcrawl.storage.contract import uptime
from webcrawl.storage.redis.packing import level_from
from webcrawl.storage.redis.server import RedisServer

_SAMPLES = 64
"""Number of readings that are considered: with one a second, the two clocks have no time to drift apart."""

FIRST_READINGS = 5
"""Number of readings that are used at once, while no time depends on this clock yet."""

SLEW = 0.0005
"""Speed at which the clock is corrected afterwards, in seconds a second: it may make a delay of 5 s 2.5 ms short."""


class ServerClock:
    """Epoch seconds by the server's clock, never ahead of it and never backwards.

    An answer has the time of the server's clock at some moment before it arrived here. Taking it for the moment of
    arrival makes the estimate late by at most the round trip: an action that must not happen before a time does not.
    ``slack_seconds`` is how late it may be; a time that is stored for others is put later by it. A better reading
    moves the clock forward only slowly: a jump would cut waits short.
    """

    def __init__(self) -> None:
        self._offset = time.time() - uptime()
        self._samples: deque[tuple[float, float]] = deque(maxlen=_SAMPLES)
        self._latest = 0.0
        self._readings = 0
        self._read_at = 0.0
        self.slack_seconds = 0.0

    def __call__(self) -> float:
        self._latest = max(self._latest, self._offset + uptime())
        return self._latest

    @property
    def given(self) -> float | None:
        """The time that scripts use instead of the server's clock; for tests."""
        return None

    def update(self, server_time: float, sent_at: float, received_at: float) -> None:
        """Take a reading: ``server_time`` in epoch seconds, the others as times of ``uptime``."""
        if not self._samples:
            # Times before the first reading were guesses.
            self._latest = 0.0
        self._readings += 1
        self._samples.append((server_time - received_at, received_at - sent_at))
        best, round_trip = max(self._samples)
        if self._readings > FIRST_READINGS:
            best_now = min(best, self._offset + SLEW * (received_at - self._read_at))
        else:
            best_now = best
        self._offset, self._read_at = best_now, received_at
        self.slack_seconds = round_trip + best - best_now


MARGIN_SHARE, MARGIN_SECONDS = 0.02, 0.25
"""Margins by which a lease ends sooner here than there: for clocks that run at different speeds, and a request on its
way out."""

View = tuple[int, float, list[tuple[str, int, float]]]
"""URLs on held keys; seconds until keys may be leased; (class, level, due) of the first due key of each."""


@dataclass(slots=True)
class Renewed:
    """The results of a renewal."""

    lost: list[str] = field(default_factory=list)
    changed_queues: dict[str, QueuePosition] = field(default_factory=dict)
    idle: int = 0
    """Number of keys that have URLs and no holder."""
    forgotten: bool = False
    """True if a server started: it may have forgotten its last second."""


def given_time(clock: ServerClock) -> str:
    """ARGV for the time of a script: empty for the server's own."""
    return "" if clock.given is None else repr(clock.given)


async def set_clock(server: RedisServer, key: str, clock: ServerClock) -> None:
    """Read the clock of the server that has ``key``: all members ask the same one."""
    sent = uptime()
    [(seconds, microseconds)] = await server.commands([("EVAL", "return redis.call('TIME')", 1, key)])
    clock.update(int(seconds) + int(microseconds) / 1e6, sent, uptime())


def until(sent_at: float, lease_seconds: float) -> float:
    """Return when a lease that was requested at ``sent_at`` ends for us; both are times of ``uptime``."""
    return sent_at + lease_seconds * (1 - MARGIN_SHARE) - min(MARGIN_SECONDS, lease_seconds / 4)


def parse_view(answer: list[object], epoch: int) -> View:
    """Parse the answer of ``ready`` for a shard. :raises StorageAway: its server has started since ``epoch``"""
    held, wait, members, now_epoch = answer
    if now_epoch != epoch:
        # Other members may have missing keys and URLs, or we: it is not known yet if the crawl is over.
        raise StorageAway("Redis has started anew; the worker repeats what Redis may have lost")
    assert isinstance(held, int)
    assert isinstance(wait, bytes)
    assert isinstance(members, list)
    due_keys = [
        (member[:1].decode(), level_from(member[1:7]), int.from_bytes(member[7:15], "big") / 1e6)
        for member in members
    ]
    return held, float(wait), due_keys


def ready_levels(view: View, now: float) -> list[int]:
    """Return the levels that have due keys."""
    _, wait, due_keys = view
    return [] if wait else sorted({level for _, level, due in due_keys if due <= now})


def first_due(views: Sequence[View], now: float) -> tuple[float | None, float | None]:
    """Return when the first key that rests, and the first that is parked, may become active."""
    times: dict[str, float] = {}
    for _, wait, due_keys in views:
        for kind, _, due in due_keys:
            at = max(due, now + wait) if wait else due
            times[kind] = min(times.get(kind, at), at)
    return times.get("r"), times.get("p")
