"""Webs, crawls and Redis servers in processes of their own, that end with the file they were made for.

Fixtures import what they start, so that a test of a pure function imports neither Scrapy nor Redis.
"""

from __future__ import annotations

import asyncio
import gc
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tests.crawl.crawling import Crawl
    from tests.fakeweb import Config, Served
    from tests.redis_server import RedisCluster, RedisServer

    Serve = Callable[..., Served]
    Start = Callable[..., Crawl]
    ServeRedis = Callable[..., RedisServer]


TESTS = Path(__file__).parent

settings.register_profile("searching", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "steady",
    settings.get_profile("searching"),
    derandomize=True,
    database=None,
    print_blob=True,
    max_examples=25,
)
settings.register_profile("quick", settings.get_profile("steady"), max_examples=5)
# The same examples in each run, however slow the machine is; `make soak` looks for new ones.
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

WAITING = ("process", "install", "crawl", "gauntlet", "contract")
"""Folders whose tests mostly wait for other processes; those with the longest files first."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of several workers some wait and some compute at any time: the files of both kinds are mixed. Those that wait
    come to their end a little earlier."""
    if not hasattr(config, "workerinput"):
        return
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    folders = {path: path.relative_to(TESTS).parts[0] for path in files}
    waiting = sorted(
        (path for path in files if folders[path] in WAITING), key=lambda path: WAITING.index(folders[path])
    )
    computing = [path for path in files if folders[path] not in WAITING]
    place = {path: 0.9 * number / len(waiting) for number, path in enumerate(waiting)}
    place |= {path: number / len(computing) for number, path in enumerate(computing)}
    items[:] = [item for path in sorted(files, key=lambda path: place[path]) for item in files[path]]


def pytest_collection_finish() -> None:
    """The tests stay until the end: a collection of garbage without them takes a fraction of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A folder for all webs and crawls of a file."""
    return tmp_path_factory.mktemp(request.module.__name__.rpartition(".")[2])


@pytest.fixture(scope="module")
def serve(folder: Path) -> Iterator[Serve]:
    """Serves a fake web with an access log: ``serve(hosts=3, pages=20)`` or ``serve(config)``."""
    from tests import forked
    from tests.fakeweb import Config, serve_in_process
    from tests.fakeweb.process import afresh

    with ExitStack() as stack:

        def one(config: Config | None = None, **fields: Any) -> Served:
            log = folder / f"access-{len(list(folder.glob('access-*'))) + 1}.jsonl"
            start = forked.web if forked.POSSIBLE else afresh
            return stack.enter_context(serve_in_process(config or Config(**fields), log, start))

        yield one


@pytest.fixture(scope="module")
def start(folder: Path) -> Iterator[Start]:
    """Starts a crawl, see ``crawling.start``; with ``of=`` an earlier crawl it goes on with that one's JOBDIR."""
    from tests.crawl import crawling

    running: list[Crawl] = []

    def one(seeds: str | Sequence[str] | None = None, *, of: Crawl | None = None, **more: Any) -> Crawl:
        if of is not None:
            more = {"jobdir": of.path, **more}
            home = of.path.parent
        else:
            home = folder / f"crawl-{len(list(folder.glob('crawl-*'))) + 1}"
        crawl = crawling.start(home, seeds, **more)
        running.append(crawl)
        return crawl

    yield one
    for crawl in running:
        if crawl.process.poll() is None:
            crawl.kill()


@pytest.fixture(scope="module")
def crawl(start: Start) -> Start:
    """Like ``start``, and waits for the end: ``within`` seconds at most."""
    from tests.crawl import crawling

    def one(*args: Any, within: float = crawling.SECONDS, **more: Any) -> Crawl:
        return start(*args, **more).wait(within)

    return one


@pytest.fixture(scope="session")
def needs_redis() -> None:
    """Skips what needs Redis where there is none; fails it in CI."""
    from tests import redis_program

    try:
        redis_program.find()
    except redis_program.MissingError as error:
        (pytest.fail if redis_program.is_required() else pytest.skip)(str(error))


@pytest.fixture(scope="session")
def _one_redis_server(tmp_path_factory: pytest.TempPathFactory, needs_redis: None) -> Iterator[RedisServer]:
    from tests.redis_server import RedisServer

    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def _one_redis_cluster(tmp_path_factory: pytest.TempPathFactory, needs_redis: None) -> Iterator[RedisCluster]:
    from tests.redis_server import RedisCluster

    with RedisCluster(tmp_path_factory.mktemp("redis-cluster")) as cluster:
        yield cluster


@pytest.fixture
def redis_server(_one_redis_server: RedisServer) -> RedisServer:
    """The session's Redis server, running and empty whatever the test before did to it."""
    return _one_redis_server.fresh()


@pytest.fixture
def redis_cluster(_one_redis_cluster: RedisCluster) -> RedisCluster:
    """The session's cluster of three, whole and empty whatever the test before did to it."""
    return _one_redis_cluster.fresh()


@pytest.fixture(scope="module")
def serve_redis(folder: Path, needs_redis: None) -> Iterator[ServeRedis]:
    """Starts a Redis server of a file's own: ``serve_redis()`` or ``serve_redis({"maxmemory": "20mb"})``."""
    from tests.redis_server import RedisServer

    with ExitStack() as stack:

        def one(options: Mapping[str, object] | None = None) -> RedisServer:
            home = folder / f"redis-{len(list(folder.glob('redis-*'))) + 1}"
            return stack.enter_context(RedisServer(home, options))

        yield one


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """The event loop of a test that calls coroutines one by one."""
    with asyncio.Runner() as runner:
        yield runner
