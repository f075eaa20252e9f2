"""The rules that the frontier applies, in one place: it has none of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from webcrawl.frontier.order import LevelSampler, Order
from webcrawl.frontier.records import UrlEntry
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.health import Health
from webcrawl.politeness.hours import ALWAYS, FetchHours
from webcrawl.politeness.shared_clocks import NO_SHARED_CLOCKS, SharedClocks
from webcrawl.robots.answer import Absence
from webcrawl.robots.rules import RulesCache
from webcrawl.robots.site_files import SiteFileChoice
from webcrawl.storage.contract import Locate
from webcrawl.urls.schemes import WEB, Schemes

RETRIED_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 522, 524})
"""Statuses after which the same URL may give a page later."""

BUSY_STATUSES = frozenset({429, 503})
"""Statuses by which a host reports too many requests (RFC 6585, section 4; RFC 9110, section 15.6.4)."""

AdmitEntry = Callable[[UrlEntry], str | None]
"""The scope's verdict on a URL that is about to be fetched: None, or the name of the rule that refuses it."""


def admit_all(entry: UrlEntry) -> str | None:
    return None


async def at_no_address(host: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class RobotsPolicy:
    """The limits and rules for requesting and keeping robots.txt (RFC 9309)."""

    ttl_seconds: float = 86400.0
    max_bytes: int = 512_000
    max_redirects: int = 5
    agents: tuple[str, ...] = ("webcrawl",)
    """The product tokens by which robots.txt may name the crawler."""
    rules: RulesCache = field(default_factory=lambda: RulesCache(10_000, "webcrawl"))
    absence: Absence = field(default_factory=Absence)
    site_files: SiteFileChoice | None = None
    """The files that are requested after a robots.txt, before pages of its origin; None if there are none."""
    usage_refused: tuple[str, ...] = ()
    """No page is requested of which a robots.txt says that it may not be used for all of these purposes."""
    schemes: Schemes = WEB
    """The schemes of the crawl, with the place of robots.txt in each."""
    ttl_min_seconds: float = 3600.0
    """A text is kept so long even if its Cache-Control asks for less; ``ttl_seconds`` is more important."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The rules of a crawl that can be changed without a change of the frontier."""

    order: Order
    sampler: LevelSampler
    politeness: Politeness
    health: Health
    robots: RobotsPolicy
    get_key: Callable[[str], str]
    """The politeness key of a URL."""
    admit: AdmitEntry = admit_all
    retry_times: int = 2
    requests_per_key_max: int = 0
    """Number of requests to a key after which the rest of its queue is refused; 0 for no limit."""
    page_budget: int = 0
    """Number of pages of a key after which the rest of the new URLs in its queue is refused; 0 for no limit."""
    best_first: float | None = None
    """The share of turns, 0 to 1, that take any ready key; all others take the one whose first URL has the highest
    level. None: the ready key comes first whose time came first."""
    best_first_seed: int | None = None
    """The seed of the random choice in those turns."""
    shared_clocks: SharedClocks = NO_SHARED_CLOCKS
    hours: FetchHours = ALWAYS
    """The hours of the day in which requests begin."""
    locate: Locate = at_no_address
    """Called if an address has a clock."""
    proxy_route: Callable[[UrlEntry], str | None] = lambda entry: None
    """Returns the proxy of a URL, as text that the caller understands, None if it has none: its robots.txt is
    requested by it, too."""
    request_agent: Callable[[UrlEntry], str | None] = lambda entry: None
    """Returns the product token of the User-Agent that a URL's own request has, None if it has none: robots.txt is
    obeyed as what it says to this name, too."""
    awaits_refusal: Callable[[UrlEntry], bool] = lambda entry: False
    """Returns True for an entry that is leased even if it is refused: its errback is called, and nothing is sent."""
    is_own: Callable[[UrlEntry], bool] = lambda entry: False
    """Returns True for an entry that stands for a Request that a spider made itself. It fails like a page when its
    robots.txt has failed as often as a page may fail; a link of a page stays queued until there is a robots.txt."""
    refused: Callable[[UrlEntry], None] = lambda entry: None
    """Called with each queued URL that is refused when its turn comes."""
    forget: Callable[[], None] = lambda: None
    """Called when URLs that were turned away for lack of room may be offered again."""
    may_return: Callable[[Sequence[int]], None] = lambda fingerprints: None
    """Called with the fingerprints of URLs that were pruned from full queues: they may be offered again."""


GROUP_LEAST = 32
"""Number of changes that always become durable together if they are there: fewer at a time cost too much each."""

UNPROCESSED_SHARE = 16
"""A key may have one part in this many of all open requests as responses that wait to be parsed."""
UNPROCESSED_LEAST = 4
"""The number that it may always have."""


@dataclass(frozen=True, slots=True)
class FrontierLimits:
    """The bounds of the frontier's memory and waiting times. The defaults are those of the settings."""

    open_max: int = 256
    """URLs being fetched, or fetched and not yet durable. A crash costs at most so many refetches."""
    active_max: int = 20_000
    """Keys held in memory."""
    dry_max: int = 1000
    """Active keys with an empty queue that are kept a while, since the next page often brings more."""
    blocked_max: int = 512
    """URLs of one key held back because their origin's robots.txt is not available, before the key waits."""
    patience_seconds: float = 120.0
    """The longest time that the crawl waits for the first parked key when nothing else is left."""
    commit_interval_seconds: float = 0.1
    """Time that a finished fetch waits for more to become durable with it."""
    session_budget: int = 8
    """URLs that a key gives in one session, while other keys wait."""
    reordering_share: float = 0.1
    """The share of time that re-ordering may take in the background, at most 1; 0: only when requested."""

    @property
    def unprocessed_max(self) -> int:
        """Number of responses of a key that may wait to be parsed before its next request waits. Without a limit a
        few hosts with pages that are slow to parse would fill all slots, and the others would wait for them."""
        return max(self.open_max // UNPROCESSED_SHARE, UNPROCESSED_LEAST)

    @property
    def group_max(self) -> int:
        """The most changes that become durable together: while half of the open requests are on their way to the
        disk, there is room to fetch, and not everything ends at the same moment again."""
        return max(self.open_max // 2, GROUP_LEAST)
