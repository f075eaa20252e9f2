"""Workers on one Redis hear of what others count of links."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from webcrawl.features.link_scores.scorer import SHARE_SECONDS, Importance, LinkScoreStore
from webcrawl.features.link_scores.worth_table import WorthTable
from webcrawl.storage.redis.server import RedisServer
from webcrawl.storage.redis.shared_parts import RedisLog

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

_names = (f"ranked{number}" for number in itertools.count())


@pytest.fixture(params=["redis_server", pytest.param("redis_cluster", marks=pytest.mark.soak)])
def server(request: pytest.FixtureRequest, runner: asyncio.Runner) -> Iterator[RedisServer]:
    made = RedisServer({"url": request.getfixturevalue(request.param).url}, list)
    runner.run(made.connect())
    yield made
    runner.run(made.close())


def test_what_one_worker_counts_all_know(server: RedisServer, runner: asyncio.Runner) -> None:
    name = next(_names)
    workers = [Importance(WorthTable(64), cash=True) for _ in range(3)]
    kept = [LinkScoreStore(worker, "opic", None, RedisLog(server, name, 500)) for worker in workers]
    for number, one in enumerate(workers):
        one.linked(-1 - number, [5, 1 << 62, -(1 << 62) - number])
    for at in (1, 2):
        for one in kept:
            runner.run(one.step(at * SHARE_SECONDS))
    for mark in (5, 1 << 62, -(1 << 62), -(1 << 62) - 2):
        assert len({round(worker.table.worth(mark), 5) for worker in workers}) == 1
    assert workers[0].table.worth(5) == pytest.approx(1.0)
    assert [worker.pages for worker in workers] == [3, 3, 3]
