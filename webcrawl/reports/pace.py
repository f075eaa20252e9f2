"""Speed of the crawl and its remaining time, computed from a tally and a clock."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.frontier.tally import PAUSED
from webcrawl.reports import text
from webcrawl.reports.limiting import Bound, Situation, estimate, limiting, shrinkage

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    from webcrawl.frontier.tally import Snapshot, Tally
    from webcrawl.reports.limiting import Bottleneck, Estimate

WINDOW_SECONDS = 10.0
"""The period in seconds over which current rates are averaged."""


QUEUE_SECONDS = 120.0
"""The period over which the growth of the queue is measured."""
QUEUE_STEP_SECONDS = 5.0
SLOW_SECONDS = 10.0
"""A request that is open for longer than this names its host."""
NAMED = 3
"""The number of rules and errors that are named."""
WAITS_SHARE = 0.5
"""The share of the recent readings that found nothing to do but wait from which politeness is the limit."""
WAITS_READINGS = 8
"""The number of recent readings that decide this."""
FEW_HOSTS = 5
"""Up to this number of hosts, a shorter delay is of use; with more, the crawl has other work meanwhile."""
SHORT_DELAY_SECONDS = 0.5
"""A delay for one's own site."""


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """The limits at which the crawl stops; 0 is no limit."""

    pages: int = 0
    seconds: float = 0.0
    items: int = 0
    pages_per_host: int = 0


class Limit(NamedTuple):
    """A limit of the crawl and how much of it is used."""

    share: float
    """The used share, from 0 to 1."""
    text: str
    """The limit in words: ``620 of 1,000 pages``."""


class Means(NamedTuple):
    """The resources of a process, and how much of them was used since its start; None for what is not known."""

    capacity: float | None = None
    """Requests per second that the delays of its hosts allow."""
    open_max: int | None = None
    loop_seconds: float | None = None
    """CPU time of the event loop's thread."""
    cpu_seconds: float | None = None
    """CPU time of the process and its children."""
    cores: int = 1
    bandwidth: tuple[float, float] | None = None
    """The bandwidth as in ``Reading``."""


NO_MEANS = Means()


@dataclass(frozen=True, slots=True)
class Reading:
    """The figures of one moment, counted from the start of this process. Rates are per second."""

    pages: int
    pages_rate: float
    pages_rate_mean: float
    bytes: int
    bytes_rate: float
    errors: int
    """Requests that ended without a response: each attempt, but not one that was sent again at once."""
    elapsed_seconds: float
    left_seconds: float | None
    """Seconds until the nearest limit, at the present rate; None without a limit or a rate."""
    next_seconds: float | None
    """Seconds until the next host may be contacted, if nothing is in flight: only politeness makes the crawl wait."""
    frontier: Snapshot
    statuses: Mapping[int, int] = field(default_factory=dict)
    """HTTP status classes of pages (2 for 2xx) and their numbers."""
    robots: int = 0
    """robots.txt fetches that ended."""
    redirects: int = 0
    sitemaps: int = 0
    retries: int = 0
    refused: int = 0
    refused_by_rule: Mapping[str, int] = field(default_factory=dict)
    """The rules that refused the most URLs; most first."""
    errors_by_word: Mapping[str, int] = field(default_factory=dict)
    """The most frequent errors; most first."""
    limit: Limit | None = None
    """The limit of which the largest share is used; None without a limit."""
    slow: tuple[str, float] | None = None
    """The host of the oldest open request and its age in seconds, if that is ``SLOW_SECONDS`` or more."""
    hint: str | None = None
    """Advice for a crawl that does little but wait; None for others."""
    is_closing: bool = False
    """True if the crawl was asked to stop, and waits for what it has begun."""
    found: str | None = None
    """The number of relevant pages as text; None if the crawl is not focused."""
    again: str | None = None
    """The number of revisits and of due pages as text; None if pages are not revisited."""

    bandwidth: tuple[float, float] | None = None
    """The bytes per second that came in the last seconds, and how many may; None without a limit."""
    verdict: Bottleneck | None = None
    """The limit of the crawl's speed."""
    ends: Estimate | None = None
    """The estimated end of the crawl; None if it cannot be estimated."""

    def line(self) -> str:
        """Return one line for a log, with the figures of the whole crawl after those of this worker."""
        f, shared = self.frontier, self.frontier.workers is not None
        known, parked = f"{text.count(f.known_hosts)} known", f"{text.count(f.parked_hosts)} parked"
        active = f"{text.count(f.active_hosts)} active, {text.count(f.ready_hosts)} ready"
        statuses = ", ".join(f"{kind}xx {text.count(number)}" for kind, number in self.statuses.items())
        queued = f"queued {text.count(f.queued)}"
        again = [f"again {self.again}"] if self.again else []
        finds = [f"found {self.found}"] if self.found else []
        parts = [
            f"{'this worker: ' if shared else ''}pages {text.count(self.pages)} ({text.rate(self.pages_rate)}, "
            f"mean {text.rate(self.pages_rate_mean)})",
            *([f"status {statuses}"] if statuses else []),
            *finds,
            *again,
            f"{text.size(self.bytes_rate)}/s",
            *([f"bandwidth {format_usage(*self.bandwidth)}"] if self.bandwidth else []),
            *([f"hosts {active}"] if shared else [queued, f"hosts {known}, {active}, {parked}"]),
            f"in flight {f.in_flight}",
            f"robots.txt {text.count(self.robots)}",
            f"refused {text.count(self.refused)}{_most(self.refused_by_rule)}",
            f"errors {text.count(self.errors)}{_most(self.errors_by_word)}",
            f"elapsed {text.duration(self.elapsed_seconds)}",
        ]
        if self.is_closing:
            parts.append(stops_after(f))
        elif self.verdict is not None and self.verdict.bound not in _SAID:
            ahead = self.next_seconds
            following = "" if ahead is None else f", next host {text.moment_ahead(ahead)}"
            parts.append(f"{self.verdict.short}{following}")
        if self.slow is not None:
            parts.append(f"slow: {self.slow[0]} for {text.duration(self.slow[1])}")
        if self.limit is not None:
            parts.append(f"{100 * self.limit.share:.0f} % of the limit ({self.limit.text})")
        if self.left_seconds is not None:
            parts.append(f"left {text.duration(self.left_seconds)}")
        if self.ends is not None:
            parts.append(to_go(self.ends))
        if f.workers is not None:
            parts += [f"whole crawl: {text.things(f.workers, 'worker')}", queued, f"hosts {known}, {parked}"]
        if f.crowded:
            parts.append(f"BACKLOG FULL: {f.crowded}")
        if f.stalled:
            parts.append(f"STALLED: {f.stalled}")
        return "; ".join(parts)


_SAID = (Bound.STORAGE, Bound.PAUSED, Bound.STARTING, Bound.NOTHING)
"""Limits that other parts of a line name, or that the line need not name."""


def to_go(ends: Estimate) -> str:
    """Return an estimate in a few words: ``at least 7 h 56 min to go``."""
    return f"{'at least' if ends.is_least else 'about'} {text.duration(ends.seconds)} to go"


def stops_after(frontier: Snapshot) -> str:
    """Say what a crawl waits for that was asked to stop."""
    if frontier.in_flight:
        return f"stopping: waiting for {text.things(frontier.in_flight, 'open request')}"
    return f"stopping: {_stored(frontier)}" if frontier.unsettled else "stopping"


def _stored(frontier: Snapshot) -> str:
    return f"{text.things(frontier.unsettled, 'page')} being stored"


def _most(numbers: Mapping[str, int]) -> str:
    shown = ", ".join(f"{name} {text.count(number)}" for name, number in numbers.items())
    return f" ({shown})" if shown else ""


class _TallySample(NamedTuple):
    """The figures of a tally at a time."""

    at: float
    pages: int = 0
    bytes: int = 0
    scored: int = 0
    relevant: int = 0
    requests: int = 0
    ready: int = 0
    open: int = 0
    loop_seconds: float | None = None
    cpu_seconds: float | None = None


class PaceMeter:
    """Makes readings. Each reader has its own meter, since current rates are measured between its own readings.

    It keeps the tallies of the last ``WINDOW_SECONDS`` and no more. Times are those of a monotonic clock.
    """

    def __init__(self, started_at: float, limits: CrawlLimits, min_delay_seconds: float = 0.0) -> None:
        """``min_delay_seconds``: POLITENESS_MIN_DELAY, for the advice to a crawl that waits."""
        self._started_at = started_at
        self._limits = limits
        self._min_delay = min_delay_seconds
        self._waits: deque[bool] = deque(maxlen=WAITS_READINGS)
        self._looks: deque[_TallySample] = deque([_TallySample(started_at)])
        self._queue: deque[tuple[float, int]] = deque()
        """Times, and the queued URLs then."""

    def read(
        self,
        now: float,
        tally: Tally,
        frontier: Snapshot,
        epoch_seconds: float = 0.0,
        items: int = 0,
        *,
        responses: int | None = None,
        is_closing: bool = False,
        means: Means = NO_MEANS,
    ) -> Reading:
        """Return the figures at ``now``, which is ``epoch_seconds`` by the clock of the frontier. ``items``: the
        number of items that were scraped; ``responses``: the pages that count for the limit of pages, which are not
        redirects and are not tried again, or None for all; ``is_closing``: the crawl was asked to stop."""
        looks = self._looks
        while len(looks) > 1 and looks[1].at <= now - WINDOW_SECONDS:
            looks.popleft()
        then = looks[0]
        span = now - then.at
        looks.append(_look(now, tally, frontier, means))
        elapsed = now - self._started_at
        pages_rate = _per(tally.pages - then.pages, span)
        counted = tally.pages if responses is None else responses
        next_seconds = None if is_closing else _until_next(frontier, epoch_seconds)
        self._waits.append(next_seconds is not None and frontier.active_hosts > 0)
        return Reading(
            pages=tally.pages,
            pages_rate=pages_rate,
            pages_rate_mean=_per(tally.pages, elapsed),
            bytes=tally.bytes,
            bytes_rate=_per(tally.bytes - then.bytes, span),
            errors=tally.errors.total(),
            elapsed_seconds=elapsed,
            left_seconds=None if is_closing else self._left(counted, pages_rate, elapsed),
            next_seconds=next_seconds,
            frontier=frontier,
            statuses=_classes(tally.statuses),
            robots=tally.robots,
            redirects=tally.redirects,
            sitemaps=tally.sitemaps,
            retries=tally.retries,
            refused=tally.refusals,
            refused_by_rule=dict(tally.refused_by_rule.most_common(NAMED)),
            errors_by_word=dict(tally.errors.most_common(NAMED)),
            limit=self._limit(counted, tally.pages, elapsed, items, frontier.known_hosts),
            slow=_slow(frontier, epoch_seconds),
            hint=self._hint(frontier),
            is_closing=is_closing,
            again=_again(tally),
            found=_format_finds(tally, then),
            bandwidth=means.bandwidth,
            verdict=limiting(self._situation(frontier, means, is_closing=is_closing)),
            ends=None if is_closing else self._ends(now, frontier.queued - frontier.given_up_urls),
        )

    def _situation(self, frontier: Snapshot, means: Means, *, is_closing: bool) -> Situation:
        """Return the figures by which the crawl is judged: means over the last looks, where one alone says little."""
        looks = self._looks
        first, last = looks[0], looks[-1]
        # The first one is of the begin of the window, or of the process.
        some = list(looks)[1:]
        span = last.at - first.at
        used, limit = means.bandwidth or (0.0, 0.0)
        return Situation(
            queued=frontier.queued,
            hosts=frontier.known_hosts,
            with_urls=frontier.active_hosts,
            ready=sum(look.ready for look in some) / len(some),
            open=sum(look.open for look in some) / len(some),
            open_max=means.open_max,
            unsettled=frontier.unsettled,
            parked=frontier.parked_hosts,
            rate=_per(last.requests - first.requests, span) if span > 0 else None,
            capacity=means.capacity,
            bandwidth_used=used,
            bandwidth_limit=limit,
            loop_share=_used(first.loop_seconds, last.loop_seconds, span),
            cpu_share=_used(first.cpu_seconds, last.cpu_seconds, span * means.cores),
            stalled=None if frontier.stalled == PAUSED else frontier.stalled,
            opens_at=frontier.opens_at,
            is_paused=frontier.stalled == PAUSED,
            is_closing=is_closing,
        )

    def _ends(self, now: float, queued: int) -> Estimate | None:
        queue = self._queue
        if not queue or now - queue[-1][0] >= QUEUE_STEP_SECONDS:
            queue.append((now, queued))
        while len(queue) > 2 and queue[1][0] <= now - QUEUE_SECONDS:
            queue.popleft()
        return estimate(queued, *shrinkage([*queue, (now, queued)]))

    def _left(self, pages: int, pages_rate: float, elapsed: float) -> float | None:
        left = []
        if self._limits.seconds:
            left.append(max(self._limits.seconds - elapsed, 0.0))
        if self._limits.pages and pages_rate > 0:
            left.append(max(self._limits.pages - pages, 0) / pages_rate)
        return min(left, default=None)

    def _limit(self, counted: int, pages: int, elapsed: float, items: int, hosts: int) -> Limit | None:
        limits = self._limits
        parts = []
        if limits.pages:
            parts.append(_part(counted, limits.pages, f"{text.count(limits.pages)} pages"))
        if limits.items:
            parts.append(_part(items, limits.items, f"{text.count(limits.items)} items"))
        if limits.seconds:
            part = Limit(min(elapsed / limits.seconds, 1.0), f"of {text.duration(limits.seconds)}")
            parts.append(part)
        if limits.pages_per_host and hosts and not parts:
            most = limits.pages_per_host * hosts
            each = f"{text.count(limits.pages_per_host)} pages of each of {text.things(hosts, 'host')}"
            parts.append(_part(pages, most, each))
        return max(parts, default=None, key=lambda limit: limit.share)

    def _hint(self, frontier: Snapshot) -> str | None:
        """Advise a crawl of a few hosts that mostly waits. The first readings are too few for that."""
        waits = self._waits
        if len(waits) < WAITS_READINGS or sum(waits) <= WAITS_SHARE * len(waits):
            return None
        if not 0 < frontier.known_hosts <= FEW_HOSTS or self._min_delay <= SHORT_DELAY_SECONDS:
            return None
        return (
            f"{text.things(frontier.known_hosts, 'host')}: politeness is the limit; "
            f"for your own site -s POLITENESS_MIN_DELAY={SHORT_DELAY_SECONDS:g}"
        )


def _look(now: float, tally: Tally, frontier: Snapshot, means: Means) -> _TallySample:
    return _TallySample(
        now,
        tally.pages,
        tally.bytes,
        tally.scored or 0,
        tally.relevant,
        tally.requests,
        frontier.ready_hosts,
        frontier.in_flight,
        means.loop_seconds,
        means.cpu_seconds,
    )


def _used(before: float | None, after: float | None, seconds: float) -> float | None:
    return None if before is None or after is None or seconds <= 0 else (after - before) / seconds


def _part(done: int, most: int, name: str) -> Limit:
    return Limit(min(done / most, 1.0), f"{text.count(done)} of {name}")


def _classes(statuses: Counter[int]) -> dict[int, int]:
    classes: dict[int, int] = {}
    for status, number in statuses.items():
        classes[status // 100] = classes.get(status // 100, 0) + number
    return dict(sorted(classes.items()))


def _slow(frontier: Snapshot, now: float) -> tuple[str, float] | None:
    if frontier.oldest_open is None:
        return None
    key, opened_at = frontier.oldest_open
    return (key, now - opened_at) if now - opened_at >= SLOW_SECONDS else None


def _format_finds(tally: Tally, then: _TallySample) -> str | None:
    if tally.scored is None:
        return None
    share = 100.0 * _per(tally.relevant, tally.scored)
    now = 100.0 * _per(tally.relevant - then.relevant, tally.scored - then.scored)
    return f"{text.count(tally.relevant)} relevant ({now:.1f} % now, mean {share:.1f} %)"


def _again(tally: Tally) -> str | None:
    if tally.due is None:
        return None
    share = 100.0 * _per(tally.revisits, tally.pages)
    return f"{text.count(tally.revisits)} ({share:.0f} %), {text.count(tally.due)} due"


def _until_next(frontier: Snapshot, now: float) -> float | None:
    if frontier.in_flight or frontier.ready_hosts or frontier.next_ready_at is None:
        return None
    return max(frontier.next_ready_at - now, 0.0)


def format_usage(used: float, limit: float) -> str:
    """Format the used part of a bandwidth limit: ``4.9 MB/s of 5.0 MB/s``."""
    return f"{text.size(used)}/s of {text.size(limit)}/s"


def _per(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0
