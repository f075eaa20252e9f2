"""However much is asked of Redis at a time, the connections are few."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.contract.driven_redis import DrivenRedis
from webcrawl.storage.redis.server import AT_ONCE

if TYPE_CHECKING:
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
