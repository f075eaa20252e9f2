"""The crawl in numbers: the events since the start, the present state of the frontier, and the fill level of a
storage with a byte budget.

The frontier keeps one Tally and creates Snapshots; the display, the statistics line, the summary and the limits read
them and never write. Both are cheap: a Tally is a few integers that the frontier raises as each request ends, and a
Snapshot is made from the frontier's memory, without a look at the disk.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.frontier.records import Kind
from webcrawl.storage.contract import QUEUE_FULL, Committed, Counted, Filling, Room

if TYPE_CHECKING:
    from webcrawl.frontier.lease import FetchEnd


SKIPPED_MAX = 1_000
_STORED = ("pages", "bytes", "requests", "robots", "sitemaps", "redirects", "retries")
"""The counters that are stored with the crawl, besides those of statuses and errors."""


@dataclass(slots=True)
class Tally:
    """Counts of the events since this process began. Numbers only ever grow; a resumed crawl starts from 0."""

    worker: str | None = None
    """The name under which they are stored; None if they are not."""
    begun_at: float = 0.0
    """Epoch seconds: since when it counts."""
    pages: int = 0
    """Page fetches that ended with an HTTP response, whatever its status."""
    bytes: int = 0
    """Payload bytes received by all requests, robots.txt and redirects included."""
    requests: int = 0
    """Requests of all kinds that were sent and have ended, with whatever outcome."""
    robots: int = 0
    """robots.txt fetches that ended, with whatever outcome."""
    sitemaps: int = 0
    """Sitemap fetches that ended with an HTTP response, whatever its status."""
    inline: int = 0
    """Inline requests that ended with an HTTP response, whatever its status."""
    duplicates: int = 0
    """Pages whose bytes another URL had before."""
    revisits: int = 0
    """Pages that were revisited; ``pages`` includes them."""
    unchanged: int = 0
    """Revisited pages that had not changed, by their content or by the server's statement."""
    due: int | None = None
    """Pages that were due for a revisit when that was last looked at; None if no page is revisited. It may fall."""
    scored: int | None = None
    """Pages whose relevance was scored; None if the crawl has no focus."""
    relevant: int = 0
    """Scored pages that were relevant."""
    redirects: int = 0
    """Responses that were redirects."""
    done: int = 0
    """URLs that ended well, as ``State.DONE``."""
    failures: int = 0
    """Requests that ended without a usable response and are not tried again."""
    refusals: int = 0
    """URLs refused by a rule of scope, by robots.txt or by a limit."""
    enqueued: int = 0
    """URLs that were put into queues, further tries included."""
    dequeued: int = 0
    """URLs that were taken out of queues to be requested, without those of robots.txt."""
    known: int = 0
    """Links and Requests to URLs that were known already."""
    retries: int = 0
    """Failed requests whose URL went back into its queue."""
    statuses: Counter[int] = field(default_factory=Counter)
    """HTTP statuses of pages."""
    errors: Counter[str] = field(default_factory=Counter)
    """Errors: requests that ended without a response, by error word as in the fetch log. Each attempt counts, but not
    one that was lost with a kept connection and sent again at once."""
    refused_by_rule: Counter[str] = field(default_factory=Counter)
    """Refused URLs by the rule that decided."""
    site_refusals: Counter[str] = field(default_factory=Counter)
    """Responses by which sites refused, by kind: words of ``refusals.KINDS``."""
    refusing_hosts: int = 0
    """Hosts that refused the crawler until they were left alone for a day, each counted once."""
    last_refusing: tuple[str, str] | None = None
    """The last of these hosts, and the kind of its refusal."""
    disallowed: Counter[str] = field(default_factory=Counter)
    """Pages that may not be used, by purpose: words of ``purposes.PURPOSES``."""
    withheld: int = 0
    """Pages that may not be used for what the crawl is for."""
    mimes: Counter[str] = field(default_factory=Counter)
    """MIME types of pages, in lower case and without parameters."""

    cut: int = 0
    """Pages that were longer than the part that was read."""
    links_dropped: int = 0
    """Links of pages that were too long or over LINKS_PER_PAGE_MAX."""
    pages_with_dropped: int = 0
    """Pages that had such links."""
    holds: int = 0
    """Number of times that the event loop was blocked for longer than LOOP_HELD_SECONDS."""
    longest_hold_seconds: float = 0.0
    """CPU time of the longest of these."""

    skipped: dict[str, float] = field(default_factory=dict)
    """Hosts whose robots.txt asked for a longer Crawl-delay than is obeyed, with that delay in seconds: the first
    ``SKIPPED_MAX`` of them."""

    def ended(self, kind: str, ending: FetchEnd) -> None:
        """Count a request that was sent, and has ended."""
        self.requests += 1 + ending.resent
        self.bytes += ending.payload_bytes + ending.lost_bytes
        if ending.error is not None:
            self.errors[ending.error] += 1
        if kind == Kind.PAGE and ending.lost_status is not None:
            self.pages += 1
            self.statuses[ending.lost_status] += 1
        if kind == Kind.ROBOTS:
            self.robots += 1
        elif kind == Kind.INLINE:
            self.inline += ending.status is not None
        elif ending.status is not None and kind == Kind.PAGE:
            self.pages += 1
            self.statuses[ending.status] += 1
            if ending.mime:
                self.mimes[ending.mime] += 1

    def counted(self) -> Counted | None:
        """Return what is stored with the crawl: ``pages``, ``bytes`` and others, ``status N`` of pages, and ``error
        WORD``; None if nothing is."""
        if self.worker is None:
            return None
        numbers = {name: int(getattr(self, name)) for name in _STORED}
        numbers |= {f"status {status}": number for status, number in self.statuses.items()}
        numbers |= {f"error {word}": number for word, number in self.errors.items()}
        return Counted(self.worker, self.begun_at, numbers)

    def committed(self, committed: Committed) -> None:
        """Count the entries of a commit: those that were queued, and those of URLs that were known."""
        queued = len(committed.queued)
        self.enqueued += queued
        self.known += max(committed.offered - queued - committed.pruned - committed.turned_away, 0)

    def count_blocked_loop(self, cpu_seconds: float) -> None:
        """Count a time that the event loop was blocked."""
        self.holds += 1
        self.longest_hold_seconds = max(self.longest_hold_seconds, cpu_seconds)

    def count_scored(self, relevant: bool) -> None:
        """Count a page that was scored."""
        self.scored = (self.scored or 0) + 1
        self.relevant += relevant

    def skip(self, key: str, crawl_delay_seconds: float) -> None:
        """Note a host that is not crawled, since it asks for a longer pause than is obeyed."""
        if key in self.skipped or len(self.skipped) < SKIPPED_MAX:
            self.skipped[key] = crawl_delay_seconds

    def refused(self, rule: str, count: int = 1) -> None:
        """Count ``count`` URLs that were refused by ``rule``."""
        self.refusals += count
        self.refused_by_rule[rule] += count


PAUSED = "paused"
"""The reason why a crawl stalls that an operator paused."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of the frontier in figures. Hosts are politeness keys."""

    queued: int
    """URLs that wait in their queues."""
    known_hosts: int
    active_hosts: int
    """Hosts of this process that have URLs: waiting for their clock, ready, or with a request that is open."""
    ready_hosts: int
    """Active hosts whose time has come."""
    waiting_hosts: int
    """Hosts with queued URLs that are not active."""
    parked_hosts: int
    """Hosts that failed too often and rest."""
    given_up_hosts: int
    """Hosts that are no longer contacted in this run."""
    in_flight: int
    """Requests that are open."""
    unsettled: int
    """Requests that have ended and whose outcome is not yet durable."""
    next_ready_at: float | None
    """Epoch seconds when the next active host may be contacted; None if none is active."""
    stalled: str | None
    """The reason why nothing moves although there is work ('disk full'); None if all is well."""
    opens_at: float | None = None
    """The time at which the hours begin for which all requests wait; None if they wait for none."""
    crowded: str | None = None
    """The reason why new URLs are turned away ('storage 87 % of 4.0 GB'); None while there is room for all."""
    given_up_urls: int = 0
    """URLs in the queues of hosts that are no longer contacted: kept for the next run."""
    oldest_open: tuple[str, float] | None = None
    """The host of the request of this process that is open for longest, and the epoch seconds since when."""
    last_parked: str | None = None
    """The host that this process parked last."""
    workers: int | None = None
    """Running processes of a shared crawl, this one included; None if the crawl is of this process alone.

    Counts of queued, known, parked and given-up are of the whole crawl; counts of active, ready and in flight are of
    this process.
    """


BACKLOG_FULL = "backlog-full"
"""The rule that refuses URLs for which the storage has no room."""

logger = logging.getLogger(__name__)

_ROOM_MESSAGES = {
    Room.SCARCE: "The storage is nearly full (%s): new URLs of the lowest levels are turned away until there is room",
    Room.FULL: "The storage is full (%s): new URLs are turned away, and the ends of long queues are pruned",
    Room.PLENTY: "There is room in the storage again (%s): all new URLs are taken",
}


class Backlog:
    """The room in a storage that several processes share, as of the last look.

    Each change is logged the first time only, since a crawl without end keeps crossing the marks; the statistics line
    has the present state.
    """

    def __init__(
        self,
        tally: Tally,
        forget: Callable[[], None],
        may_return: Callable[[Sequence[int]], None] = lambda fingerprints: None,
    ) -> None:
        """``forget`` is called when URLs that were turned away may be offered again, ``may_return`` with the
        fingerprints of those pruned from full queues, which may be offered again too."""
        self._tally = tally
        self._may_return = may_return
        self._forget = forget
        self._filling: Filling | None = None
        self._room = Room.PLENTY
        self._logged: set[Room] = set()
        self.crowded: str | None = None
        """The fill level of the storage, in words; None while there is room for all."""

    def update(self, filling: Filling | None) -> None:
        """Store the used part of the budget; None if there is no budget."""
        self._filling = filling
        room = Room.PLENTY if filling is None else filling.room
        self.crowded = None if filling is None or room is Room.PLENTY else _in_words(filling)
        if room is self._room:
            return
        if room is Room.PLENTY:
            self._forget()
        self._room = room
        if room not in self._logged:
            self._logged.add(room)
            logger.warning(_ROOM_MESSAGES[room], "no budget" if filling is None else _in_words(filling))

    def figures(self) -> dict[str, float]:
        """Return the figures for the other workers and for display; none if there is no budget."""
        if self._filling is None:
            return {}
        return {
            "used_bytes": self._filling.used_bytes,
            "budget_bytes": self._filling.budget_bytes,
            "backlog_full": self._tally.refused_by_rule[BACKLOG_FULL],
        }

    def committed(self, committed: Committed) -> None:
        """Count the URLs that a commit had no room for, and let them be offered again."""
        if committed.may_return:
            self._may_return(committed.may_return)
        for rule, urls in (
            (QUEUE_FULL, committed.pruned),
            (BACKLOG_FULL, committed.turned_away + committed.crowded_out),
        ):
            if urls:
                self._tally.refusals += urls
                self._tally.refused_by_rule[rule] += urls


def _in_words(filling: Filling) -> str:
    share = 100 * filling.used_bytes / filling.budget_bytes
    return f"{share:.0f} % of {filling.budget_bytes / 1e6:,.0f} MB"
