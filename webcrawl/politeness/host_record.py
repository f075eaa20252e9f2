"""What is remembered of one politeness key. It outlives its queue, the process and the crawl's pauses.

How much of a politeness key is fetched in a whole crawl.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Pauses = Mapping[str, float]
"""Clocks by name (``address 192.0.2.1``, ``domain example.org``, ``host www.example.org``, ``group campus``), each
with the pause in seconds that is owed on it after a request."""


@dataclass(slots=True)
class HostRecord:
    """The memory of a politeness key (a host or a registrable domain). Times are epoch seconds.

    ``next_fetch_at`` is the earliest moment of the next request to the key; ``delay_seconds`` is what was
    owed after the last one, kept so that a crash can make the key rest that long again.
    """

    key: str
    next_fetch_at: float = 0.0
    delay_seconds: float = 0.0
    download_seconds: list[float] = field(default_factory=list)
    """Durations of the last downloads, newest last, at most ``politeness.REMEMBERED_DOWNLOADS``."""
    crawl_delay_seconds: float | None = None
    """The largest Crawl-delay any origin of this key asks of us; None when none does."""
    fetches: int = 0
    """Requests that ended, with whatever outcome."""
    pages: int = 0
    """Pages that it gave, each counted once: answers of status 2xx for URLs that were not fetched before."""
    answered: bool = False
    """Whether the host ever sent an HTTP response."""
    failures: int = 0
    """Requests in a row that failed for the host's sake."""
    parks: int = 0
    """How often in a row the host was parked without a success in between."""
    backoffs: int = 0
    """How often it asked for a pause without saying how long, since the last time that this was forgiven."""
    forgiven_at: float = 0.0
    """When that is forgiven, if it asks for no further pause until then."""
    given_up: bool = False
    """No longer contacted in this run; its URLs stay queued."""
    parked: bool = False
    """Waits for something other than its delay: back-off, Retry-After, a robots.txt that cannot be had."""
    blocked_until: float = 0.0
    """Until then every URL it has waits for a robots.txt, and the key is idle; 0 when that is not so."""
    last_error: str | None = None
    fence: int = field(default=0, compare=False)
    """The number of the lease under which it was read; 0 where no other process could hold the key."""


@dataclass(slots=True)
class RobotsRecord:
    """What is known of the robots.txt of one origin (scheme, host and port; RFC 9309, section 2.3)."""

    origin: str
    """``scheme://host[:port]`` as the WHATWG URL standard serialises an origin."""
    state: str
    """A value of ``robots.RobotsState``."""
    fetched_at: float
    expires_at: float
    """When it must be asked for again."""
    text: str = ""
    crawl_delay_seconds: float | None = None
    attempts: int = 0
    """Fetches in a row that did not bring it."""


def spent(record: HostRecord, requests_max: int, pages_max: int, *, again: bool) -> str | None:
    """The rule by which nothing more is fetched from a key, None while something is; 0 stands for no limit.

    ``requests-per-key``: so many requests were made to it, those for robots.txt too. ``page-budget``: it gave so many
    pages. ``again``: for a page that it gave before, which costs nothing of that budget.
    """
    if 0 < requests_max <= record.fetches:
        return "requests-per-key"
    if 0 < pages_max <= record.pages and not again:
        return "page-budget"
    return None


def counts(status: int | None, *, again: bool) -> bool:
    """Whether an answer to a request for a page is one of the budget: neither a redirect nor an error is."""
    return status is not None and 200 <= status < 300 and not again
