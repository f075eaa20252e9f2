"""One active politeness key: the part of it that the frontier holds in memory, and the choice of its next URL."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from webcrawl.frontier import robots_requests as requests
from webcrawl.frontier.inline import IN_A_ROW, ROBOTS_UNAVAILABLE, InlineRequest
from webcrawl.frontier.policies import Policies
from webcrawl.frontier.queue_head import QueueHead
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.host_record import RobotsRecord, spent
from webcrawl.robots import answer as robots
from webcrawl.robots.answer import RobotsState
from webcrawl.storage.contract import HEAD, Activated, Loaded

if TYPE_CHECKING:
    from webcrawl.storage.contract import RateLimitLease


ROBOTS_UNREACHABLE = "robots-unreachable"
"""The rule by which a spider's own Request waits no longer: its robots.txt has failed as often as a page may fail."""


USAGE = "usage"
"""The rule by which a page is not requested that may not be used for what the crawl is for."""

RECENT_SECONDS = 60.0
"""Time after which a robots.txt that has failed is requested again for the next Request, be it a spider's own."""


class Need(Enum):
    """The need of a key that has no URL to give."""

    LOAD = auto()
    """The next part of its queue."""
    TIME = auto()
    """Every URL it holds waits for a robots.txt; see ``ActiveKey.blocked_until``."""
    RULES = auto()
    """The rules of ``ActiveKey.unread``, which take long to parse."""
    CLOCK = auto()
    """The URLs that it could give may not be fetched yet."""
    NOTHING = auto()
    """The queue of the key is empty."""


@dataclass(slots=True)
class Pick:
    """The result of ``ActiveKey.pick``."""

    entry: UrlEntry | None
    want: Need = Need.NOTHING
    refusal: str | None = None
    """The rule that refuses ``entry``, which is given out for its errback. None if it may be fetched."""
    refused: list[tuple[UrlEntry, str]] = field(default_factory=list)
    """URLs that were refused on the way, with the rule."""
    inline: InlineRequest | None = None
    """The inline request of ``entry``, which is still the first of ``ActiveKey.inline``."""
    pending: list[InlineRequest] = field(default_factory=list)
    """Inline requests that wait from now on in ``ActiveKey.pending``."""


class ActiveKey:
    """A key that this process may contact.

    Always true: at most one of its requests is open (``open``); no page of an origin is given out unless the origin's
    robots.txt is fresh and allows it.
    """

    __slots__ = (
        "_blocked",
        "awaits_rate_limit",
        "awaits_robots",
        "head",
        "hops",
        "inline",
        "inline_in_a_row",
        "leaving",
        "open",
        "pending",
        "rate_limit_lease",
        "record",
        "requested_at",
        "robots",
        "session",
        "unprocessed",
        "unread",
        "unsettled",
        "validity",
    )

    def __init__(self, activated: Activated, session_budget: int) -> None:
        """``session_budget``: number of URLs that the key may give before waiting hosts come first."""
        self.record = activated.record
        self.validity = activated.validity
        self.head = QueueHead(activated.queue.entries, activated.queue.more, HEAD)
        self.robots: dict[str, RobotsRecord] = {}
        self.hops: deque[UrlEntry] = deque()
        """robots.txt redirects that stay on this key."""
        self.open = False
        self.awaits_robots = False
        """A robots.txt was requested, and its answer is not durable yet: nothing else is sent meanwhile."""
        self.rate_limit_lease: RateLimitLease | None = None
        """Granted for its next fetch: the lease of the clocks that it shares with other keys
        (``shared_clocks.py``)."""
        self.awaits_rate_limit = False
        """True while it waits for those clocks."""
        self.unsettled = 0
        """Number of leases of its URLs that are open or whose outcome is not durable yet."""
        self.unprocessed = 0
        """The number of these whose responses have ended and are still being parsed, or wait for it."""
        budget = session_budget if activated.record.pages else 1
        self.session = budget if activated.queue.more else min(budget, len(self.head))
        """Number of URLs that it may still give in this session, robots.txt not counted: one on the first visit. URLs
        found while the session lasts wait for the next one, behind the hosts that waited longer."""
        self.unread: tuple[RobotsRecord, str | None] | None = None
        """A robots.txt that is being parsed; nothing is sent meanwhile."""
        self.leaving = False
        """Another process gets it: it goes back to the backend once its URLs are settled."""
        self.inline: list[InlineRequest] = []
        """The inline requests of the key, which come before the URLs of its queue."""
        self.inline_in_a_row = 0
        """Inline requests in a row: those given since the last URL of the queue, or since the key became active."""
        self.pending: dict[str, list[InlineRequest]] = {}
        """Inline requests whose origin's robots.txt redirects to another key, by the origin."""
        self.requested_at: float | None = None
        """The time at which another process first requested the key, by the clock of the crawl."""
        self._blocked: dict[str, list[UrlEntry]] = {}
        self.add_robots(activated.queue.robots)

    @property
    def key(self) -> str:
        return self.record.key

    @property
    def level(self) -> int:
        """The level of the next entry."""
        return requests.LEVEL if self.hops else self.head.level

    def loaded(self, loaded: Loaded) -> None:
        self.add_robots(loaded.robots)
        self.head.loaded(loaded.entries, loaded.more)

    def answered(self, answer: RobotsRecord) -> None:
        """Take the answer of a robots.txt. The longest Crawl-delay of all origins holds for the key."""
        self.robots[answer.origin] = answer
        self.inline.extend(self.pending.pop(answer.origin, ()))
        delays = [known.crawl_delay_seconds or 0.0 for known in self.robots.values()]
        self.record.crawl_delay_seconds = max(delays) or None

    def raise_delay(self, politeness: Politeness) -> None:
        """Apply a longer delay that became known after the key's clock had restarted, as by a Crawl-delay or by the
        operator: it holds from that moment on. A key without any request owes nothing."""
        record = self.record
        if not record.fetches:
            return
        owed = politeness.delay(record)
        if owed > record.delay_seconds:
            record.next_fetch_at += owed - record.delay_seconds
            record.delay_seconds = owed

    def add_robots(self, records: Iterable[RobotsRecord]) -> None:
        """Take records that came while the key was not active, or whose origins were not in the head yet."""
        for answer in records:
            known = self.robots.get(answer.origin)
            if known is None or _age(known) < _age(answer):
                self.robots[answer.origin] = answer
                self.inline.extend(self.pending.pop(answer.origin, ()))
            delay = answer.crawl_delay_seconds or 0.0
            if delay > (self.record.crawl_delay_seconds or 0.0):
                self.record.crawl_delay_seconds = delay

    def offer(self, entry: UrlEntry) -> None:
        """Take an entry of this key that was queued."""
        origin = entry.origin
        if entry.kind != Kind.ROBOTS and origin is not None and origin not in self.robots:
            # Its origin's robots.txt may be known to the backend: the next load brings both.
            self.head.pass_over(entry)
        else:
            self.head.offer(entry)

    def has_work(self) -> bool:
        return bool(self.hops or self.head or self.head.more or self._blocked)

    def owes_turn(self) -> bool:
        """Return True if a URL of the queue has its turn before further inline requests."""
        return self.inline_in_a_row >= IN_A_ROW and bool(self.head or self.head.more)

    def takes_inline(self) -> bool:
        """Return True if an inline request has its turn."""
        return bool(self.inline) and not self.owes_turn()

    def is_at_rest(self) -> bool:
        """Return True if nothing is under way for the key but the processing of its pages."""
        loading = self.awaits_robots or self.awaits_rate_limit or self.head.loading
        return not (self.open or loading or self.unread is not None)

    def take_inline(self) -> None:
        """Remove the inline request that was picked and is fetched."""
        self.inline.pop(0)
        self.inline_in_a_row += 1

    def drop_inline(self) -> list[InlineRequest]:
        """Remove and return all inline requests."""
        dropped, self.inline = self.inline, []
        for requests_of_origin in self.pending.values():
            dropped.extend(requests_of_origin)
        self.pending.clear()
        return dropped

    def pick_inline(self, now: float, policies: Policies) -> Pick:
        """Do the same as ``pick`` for the first inline request. Those that may not be fetched are turned away; while
        the target of a redirected robots.txt is fetched, the requests of its origin wait in ``pending``."""
        pick = Pick(None)
        if self.hops:
            pick.entry = self.hops.popleft()
            return pick
        while self.inline:
            inline = self.inline[0]
            entry = inline.entry
            origin, robots_url = _robots_location(entry, policies)
            known = None if origin is None else self.robots.get(origin)
            if inline.answer.done():
                self.inline.pop(0)
            elif rule := self._inline_refusal(entry, now, policies):
                self.inline.pop(0).turn_away(rule, is_refusal=True)
                pick.refused.append((entry, rule))
            elif origin is None:
                pick.entry, pick.inline = entry, inline
                return pick
            elif known is None or not robots.is_fresh(known, now):
                pick.entry = requests.first_request(
                    origin, self.key, entry.url, robots_url, policies.proxy_route(entry)
                )
                return pick
            elif not policies.robots.rules.is_quick(known, policies.request_agent(entry)):
                self.unread, pick.want = (known, policies.request_agent(entry)), Need.RULES
                return pick
            elif _is_allowed(known, entry, now, policies):
                if _is_useless(known, entry, policies):
                    self.inline.pop(0).turn_away(USAGE, is_refusal=True)
                    pick.refused.append((entry, USAGE))
                    continue
                pick.entry, pick.inline = entry, inline
                return pick
            elif known.state == RobotsState.PENDING:
                self.inline.pop(0)
                self.pending.setdefault(origin, []).append(inline)
                pick.pending.append(inline)
            elif known.state == RobotsState.UNREACHABLE:
                self.inline.pop(0).turn_away(ROBOTS_UNAVAILABLE)
            else:
                self.inline.pop(0).turn_away("robots", is_refusal=True)
                pick.refused.append((entry, "robots"))
        return pick

    def _inline_refusal(self, entry: UrlEntry, now: float, policies: Policies) -> str | None:
        """Return the rule that refuses an inline request whatever its robots.txt says."""
        if self.is_skipped(now, policies.politeness):
            return "crawl-delay"
        return policies.admit(entry) or self._spent(entry, policies)

    def blocked_until(self) -> float:
        """Return when the robots.txt of the first of the blocked origins may be requested again."""
        return min(self.robots[origin].expires_at for origin in self._blocked)

    def pick(self, now: float, policies: Policies, blocked_max: int) -> Pick:
        """Return the next URL to fetch, and take it out of the head; its robots.txt comes first if one is due."""
        if self.is_skipped(now, policies.politeness):
            return self._refuse_all(now, policies)
        pick = Pick(None)
        if self.hops:
            pick.entry = self.hops.popleft()
            return pick
        self._unblock(now)
        while self.head:
            entry = self.head.take()
            if entry.kind == Kind.ROBOTS:
                pick.entry = entry
                return pick
            if rule := policies.admit(entry) or self._spent(entry, policies):
                # Checked first: no robots.txt is requested from a host that asked to be left alone, or has used its
                # budget.
                if self._refuse(pick, entry, rule, policies):
                    return pick
                continue
            origin, robots_url = _robots_location(entry, policies)
            if origin is not None and not robots.is_fresh(self.robots.get(origin), now):
                if self._is_given_up(entry, self.robots.get(origin), now, policies):
                    self._refuse(pick, entry, ROBOTS_UNREACHABLE, policies)
                    return pick
                self.head.put_back([entry])
                pick.entry = requests.first_request(
                    origin, self.key, entry.url, robots_url, policies.proxy_route(entry)
                )
                return pick
            agent = policies.request_agent(entry)
            if origin is not None and not policies.robots.rules.is_quick(self.robots[origin], agent):
                self.head.put_back([entry])
                self.unread, pick.want = (self.robots[origin], agent), Need.RULES
                return pick
            refusal = self._refusal(entry, origin, now, policies)
            if refusal is None:
                pick.entry = entry
                return pick
            if refusal and self._refuse(pick, entry, refusal, policies):
                return pick
        pick.want = self._want(blocked_max)
        return pick

    def put_back(self, entry: UrlEntry) -> None:
        """Return a pick that is not fetched yet. A first request for a robots.txt follows from the entries in the
        queue."""
        if entry.kind == Kind.INLINE:
            # It is removed only when it is fetched.
            return
        if entry.kind == Kind.ROBOTS and entry.position == 0:
            if requests.origin_and_hops(entry)[1]:
                self.hops.appendleft(entry)
        else:
            self.head.put_back([entry])

    def is_skipped(self, now: float, politeness: Politeness) -> bool:
        """Return True if a robots.txt that is still fresh has so long a Crawl-delay that nothing is fetched."""
        return politeness.skips(self.record) and any(
            robots.is_fresh(known, now) and politeness.is_too_long(known.crawl_delay_seconds)
            for known in self.robots.values()
        )

    @staticmethod
    def _refuse(pick: Pick, entry: UrlEntry, rule: str, policies: Policies) -> bool:
        """Add a refused URL to the pick. Return True if it is given out as the last one, to fail."""
        if rule != ROBOTS_UNREACHABLE and not policies.awaits_refusal(entry):
            pick.refused.append((entry, rule))
            return False
        pick.entry, pick.refusal = entry, rule
        return True

    def _refuse_all(self, now: float, policies: Policies) -> Pick:
        """Refuse all of its URLs; that need not wait for its clock. Requests made to it for other keys have to
        wait."""
        pick = Pick(None)
        for origin in list(self._blocked):
            self.head.put_back(self._blocked.pop(origin))
        robots_entries: list[UrlEntry] = []
        while self.head:
            entry = self.head.take()
            if entry.kind == Kind.ROBOTS:
                robots_entries.append(entry)
            elif self._refuse(pick, entry, "crawl-delay", policies):
                break
        self.head.put_back(robots_entries)
        if pick.refusal is not None:
            return pick
        if not (self.hops or robots_entries):
            pick.want = Need.LOAD if self.head.more else Need.NOTHING
        elif now < self.record.next_fetch_at:
            pick.want = Need.CLOCK
        else:
            pick.entry = self.hops.popleft() if self.hops else self.head.take()
        return pick

    def _want(self, blocked_max: int) -> Need:
        blocked = sum(map(len, self._blocked.values()))
        if self.head.more and blocked < blocked_max:
            return Need.LOAD
        return Need.TIME if blocked else Need.NOTHING

    def _spent(self, entry: UrlEntry, policies: Policies) -> str | None:
        if not (policies.requests_per_key_max or policies.page_budget):
            return None
        return spent(self.record, policies.requests_per_key_max, policies.page_budget, again=entry.repeat)

    def _refusal(self, entry: UrlEntry, origin: str | None, now: float, policies: Policies) -> str | None:
        """Return None if the entry may be fetched, the rule if not, "" if it was put aside for later."""
        if policies.politeness.skips(self.record):
            return "crawl-delay"
        record = None if origin is None else self.robots.get(origin)
        if origin is None or record is None:
            return None
        if _is_allowed(record, entry, now, policies):
            return USAGE if _is_useless(record, entry, policies) else None
        if record.state in (RobotsState.UNREACHABLE, RobotsState.PENDING):
            if self._is_given_up(entry, record, now, policies):
                return ROBOTS_UNREACHABLE
            self._blocked.setdefault(origin, []).append(entry)
            return ""
        return "robots"

    @staticmethod
    def _is_given_up(entry: UrlEntry, record: RobotsRecord | None, now: float, policies: Policies) -> bool:
        """Return True for a spider's own Request whose robots.txt has just failed as often as a page may fail.

        A busy host may be contacted again only when its robots.txt is due again, too.
        """
        if record is None or record.attempts <= policies.retry_times:
            return False
        has_failed = record.state in (RobotsState.UNREACHABLE, RobotsState.PENDING)
        is_own = policies.is_own(entry) or policies.awaits_refusal(entry)
        return has_failed and is_own and now < record.expires_at + RECENT_SECONDS

    def _unblock(self, now: float) -> None:
        """Put back URLs whose origin has a new answer, or is due for another request."""
        for origin in list(self._blocked):
            record = self.robots[origin]
            known = record.state not in (RobotsState.UNREACHABLE, RobotsState.PENDING)
            if known or not robots.is_fresh(record, now):
                self.head.put_back(self._blocked.pop(origin))


def _age(record: RobotsRecord) -> tuple[float, int, bool]:
    """Return by what a record of an origin is newer than another one; an answer is newer than the wait for it."""
    return record.fetched_at, record.attempts, record.state != RobotsState.PENDING


def _is_allowed(record: RobotsRecord, entry: UrlEntry, now: float, policies: Policies) -> bool:
    """Return True if what a robots.txt says to every name under which an entry is requested allows it."""
    rules = policies.robots.rules.rules(record, policies.request_agent(entry))
    return robots.is_allowed(record, rules, entry.url, now)


def _is_useless(record: RobotsRecord, entry: UrlEntry, policies: Policies) -> bool:
    """Return True if a robots.txt says that a page may not be used for what the crawl is for, and it is not to be
    requested then."""
    purposes = policies.robots.usage_refused
    if not purposes or entry.kind not in (Kind.PAGE, Kind.INLINE):
        return False
    usage = policies.robots.rules.usage(record, policies.request_agent(entry))
    return usage is not None and usage.refuses(entry.url, purposes)


def _robots_location(entry: UrlEntry, policies: Policies) -> tuple[str | None, str | None]:
    """Return the origin whose robots.txt applies to an entry, and the URL of it; None twice if none applies."""
    origin = entry.origin
    url = None if origin is None else policies.robots.schemes.robots_url(origin)
    return (None, None) if url is None else (origin, url)
