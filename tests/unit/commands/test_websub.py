"""``scrapy websub``: what is subscribed to, and nothing that only the hub may know."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import DrivenSqlite
from tests.contract.driven_redis import DrivenRedis
from webcrawl.features.websub.store import SubscriptionStore
from webcrawl.features.websub.subscription import Subscription, SubscriptionState, callback_token
from webcrawl.storage.sqlite.tables import SqliteTables

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.commands import Command
    from tests.redis_server import RedisServer

TOKEN = callback_token(b"key", "topic", "hub", 1)
ACTIVE = Subscription(
    TOKEN, "https://a.test/feed", "a.test", "https://hub.test/", "https://hub.test/", 1, True, 5.0, 7e9
)
ACTIVE = replace(ACTIVE, state=SubscriptionState.ACTIVE, lease_ends_at=1.8e9, pushes=1, ignored=2)
DENIED = replace(
    ACTIVE, token="0" * 64, topic="https://b.test/", state=SubscriptionState.DENIED, lease_ends_at=0.0
)
DENIED = replace(DENIED, reason="no\x1b[2J, thanks", pushes=0, ignored=0)


@pytest.fixture
def websub(command: Callable[..., Command]) -> Command:
    return command("websub")


def keep(runner: asyncio.Runner, folder, *subscriptions: Subscription) -> None:
    tables = SqliteTables(folder)
    store = SubscriptionStore(tables)
    runner.run(tables.open())
    for subscription in subscriptions:
        runner.run(store.change(None, subscription))
    runner.run(tables.close())


def test_subscriptions_are_listed_without_their_callbacks(
    websub: Command, stopped_crawl: DrivenSqlite, runner: asyncio.Runner
) -> None:
    folder = stopped_crawl.path.parent
    keep(runner, folder, DENIED, ACTIVE)
    done = websub(JOBDIR=folder)
    lines = done.said.splitlines()
    assert lines[0].endswith(": 2 subscriptions, 1 active")
    assert lines[2] == "active    https://a.test/feed"
    assert lines[3].endswith("; 1 push, 2 ignored")
    assert lines[4:] == ["denied    https://b.test/", "          at https://hub.test/: no\ufffd[2J, thanks"]
    assert TOKEN not in done.out


def test_the_same_as_one_object(websub: Command, stopped_crawl: DrivenSqlite, runner: asyncio.Runner) -> None:
    folder = stopped_crawl.path.parent
    keep(runner, folder, ACTIVE)
    done = websub("--json", JOBDIR=folder)
    assert TOKEN not in done.out
    assert done.told["subscriptions"] == [
        {
            "topic": "https://a.test/feed",
            "hub": "https://hub.test/",
            "state": "active",
            "since": 5.0,
            "signed": True,
            "lease_ends_at": 1.8e9,
            "tries": 0,
            "pushes": 1,
            "ignored": 2,
            "why": None,
        }
    ]


def test_a_crawl_on_redis_is_read_in_the_same_way(
    websub: Command, runner: asyncio.Runner, redis_server: RedisServer
) -> None:
    member = DrivenRedis(runner, redis_server.url, "broad")
    store = SubscriptionStore(member.backend.tables)
    member.open()
    runner.run(store.change(None, ACTIVE))
    done = websub("--json", REDIS_URL=redis_server.url)
    member.dispose()
    assert [one["topic"] for one in done.told["subscriptions"]] == [ACTIVE.topic]
    assert TOKEN not in done.out


def test_a_crawl_that_hubs_cannot_reach_has_none(websub: Command, stopped_crawl: DrivenSqlite) -> None:
    assert websub(JOBDIR=stopped_crawl.path.parent).said.endswith(": 0 subscriptions, 0 active\n")


def test_what_is_no_crawl_is_named(websub: Command, tmp_path) -> None:
    done = websub(JOBDIR=tmp_path / "none")
    assert (done.status, done.out) == (2, "")
    assert "is no crawl with a frontier on disk" in done.err


def test_a_damaged_file_is_named(websub: Command, stopped_crawl: DrivenSqlite) -> None:
    folder = stopped_crawl.path.parent
    (folder / "websub.db").write_bytes(b"no database at all, and long enough to be seen as none" * 20)
    done = websub(JOBDIR=folder)
    assert (done.status, done.out) == (2, "")
    assert "websub.db cannot be used" in done.err


def test_words_it_does_not_know_are_named(websub: Command, stopped_crawl: DrivenSqlite) -> None:
    done = websub("release", JOBDIR=stopped_crawl.path.parent)
    assert (done.status, done.out) == (2, "")
    assert done.err == "scrapy websub: release: is not expected; websub takes options only\n"
