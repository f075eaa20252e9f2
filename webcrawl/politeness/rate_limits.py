"""The pause and the wait that quotas of requests ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.politeness.host_record import HostRecord
    from webcrawl.politeness.rate_limit_fields import Quota

WAIT_SECONDS = 60.0
"""The wait if no request remains, and it is not said until when."""
WAIT_MIN_SECONDS = 1.0
"""Servers round their seconds down."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The limits of a host as of one response, in seconds. They are the host's word, and not bounded yet."""

    pause_seconds: float = 0.0
    """The pause after each request that spends what is allowed evenly; 0 if none is asked for."""
    hold_seconds: float = 0.0
    """The time for which that holds, unless a later response says otherwise."""
    wait_seconds: float = 0.0
    """The time without any request."""

    def told(self) -> dict[str, float]:
        """Return the pause and the wait, for the fetch log; those that are asked for."""
        times = {"pause": self.pause_seconds, "wait": self.wait_seconds}
        return {name: seconds for name, seconds in times.items() if seconds}

    def without_wait(self) -> RateLimit:
        """Return the same without a wait: a Retry-After of the same response is stronger."""
        return replace(self, wait_seconds=0.0)


def rate_limit(quotas: Iterable[Quota]) -> RateLimit | None:
    """Return the limits that keep all quotas; None if they ask for nothing.

    What remains is spread over the time until the reset, and what a window allows over the window, so that a host
    that is crawled at this pace never has to refuse a request.
    """
    pause = hold = wait = 0.0
    for quota in quotas:
        if quota.remaining == 0 or quota.allowed == 0:
            times = (quota.reset_seconds, quota.window_seconds, WAIT_SECONDS)
            wait = max(wait, next(time for time in times if time is not None), WAIT_MIN_SECONDS)
        if quota.remaining and quota.reset_seconds:
            pause = max(pause, quota.reset_seconds / quota.remaining)
            hold = max(hold, quota.reset_seconds)
        if quota.allowed and quota.window_seconds:
            pause = max(pause, quota.window_seconds / quota.allowed)
            hold = max(hold, quota.window_seconds)
    return RateLimit(pause, hold, wait) if pause or wait else None


def limits_in_words(record: HostRecord, now: float) -> str | None:
    """Return what a host's own limits ask for at ``now``; None if they are not why it waits."""
    if record.asked_until > now:
        return "the host allows no request until then, by Retry-After or RateLimit"
    if now < record.rate_limit_until and 0 < record.rate_limit_seconds <= record.delay_seconds:
        return f"RateLimit of the host: a request each {record.rate_limit_seconds:.3g} s"
    return None
