"""The check that a page had a valid robots.txt when it was fetched, by the fetch log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.politeness.health import JITTER
from webcrawl.robots.answer import RETRY_MAX_SECONDS, RobotsState

if TYPE_CHECKING:
    from webcrawl.reports.fetch_logs import LoggedRequest

REMEMBERED_SECONDS = 3600.0
"""Seconds that an answer is remembered after it has expired, so that violations can name it."""


@dataclass(frozen=True, slots=True)
class OriginRobots:
    """The last outcome of an origin's robots.txt."""

    request: LoggedRequest
    good: bool
    """True if pages may be fetched under it at all."""
    until: float
    """The end of its validity in epoch seconds."""
    crawl_delay: float


@dataclass(slots=True)
class KnownRobots:
    """The last answer of each origin, as long as it is valid.

    A page was chosen while the answer was valid and may have been sent ``sending_seconds`` later: names had to be
    resolved and connections made.
    """

    lifetime_seconds: float
    sending_seconds: float
    _answers: dict[str, OriginRobots] = field(default_factory=dict)

    def take(self, request: LoggedRequest) -> None:
        """Take a request for a robots.txt."""
        answer = request.robots
        if answer is None:
            return
        state, until = answer.state, answer.until
        previous = self._answers.get(answer.origin)
        if state is None:
            good, until = self._guessed(request, previous)
        else:
            good = _allows_pages(state)
            until = request.end + self.lifetime_seconds if until is None else until
        self._answers[answer.origin] = OriginRobots(request, good, until, answer.crawl_delay or 0.0)

    def of(self, request: LoggedRequest) -> OriginRobots | None:
        """Return the last answer for the origin of a page."""
        return self._answers.get(request.origin or "")

    def is_good(self, answer: OriginRobots, request: LoggedRequest) -> bool:
        """Return True if a page was allowed under it when it was fetched."""
        return answer.good and request.start <= answer.until + self.sending_seconds

    def forget(self, now: float) -> None:
        """Remove the answers that had expired long before ``now``."""
        longest = now - self.sending_seconds - REMEMBERED_SECONDS
        for origin in [origin for origin, answer in self._answers.items() if answer.until < longest]:
            del self._answers[origin]

    def __len__(self) -> int:
        return len(self._answers)

    def _guessed(self, request: LoggedRequest, previous: OriginRobots | None) -> tuple[bool, float]:
        """Return the meaning of a status if the log does not have it. A redirect counts as an answer, since its
        target is unknown; after a failure an earlier text stays valid until the next attempt.
        """
        status = request.status
        if status is not None and status < 500 and status != 429:
            return True, request.end + self.lifetime_seconds
        good = previous is not None and previous.good and previous.request.status != 404
        return good, request.end + RETRY_MAX_SECONDS * (1 + JITTER)


def _allows_pages(state: str) -> bool:
    """Return True if pages may be fetched at all under an answer of this state. An unknown state allows none."""
    try:
        known = RobotsState(state)
    except ValueError:
        return False
    match known:
        case RobotsState.RULES | RobotsState.ALLOWED_ALL:
            return True
        case RobotsState.UNREACHABLE | RobotsState.PENDING:
            return False
