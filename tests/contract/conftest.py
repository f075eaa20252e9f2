"""One suite for all backends: the same sentences hold for each of them."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.driven import KINDS, Driven, DrivenSqlite, make
from tests.contract.driven_redis import DrivenRedis
from tests.contract.sample_crawl import SampleCrawl
from tests.redis_server import RedisCluster
from webcrawl.storage.memory.tables import MemoryTables
from webcrawl.storage.sqlite.tables import SqliteTables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.redis_server import RedisServer
    from webcrawl.storage.tables import Tables, TableSpec

    MakeBackend = Callable[..., Driven]
    MakeSqlite = Callable[..., DrivenSqlite]
    OpenTables = Callable[..., Tables]


CLUSTER_SHARDS = 5
"""Enough for each of three nodes to have one, whatever the crawl is called."""

_SERVERS = {"redis": "redis_server", "redis-bloom": "redis_server", "redis-cluster": "redis_cluster"}
"""Fixtures of servers, by the name of the technology."""

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
            exact = not kind.endswith("-bloom")
            one = DrivenRedis(runner, server.url, next(_names), exact=exact, **options)
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


RARELY = ("memory-bloom", "redis-bloom", "redis-cluster")
"""What is another kind of a technology, or the same seen test as that of another: ``make soak`` runs all on them."""


@pytest.fixture(
    params=[
        pytest.param(kind, marks=pytest.mark.soak if kind in RARELY else ())
        for kind in (*KINDS, "redis", "redis-bloom", "redis-cluster")
    ]
)
def make_backend(
    request: pytest.FixtureRequest, runner: asyncio.Runner, tmp_path: Path
) -> Iterator[MakeBackend]:
    """Makes open backends of each kind with the options given."""
    server = request.getfixturevalue(_SERVERS[request.param]) if request.param in _SERVERS else None
    yield from _maker(request.param, runner, tmp_path, server)


@pytest.fixture
def backend(make_backend: MakeBackend) -> Iterator[Driven]:
    """An open backend of each kind; whatever a test does to it, its counts must agree with what it stores."""
    made = make_backend()
    yield made
    made.check_consistency()


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
    made.check_consistency()


@pytest.fixture
def bloom(runner: asyncio.Runner, tmp_path: Path) -> Iterator[DrivenSqlite]:
    """An open SQLite backend with a Bloom filter as its seen test."""
    for make_bloom in _maker("sqlite-bloom", runner, tmp_path):
        yield make_bloom()


@pytest.fixture
def sample(runner: asyncio.Runner, redis_server: RedisServer) -> Iterator[SampleCrawl]:
    """A crawl on Redis with an entry in each state."""
    crawl = SampleCrawl(runner, redis_server.url)
    yield crawl
    crawl.driven.dispose()


@pytest.fixture(params=["memory", "sqlite", "redis", pytest.param("redis-cluster", marks=pytest.mark.soak)])
def open_tables(
    request: pytest.FixtureRequest, runner: asyncio.Runner, tmp_path: Path
) -> Iterator[OpenTables]:
    """Opens the tables of the given specs. Each call opens the same tables again, as another process would, or as the
    same crawl does when it is taken up."""
    members: list[DrivenRedis] = []
    files: list[SqliteTables] = []
    memory, spider = MemoryTables(), next(_names)

    def in_memory(*specs: TableSpec) -> Tables:
        for spec in specs:
            memory.table(spec)
        return memory

    def in_files(*specs: TableSpec) -> Tables:
        files.append(SqliteTables(tmp_path))
        for spec in specs:
            files[-1].table(spec)
        runner.run(files[-1].open())
        return files[-1]

    def in_redis(*specs: TableSpec) -> Tables:
        server = request.getfixturevalue(_SERVERS[request.param])
        members.append(DrivenRedis(runner, server.url, spider, shards=CLUSTER_SHARDS))
        for spec in specs:
            members[-1].backend.tables.table(spec)
        members[-1].open()
        return members[-1].backend.tables

    made = {"memory": in_memory, "sqlite": in_files}
    yield made.get(request.param, in_redis)
    for each in files:
        runner.run(each.close())
    for member in members:
        member.dispose()
