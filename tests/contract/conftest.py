"""One suite for all backends: the same sentences hold for each of them."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.driven import KINDS, Driven, DrivenSqlite, make
from tests.contract.driven_redis import DrivenRedis
from tests.redis_server import RedisCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.redis_server import RedisServer

    MakeBackend = Callable[..., Driven]
    MakeSqlite = Callable[..., DrivenSqlite]


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


CLUSTER_SHARDS = 5
"""Enough for each of three nodes to have one, whatever the crawl is called."""

_names = (f"crawl{number}" for number in itertools.count())


def _maker(
    kind: str, runner: asyncio.Runner, directory: Path, server: RedisServer | RedisCluster | None = None
) -> Iterator[MakeBackend]:
    made: list[Driven] = []

    def make_one(*, opened: bool = True, **options: Any) -> Driven:
        if isinstance(server, RedisCluster):
            shards = {"shards": CLUSTER_SHARDS, **options}
            one: Driven = DrivenRedis(runner, server.url, next(_names), server.client(), **shards)
        elif server is not None:
            one = DrivenRedis(runner, server.url, next(_names), **options)
        else:
            one = make(kind, runner, directory / str(len(made)), **options)
        made.append(one)
        if opened:
            one.open()
        return one

    yield make_one
    for one in made:
        one.dispose()


def on_cluster(runner: asyncio.Runner, cluster: RedisCluster) -> Iterator[MakeBackend]:
    """Makes open backends on a cluster."""
    yield from _maker("redis", runner, Path(), cluster)


@pytest.fixture(params=[*KINDS, "redis", pytest.param("redis-cluster", marks=pytest.mark.soak)])
def make_backend(
    request: pytest.FixtureRequest, runner: asyncio.Runner, tmp_path: Path
) -> Iterator[MakeBackend]:
    """Makes open backends of each kind with the options given."""
    servers = {"redis": "redis_server", "redis-cluster": "redis_cluster"}
    server = request.getfixturevalue(servers[request.param]) if request.param in servers else None
    yield from _maker(request.param, runner, tmp_path, server)


@pytest.fixture
def backend(make_backend: MakeBackend) -> Iterator[Driven]:
    """An open backend of each kind; whatever a test does to it, its counts must agree with what it stores."""
    made = make_backend()
    yield made
    made.check_books()


@pytest.fixture(params=["sqlite", "sqlite-bloom"])
def make_sqlite(
    request: pytest.FixtureRequest, runner: asyncio.Runner, tmp_path: Path
) -> Iterator[MakeSqlite]:
    """Makes open SQLite backends, for what only files can suffer."""
    yield from _maker(request.param, runner, tmp_path)


@pytest.fixture
def sqlite(make_sqlite: MakeSqlite) -> Iterator[DrivenSqlite]:
    made = make_sqlite()
    yield made
    made.check_books()


@pytest.fixture
def bloom(runner: asyncio.Runner, tmp_path: Path) -> Iterator[DrivenSqlite]:
    """An open SQLite backend with a Bloom filter as its seen test."""
    for make_bloom in _maker("sqlite-bloom", runner, tmp_path):
        yield make_bloom()
