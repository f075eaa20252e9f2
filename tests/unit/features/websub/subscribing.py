"""A subscriber and its callback under a clock of the test's own, with a crawl that notes what is wanted of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from webcrawl.features.websub.callback import Callback, CallbackResponse, Push
from webcrawl.features.websub.discovery import Advertised
from webcrawl.features.websub.store import SubscriptionStore
from webcrawl.features.websub.subscriber import Subscriber, Terms
from webcrawl.frontier.records import UrlEntry
from webcrawl.storage.memory.tables import MemoryTables

if TYPE_CHECKING:
    from webcrawl.features.websub.subscription import Subscription

DAY = 86_400.0
TOPIC, KEY, HUB = "http://a.test/feed", "a.test", "https://hub.test/"
TERMS = Terms("https://us.test/websub/")


@dataclass
class Stage:
    """One process of a crawl, at ``now``."""

    runner: asyncio.Runner
    store: SubscriptionStore = field(default_factory=lambda: SubscriptionStore(MemoryTables()))
    terms: Terms = TERMS
    now: float = 1_000_000.0
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """Hubs and the forms they were sent."""
    revisited: list[str] = field(default_factory=list)
    refusal: str | None = None

    def __post_init__(self) -> None:
        self.subscriber = Subscriber(self.store, self.terms)
        self.callback = Callback(self.subscriber)
        self.runner.run(self.subscriber.open())

    async def request(self, hub: str, form: bytes, topic: str) -> str | None:
        self.requests.append((hub, dict(parse_qsl(form.decode("ascii"), strict_parsing=True))))
        return self.refusal

    async def revisit(self, one: Subscription) -> None:
        self.revisited.append(one.topic)

    async def drain(self) -> None:
        """Nothing to do."""

    def step(self, seconds: float = 0.0) -> None:
        self.now += seconds
        self.runner.run(self.subscriber.step(self, self.now))

    def find(self, *hubs: str, topic: str = TOPIC, key: str = KEY, again: bool = False) -> None:
        advertised = Advertised(topic, hubs) if hubs else None
        self.subscriber.note(UrlEntry(topic, key, 0, depth=2, repeat=again), advertised)
        self.step()

    def known(self, topic: str = TOPIC) -> list[Subscription]:
        return sorted(self.runner.run(self.store.of_topics([topic])), key=lambda one: one.since)

    @property
    def one(self) -> Subscription:
        [one] = self.known()
        return one

    def token(self, at: int = -1) -> str:
        """That of a request that was sent."""
        return self.requests[at][1]["hub.callback"].rpartition("/")[2]

    def intent(self, token: str | None = None, **fields: str) -> CallbackResponse:
        asked = {
            "hub.mode": "subscribe",
            "hub.topic": TOPIC,
            "hub.challenge": "abc",
            "hub.lease_seconds": "864000",
        }
        asked |= {f"hub.{name}": value for name, value in fields.items()}
        query = urlencode({name: value for name, value in asked.items() if value is not None})
        return self.runner.run(self.callback.intent(token or self.token(), query, self.now))

    def push(self, body: bytes, signature: str | None, token: str | None = None) -> int:
        push = self.runner.run(self.callback.begin(token or self.token(), signature))
        if isinstance(push, Push):
            if push.wants_body and push.signature is not None:
                push.signature.feed(body[:3])
                push.signature.feed(body[3:])
            push = self.runner.run(self.callback.end(push, self.now))
        return push.status

    def subscribe(self, lease: float = 10 * DAY) -> None:
        """Up to an active subscription."""
        self.find(HUB)
        assert self.intent(lease_seconds=str(int(lease))).status == 200
