"""Speed of the crawl and its remaining time, computed from a tally and a clock."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.reports import text

if TYPE_CHECKING:
    from webcrawl.frontier.tally import Snapshot, Tally

WINDOW_SECONDS = 10.0
"""The period in seconds over which current rates are averaged."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits at which the crawl stops; 0 is no limit."""

    pages: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """The figures of one moment, counted from the start of this process. Rates are per second."""

    pages: int
    pages_rate: float
    pages_rate_mean: float
    bytes: int
    bytes_rate: float
    errors: int
    """Requests that got no response, each attempt counted."""
    elapsed_seconds: float
    left_seconds: float | None
    """Seconds until the nearest limit, at the present rate; None without a limit or a rate."""
    next_seconds: float | None
    """Seconds until the next host may be contacted, if nothing is in flight and that is a second or more."""
    frontier: Snapshot
    found: str | None = None
    """The number of relevant pages as text; None if the crawl is not focused."""
    again: str | None = None
    """The number of revisits and of due pages as text; None if pages are not revisited."""

    def line(self) -> str:
        """Return one line for a log, with the figures of the whole crawl after those of this worker."""
        f, shared = self.frontier, self.frontier.workers is not None
        known, parked = f"{text.count(f.known_hosts)} known", f"{text.count(f.parked_hosts)} parked"
        active = f"{text.count(f.active_hosts)} active, {text.count(f.ready_hosts)} ready"
        queued = f"queued {text.count(f.queued)}"
        again = [f"again {self.again}"] if self.again else []
        found = [f"found {self.found}"] if self.found else []
        parts = [
            f"{'this worker: ' if shared else ''}pages {text.count(self.pages)} ({text.rate(self.pages_rate)}, "
            f"mean {text.rate(self.pages_rate_mean)})",
            *found,
            *again,
            f"{text.size(self.bytes_rate)}/s",
            *([f"hosts {active}"] if shared else [queued, f"hosts {known}, {active}, {parked}"]),
            f"in flight {f.in_flight}",
            f"errors {text.count(self.errors)}",
            f"elapsed {text.duration(self.elapsed_seconds)}",
        ]
        if self.next_seconds is not None:
            parts.append(f"next host in {text.duration(self.next_seconds)}")
        if self.left_seconds is not None:
            parts.append(f"left {text.duration(self.left_seconds)}")
        if f.workers is not None:
            parts += [f"whole crawl: {text.things(f.workers, 'worker')}", queued, f"hosts {known}, {parked}"]
        if f.crowded:
            parts.append(f"BACKLOG FULL: {f.crowded}")
        if f.stalled:
            parts.append(f"STALLED: {f.stalled}")
        return "; ".join(parts)


class _Look(NamedTuple):
    """The figures of a tally at a time."""

    at: float
    pages: int = 0
    bytes: int = 0
    scored: int = 0
    relevant: int = 0


class Pace:
    """Makes readings. Each reader has its own Pace, since current rates are measured between its own readings.

    It keeps the tallies of the last ``WINDOW_SECONDS`` and no more. Times are those of a monotonic clock.
    """

    def __init__(self, started_at: float, limits: Limits) -> None:
        self._started_at = started_at
        self._limits = limits
        self._looks: deque[_Look] = deque([_Look(started_at)])

    def read(self, now: float, tally: Tally, frontier: Snapshot, epoch_seconds: float = 0.0) -> Reading:
        """Return the figures at ``now``, which is ``epoch_seconds`` by the clock of the frontier."""
        looks = self._looks
        while len(looks) > 1 and looks[1].at <= now - WINDOW_SECONDS:
            looks.popleft()
        then = looks[0]
        span = now - then.at
        looks.append(_Look(now, tally.pages, tally.bytes, tally.scored or 0, tally.relevant))
        elapsed = now - self._started_at
        pages_rate = _per(tally.pages - then.pages, span)
        return Reading(
            pages=tally.pages,
            pages_rate=pages_rate,
            pages_rate_mean=_per(tally.pages, elapsed),
            bytes=tally.bytes,
            bytes_rate=_per(tally.bytes - then.bytes, span),
            errors=tally.errors.total(),
            elapsed_seconds=elapsed,
            left_seconds=self._left(tally.pages, pages_rate, elapsed),
            next_seconds=_until_next(frontier, epoch_seconds),
            frontier=frontier,
            again=_again(tally),
            found=_found(tally, then),
        )

    def _left(self, pages: int, pages_rate: float, elapsed: float) -> float | None:
        left = []
        if self._limits.seconds:
            left.append(max(self._limits.seconds - elapsed, 0.0))
        if self._limits.pages and pages_rate > 0:
            left.append(max(self._limits.pages - pages, 0) / pages_rate)
        return min(left, default=None)


def _found(tally: Tally, then: _Look) -> str | None:
    if tally.scored is None:
        return None
    share = 100.0 * _per(tally.relevant, tally.scored)
    now = 100.0 * _per(tally.relevant - then.relevant, tally.scored - then.scored)
    return f"{text.count(tally.relevant)} relevant ({now:.1f} % now, mean {share:.1f} %)"


def _again(tally: Tally) -> str | None:
    if tally.due is None:
        return None
    share = 100.0 * _per(tally.revisits, tally.pages)
    return f"{text.count(tally.revisits)} ({share:.0f} %), {text.count(tally.due)} due"


def _until_next(frontier: Snapshot, now: float) -> float | None:
    if frontier.in_flight or frontier.ready_hosts or frontier.next_ready_at is None:
        return None
    wait = frontier.next_ready_at - now
    return wait if wait >= 1 else None


def _per(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0
