"""The crawl in numbers: what has happened since the start, and how the frontier stands at this moment.

The frontier keeps one Tally and hands out Snapshots; the display, the statistics line, the summary and the
limits read them and never write. Both are cheap: a Tally is a few integers that the frontier raises as each
request ends, and a Snapshot is made from what the frontier has in memory, without a look at the disk.

A storage whose byte budget is nearly used up: what is said of it, and what is counted.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from webcrawl.frontier.records import Kind
from webcrawl.storage.contract import QUEUE_FULL, Committed, Filling, Room

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


BACKLOG_FULL = "backlog-full"
"""The rule by which URLs are refused for which there is no place in the storage."""

logger = logging.getLogger(__name__)

_SAID = {
    Room.SCARCE: "The storage is nearly full (%s): new URLs of the lowest levels are turned away until there is room",
    Room.FULL: "The storage is full (%s): new URLs are turned away, and the ends of long queues are pruned",
    Room.PLENTY: "There is room in the storage again (%s): all new URLs are taken",
}


class Backlog:
    """What this process heard last of the room in a storage that several processes share.

    Each thing is logged the first time only, since a crawl without end comes and goes at the mark; the line of
    statistics says how it stands.
    """

    def __init__(
        self,
        tally: Tally,
        forget: Callable[[], None],
        may_return: Callable[[Sequence[int]], None] = lambda fingerprints: None,
    ) -> None:
        """``forget`` is called when what was turned away may be offered again, ``may_return`` with the fingerprints
        of what was pruned from full queues, which may be offered again too."""
        self._tally = tally
        self._may_return = may_return
        self._forget = forget
        self._filling: Filling | None = None
        self._room = Room.PLENTY
        self._said: set[Room] = set()
        self.crowded: str | None = None
        """How full the storage is, in words; None while there is room for all."""

    def heard(self, filling: Filling | None) -> None:
        """A look was taken; None where there is no budget."""
        self._filling = filling
        room = Room.PLENTY if filling is None else filling.room
        self.crowded = None if filling is None or room is Room.PLENTY else _in_words(filling)
        if room is self._room:
            return
        if room is Room.PLENTY:
            self._forget()
        self._room = room
        if room not in self._said:
            self._said.add(room)
            logger.warning(_SAID[room], "no budget" if filling is None else _in_words(filling))

    def figures(self) -> dict[str, float]:
        """For the others and for people; nothing where there is no budget."""
        if self._filling is None:
            return {}
        return {
            "used_bytes": self._filling.used_bytes,
            "budget_bytes": self._filling.budget_bytes,
            "backlog_full": self._tally.refused_by_rule[BACKLOG_FULL],
        }

    def committed(self, committed: Committed) -> None:
        """Count what a commit had no place for, and let it be offered again."""
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
