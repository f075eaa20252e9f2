"""The crawl in numbers: what has happened since the start, and how the frontier stands at this moment.

The frontier keeps one Tally and hands out Snapshots; the display, the statistics line, the summary and the
limits read them and never write. Both are cheap: a Tally is a few integers that the frontier raises as each
request ends, and a Snapshot is made from what the frontier has in memory, without a look at the disk.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.frontier.records import Kind

if TYPE_CHECKING:
    from webcrawl.frontier.lease import Ending

SKIPPED_MAX = 1_000


@dataclass(slots=True)
class Tally:
    """What has ended since this process began. Numbers only ever grow; a resumed crawl starts from nought."""

    pages: int = 0
    """Page fetches that ended with an HTTP response, whatever its status."""
    bytes: int = 0
    """Payload bytes received by all requests, robots.txt and redirects included."""
    robots: int = 0
    """robots.txt fetches that ended, with whatever outcome."""
    sitemaps: int = 0
    """Sitemap fetches that ended with an HTTP response, whatever its status."""
    duplicates: int = 0
    """Pages whose bytes another URL had before."""
    revisits: int = 0
    """Of ``pages``, those that were visited again."""
    unchanged: int = 0
    """Of these, those that came or were said to be the same, and had not changed."""
    due: int | None = None
    """Pages that were to be visited again when that was last looked at; None where no page is. It may fall."""
    judged: int | None = None
    """Pages of which it was said how relevant they are; None where nothing is looked for."""
    relevant: int = 0
    """Of these, those that count as found."""
    redirects: int = 0
    """Responses that sent us elsewhere."""
    failures: int = 0
    """Requests that ended without a usable response and are not tried again."""
    refusals: int = 0
    """URLs refused by a rule of scope, by robots.txt or by a limit."""
    retries: int = 0
    """Failed requests whose URL went back into its queue."""
    statuses: Counter[int] = field(default_factory=Counter)
    """HTTP statuses of pages."""
    errors: Counter[str] = field(default_factory=Counter)
    """Failed requests by error word, as in the fetch log."""
    refused_by_rule: Counter[str] = field(default_factory=Counter)
    """Refused URLs by the rule that decided."""
    mimes: Counter[str] = field(default_factory=Counter)
    """MIME types of pages, in lower case and without parameters."""

    cut: int = 0
    """Pages of which there was more than was read."""
    holds: int = 0
    """Times at which something held the event loop for longer than LOOP_HELD_SECONDS."""
    longest_hold_seconds: float = 0.0
    """CPU time of the longest of these."""

    skipped: dict[str, float] = field(default_factory=dict)
    """Hosts whose robots.txt asked for a longer Crawl-delay than is obeyed, with that delay in seconds: the first
    ``SKIPPED_MAX`` of them."""

    def ended(self, kind: str, ending: Ending) -> None:
        """A request was sent, and has ended."""
        self.bytes += ending.payload_bytes
        if ending.error is not None:
            self.errors[ending.error] += 1
        if kind == Kind.ROBOTS:
            self.robots += 1
        elif ending.status is not None and kind == Kind.PAGE:
            self.pages += 1
            self.statuses[ending.status] += 1
            if ending.mime:
                self.mimes[ending.mime] += 1

    def hold(self, cpu_seconds: float) -> None:
        """Something held the event loop."""
        self.holds += 1
        self.longest_hold_seconds = max(self.longest_hold_seconds, cpu_seconds)

    def judge(self, relevant: bool) -> None:
        """A page was judged."""
        self.judged = (self.judged or 0) + 1
        self.relevant += relevant

    def skip(self, key: str, crawl_delay_seconds: float) -> None:
        """A host is not crawled, since it asks for a longer pause than it is given."""
        if key in self.skipped or len(self.skipped) < SKIPPED_MAX:
            self.skipped[key] = crawl_delay_seconds

    def refused(self, rule: str, count: int = 1) -> None:
        """``count`` URLs were refused by ``rule``."""
        self.refusals += count
        self.refused_by_rule[rule] += count


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How the frontier stands. Hosts are politeness keys."""

    queued: int
    """URLs that wait in their queues."""
    known_hosts: int
    active_hosts: int
    """Hosts in the heap: waiting for their clock or ready."""
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
    """Epoch seconds when the next active host may be contacted; None when none is active."""
    stalled: str | None
    """Why nothing moves although there is work ('disk full'); None when all is well."""
    crowded: str | None = None
    """Why new URLs are turned away ('storage 87 % of 4.0 GB'); None while there is room for all."""
    given_up_urls: int = 0
    """URLs in the queues of hosts that are no longer contacted: kept for the next run."""
    workers: int | None = None
    """Processes at work on a shared crawl, this one among them; None when the crawl is of this process alone.

    What is queued, known, parked and given up is the whole crawl's; what is active, ready and in flight is ours.
    """
