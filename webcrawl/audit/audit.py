"""The audit of a crawl's politeness, recomputed from its fetch logs alone.

Each request is checked in the order of time over all workers: no other request of its politeness key is open, the
delay owed after the last one is over, the same holds on each clock that keys share, and, except for robots.txt
itself, its origin has a robots.txt under which pages may be fetched. Redirects, retries and robots.txt requests obey
the clocks like any page.

Memory is bounded by the keys contacted within the longest delay, the origins requested within the lifetime of a
robots.txt, and the lines that wait for their turn.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.audit import TOLERANCE_SECONDS
from webcrawl.audit.robots import KnownRobots
from webcrawl.politeness.shared_clocks import NO_SHARED_CLOCKS, SharedClocks
from webcrawl.reports.clocks import (
    NOTHING_SENT,
    Clocks,
    RequestNumbers,
    SharedClocksKept,
    Violation,
    ViolationKind,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webcrawl.politeness.delay import Politeness
    from webcrawl.reports.fetch_logs import LoggedRequest

_SWEEP = 10_000
"""The number of keys and origins from which on expired ones are removed, whenever their number has doubled."""


@dataclass(frozen=True, slots=True)
class AuditRules:
    """The rules of the audit. Times are seconds."""

    politeness: Politeness
    """Gives the delay of requests whose owed delay is not in the log."""
    robots_lifetime_seconds: float
    """The lifetime of robots.txt answers whose lifetime is not in the log."""
    sending_seconds: float
    """The longest time from the choice of a URL until its request is sent."""
    tolerance_seconds: float = TOLERANCE_SECONDS
    least_delay_seconds: float = 0.0
    """The least delay of every request, even if the log says that less was owed."""
    shared: SharedClocks = NO_SHARED_CLOCKS
    """Clocks that every request must obey, even if the log does not name them."""


@dataclass(slots=True)
class AuditTotals:
    """Numbers of checked requests and of findings."""

    requests: int = 0
    workers: set[str] = field(default_factory=set)
    started_at: float | None = None
    ended_at: float | None = None
    violations: Counter[str] = field(default_factory=Counter)
    """Violations by ``ViolationKind``."""
    unproved: int = 0
    """Requests whose robots.txt may have been fetched before the logs begin, or by a worker whose log was not
    given.
    """
    missing: int = 0
    """Requests that were made, by the numbers of others, and are not in the logs."""
    without_delay: int = 0
    """Requests whose owed delay is not in the log; it was taken from the settings."""
    not_sent: int = 0
    """Requests that were cancelled before they were sent, because their key was lost."""
    cut_off: int = 0
    """Requests that were open when their key was lost."""
    cached: int = 0
    """Responses from a cache, for which no host was contacted."""
    copies: int = 0
    """Repeated lines."""


def audit_requests(requests: Iterable[LoggedRequest], rules: AuditRules) -> AuditTotals:
    """Audit all requests, in the order of their starts, and return the totals."""
    audit = Audit(rules)
    for _ in audit.violations(requests):
        pass  # the totals count it
    return audit.totals


class Audit:
    """Checks requests in the order of their starts; ``totals`` grows meanwhile."""

    def __init__(self, rules: AuditRules) -> None:
        self.totals = AuditTotals()
        self._clocks = Clocks(rules.politeness, rules.tolerance_seconds)
        self._robots = KnownRobots(
            rules.robots_lifetime_seconds, rules.sending_seconds + rules.tolerance_seconds
        )
        self._shared = SharedClocksKept(rules.shared, rules.tolerance_seconds)
        self._numbers = RequestNumbers()
        self._sweep_from = _SWEEP
        self._least = rules.least_delay_seconds
        self._lifetime = rules.robots_lifetime_seconds
        self._crawl_delay_max = rules.politeness.crawl_delay_max

    def violations(self, requests: Iterable[LoggedRequest]) -> Iterator[Violation]:
        """Yield every violation as it is found."""
        for request in requests:
            if self._counts(request):
                for violation in self._violations(request):
                    self.totals.violations[violation.kind] += 1
                    yield violation

    def held(self) -> int:
        """The number of keys and origins in memory."""
        return len(self._clocks) + len(self._robots) + len(self._shared)

    def _counts(self, request: LoggedRequest) -> bool:
        """Count the request in the totals. Return False if it was not sent."""
        totals = self.totals
        if self._clocks.is_same(request):
            totals.copies += 1
            return False
        if request.lost_at is not None and request.error == NOTHING_SENT:
            totals.not_sent += 1
            return False
        if request.cached:
            totals.cached += 1
            # Requests to the host obey the rules that the cache had.
            self._robots.take(request)
            return False
        totals.requests += 1
        totals.workers.add(request.worker)
        totals.cut_off += request.lost_at is not None
        totals.without_delay += request.delay is None and request.lost_at is None
        if totals.started_at is None:
            totals.started_at = request.start
        totals.ended_at = max(totals.ended_at or request.end, request.end)
        if self.held() > self._sweep_from:
            self._clocks.forget(request.start)
            self._robots.forget(request.start)
            self._shared.forget(request.start)
            self._sweep_from = max(2 * self.held(), _SWEEP)
        return True

    def _violations(self, request: LoggedRequest) -> Iterator[Violation]:
        whole_since = self._numbers.take(request, self.totals.started_at or 0.0)
        self.totals.missing = self._numbers.missing
        if request.kind == "robots":
            self._robots.take(request)
            floor = self._least
        else:
            answer = self._robots.of(request)
            crawl_delay = 0.0 if answer is None else min(answer.crawl_delay, self._crawl_delay_max)
            floor = max(crawl_delay, self._least)
            if (violation := self._without_robots(request, whole_since)) is not None:
                yield violation
        if (violation := self._clocks.take(request, floor)) is not None:
            yield violation
        yield from self._shared.take(request)

    def _without_robots(self, request: LoggedRequest, whole_since: float) -> Violation | None:
        if request.origin is None:
            return None
        answer = self._robots.of(request)
        if answer is None and request.start - self._lifetime >= whole_since:
            return Violation(ViolationKind.ROBOTS, request, None, None)
        if answer is None or request.start < answer.request.start:
            # The request was made before the logs begin, or it is so late in its log that the answer of its time is
            # forgotten.
            self.totals.unproved += 1
            return None
        if not self._robots.is_good(answer, request):
            return Violation(ViolationKind.ROBOTS, request, answer.request, None)
        if request.start + self._clocks.tolerance_seconds < answer.request.end:
            return Violation(ViolationKind.ROBOTS, request, answer.request, answer.request.end)
        return None
