from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

import pytest

from tests.unit.features.websub.subscribing import Stage
from webcrawl.storage.memory.subscriptions import MemorySubscriptions
from webcrawl.storage.redis.server import Server
from webcrawl.storage.redis.subscriptions import RedisSubscriptions
from webcrawl.storage.sqlite.subscriptions import SqliteSubscriptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.features.websub.store import SubscriptionStore

_names = (f"stage{number}" for number in itertools.count())


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(params=["memory", "sqlite", "redis"])
def stage(request, runner, tmp_path) -> Iterator[Stage]:
    server = None
    if request.param == "redis":
        server = Server({"url": request.getfixturevalue("redis_server").url}, list)
        runner.run(server.connect())
        store: SubscriptionStore = RedisSubscriptions(server, next(_names))
    else:
        store = MemorySubscriptions() if request.param == "memory" else SqliteSubscriptions(tmp_path)
    stage = Stage(runner, store)
    yield stage
    runner.run(stage.subscriber.close())
    if server is not None:
        runner.run(server.close())
