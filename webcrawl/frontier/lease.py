"""A URL that is being fetched, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from webcrawl.archive.capture import Entry
from webcrawl.frontier.claims import NO_CLAIM, Claim
from webcrawl.frontier.hold import FOREVER, Hold
from webcrawl.frontier.records import UrlEntry
from webcrawl.frontier.robots_desk import RobotsReply
from webcrawl.hosts.record import HostRecord


@dataclass(slots=True, eq=False)
class Lease:
    """The right to fetch one URL, once. It ends when its outcome is durable.

    ``ended_at`` is set when the response has ended and the key's clock has restarted; from then on another
    URL of the same key may be leased while this one is still being parsed and committed.
    """

    id: int
    entry: UrlEntry
    leased_at: float
    ended_at: float | None = None
    fence: int = 0
    """The number under which the key was held; what comes of it counts only while it still is."""
    hold: Hold = FOREVER
    """Over: another process may be contacting the key, so nothing may be sent and nothing be waited for."""
    claim: Claim = NO_CLAIM
    """On the clocks that the fetch shares with those of other keys."""
    pause_seconds: float = 0.0
    """What lies between two requests to the key, and to those with which it shares clocks."""

    @property
    def both(self) -> Hold:
        """The hold on its key and that on its shared clocks."""
        return self.hold.and_of(self.claim.hold)


class Result(StrEnum):
    """What a fetch came to."""

    FETCHED = "fetched"
    REDIRECTED = "redirected"
    RETRY = "retry"
    """Failed in a way that time may mend; the frontier decides whether there is another attempt."""
    FAILED = "failed"
    REFUSED = "refused"
    ABANDONED = "abandoned"
    """Nothing was sent: the URL goes back to its queue as it was."""


@dataclass(slots=True)
class Ending:
    """How the network part of a fetch ended. Times are epoch seconds; ``started_at`` None: nothing was sent."""

    started_at: float | None
    ended_at: float
    status: int | None = None
    error: str | None = None
    """A word from ``hosts.health.FAILURES``; set when ``status`` is not."""
    retry_after_seconds: float | None = None
    payload_bytes: int = 0
    mime: str | None = None
    delay_seconds: float | None = None
    """How long after ``ended_at`` the key is left alone; None when nothing was sent, or it is not ours any more."""
    number: int | None = None
    """Counts the requests of its key, from 1, over all runs and processes."""
    resent: bool = False
    """The request was sent twice, since the first one was lost with a kept connection; both are counted."""

    def owes(self, record: HostRecord) -> None:
        """Take down what is owed now, from the key's record after its clock has restarted."""
        self.delay_seconds = max(record.next_fetch_at - self.ended_at, 0.0)
        self.number = record.fetches


@dataclass(slots=True)
class Outcome:
    """What became of a leased URL once everything it gave was processed."""

    result: Result
    rule: str | None = None
    """The rule that refused it, or the error it failed with."""
    entry: Entry | None = None
    """For the archive and the fetch log; None when nothing was sent."""
    earlier: Entry | None = None
    """For the fetch log: the first sending of a request that was lost with a kept connection and sent again."""
    discovered: list[UrlEntry] = field(default_factory=list)
    robots: RobotsReply | None = None
    """For a robots.txt: what came back."""
    archived: Callable[[], None] | None = None
    """Called when ``entry`` is in the archive, if there is one, and its body is needed no more."""

    def after_hold(self) -> Outcome:
        """What counts of it when the hold on the key was over before it was settled: what came is true, but what did
        not come was perhaps cut off by ourselves, and says nothing of the host.
        """
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
