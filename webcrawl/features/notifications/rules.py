"""The rules by which a running crawl has something to tell: pure functions of figures and the time.

Each rule says whether its condition holds now, with hysteresis where figures swing. ``Announcer`` decides which of
these conditions are told: each once while it holds, and not too often if it comes and goes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from webcrawl.reports import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Kind = Literal["stall", "errors", "disk", "refusal"]

GAP_SECONDS = 60.0
"""The longest time between two looks. If it is longer, the machine slept, and the crawl did too."""
REQUESTS_MIN = 50
"""Fewer ended requests than this in the window say nothing about the rate of errors."""
RECOVERED_RATE = 0.7
"""The errors are over when their rate is below this share of the limit."""
RECOVERED_DISK = 1.2
"""The disk has room again when this many times the limit is free."""
BAD_STATUSES = (429, *range(500, 600))
"""Statuses that count as errors: the server is overloaded, or refuses."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds from which a condition is reported; 0 switches a rule off."""

    stall_seconds: float
    error_rate: float
    error_window_seconds: float
    disk_free_bytes: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """The figures of one moment, of this process; counts since its start."""

    fetched: int
    """Pages and other URLs that were answered, without robots.txt."""
    failed: int
    """Requests that got no response, and pages with one of BAD_STATUSES."""
    ended: int
    """All of these requests, failed or not."""
    queued: int
    ready_hosts: int
    """Hosts that may be contacted now."""
    in_flight: int
    is_paused: bool = False
    """True if an operator paused the crawl, or it is being closed."""
    blocked_by: str | None = None
    """The reason why nothing moves, if the crawl knows it: ``disk full``."""
    refusing_hosts: int = 0
    """Hosts that refused the crawler until they were left alone."""
    last_refusing: tuple[str, str] | None = None
    """The last of them, and the kind of its refusal."""
    disk_free: int | None = None
    """Bytes; None if it is unknown."""


class Alert(NamedTuple):
    """A condition that holds."""

    kind: Kind
    sentence: str
    """The condition, as the end of a sentence that begins with the name of the crawl."""
    details: Mapping[str, float | str]


class StallRule:
    """Nothing was fetched for a time in which at each look URLs were queued and a host could be contacted.

    A crawl that is paused, or in which every host waits for its delay or is parked, is not stalled.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: float | None = None
        """The time since which nothing was fetched although something could have been; None if that is not so."""
        self._fetched = -1
        self._looked_at = 0.0

    def look(self, reading: Measurement, now: float) -> Alert | None:
        may_fetch = reading.queued > 0 and (reading.ready_hosts > 0 or reading.blocked_by is not None)
        slept = now - self._looked_at > GAP_SECONDS
        if reading.fetched != self._fetched or slept or self._since is None:
            self._since = now
        self._fetched, self._looked_at = reading.fetched, now
        if reading.is_paused or not may_fetch:
            self._since = None
            return None
        seconds = now - self._since
        if not self._seconds or seconds < self._seconds:
            return None
        why = f" ({reading.blocked_by})" if reading.blocked_by else ""
        return Alert(
            "stall",
            f"has stalled: nothing was fetched for {text.duration(seconds)}{why}, "
            f"with {text.things(reading.queued, 'URL')} queued, {text.things(reading.ready_hosts, 'host')} ready "
            f"and {text.things(reading.in_flight, 'request')} open",
            {
                "seconds": round(seconds, 1),
                **({"blocked_by": reading.blocked_by} if reading.blocked_by else {}),
            },
        )


class ErrorRule:
    """A large share of the requests of a sliding window failed."""

    def __init__(self, rate: float, window_seconds: float) -> None:
        self._limit = rate
        self._window = window_seconds
        self._past: deque[tuple[float, int, int]] = deque()
        """Time, failed and ended requests; the first is the last one before the window."""
        self._holds = False

    def look(self, reading: Measurement, now: float) -> Alert | None:
        past = self._past
        past.append((now, reading.failed, reading.ended))
        while len(past) > 2 and past[1][0] <= now - self._window:
            past.popleft()
        failed, ended = reading.failed - past[0][1], reading.ended - past[0][2]
        rate = failed / ended if ended else 0.0
        if ended >= REQUESTS_MIN:
            self._holds = rate >= self._limit * (RECOVERED_RATE if self._holds else 1.0)
        elif not ended:
            self._holds = False
        if not self._limit or not self._holds:
            return None
        return Alert(
            "errors",
            f"has much trouble: {100 * rate:.0f} % of the last {text.things(ended, 'request')} had no response, "
            "or status 429 or 5xx",
            {"rate": round(rate, 4), "failed": failed, "requests": ended},
        )


class DiskRule:
    """Little is free on the disk of the crawl."""

    def __init__(self, free_bytes: int) -> None:
        self._limit = free_bytes
        self._alert: Alert | None = None

    def look(self, reading: Measurement, now: float) -> Alert | None:
        free = reading.disk_free
        if free is None:
            return self._alert
        holds = free < self._limit * (1.0 if self._alert is None else RECOVERED_DISK)
        sentence = f"fills its disk: {text.size(free)} free"
        self._alert = Alert("disk", sentence, {"free_bytes": free}) if holds else None
        return self._alert


class RefusingRule:
    """Hosts refuse the crawler until they are left alone. That there are some is told once; the log names each."""

    def look(self, reading: Measurement, now: float) -> Alert | None:
        if not reading.refusing_hosts or reading.last_refusing is None:
            return None
        host, kind = reading.last_refusing
        number = text.things(reading.refusing_hosts, "host")
        return Alert(
            "refusal",
            f"is refused by {number}, the last is {host} ({kind}); scrapy errors says what would help",
            {"hosts": reading.refusing_hosts, "last": host, "kind": kind},
        )


@dataclass(slots=True)
class _Told:
    """The last message about a kind of event."""

    at: float | None = None
    """The time of the last message."""
    is_on: bool = False
    is_told: bool = False
    """True if the present condition was told."""
    missed: int = 0
    """The number of times that it came and went since the last message."""


@dataclass(slots=True)
class Announcer:
    """Chooses the conditions that are told: each once while it holds, and each kind once per ``interval_seconds``.

    A condition that still holds at the end of the interval is told then.
    """

    interval_seconds: float
    _kinds: dict[str, _Told] = field(default_factory=dict)

    def told_at(self) -> dict[str, float]:
        """Return when each kind was told last (epoch seconds)."""
        return {kind: report.at for kind, report in self._kinds.items() if report.at is not None}

    def recall(self, told_at: Mapping[str, float], now: float) -> None:
        """Take what an earlier run of the crawl told; a time in the future is that of a wrong clock."""
        for kind, at in told_at.items():
            self._kinds[kind] = _Told(at=min(at, now))

    def look(self, kind: Kind, alert: Alert | None, now: float) -> Alert | None:
        """Return ``alert`` if it is to be told now."""
        report = self._kinds.setdefault(kind, _Told())
        if alert is None:
            report.missed += report.is_on and not report.is_told
            report.is_on = report.is_told = False
            return None
        report.is_on = True
        if report.is_told or (report.at is not None and now - report.at < self.interval_seconds):
            return None
        report.at, report.is_told = now, True
        missed, report.missed = report.missed, 0
        if missed:
            again = f"; that also began and ended {text.things(missed, 'time')} since the last message"
            return alert._replace(sentence=alert.sentence + again)
        return alert


class Watch:
    """All rules of a crawl."""

    def __init__(self, limits: Thresholds, kinds: frozenset[str], announcer: Announcer) -> None:
        """``kinds``: those that are told."""
        self.announcer = announcer
        self._rules: dict[Kind, StallRule | ErrorRule | DiskRule | RefusingRule] = {
            "stall": StallRule(limits.stall_seconds),
            "errors": ErrorRule(limits.error_rate, limits.error_window_seconds),
            "disk": DiskRule(limits.disk_free_bytes),
            "refusal": RefusingRule(),
        }
        self._kinds = kinds

    def look(self, reading: Measurement, now: float) -> Iterator[Alert]:
        """Yield what is to be told now. ``now``: epoch seconds."""
        for kind, rule in self._rules.items():
            if kind in self._kinds and (alert := self.announcer.look(kind, rule.look(reading, now), now)):
                yield alert
