"""Where the trust in sites is kept: the same holds in memory, in a JOBDIR, on Redis alone and as a cluster."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

import pytest

from webcrawl.errors import JobdirDamaged
from webcrawl.features.hints.trust import Trust
from webcrawl.storage.memory.hints import MemoryTrust
from webcrawl.storage.redis.hints import RedisTrust
from webcrawl.storage.redis.server import Server
from webcrawl.storage.sqlite.hints import NAME, SqliteTrust

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webcrawl.features.hints.trust import TrustStore

SOME = Trust(3.25, 1.0, {-(1 << 63): 1e9, (1 << 63) - 1: 2e9})
_names = (f"hints{number}" for number in itertools.count())


@pytest.fixture(params=["memory", "sqlite", "redis", pytest.param("redis-cluster", marks=pytest.mark.soak)])
def open_store(request, runner, tmp_path) -> Iterator[Callable[[], TrustStore]]:
    """Gives the same store again and again."""
    servers: list[Server] = []
    stores: list[TrustStore] = []
    memory, name = MemoryTrust(), next(_names)

    def one() -> TrustStore:
        if request.param == "memory":
            stores.append(memory)
        elif request.param == "sqlite":
            stores.append(SqliteTrust(tmp_path))
        else:
            fixture = {"redis": "redis_server", "redis-cluster": "redis_cluster"}[request.param]
            servers.append(Server({"url": request.getfixturevalue(fixture).url}, list))
            runner.run(servers[-1].connect())
            stores.append(RedisTrust(servers[-1], name))
        runner.run(stores[-1].open())
        return stores[-1]

    yield one
    for store in stores:
        runner.run(store.close())
    for server in servers:
        runner.run(server.close())


def test_a_stranger_is_trusted_as_strangers_are(
    runner: asyncio.Runner, open_store: Callable[[], TrustStore]
) -> None:
    assert runner.run(open_store().load("a.test")) == Trust()


def test_what_was_saved_is_known_to_all_and_the_last_counts(
    runner: asyncio.Runner, open_store: Callable[[], TrustStore]
) -> None:
    store = open_store()
    runner.run(store.save("a.test", Trust(1.0)))
    runner.run(store.save("a.test", SOME))
    runner.run(store.save("ü.test", Trust(0.0, 2.0)))
    again = open_store()
    assert runner.run(again.load("a.test")) == SOME
    assert runner.run(again.load("ü.test")) == Trust(0.0, 2.0)
    assert runner.run(again.load("b.test")) == Trust()


def test_a_damaged_file_is_named(runner: asyncio.Runner, tmp_path) -> None:
    (tmp_path / NAME).write_bytes(b"no database at all, and long enough to be seen as none" * 20)
    store = SqliteTrust(tmp_path)
    with pytest.raises(JobdirDamaged, match=NAME):
        runner.run(store.open())
    runner.run(store.close())
