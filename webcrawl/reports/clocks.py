"""The clocks of politeness keys, and of addresses, hosts, domains and groups that keys share, replayed from the fetch
log.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from webcrawl.politeness.delay import REMEMBERED_DOWNLOADS
from webcrawl.politeness.host_record import HostRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.politeness.delay import Politeness
    from webcrawl.politeness.host_record import Pauses
    from webcrawl.politeness.shared_clocks import SharedClocks
    from webcrawl.reports.fetch_logs import LoggedRequest


KEYS_MAX = 500_000
"""The number of keys for which more is remembered than the next request needs."""
NOTHING_SENT = "cancelled"
"""The failure of a request that its worker ended itself. If the key had been lost, nothing was sent."""


class ViolationKind(StrEnum):
    """The rule that a request violated."""

    OVERLAP = "overlap"
    """The request started while another one of its key was open."""
    EARLY = "early"
    """The request started before the delay was over that was owed after another one of its key."""
    ROBOTS = "robots"
    """No robots.txt of its origin allowed it: none was fetched, or it had expired, or was unavailable."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A request that violated the rules, and the one that forbade it."""

    kind: ViolationKind
    request: LoggedRequest
    before: LoggedRequest | None
    """The request whose end, delay or answer it should have waited for; None if there was no robots.txt at all."""
    allowed_at: float | None
    """The earliest allowed moment in epoch seconds; None if no time would have been allowed."""
    clock: str | None = None
    """The violated clock, if keys share it; None for the key's own."""

    @property
    def seconds(self) -> float | None:
        """Seconds by which it was too early."""
        return None if self.allowed_at is None else self.allowed_at - self.request.start


@dataclass(slots=True)
class ClockState:
    """The state of a clock that the next request must obey."""

    open: LoggedRequest
    """The request that ends last."""
    open_until: float
    owing: LoggedRequest
    """The request after which the clock rests longest."""
    ready_at: float
    delay: float
    """The delay owed last."""
    name: str | None = None
    """Name of a clock that keys share; None for a key's own."""

    @classmethod
    def after(cls, request: LoggedRequest, delay: float, name: str | None = None) -> ClockState:
        until = _end(request)
        return cls(request, until, request, until + delay, delay, name)

    def check(self, request: LoggedRequest, floor: float, tolerance: float) -> Violation | None:
        """Check a request. ``floor``: the least delay that was owed. ``tolerance``: seconds by which clocks of
        machines may differ.
        """
        at = request.start + tolerance
        if at < self.open_until:
            return Violation(ViolationKind.OVERLAP, request, self.open, self.open_until, self.name)
        owing, ready_at = self.owing, self.ready_at
        if self.open_until + floor > ready_at:
            owing, ready_at = self.open, self.open_until + floor
        return Violation(ViolationKind.EARLY, request, owing, ready_at, self.name) if at < ready_at else None

    def check_late(self, request: LoggedRequest, delay: float, tolerance: float) -> Violation | None:
        """Check a request that is late in its log: it may have forbidden one that was taken before. Requests that
        would have forbidden itself are forgotten.
        """
        until = _end(request)
        at = self.open.start + tolerance
        if at < until:
            return Violation(ViolationKind.OVERLAP, self.open, request, until, self.name)
        ready_at = until + delay
        return (
            Violation(ViolationKind.EARLY, self.open, request, ready_at, self.name) if at < ready_at else None
        )

    def take(self, request: LoggedRequest, delay: float) -> None:
        """Record the request and the delay owed after it."""
        until = _end(request)
        self.delay = delay
        if until >= self.open_until:
            self.open, self.open_until = request, until
        if until + delay >= self.ready_at:
            self.owing, self.ready_at = request, until + delay


@dataclass(slots=True)
class Whole:
    """The period in which the log of a key is known to have no gap."""

    number: int
    since: float
    """The start of the period in epoch seconds; minus infinity if the first request of the key is there."""


@dataclass(slots=True)
class Clocks:
    """One clock for each key. A clock is removed when no request has to wait for it any more.

    ``politeness`` gives the owed delay if the log does not, by the download times in the log; if earlier ones may be
    missing, they count as zero, so that no violation is reported that is not certain.
    """

    politeness: Politeness
    tolerance_seconds: float
    _clocks: dict[str, ClockState] = field(default_factory=dict)
    _downloads: dict[str, deque[float]] = field(default_factory=dict)

    def take(self, request: LoggedRequest, floor: float = 0.0) -> Violation | None:
        """Check a request by its key's clock, and update the clock. ``floor``: a delay that its origin asks for."""
        clock = self._clocks.get(request.key)
        violation = None
        if clock is not None and request.start < clock.open.start:
            violation = clock.check_late(request, request.delay or 0.0, self.tolerance_seconds)
        elif clock is not None:
            violation = clock.check(request, floor, self.tolerance_seconds)
        self._set(clock, request)
        return violation

    def is_same(self, request: LoggedRequest) -> bool:
        """Return True if it is the request that was taken last: logs may be copied."""
        clock = self._clocks.get(request.key)
        if clock is None or request.start > clock.open.start:
            return False
        return request in (clock.open, clock.owing)

    def forget(self, now: float) -> None:
        """Remove the clocks that had run out long before ``now``."""
        longest = now - self.politeness.crawl_delay_max - self.tolerance_seconds - 1.0
        for key in [key for key, clock in self._clocks.items() if clock.ready_at < longest]:
            del self._clocks[key]

    def __len__(self) -> int:
        return len(self._clocks)

    def _set(self, clock: ClockState | None, request: LoggedRequest) -> None:
        delay = self._owed(clock, request)
        if clock is None:
            self._clocks[request.key] = ClockState.after(request, delay)
        else:
            clock.take(request, delay)

    def _owed(self, clock: ClockState | None, request: LoggedRequest) -> float:
        if request.delay is not None:
            return request.delay
        if request.lost_at is not None:
            return 0.0 if clock is None else min(clock.delay, self.politeness.min_delay)
        times = self._downloads.pop(request.key, None) or deque([0.0] * REMEMBERED_DOWNLOADS)
        if request.kind != "robots":
            times.append(request.end - request.start)
            times.popleft()
        self._downloads[request.key] = times
        if len(self._downloads) > KEYS_MAX:
            del self._downloads[next(iter(self._downloads))]
        return self.politeness.delay(HostRecord(request.key, download_seconds=list(times)))


@dataclass(slots=True)
class RequestNumbers:
    """The numbers of requests, which show whether all requests of a key are there, from its first one on."""

    missing: int = 0
    """Requests that must have been made and are not in the logs."""
    _keys: dict[str, Whole] = field(default_factory=dict)

    def take(self, request: LoggedRequest, begins_at: float) -> float:
        """Return the time since which the log of the request's key is whole; ``begins_at`` is where the logs
        begin.
        """
        known = self._keys.pop(request.key, None)
        number = request.number
        if known is None:
            if number is None:
                return begins_at
            known = Whole(number, float("-inf") if number == 1 else begins_at)
        elif number is not None:
            if number > known.number + 1:
                self.missing += number - known.number - 1
                known.since = request.start
            # Numbers are used again after a crash.
            known.number = max(number, known.number)
        self._keys[request.key] = known
        if len(self._keys) > KEYS_MAX:
            del self._keys[next(iter(self._keys))]
        return known.since


def _end(request: LoggedRequest) -> float:
    """Return the end of the time in which it was open, as far as that is known."""
    return request.end if request.lost_at is None else min(request.end, request.lost_at)


@dataclass(slots=True)
class SharedClocksKept:
    """Checks requests in the order of their starts. A clock is removed when no request has to wait for it any more.

    A request must obey the clocks that its line names, and those that ``policy`` gives its host and address, with the
    longer of the two pauses.
    """

    policy: SharedClocks
    tolerance_seconds: float
    _clocks: dict[str, ClockState] = field(default_factory=dict)

    def take(self, request: LoggedRequest) -> Iterator[Violation]:
        """Yield a violation for each clock that the request violated."""
        for name, pause in self._pauses(request).items():
            clock = self._clocks.get(name)
            if clock is None:
                self._clocks[name] = ClockState.after(request, pause, name)
                continue
            if request.start < clock.open.start:
                violation = clock.check_late(request, pause, self.tolerance_seconds)
            else:
                violation = clock.check(request, 0.0, self.tolerance_seconds)
            clock.take(request, pause)
            if violation is not None:
                yield violation

    def forget(self, now: float) -> None:
        """Remove the clocks that had run out long before ``now``."""
        before = now - self.tolerance_seconds - 1.0
        self._clocks = {name: clock for name, clock in self._clocks.items() if clock.ready_at >= before}

    def __len__(self) -> int:
        return len(self._clocks)

    def _pauses(self, request: LoggedRequest) -> Pauses:
        if not self.policy or not request.host:
            return request.clocks
        pauses = dict(self.policy.of(request.host, request.ip))
        for name, pause in request.clocks.items():
            pauses[name] = max(pause, pauses.get(name, 0.0))
        return pauses
