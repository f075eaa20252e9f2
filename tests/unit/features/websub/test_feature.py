"""What pages may say of hubs, and what becomes of pushes, between the subscriber and the frontier."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Spider

from tests.rows import each_row
from webcrawl.config import Configuration
from webcrawl.crawl import request_codec
from webcrawl.errors import StorageAway
from webcrawl.features.websub.discovery import Advertised
from webcrawl.features.websub.feature import LEVEL, FrontierAccess, WebSubFeature
from webcrawl.features.websub.store import SubscriptionStore
from webcrawl.features.websub.subscriber import Subscriber, Terms
from webcrawl.features.websub.subscription import Subscription
from webcrawl.frontier.intake import Intake
from webcrawl.frontier.order import Order
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.scope.scope import Scope
from webcrawl.scope.url_rules import AllowRule, SchemeRule
from webcrawl.storage.memory.tables import MemoryTables
from webcrawl.urls.politeness_key import PolitenessKey

if TYPE_CHECKING:
    from collections.abc import Sequence

HUB = "https://hub.test/"
ONE = Subscription("1a", "http://a.test/feed", "a.test", HUB, HUB, 1, True, 5.0, 5.5, depth=3)


@dataclass
class Frontier:
    """One that notes what is queued."""

    added: list[UrlEntry] = field(default_factory=list)
    keeps: bool = True

    def add_entries(self, entries: Sequence[UrlEntry]) -> None:
        self.added += entries

    async def drain(self) -> bool:
        return self.keeps


@dataclass
class Visits:
    """The pages of a crawl that goes on."""

    known: set[str]
    hinted: list[tuple[str, float]] = field(default_factory=list)

    async def hint(self, url: str, at: float) -> bool:
        self.hinted.append((url, at))
        return url in self.known


def intake() -> Intake:
    fixed = [SchemeRule(), AllowRule(r"\.test/")]
    return Intake(PolitenessKey("domain"), Scope([*fixed, AllowRule(r"//(\w+\.)?a\.test/")]), Scope(fixed))


def access(frontier: Frontier, visits: Visits | None = None, order: str = "priority") -> FrontierAccess:
    context: Any = SimpleNamespace(
        intake=intake(),
        policies=SimpleNamespace(order=Order(order, None, 1.0)),
        features={} if visits is None else {"revisits": SimpleNamespace(visits=visits)},
        clock=lambda: 77.0,
        frontier=frontier,
    )
    return FrontierAccess(context, Spider("one"))


@each_row(
    ("topic", "taken"),
    [
        ("http://a.test/feed", True),
        ("http://www.a.test/feed", True),
        ("http://b.test/feed", False),
        ("ftp://a.test/feed", False),
    ],
)
def test_a_page_speaks_for_its_own_site_and_within_scope(topic: str, taken: bool) -> None:
    async def play() -> int:
        subscriber = Subscriber(SubscriptionStore(MemoryTables()), Terms("https://us.test/"))
        await subscriber.open()
        configuration = Configuration(websub_callback_url="https://us.test/")
        subscribing = WebSubFeature(subscriber, configuration, lambda: 5.0, intake(), shared=False)
        subscribing.note(UrlEntry("http://a.test/", "a.test", 1), Advertised(topic, (HUB,)))
        await subscriber.step(access(Frontier()), 5.0)
        return await subscriber.store.count()

    assert asyncio.run(play()) == taken


def test_a_hub_is_asked_by_a_post_that_is_queued_before_all_else() -> None:
    frontier = Frontier()
    assert asyncio.run(access(frontier).request(HUB, b"hub.mode=subscribe", ONE.topic)) is None
    [entry] = frontier.added
    assert (entry.kind, entry.level, entry.repeat, entry.via) == (Kind.WEBSUB, LEVEL, True, ONE.topic)
    assert entry.position
    request = request_codec.decode(entry.url, entry.payload, Spider("one"), True)
    assert (request.method, request.body, request.meta["dont_retry"]) == ("POST", b"hub.mode=subscribe", True)
    assert request.headers["Content-Type"] == b"application/x-www-form-urlencoded"


def test_a_hub_that_may_not_be_asked_is_not() -> None:
    frontier = Frontier()
    assert asyncio.run(access(frontier).request("https://hub.else/", b"", ONE.topic)) == "allow"
    assert frontier.added == []


def test_a_page_that_is_remembered_is_due_at_once() -> None:
    frontier, visits = Frontier(), Visits({ONE.topic})
    asyncio.run(access(frontier, visits).revisit(ONE))
    assert visits.hinted == [(ONE.topic, 77.0)]
    assert frontier.added == []


@each_row("visits", [None, Visits(set())])
@each_row("kind", [Kind.PAGE, Kind.SITEMAP])
def test_one_that_is_not_is_queued_beside_what_was_seen(visits: Visits | None, kind: Kind) -> None:
    frontier = Frontier()
    asyncio.run(access(frontier, visits).revisit(replace(ONE, kind=kind.value)))
    [entry] = frontier.added
    assert (entry.url, entry.kind, entry.level, entry.repeat) == (ONE.topic, kind, LEVEL, True)
    assert (entry.depth, entry.payload) == (3, None)


def test_what_is_out_of_scope_by_now_is_not_visited() -> None:
    frontier = Frontier()
    asyncio.run(access(frontier).revisit(replace(ONE, topic="http://b.test/feed", key="b.test")))
    assert frontier.added == []


def test_what_cannot_be_kept_is_tried_again() -> None:
    with pytest.raises(StorageAway):
        asyncio.run(access(Frontier(keeps=False)).drain())
