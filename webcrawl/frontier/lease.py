"""A URL that is being fetched, and the result of its fetch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from webcrawl.archive.capture import ArchiveEntry
from webcrawl.frontier.inline import InlineRequest
from webcrawl.frontier.records import UrlEntry
from webcrawl.frontier.robots_requests import RobotsReply
from webcrawl.politeness.host_record import HostRecord
from webcrawl.politeness.rate_limits import RateLimit
from webcrawl.robots.rules import UsageReading
from webcrawl.storage.contract import FOREVER, NO_RATE_LIMITS, LeaseValidity, RateLimitLease


@dataclass(slots=True, eq=False)
class Lease:
    """The right to fetch one URL, once. It ends when its outcome is durable.

    ``ended_at`` is set when the response has ended and the key's clock has restarted; from then on another URL of the
    same key may be leased while this one is still being parsed and committed.
    """

    id: int
    entry: UrlEntry
    leased_at: float
    ended_at: float | None = None
    fence: int = 0
    """The number under which the key was held; results count only while it still is."""
    key_validity: LeaseValidity = FOREVER
    """The validity of the key's lease. After it nothing may be sent: another process may be contacting the key."""
    rate_limit_lease: RateLimitLease = NO_RATE_LIMITS
    """The lease of the clocks that the fetch shares with other keys."""
    refusal: str | None = None
    """The rule that refuses the URL: nothing is sent, and the lease is for its errback. None if it may be fetched."""
    pause_seconds: float = 0.0
    """The pause between two requests to the key, and to those with which it shares clocks."""
    is_inline: bool = False
    """True if the lease is that of an inline request, perhaps for the robots.txt that comes first."""
    inline: InlineRequest | None = None
    """The inline request that is fetched."""
    usage: UsageReading | None = None
    """What the robots.txt under which it is fetched says about use; None if that is nothing."""

    robots_received: float | None = None
    """The version of the robots.txt under which it is fetched: when that was received; None if there is none."""

    @property
    def validity(self) -> LeaseValidity:
        """The validity of the lease of its key and of its shared clocks."""
        return self.key_validity.intersect(self.rate_limit_lease.validity)


class Result(StrEnum):
    """The result of a fetch."""

    FETCHED = "fetched"
    REDIRECTED = "redirected"
    RETRY = "retry"
    """Failed in a way that may pass; the frontier decides if there is another attempt."""
    FAILED = "failed"
    REFUSED = "refused"
    ABANDONED = "abandoned"
    """Nothing was sent: the URL goes back to its queue unchanged."""


@dataclass(slots=True)
class FetchEnd:
    """The end of the network part of a fetch. Times are epoch seconds; ``started_at`` None: nothing was sent, and if
    there is a status the response came from a cache."""

    started_at: float | None
    ended_at: float
    status: int | None = None
    error: str | None = None
    """A word from ``politeness.health.FAILURES``; set if ``status`` is not."""
    retry_after_seconds: float | None = None
    rate_limit: RateLimit | None = None
    """The limits that the response names."""
    payload_bytes: int = 0
    mime: str | None = None
    delay_seconds: float | None = None
    """Seconds after ``ended_at`` in which the key is left alone; None if nothing was sent or the key is not held."""
    number: int | None = None
    """Counts the requests of its key, from 1, over all runs and processes."""
    resent: bool = False
    """The request was sent twice, since the first one was lost with a kept connection, or the server wanted another
    protocol; both are counted.
    """
    lost_status: int | None = None
    """The status of the first sending; None if it got no answer."""
    lost_bytes: int = 0
    """The length of that answer."""

    refusal: str | None = None
    """The kind of the response if by it the host refuses the crawler as a whole: a word of ``refusals.KINDS``."""

    parks: int = 0
    """The number of times in a row that the key was parked, this time included; 0 if it is not."""
    given_up: bool = False

    def set_pause(self, record: HostRecord) -> None:
        """Store the pause that is owed now, from the key's record after its clock has restarted."""
        self.delay_seconds = max(record.next_fetch_at - self.ended_at, 0.0)
        self.number = record.fetches
        self.parks, self.given_up = record.parks, record.given_up


@dataclass(slots=True)
class Outcome:
    """The outcome of a leased URL once all its results were processed."""

    result: Result
    rule: str | None = None
    """The rule that refused it, or the error it failed with."""
    entry: ArchiveEntry | None = None
    """The entry for the archive and the fetch log; None if nothing was sent."""
    earlier: ArchiveEntry | None = None
    """The entry of the first sending of a request that was sent twice; see ``FetchEnd.resent``."""
    discovered: list[UrlEntry] = field(default_factory=list)
    robots: RobotsReply | None = None
    """The reply to a request for robots.txt."""
    archived: Callable[[], None] | None = None
    """Called when ``entry`` is in the archive, if there is one, and its body is not needed any more."""

    def after_lease_end(self) -> Outcome:
        """Return the part that counts if the lease of the key was over before the URL was settled: a response counts,
        but a failure may come from cutting off the request here, and says nothing about the host."""
        failed = self.result in (Result.FAILED, Result.RETRY)
        if failed or (self.robots is not None and self.robots.error is not None):
            return Outcome(
                Result.ABANDONED,
                entry=self.entry,
                earlier=self.earlier,
                discovered=self.discovered,
                archived=self.archived,
            )
        return self
