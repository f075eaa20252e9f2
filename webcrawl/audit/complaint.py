"""The requests to one domain, for its operator: when, at what rate, and under which robots.txt they were made."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webcrawl.reports.fetch_logs import LoggedRequest, RobotsAnswer

MINUTE = 60.0
PENDING = "pending"
"""The state of a robots.txt that redirects; the target of the redirect has a line of its own."""


@dataclass(slots=True)
class RequestRate:
    """The rate of requests, which are taken in the order of their starts; times are epoch seconds."""

    requests: int = 0
    bytes: int = 0
    first_at: float = 0.0
    last_at: float = 0.0
    """The start of the last request."""
    most_in_a_minute: int = 0
    """The most requests in any sixty seconds."""
    busiest_at: float = 0.0
    """The beginning of these sixty seconds."""
    shortest_pause_seconds: float | None = None
    """The shortest time from the end of all requests so far to the start of the next; negative if two were open at
    once.
    """
    _ended_at: float = 0.0
    _lately: deque[float] = field(default_factory=deque)

    @property
    def mean_gap_seconds(self) -> float | None:
        """The mean time from start to start; None for fewer than two requests."""
        return (self.last_at - self.first_at) / (self.requests - 1) if self.requests > 1 else None

    def take(self, request: LoggedRequest) -> None:
        at = request.start
        if not self.requests:
            self.first_at = at
        else:
            pause = at - self._ended_at
            shortest = self.shortest_pause_seconds
            self.shortest_pause_seconds = pause if shortest is None else min(shortest, pause)
        self.requests += 1
        self.bytes += request.bytes
        self.last_at = max(self.last_at, at)
        self._ended_at = max(self._ended_at, request.end)
        self._lately.append(at)
        while self._lately[0] <= at - MINUTE:
            self._lately.popleft()
        if len(self._lately) > self.most_in_a_minute:
            self.most_in_a_minute, self.busiest_at = len(self._lately), self._lately[0]


@dataclass(slots=True)
class Version:
    """A version of a robots.txt, for as long as it stayed the same."""

    result: str
    """The status, or the word for the failure."""
    state: str | None
    """The state of the answer, a value of ``robots.answer.RobotsState``; None in older logs."""
    digest: str | None
    crawl_delay: float | None
    first_at: float
    """The time at which it was first received, in epoch seconds."""
    last_at: float
    """The time at which it was last requested and was the same."""
    answers: int = 1
    requests: int = 0
    """Requests that were made under it."""

    def is_same(self, request: LoggedRequest, answer: RobotsAnswer) -> bool:
        current = (request.result, answer.state, answer.digest, answer.crawl_delay)
        return current == (self.result, self.state, self.digest, self.crawl_delay)


class Complaint:
    """Takes the requests of a crawl in the order of their starts, and keeps those to a domain and its subdomains.

    ``begins_at`` and ``ends_at`` bound the period, epoch seconds. Memory is that of the domain's hosts, their
    versions of robots.txt, and at most ``listed_max`` requests that are kept to be listed.
    """

    def __init__(
        self,
        domain: str,
        begins_at: float | None = None,
        ends_at: float | None = None,
        listed_max: int = 1000,
    ) -> None:
        self.domain = domain
        self._below = f".{domain}"
        self._begins_at = float("-inf") if begins_at is None else begins_at
        self._ends_at = float("inf") if ends_at is None else ends_at
        self._listed_max = listed_max
        self.pace = RequestRate()
        self.hosts: dict[str, RequestRate] = {}
        self.kinds: Counter[str] = Counter()
        self.results: Counter[str] = Counter()
        self.robots: dict[str, list[Version]] = {}
        """Versions by origin, oldest first; the first is the one that was valid when the period began."""
        self.without_robots = 0
        """Pages whose robots.txt is not in the logs, because it was fetched before they begin."""
        self.listed: list[LoggedRequest] = []

    @property
    def unlisted(self) -> int:
        """The number of requests that are not listed."""
        return self.pace.requests - len(self.listed)

    def take(self, request: LoggedRequest) -> None:
        """Take a request to any host."""
        if request.start >= self._ends_at:
            return
        if request.robots is not None and request.robots.state != PENDING:
            self._take_robots(request, request.robots)
        if request.start >= self._begins_at and self._concerns(request.host) and not request.cached:
            self._count(request)

    def _concerns(self, host: str) -> bool:
        host = host.rstrip(".")
        return host == self.domain or host.endswith(self._below)

    def _count(self, request: LoggedRequest) -> None:
        self.pace.take(request)
        self.hosts.setdefault(request.host, RequestRate()).take(request)
        self.kinds[request.kind] += 1
        self.results[request.result] += 1
        if len(self.listed) < self._listed_max:
            self.listed.append(request)
        if request.kind == "robots":
            return
        versions = self.robots.get(request.origin or "")
        if versions:
            versions[-1].requests += 1
        else:
            self.without_robots += 1

    def _take_robots(self, request: LoggedRequest, answer: RobotsAnswer) -> None:
        """Take a robots.txt answer, also of a time before the period, and also if a redirect led elsewhere."""
        if not self._concerns(answer.origin.partition("://")[2].partition(":")[0]):
            return
        versions = self.robots.setdefault(answer.origin, [])
        if versions and versions[-1].is_same(request, answer):
            versions[-1].last_at = request.end
            versions[-1].answers += 1
            return
        if request.start < self._begins_at:
            versions.clear()
        versions.append(
            Version(request.result, answer.state, answer.digest, answer.crawl_delay, request.end, request.end)
        )
