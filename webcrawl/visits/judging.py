"""What a visit makes of what is remembered of its page. The time and the policy are passed in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from webcrawl.visits.history import History
from webcrawl.visits.page import Finding, Page, Visit
from webcrawl.visits.policies import LearningPolicy

if TYPE_CHECKING:
    from webcrawl.visits.policies import RevisitPolicy

HOUR_SECONDS = 3600.0
DAY_SECONDS = 86_400.0
LONGEST_WAIT_SECONDS = 7 * DAY_SECONDS
"""A page that is gone, fails or is refused is looked at again after waits that double, up to this."""
FAILED_MAX = 12
"""After so many failures in a row, some five weeks, a page is remembered no more."""


@dataclass(frozen=True, slots=True)
class Rules:
    """By what visits are judged."""

    policy: RevisitPolicy
    gone_max: int = 3
    """Visits in a row that find a page gone, after which it is remembered no more."""
    learner: LearningPolicy | None = field(init=False)
    """The policy, if it learns from all pages."""

    def __post_init__(self) -> None:
        # To ask this of an object takes as long as half of what a policy does for a visit.
        object.__setattr__(self, "learner", self.policy if isinstance(self.policy, LearningPolicy) else None)

    def due_at(self, history: History, now: float) -> float:
        """When a page is due whose visit has just ended. A policy that learns learns from it, once."""
        if self.learner is not None:
            self.learner.learn(history, now)
        return self.policy.next_visit_at(history, now)


def after(page: Page | None, visit: Visit, now: float, rules: Rules) -> Page | None:
    """What is remembered of a page after a visit; None for nothing (any more).

    A visit that is told twice, as after a crash, changes nothing the second time.
    """
    if page is None:
        return _first(visit, now, rules)
    if visit.finding is Finding.CAME:
        return _again(page, visit, now, rules)
    if visit.at <= page.history.last_at:
        return page
    gone = page.gone + (visit.finding is Finding.GONE)
    failed = 0 if visit.finding is Finding.GONE else page.failed + 1
    if gone >= rules.gone_max or failed >= FAILED_MAX:
        return None
    first = HOUR_SECONDS if visit.finding is Finding.FAILED else DAY_SECONDS
    wait = min(first * 2.0 ** (max(gone, failed) - 1), LONGEST_WAIT_SECONDS)
    return replace(page, gone=gone, failed=failed, next_visit_at=now + wait)


def is_changed(known: bytes, digest: bytes | None) -> bool:
    """Whether what came is something else than what is known; None came with 304."""
    return digest is not None and digest != known


def _first(visit: Visit, now: float, rules: Rules) -> Page | None:
    if visit.finding is not Finding.CAME or visit.digest is None:
        return None
    history = History.first(visit.at, visit.modified_at)
    return Page(
        visit.key,
        visit.fingerprint,
        visit.url,
        history,
        rules.due_at(history, now),
        visit.digest,
        visit.stored_at or visit.at,
        visit.etag,
        visit.last_modified,
        visit.kind,
        visit.depth,
        visit.via,
        visit.payload,
    )


def _again(page: Page, visit: Visit, now: float, rules: Rules) -> Page:
    history = page.history.visited(visit.at, is_changed(page.digest, visit.digest), visit.modified_at)
    if history is page.history:
        return page
    kept = replace(page, history=history, next_visit_at=rules.due_at(history, now), gone=0, failed=0)
    if visit.digest is None:
        # A 304 need not repeat what is known (RFC 9110, section 15.4.5).
        return replace(
            kept, etag=visit.etag or page.etag, last_modified=visit.last_modified or page.last_modified
        )
    return replace(
        kept,
        digest=visit.digest,
        came_at=visit.stored_at or visit.at,
        etag=visit.etag,
        last_modified=visit.last_modified,
    )
