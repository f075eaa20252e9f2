"""The pause owed to a politeness key after a request: delay models, Crawl-delay, rate limits, floor and ceiling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from webcrawl.politeness.host_record import HostRecord
    from webcrawl.politeness.rate_limits import RateLimit

REMEMBERED_DOWNLOADS = 5
"""Download times kept per key; the ``mean`` model averages them."""

RATE_LIMIT_MAX_SECONDS = 86_400.0
"""A rate limit holds no longer, and a host is left alone for no longer, as with Retry-After."""

LEAST_SECONDS = 0.001
"""The time that a request is taken to need at least, where nothing is known of it."""

Model = Literal["mean", "last", "fixed"]


@dataclass(frozen=True, slots=True)
class Politeness:
    """The delay owed to a politeness key. All times are seconds.

    ``mean`` owes ``factor`` times the mean of the last five download times, ``last`` ``factor`` times the last one,
    ``fixed`` always ``min_delay``. Before the first download time is known the first two owe ``unknown_delay``. The
    result of the model is kept between ``min_delay`` and ``max_delay`` (the floor wins if they cross). A Crawl-delay
    is a floor of its own that ``max_delay`` does not cut; a host that asks for more than ``crawl_delay_max`` is
    skipped, not fetched faster than it requires. The pause of a rate limit is a floor up to ``rate_limit_max``; with
    0 rate limits are ignored. ``slot_delays`` has larger minima of single keys.
    """

    model: Model
    min_delay: float
    max_delay: float
    factor: float
    crawl_delay_max: float
    unknown_delay: float = 0.0
    rate_limit_max: float = 60.0
    slot_delays: Mapping[str, float] = field(default_factory=dict)

    def raised(self, delays: Mapping[str, float]) -> Politeness:
        """Return the same with minimum delays of single keys, in seconds; the longest that any source names holds."""
        least = dict(self.slot_delays)
        for key, seconds in delays.items():
            least[key] = max(seconds, least.get(key, 0.0))
        return replace(self, slot_delays=least)

    def delay(self, record: HostRecord, now: float = math.inf) -> float:
        """Return the delay owed after the last request; between ``min_delay`` and the largest of the three ceilings.

        ``now``: the time at which a rate limit must hold to count; without it none counts.
        """
        least = max(self.min_delay, self.slot_delays.get(record.key, 0.0))
        delay = max(least, min(self._modelled(record), self.max_delay))
        crawl_delay = record.crawl_delay_seconds
        if crawl_delay is not None and crawl_delay > delay:
            delay = max(delay, min(crawl_delay, self.crawl_delay_max))
        return max(delay, self.rate_limit(record, now))

    def rate_limit(self, record: HostRecord, now: float) -> float:
        """Return the pause that the host's rate limit asks for at ``now``; 0 for none."""
        return min(record.rate_limit_seconds, self.rate_limit_max) if now < record.rate_limit_until else 0.0

    def rate(self, record: HostRecord, now: float = math.inf) -> float:
        """Return the requests per second that the host gets at most: each takes its download time and the delay. 0 if
        it is not contacted."""
        if record.given_up or record.parked or self.skips(record):
            return 0.0
        times = [t for t in record.download_seconds if math.isfinite(t) and t >= 0]
        return 1.0 / max(self.delay(record, now) + sum(times) / max(len(times), 1), LEAST_SECONDS)

    def skips(self, record: HostRecord) -> bool:
        """Return True if the host asks for a Crawl-delay so long that it is not crawled at all."""
        return self.is_too_long(record.crawl_delay_seconds)

    def is_too_long(self, crawl_delay_seconds: float | None) -> bool:
        """Return True if a host that asks for such a Crawl-delay is skipped."""
        return crawl_delay_seconds is not None and crawl_delay_seconds > self.crawl_delay_max

    def fetched(
        self, record: HostRecord, started_at: float, ended_at: float, *, is_robots: bool = False
    ) -> None:
        """Restart the clock at the end of a response, whatever its outcome.

        ``next_fetch_at`` never moves back: a Retry-After or a park that reaches further stays. The time of a
        robots.txt, which says little about the time of a page, affects at most the pause that follows, and is not
        remembered; nor is an impossible time (the clock went backwards).
        """
        seconds = ended_at - started_at
        if not is_robots and math.isfinite(seconds) and seconds >= 0:
            record.download_seconds = [*record.download_seconds, seconds][-REMEMBERED_DOWNLOADS:]
        record.fetches += 1
        record.delay_seconds = self.delay(record, ended_at)
        if is_robots and not record.download_seconds and self.model != "fixed":
            # For a slow host this is all that is known yet.
            modelled = min(self.factor * seconds, self.max_delay) if math.isfinite(seconds) else 0.0
            record.delay_seconds = max(record.delay_seconds, modelled)
        _not_before(record, ended_at + record.delay_seconds)

    def limit(self, record: HostRecord, limit: RateLimit, now: float) -> None:
        """Note the rate limit of a response that has ended at ``now``, before ``fetched``. Times are bounded, since
        they are a host's word. Without remaining requests the host is left alone until there are some."""
        if self.rate_limit_max <= 0:
            return
        if limit.pause_seconds > 0:
            record.rate_limit_seconds = min(limit.pause_seconds, self.rate_limit_max)
            record.rate_limit_until = now + min(limit.hold_seconds, RATE_LIMIT_MAX_SECONDS)
        if limit.wait_seconds > 0:
            until = now + min(limit.wait_seconds, RATE_LIMIT_MAX_SECONDS)
            record.asked_until = max(record.asked_until, until)
            _not_before(record, until)

    def rest(self, record: HostRecord, now: float) -> None:
        """Let a key whose last request may have been cut off by a crash rest as if it had ended just now."""
        owed = record.delay_seconds if record.delay_seconds > 0 else 0.0
        _not_before(record, now + max(owed, self.delay(record, now)))

    def _modelled(self, record: HostRecord) -> float:
        if self.model == "fixed" or self.factor == 0:
            return self.min_delay
        times = [t for t in record.download_seconds[-REMEMBERED_DOWNLOADS:] if math.isfinite(t) and t >= 0]
        if not times:
            return self.unknown_delay
        seconds = times[-1] if self.model == "last" else sum(times) / len(times)
        return self.factor * seconds


def _not_before(record: HostRecord, moment: float) -> None:
    if math.isfinite(moment) and moment > record.next_fetch_at:
        record.next_fetch_at = moment
