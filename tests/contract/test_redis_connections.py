"""However much is asked of Redis at a time, the connections are few."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from redis import Redis, utils

from tests.contract.driven_redis import DrivenRedis
from webcrawl.storage.redis.server import AT_ONCE

if TYPE_CHECKING:
    import pytest

    from tests.redis_server import RedisServer


def test_hundreds_of_calls_at_a_time_are_answered_on_a_few_connections(
    runner: asyncio.Runner, redis_server: RedisServer
) -> None:
    driven = DrivenRedis(runner, redis_server.url, "broad")
    driven.open()

    async def ask() -> int:
        counts = await asyncio.gather(*(driven.backend.read_counts() for _ in range(300)))
        return sum(count.queued for count in counts)

    others = redis_server.call("INFO", "clients")["connected_clients"]
    assert driven.run(ask()) == 0
    assert redis_server.call("INFO", "clients")["connected_clients"] <= others + AT_ONCE
    driven.dispose()


def test_the_version_of_redis_py_is_not_read_from_its_files_for_each_connection(
    runner: asyncio.Runner, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes milliseconds of the event loop."""
    read: list[int] = []

    def version() -> str:
        read.append(1)
        return "8.1.0"

    monkeypatch.setattr(utils, "get_lib_version", version)
    for _ in range(3):
        looking_on = Redis.from_url(redis_server.url, lib_name=None, lib_version=None)
        driven = DrivenRedis(runner, redis_server.url, "broad", looking_on)
        driven.open()
        driven.run(_ask_at_a_time(driven))
        driven.dispose()
    assert len(read) <= 1


async def _ask_at_a_time(driven: DrivenRedis) -> None:
    await asyncio.gather(*(driven.backend.read_counts() for _ in range(20)))
