"""Finds what limits the speed of a crawl now, and when it will end at the earliest: pure functions of figures.

The dashboard, the terminal, the lines of the log and ``scrapy status`` say what these functions return.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from webcrawl.reports import text
from webcrawl.urls.lists import printable

if TYPE_CHECKING:
    from collections.abc import Sequence


class Bound(StrEnum):
    """The part of a crawl that limits its speed."""

    STOPPING = "stopping"
    PAUSED = "paused"
    HOURS = "hours"
    """It waits for the hours of the day in which requests may begin."""
    STORAGE = "storage"
    NOTHING = "nothing queued"
    PARKED = "parked hosts"
    BANDWIDTH = "bandwidth"
    CPU = "CPU"
    EVENT_LOOP = "event loop"
    OPEN_REQUESTS = "open requests"
    STORING = "storing"
    HOSTS = "hosts"
    POLITENESS = "politeness"
    STARTING = "starting"
    """Hosts are ready and nothing else is used up: the next requests begin at this moment."""


BANDWIDTH_SHARE = 0.9
"""The bandwidth limits the crawl if more than this share of it is used."""
OPEN_SHARE = 0.95
LOOP_SHARE = 0.85
"""The share of a core from which the thread of the event loop is the limit."""
CPU_SHARE = 0.9
"""The share of all cores from which the processes of the crawl are the limit."""
CAPACITY_SHARE = 0.7
"""Politeness limits the crawl if it makes more than this share of the requests that the delays allow."""
FEW_SHARE = 0.5
"""The share of the known hosts with URLs up to which more hosts with URLs would make the crawl faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The figures of one moment, of one process or of all together; None for what is not known. Rates are per second,
    means of some seconds like ``ready`` and ``open``."""

    queued: int
    hosts: int
    """Known hosts."""
    with_urls: int
    """Hosts in the memory of processes that have URLs."""
    ready: float
    """Hosts with URLs that may be contacted now."""
    open: float
    """Requests that are open."""
    open_max: float | None = None
    """The number of requests that may be open or unsettled at a time."""
    unsettled: float = 0.0
    """Requests that have ended, and whose results are not yet stored."""
    parked: int = 0
    rate: float | None = None
    """Requests that end."""
    capacity: float | None = None
    """Requests that the delays of the hosts with URLs allow."""
    bandwidth_used: float = 0.0
    bandwidth_limit: float = 0.0
    """0: there is none."""
    loop_share: float | None = None
    """CPU time of the event loop's thread, as a share of a core; of several processes, the mean."""
    cpu_share: float | None = None
    """CPU time of all processes of the crawl, as a share of all cores."""
    stalled: str | None = None
    """The reason why nothing can be stored."""
    opens_at: float | None = None
    """The time at which the hours begin for which all requests wait."""
    is_paused: bool = False
    is_closing: bool = False


class Bottleneck(NamedTuple):
    """The limit of a crawl's speed, with its figures."""

    bound: Bound
    short: str
    """A few words, for a line with other figures."""
    sentence: str
    """A whole sentence, with the figures that it is from."""


def limiting(situation: Situation) -> Bottleneck:
    """Return what limits a crawl that runs."""
    return _standstill(situation) or _shortage(situation) or _politeness(situation)


def _standstill(situation: Situation) -> Bottleneck | None:
    """Return why a crawl makes no further requests; None if it does."""
    if situation.is_closing:
        rest = text.things(round(situation.open), "open request")
        return Bottleneck(Bound.STOPPING, "stopping", f"It is stopping: {rest}; no further ones begin.")
    if situation.is_paused:
        return Bottleneck(
            Bound.PAUSED,
            "paused by an operator",
            "An operator paused it: no request begins until it is resumed.",
        )
    if situation.opens_at is not None and situation.queued:
        at = text.second(situation.opens_at)
        return Bottleneck(
            Bound.HOURS,
            f"waiting for its hours, until {at} UTC",
            f"It waits for its hours, or those of the sites that are left: no request begins before {at} UTC.",
        )
    if situation.stalled:
        sentence = (
            f"The storage: {situation.stalled}. "
            "It goes on by itself when there is room, or a connection, again."
        )
        return Bottleneck(Bound.STORAGE, f"waiting for the storage ({situation.stalled})", sentence)
    if not situation.queued:
        rest = text.things(round(situation.open), "request")
        return Bottleneck(Bound.NOTHING, "nothing is queued", f"Nothing is queued; {rest} open.")
    if not situation.with_urls and situation.open < 1:
        if situation.parked:
            sentence = (
                f"All hosts with URLs rest after failures, at a server's request or for their robots.txt: "
                f"{text.things(situation.parked, 'host')} parked."
            )
            return Bottleneck(Bound.PARKED, "waiting for parked hosts", sentence)
        return Bottleneck(Bound.STARTING, "starting", "The next hosts are being read from the storage.")
    return None


def _shortage(situation: Situation) -> Bottleneck | None:
    """Return which means are used up although hosts could be contacted; None if none is."""
    if (
        situation.bandwidth_limit > 0
        and situation.bandwidth_used >= BANDWIDTH_SHARE * situation.bandwidth_limit
    ):
        used = f"{text.size(situation.bandwidth_used)}/s of {text.size(situation.bandwidth_limit)}/s"
        return Bottleneck(
            Bound.BANDWIDTH, f"limited by the bandwidth ({used})", f"The bandwidth limit: {used} are used."
        )
    if situation.ready < 1 or _share(situation) >= CAPACITY_SHARE:
        return None
    ready = f"{text.things(round(situation.ready), 'host')} could be contacted"
    if situation.cpu_share is not None and situation.cpu_share >= CPU_SHARE:
        used = f"{100 * min(situation.cpu_share, 1.0):.0f} % of all cores"
        return Bottleneck(Bound.CPU, f"limited by the CPU ({used})", f"The CPU: {used} used, while {ready}.")
    if situation.loop_share is not None and situation.loop_share >= LOOP_SHARE:
        used = f"{100 * min(situation.loop_share, 1.0):.0f} % of a core"
        return Bottleneck(
            Bound.EVENT_LOOP,
            f"limited by the event loop ({used})",
            f"The event loop: {used} used, while {ready}. More workers would make it faster.",
        )
    if situation.open_max and situation.open + situation.unsettled >= OPEN_SHARE * situation.open_max:
        return _slots(situation, ready)
    return None


def _slots(situation: Situation, ready: str) -> Bottleneck:
    most = text.count(round(situation.open_max or 0))
    if situation.open >= situation.unsettled:
        used = f"{text.count(round(situation.open))} of {most}"
        return Bottleneck(
            Bound.OPEN_REQUESTS,
            f"limited by open requests ({used})",
            f"CONCURRENT_REQUESTS: {used} requests are open, while {ready}.",
        )
    used = f"{text.count(round(situation.unsettled))} of {most}"
    return Bottleneck(
        Bound.STORING,
        f"limited by storing ({used} requests)",
        f"Parsing and storing: {used} requests have ended and wait for that, while {ready}.",
    )


def _politeness(situation: Situation) -> Bottleneck:
    """Return whether the delays of hosts limit the crawl, and whether that is since few hosts have URLs."""
    if situation.ready >= 1 and _share(situation) < CAPACITY_SHARE:
        ready = f"{text.things(round(situation.ready), 'host')} could be contacted"
        return Bottleneck(
            Bound.STARTING, "starting the next requests", f"Nothing is used up: {ready}, and will be."
        )
    allowed = _allowed(situation)
    with_urls = text.things(situation.with_urls, "host")
    is_few = situation.hosts > 1 and situation.with_urls <= FEW_SHARE * situation.hosts
    if is_few and (situation.open_max is None or situation.with_urls < situation.open_max):
        few = f"{text.count(situation.with_urls)} of {text.things(situation.hosts, 'host')}"
        sentence = f"Few hosts have URLs: {few}.{allowed} More hosts with URLs would make it faster."
        return Bottleneck(Bound.HOSTS, f"limited by hosts ({few} have URLs)", sentence)
    have = "has" if situation.with_urls == 1 else "have"
    sentence = f"Politeness: {with_urls} {have} URLs.{allowed} More workers would not make it faster."
    return Bottleneck(Bound.POLITENESS, "limited by politeness", sentence)


def _share(situation: Situation) -> float:
    """Return the made requests as a share of those that delays allow; 0 if it is not known."""
    return situation.rate / situation.capacity if situation.rate is not None and situation.capacity else 0.0


def _allowed(situation: Situation) -> str:
    if not situation.capacity or situation.rate is None:
        return ""
    share = f"{100 * min(_share(situation), 1.0):.0f} %"
    return (
        f" Their delays allow {text.rate(situation.capacity).replace('/', ' requests/')}; "
        f"{text.rate(situation.rate).replace('/', ' requests/')} are made, {share} of that."
    )


class Longest(NamedTuple):
    """The host whose queue takes longest: the number of its URLs times its delay."""

    key: str
    queued: int
    delay_seconds: float

    @property
    def seconds(self) -> float:
        return self.queued * self.delay_seconds


class EstimateObject(TypedDict):
    """An estimate for JSON."""

    seconds: float
    at_least: bool
    sentence: str


class Estimate(NamedTuple):
    """The time at which a crawl ends if it goes on as now."""

    seconds: float
    is_least: bool
    """True if it is the least time: it will take at least so long."""
    sentence: str

    def as_object(self) -> EstimateObject:
        """Return it for JSON."""
        return {"seconds": self.seconds, "at_least": self.is_least, "sentence": self.sentence}


WINDOW_SECONDS = 30.0
"""The least time over which the queue must have become shorter for an estimate."""
_STEADY = 2
"""A queue that shrinks in one half of this time by so many times as much as in the other does not shrink steadily."""
_CHANCE = 4
"""URLs by which the halves may differ besides: a slow crawl finishes a few, now and then."""


class Shrinkage(NamedTuple):
    """The URLs by which a queue became shorter per second, and the time over which it did. None: it did not, or not
    at a steady rate."""

    per_second: float | None
    seconds: float


def shrinkage(queue: Sequence[tuple[float, int]]) -> Shrinkage:
    """Return how fast a queue shrinks since it was longest. ``queue``: times in seconds and lengths, the latest one
    last.

    Before that it grew, above all at the start of a crawl: a mean over both would be too low, and the estimate too
    long, up to without limit.
    """
    now, queued = queue[-1]
    peak = max(range(len(queue)), key=lambda place: (queue[place][1], place))
    began_at, longest = queue[peak]
    seconds = now - began_at
    if seconds <= 0:
        return Shrinkage(None, 0.0)
    half_at, half = min(queue[peak:], key=lambda look: abs(look[0] - (began_at + now) / 2))
    if not began_at < half_at < now:
        return Shrinkage((longest - queued) / seconds, seconds)
    # The URLs of each half, if the halves were equally long.
    halves = sorted(
        change * seconds / 2 / length
        for change, length in ((longest - half, half_at - began_at), (half - queued, now - half_at))
    )
    if halves[1] > _STEADY * halves[0] + _CHANCE:
        return Shrinkage(None, seconds)
    return Shrinkage((longest - queued) / seconds, seconds)


def estimate(
    queued: int, shrinking: float | None, seen_seconds: float, longest: Longest | None = None
) -> Estimate | None:
    """Return the time that the queued URLs take; None if that cannot be said, above all while the queue grows.

    ``shrinking``: the URLs by which the queue became shorter per second, over the last ``seen_seconds``. It has both
    the URLs that were fetched and those that were found meanwhile. ``longest``: None if it is not known; the result
    is then the least time.
    """
    if not queued or shrinking is None or shrinking <= 0 or seen_seconds < WINDOW_SECONDS:
        return None
    seconds = queued / shrinking
    if longest is not None and longest.seconds > seconds:
        about = (
            f"{printable(longest.key)} has {text.things(longest.queued, 'URL')} and a delay of "
            f"{text.duration(longest.delay_seconds)}"
        )
        return Estimate(longest.seconds, True, f"At least {text.duration(longest.seconds)} to go: {about}.")
    words, sure = text.duration(seconds), longest is not None
    rate = text.rate(shrinking).replace("/", " URLs/")
    begun = "About" if sure else "At least"
    return Estimate(seconds, not sure, f"{begun} {words} to go, if the queue goes on shrinking by {rate}.")
