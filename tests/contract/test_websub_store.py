"""Where subscriptions are kept: the same sentences hold in memory, in a JOBDIR, on Redis alone and as a cluster."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from webcrawl.features.websub.store import KEY_BYTES, SPEC, SubscriptionStore, pack, unpack
from webcrawl.features.websub.subscription import Subscription, SubscriptionState

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contract.conftest import OpenTables

ONE = Subscription(
    "1a", "http://a.test/feed", "a.test", "http://hub.test/", "https://hub.test/", 1, True, 5.0, 5.5
)
TWO = replace(ONE, token="2b", generation=2, action_at=4.25)
OTHER = replace(ONE, token="3c", topic="http://ü.test/☃", key="ü.test", action_at=6.0)


@pytest.fixture
def open_store(open_tables: OpenTables) -> Callable[[], SubscriptionStore]:
    """Gives the same store again and again, as processes of one crawl have it, or one behind the other."""
    return lambda: SubscriptionStore(open_tables(SPEC))


@pytest.fixture
def store(open_store):
    return open_store()


def test_an_empty_store_has_nothing(runner: asyncio.Runner, store: SubscriptionStore) -> None:
    assert runner.run(store.get("1a")) is None
    assert list(runner.run(store.of_topics([ONE.topic]))) == []
    assert list(runner.run(store.due(1e12, 10))) == []
    assert list(runner.run(store.some("", 10))) == []
    assert runner.run(store.count()) == runner.run(store.count("a.test")) == 0


def test_the_key_is_made_once_and_the_same_for_all(
    runner: asyncio.Runner, open_store: Callable[[], SubscriptionStore]
) -> None:
    key = runner.run(open_store().key())
    assert len(key) == KEY_BYTES
    assert runner.run(open_store().key()) == key


def test_what_was_put_in_is_known_to_all_as_it_was(
    runner: asyncio.Runner, open_store: Callable[[], SubscriptionStore]
) -> None:
    store = open_store()
    for subscription in (ONE, TWO, OTHER):
        assert runner.run(store.change(None, subscription))
    again = open_store()
    assert runner.run(again.get("3c")) == OTHER
    assert sorted(subscription.token for subscription in runner.run(again.of_topics([ONE.topic]))) == [
        "1a",
        "2b",
    ]
    assert list(runner.run(again.of_topics([OTHER.topic]))) == [OTHER]
    assert [runner.run(again.count(key)) for key in (None, "a.test", "ü.test", "b.test")] == [3, 2, 1, 0]


def test_only_what_is_still_as_it_was_is_changed(runner: asyncio.Runner, store: SubscriptionStore) -> None:
    active = replace(ONE, state=SubscriptionState.ACTIVE, lease_ends_at=1e9 + 0.1, hint_at=7.0)
    assert runner.run(store.change(None, ONE))
    assert not runner.run(store.change(None, replace(ONE, generation=9)))
    assert not runner.run(store.change(active, ONE))
    assert not runner.run(store.change(active, None))
    assert runner.run(store.change(ONE, active))
    assert not runner.run(store.change(ONE, replace(ONE, tries=3)))
    assert runner.run(store.get("1a")) == active
    assert runner.run(store.change(active, None))
    assert not runner.run(store.change(active, ONE))
    assert runner.run(store.get("1a")) is None
    assert list(runner.run(store.of_topics([ONE.topic]))) == []
    assert runner.run(store.count()) == runner.run(store.count("a.test")) == 0


def test_of_two_who_change_the_same_one_does(
    runner: asyncio.Runner, open_store: Callable[[], SubscriptionStore]
) -> None:
    stores = [open_store(), open_store()]
    runner.run(stores[0].change(None, ONE))

    async def race() -> list[bool]:
        changes = [store.change(ONE, replace(ONE, tries=n)) for n, store in enumerate(stores * 5, 1)]
        return await asyncio.gather(*changes)

    assert runner.run(race()).count(True) == 1


def test_what_is_due_comes_by_its_time_and_a_push_makes_it_due(
    runner: asyncio.Runner, store: SubscriptionStore
) -> None:
    for subscription in (ONE, TWO, OTHER):
        runner.run(store.change(None, subscription))
    assert [subscription.token for subscription in runner.run(store.due(4.0, 10))] == []
    assert [subscription.token for subscription in runner.run(store.due(6.0, 10))] == ["2b", "1a", "3c"]
    assert [subscription.token for subscription in runner.run(store.due(6.0, 2))] == ["2b", "1a"]
    pushed = replace(OTHER, hint_at=1.0)
    runner.run(store.change(OTHER, pushed))
    assert [subscription.token for subscription in runner.run(store.due(4.0, 10))] == ["3c"]
    runner.run(store.change(pushed, None))
    assert [subscription.token for subscription in runner.run(store.due(5.0, 10))] == ["2b"]


def test_all_are_gone_through_some_at_a_time(runner: asyncio.Runner, store: SubscriptionStore) -> None:
    every = [replace(ONE, token=f"{n:03}") for n in range(25)]
    for subscription in every:
        runner.run(store.change(None, subscription))
    stored, after = [], ""
    while some := runner.run(store.some(after, 10)):
        assert len(some) <= 10
        stored += some
        after = some[-1].token
    assert sorted(subscription.token for subscription in stored) == [
        subscription.token for subscription in every
    ]


def test_many_are_added_and_removed_at_once_and_counted(
    runner: asyncio.Runner, open_store: Callable[[], SubscriptionStore]
) -> None:
    """They change the same counts, and those of a topic the same row."""
    every = [replace(ONE, token=f"{n:03}", topic=f"http://a.test/{n % 3}") for n in range(30)]
    stores = [open_store(), open_store(), open_store()]

    async def all_at_once(*changes: tuple[Subscription | None, Subscription | None]) -> None:
        turns = [stores[n % 3].change(*change) for n, change in enumerate(changes)]
        assert all(await asyncio.gather(*turns))

    runner.run(all_at_once(*((None, subscription) for subscription in every)))
    stored = runner.run(stores[0].of_topics(["http://a.test/1"]))
    assert sorted(subscription.token for subscription in stored) == [f"{n:03}" for n in range(1, 30, 3)]
    assert runner.run(stores[1].count()) == runner.run(stores[1].count("a.test")) == 30
    runner.run(all_at_once(*((subscription, None) for subscription in every[:25])))
    assert sorted(subscription.token for subscription in runner.run(stores[1].some("", 30))) == [
        "025",
        "026",
        "027",
        "028",
        "029",
    ]
    assert runner.run(stores[0].count()) == runner.run(stores[0].count("a.test")) == 5


def test_what_is_no_subscription_is_not_taken_for_one() -> None:
    assert unpack(pack(OTHER)) == OTHER
    for text in (b"", b"{}", b"[]", b"null", b'{"state":"x"}', pack(ONE).replace(b'"topic"', b'"other"')):
        with pytest.raises(ValueError):  # noqa: PT011
            unpack(text)
