"""What ``scrapy plan`` predicts beside what is measured: the part ``sizes`` of the benchmarks."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from pathlib import Path

from tests.bench import fit
from tests.bench.crawls import ours, seeds_file
from tests.bench.sizes import RedisSizes, Sizes, Web, filled_redis, redis_sizes, sqlite_sizes
from tests.fakeweb.config import Config
from tests.fakeweb.process import serve_in_process
from tests.redis_server import RedisServer
from webcrawl.frontier.active_key import ActiveKey
from webcrawl.frontier.order import LevelSampler
from webcrawl.reports import plan
from webcrawl.reports.plan import ItemSizes

WEBS = (
    Web(20_000, 500),
    Web(20_000, 5_000, robots_bytes=300),
    Web(20_000, 20_000),
    Web(20_000, 500, length=100, robots_bytes=300),
    Web(60_000, 5_000),
    Web(200_000, 2_000),
)


def sizes(folder: Path, seconds: float) -> None:
    """The state of crawls of several sizes in Redis and SQLite, and a worker: measured, predicted, fitted."""
    print("Sizes of crawls (URLs, hosts, characters): measured, and predicted as a multiple of it")
    measured: list[tuple[Web, RedisSizes, Sizes]] = []
    for web in WEBS:
        home = folder / f"{web.urls}-{web.hosts}-{web.length}"
        home.mkdir(parents=True)
        with RedisServer(home / "redis") as server:
            if not measured:
                print(f"  {about(server)}")
            in_redis = asyncio.run(redis_sizes(server, web))
        measured.append((web, in_redis, asyncio.run(sqlite_sizes(home, web))))
    _tell("memory of Redis", plan.REDIS_MEMORY, [(web, one.memory) for web, one, _ in measured])
    _tell("snapshot of Redis", plan.REDIS_SNAPSHOT, [(web, one.snapshot) for web, one, _ in measured])
    _tell("frontier.db", plan.SQLITE_FILE, [(web, one) for web, _, one in measured])
    print(f"  an empty crawl in Redis: {max(one.empty for _, one, _ in measured):,} bytes")
    with RedisServer(folder / "active") as server:
        for web in WEBS[:2]:
            print(
                f"  an active host of {web}: {asyncio.run(active_host_bytes(server.fresh(), web)):,.0f} bytes"
            )
    _tell_worker(folder / "worker", min(seconds, 10.0))


def about(server: RedisServer) -> str:
    """Which server, and whose malloc it uses."""
    with server.client(decode_responses=True) as client:
        info = client.info()
    return f"{info.get('server_name', 'redis')} {info['redis_version']} with {info['mem_allocator']}"


def _tell(what: str, now: ItemSizes, measured: list[tuple[Web, Sizes]]) -> None:
    print(f"  {what}")
    for web, one in measured:
        said = fit.predicted(now, web)
        print(
            f"    {web.urls:>9,} {web.hosts:>7,} {web.length:>4}   all queued {one.queued:>12,} x "
            f"{said.queued / one.queued:.3f}   all done {one.done:>12,} x {said.done / one.done:.3f}"
        )
    print(f"    now    {fit.told(now)}")
    print(f"    fitted {fit.told(fit.fitted(measured))}")


async def active_host_bytes(server: RedisServer, web: Web) -> float:
    """What an active host takes in a worker, its robots.txt and the head of its queue with it."""
    backend = await filled_redis(server, web)
    gc.collect()
    tracemalloc.start()
    try:
        active: list[ActiveKey] = []
        while more := await backend.activate_keys(200, server_time(server), LevelSampler(2.0)):
            active += [ActiveKey(one, session_budget=16) for one in more]
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / len(active)
    finally:
        tracemalloc.stop()
        await backend.close()


def server_time(server: RedisServer) -> float:
    seconds, _ = server.call("TIME")
    return float(seconds)


def _tell_worker(folder: Path, seconds: float) -> None:
    with serve_in_process(Config(kind="bench", hosts=500)) as web:
        settings = ("POLITENESS_MIN_DELAY=1", "POLITENESS_FACTOR=0")
        figures = ours(folder, seeds_file(folder, web), seconds, *settings, warm_up=100)
    print(
        f"  a worker on 500 hosts with a delay of 1 s: {figures.peak_memory_bytes:,} bytes resident at most"
    )
