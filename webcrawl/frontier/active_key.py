"""One active politeness key: what the frontier holds of it in memory, and which of its URLs comes next."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from webcrawl.frontier.policies import Policies
from webcrawl.frontier.queue_head import QueueHead
from webcrawl.frontier.records import Kind, UrlEntry, web_origin
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.host_record import RobotsRecord, spent
from webcrawl.robots import answer as robots
from webcrawl.robots import requests
from webcrawl.robots.answer import RobotsState
from webcrawl.storage.contract import HEAD, Activated, Loaded

if TYPE_CHECKING:
    from webcrawl.storage.contract import RateLimitLease


class Want(Enum):
    """What a key is in need of when it has no URL to give."""

    LOAD = auto()
    """The next stretch of its queue."""
    TIME = auto()
    """Every URL it holds waits for a robots.txt; see ``ActiveKey.blocked_until``."""
    RULES = auto()
    """The rules of ``ActiveKey.unread``, which take long to be parsed."""
    CLOCK = auto()
    """What it could give may not be fetched yet."""
    NOTHING = auto()
    """Its queue is empty."""


@dataclass(slots=True)
class Pick:
    """What a key answers when asked for its next URL."""

    entry: UrlEntry | None
    want: Want = Want.NOTHING
    refused: list[tuple[UrlEntry, str]] = field(default_factory=list)
    """URLs that were refused on the way, with the rule."""


class ActiveKey:
    """A key that is ours to contact.

    Always true: at most one of its requests is open (``open``); no page of an origin is given out unless the
    origin's robots.txt is fresh and allows it.
    """

    __slots__ = (
        "_blocked",
        "asking",
        "claim",
        "claiming",
        "head",
        "hold",
        "hops",
        "leaving",
        "open",
        "record",
        "robots",
        "session",
        "unprocessed",
        "unread",
        "unsettled",
    )

    def __init__(self, activated: Activated, session_budget: int) -> None:
        """``session_budget``: URLs that the key may give before hosts that wait come first."""
        self.record = activated.record
        self.hold = activated.hold
        self.head = QueueHead(activated.queue.entries, activated.queue.more, HEAD)
        self.robots: dict[str, RobotsRecord] = {}
        self.hops: deque[UrlEntry] = deque()
        """robots.txt redirects that stay on this key."""
        self.open = False
        self.asking = False
        """A robots.txt was asked for, and its answer is not durable yet: nothing else is sent meanwhile."""
        self.claim: RateLimitLease | None = None
        """Granted for its next fetch: on the clocks that it shares with other keys (``turns.py``)."""
        self.claiming = False
        """It waits for those clocks."""
        self.unsettled = 0
        """Leases of its URLs that are open or whose outcome is not durable yet."""
        self.unprocessed = 0
        """Of these, responses that have ended and are still being read: parsed, or waiting for it."""
        budget = session_budget if activated.record.pages else 1
        self.session = budget if activated.queue.more else min(budget, len(self.head))
        """How many more URLs it gives in this session, robots.txt not counted: one on the first visit. What is found
        while the session lasts has to wait for the next one, behind the hosts that waited longer."""
        self.unread: RobotsRecord | None = None
        """A robots.txt that is being parsed; nothing is sent meanwhile."""
        self.leaving = False
        """Another process is to have it: it goes back to the backend once its URLs are settled."""
        self._blocked: dict[str, list[UrlEntry]] = {}
        self._know(activated.queue.robots)

    @property
    def key(self) -> str:
        return self.record.key

    @property
    def level(self) -> int:
        """That of what it gives next."""
        return requests.LEVEL if self.hops else self.head.level

    def loaded(self, loaded: Loaded) -> None:
        self._know(loaded.robots)
        self.head.loaded(loaded.entries, loaded.more)

    def answered(self, answer: RobotsRecord) -> None:
        """A robots.txt was answered. The longest Crawl-delay of all origins holds for the key."""
        self.robots[answer.origin] = answer
        delays = [known.crawl_delay_seconds or 0.0 for known in self.robots.values()]
        self.record.crawl_delay_seconds = max(delays) or None

    def owe(self, politeness: Politeness) -> None:
        """A Crawl-delay became known after the key's clock had restarted: it holds from that moment on. A key
        that was never asked for anything owes nothing."""
        record = self.record
        if not record.fetches:
            return
        owed = politeness.delay(record)
        if owed > record.delay_seconds:
            record.next_fetch_at += owed - record.delay_seconds
            record.delay_seconds = owed

    def _know(self, answers: Iterable[RobotsRecord]) -> None:
        """Answers that came while the key was not active, or whose origins were not in the head yet."""
        for answer in answers:
            known = self.robots.get(answer.origin)
            if known is None or (known.fetched_at, known.attempts) < (answer.fetched_at, answer.attempts):
                self.robots[answer.origin] = answer
            delay = answer.crawl_delay_seconds or 0.0
            if delay > (self.record.crawl_delay_seconds or 0.0):
                self.record.crawl_delay_seconds = delay

    def offer(self, entry: UrlEntry) -> None:
        """An entry of this key was queued."""
        origin = web_origin(entry.url)
        if entry.kind != Kind.ROBOTS and origin is not None and origin not in self.robots:
            # Its origin's robots.txt may be known to the backend: let both come by the next load.
            self.head.pass_over(entry)
        else:
            self.head.offer(entry)

    def has_work(self) -> bool:
        return bool(self.hops or self.head or self.head.more or self._blocked)

    def blocked_until(self) -> float:
        """When the first of the origins that hold URLs back may be asked again."""
        return min(self.robots[origin].expires_at for origin in self._blocked)

    def pick(self, now: float, policies: Policies, blocked_max: int) -> Pick:
        """The next URL to fetch. It is taken out of the head; its robots.txt comes first where one is due."""
        if self.is_skipped(now, policies.politeness):
            return self._refuse_all(now)
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
                # First: a host that asked to be left alone, or gave enough, is not asked for its robots.txt either.
                pick.refused.append((entry, rule))
                continue
            origin = web_origin(entry.url)
            if origin is not None and not robots.is_fresh(self.robots.get(origin), now):
                self.head.put_back([entry])
                pick.entry = requests.first_request(origin, self.key, entry.url)
                return pick
            if origin is not None and not policies.robots.rules.is_quick(self.robots[origin]):
                self.head.put_back([entry])
                self.unread, pick.want = self.robots[origin], Want.RULES
                return pick
            refusal = self._refusal(entry, origin, now, policies)
            if refusal is None:
                pick.entry = entry
                return pick
            if refusal:
                pick.refused.append((entry, refusal))
        pick.want = self._want(blocked_max)
        return pick

    def put_back(self, entry: UrlEntry) -> None:
        """A pick is not fetched yet. A first request for a robots.txt follows from what is in the queue."""
        if entry.kind == Kind.ROBOTS and entry.position == 0:
            if requests.origin_asked(entry)[1]:
                self.hops.appendleft(entry)
        else:
            self.head.put_back([entry])

    def is_skipped(self, now: float, politeness: Politeness) -> bool:
        """Whether a robots.txt that is still good asks for so long a Crawl-delay that nothing is fetched."""
        return politeness.skips(self.record) and any(
            robots.is_fresh(known, now) and politeness.is_too_long(known.crawl_delay_seconds)
            for known in self.robots.values()
        )

    def _refuse_all(self, now: float) -> Pick:
        """Its URLs need not wait for its clock to be refused. What it is asked for other keys' sake has to."""
        pick = Pick(None)
        for origin in list(self._blocked):
            self.head.put_back(self._blocked.pop(origin))
        asked = []
        while self.head:
            entry = self.head.take()
            if entry.kind == Kind.ROBOTS:
                asked.append(entry)
            else:
                pick.refused.append((entry, "crawl-delay"))
        self.head.put_back(asked)
        if not (self.hops or asked):
            pick.want = Want.LOAD if self.head.more else Want.NOTHING
        elif now < self.record.next_fetch_at:
            pick.want = Want.CLOCK
        else:
            pick.entry = self.hops.popleft() if self.hops else self.head.take()
        return pick

    def _want(self, blocked_max: int) -> Want:
        blocked = sum(map(len, self._blocked.values()))
        if self.head.more and blocked < blocked_max:
            return Want.LOAD
        return Want.TIME if blocked else Want.NOTHING

    def _spent(self, entry: UrlEntry, policies: Policies) -> str | None:
        if not (policies.requests_per_key_max or policies.page_budget):
            return None
        return spent(self.record, policies.requests_per_key_max, policies.page_budget, again=entry.repeat)

    def _refusal(self, entry: UrlEntry, origin: str | None, now: float, policies: Policies) -> str | None:
        """None when the entry may be fetched, the rule when not, "" when it was put aside for later."""
        if policies.politeness.skips(self.record):
            return "crawl-delay"
        record = None if origin is None else self.robots.get(origin)
        if origin is None or record is None:
            return None
        if robots.is_allowed(record, policies.robots.rules.rules(record), entry.url, now):
            return None
        if record.state in (RobotsState.UNREACHABLE, RobotsState.PENDING):
            self._blocked.setdefault(origin, []).append(entry)
            return ""
        return "robots"

    def _unblock(self, now: float) -> None:
        """URLs whose origin has a new answer, or is to be asked again, go back to their places."""
        for origin in list(self._blocked):
            record = self.robots[origin]
            known = record.state not in (RobotsState.UNREACHABLE, RobotsState.PENDING)
            if known or not robots.is_fresh(record, now):
                self.head.put_back(self._blocked.pop(origin))
