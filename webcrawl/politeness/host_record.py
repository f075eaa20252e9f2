"""The stored record of one politeness key, which outlives its queue, the process and the crawl's pauses; the record
of an origin's robots.txt; and the limits on the requests and pages of a key in a whole crawl."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Pauses = Mapping[str, float]
"""Clocks by name (``address 192.0.2.1``, ``domain example.org``, ``host www.example.org``, ``group campus``), each
with the pause in seconds that is owed on it after a request."""


@dataclass(slots=True)
class HostRecord:
    """The record of a politeness key (a host or a registrable domain). Times are epoch seconds.

    ``next_fetch_at`` is the earliest moment of the next request to the key; ``delay_seconds`` is the delay that was
    owed after the last one, kept so that a crash can make the key rest that long again.
    """

    key: str
    next_fetch_at: float = 0.0
    delay_seconds: float = 0.0
    download_seconds: list[float] = field(default_factory=list)
    """Durations of the last downloads, newest last, at most ``delay.REMEMBERED_DOWNLOADS``."""
    crawl_delay_seconds: float | None = None
    """The largest Crawl-delay that any origin of this key asks for; None if none does."""
    rate_limit_seconds: float = 0.0
    """The pause that the host's rate limit asks for, bounded; 0 for none."""
    rate_limit_until: float = 0.0
    """The time until which that pause holds, unless a later response names another."""
    fetches: int = 0
    """Requests that ended, with whatever outcome."""
    pages: int = 0
    """Pages that it gave, each counted once: answers of status 2xx for URLs that were not fetched before."""
    answered: bool = False
    """True if the host ever sent an HTTP response."""
    failures: int = 0
    """Requests in a row that failed through the host's fault."""
    parks: int = 0
    """Number of times in a row that the host was parked without a success in between."""
    backoffs: int = 0
    """Number of times that it required a pause without a length, since this was last forgiven."""
    forgiven_at: float = 0.0
    """Time at which that is forgiven, if it asks for no further pause until then."""
    asked_until: float = 0.0
    """The end of the longest pause that the host has asked for by its length: Retry-After, or a rate limit."""
    given_up: bool = False
    """No longer contacted in this run; its URLs stay queued."""
    parked: bool = False
    """Waits for something other than its delay: back-off, Retry-After, a robots.txt that is not available."""
    blocked_until: float = 0.0
    """The time until which all its URLs wait for a robots.txt, and the key is idle; 0 if that is not so."""
    refusals: int = 0
    """Responses by which it refused the crawler as a whole, since it last gave a page; see ``Health.refused``."""
    refusal_base: int = 0
    """The value of ``fetches`` from which the requests to a host that refuses are counted."""
    refusal_rests: int = 0
    """Number of times that it was left alone for a day since it last gave a page."""
    last_error: str | None = None
    fence: int = field(default=0, compare=False)
    """The number of the lease under which it was read; 0 if no other process could hold the key."""


@dataclass(slots=True)
class RobotsRecord:
    """The stored answer of the robots.txt of one origin (scheme, host and port; RFC 9309, section 2.3)."""

    origin: str
    """``scheme://host[:port]`` as the WHATWG URL standard serialises an origin."""
    state: str
    """A value of ``robots.answer.RobotsState``."""
    fetched_at: float
    expires_at: float
    """Time from which it must be requested again."""
    text: str = ""
    crawl_delay_seconds: float | None = None
    attempts: int = 0
    """Number of fetches in a row that failed to get it."""


def spent(record: HostRecord, requests_max: int, pages_max: int, *, again: bool) -> str | None:
    """Return the rule that ends all fetches from a key, None if there is none; limits of 0 are none.

    ``requests-per-key``: ``requests_max`` requests were made to it, those for robots.txt too. ``page-budget``: it
    gave ``pages_max`` pages. ``again``: for a page that it gave before, which costs nothing of that budget.
    """
    if 0 < requests_max <= record.fetches:
        return "requests-per-key"
    if 0 < pages_max <= record.pages and not again:
        return "page-budget"
    return None


def is_success(status: int | None) -> bool:
    """Return True for a status 2xx."""
    return status is not None and 200 <= status < 300


def counts(status: int | None, *, again: bool) -> bool:
    """Return True if an answer to a request for a page counts towards the budget: redirects and errors do not."""
    return is_success(status) and not again
