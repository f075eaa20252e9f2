"""What ``scrapy plan`` predicts is what is measured, within 15 %: on real servers, files and crawls.

The figures are of a Redis with jemalloc; servers that are built with the C library's malloc may differ by more.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.bench.crawls import ours, seeds_file
from tests.bench.fit import predicted
from tests.bench.planning import about, active_host_bytes
from tests.bench.sizes import Web, redis_sizes, sqlite_sizes
from tests.fakeweb.config import Config
from tests.fakeweb.process import serve_in_process
from webcrawl.reports import plan as costs
from webcrawl.reports.plan import Size, plan, warc_bytes, worker_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import ServeRedis
    from tests.redis_server import RedisServer

WITHIN = 0.15
ELSEWHERE = 0.25
"""On a Redis that is built otherwise than the one that the figures are of."""

SMALL = [Web(20_000, 500), Web(20_000, 5_000, length=80, robots_bytes=300)]
LARGE = [Web(50_000, 2_000, length=100), Web(200_000, 500), Web(200_000, 5_000), Web(1_000_000, 10_000)]
webs = pytest.mark.parametrize(
    "web", [*SMALL, *(pytest.param(web, marks=pytest.mark.soak) for web in LARGE)], ids=lambda web: f"{web}"
)


def agrees(value: float, measured: float, within: float = WITHIN) -> Any:
    print(f"predicted {value:,.0f}, measured {measured:,.0f}: {value / measured - 1:+.1%}")
    return value == pytest.approx(measured, rel=within)


@webs
def test_the_memory_and_the_snapshots_of_redis(serve_redis: ServeRedis, web: Web) -> None:
    server = serve_redis({"appendonly": "no"})
    same = "jemalloc" in about(server)
    share, within = (1.0, WITHIN) if same else (costs.LIBC_SHARE, ELSEWHERE)
    sizes = asyncio.run(redis_sizes(server, web))
    server.stop()
    said = predicted(costs.REDIS_MEMORY, web)
    assert agrees(share * said.queued, sizes.memory.queued, within)
    assert agrees(share * said.done, sizes.memory.done, within)
    written = predicted(costs.REDIS_SNAPSHOT, web)
    assert agrees(written.queued, sizes.snapshot.queued)
    assert agrees(written.done, sizes.snapshot.done)


@pytest.mark.parametrize("capacity", [22_000, 6_000])
def test_the_memory_and_the_snapshots_of_redis_with_bloom_filters(
    serve_redis: ServeRedis, capacity: int
) -> None:
    """One filter a shard, or several in series."""
    server, web = serve_redis({"appendonly": "no"}), SMALL[0]
    same = "jemalloc" in about(server)
    share, within = (1.0, WITHIN) if same else (costs.LIBC_SHARE, ELSEWHERE)
    sizes = asyncio.run(redis_sizes(server, web, seen="bloom", seen_capacity=capacity))
    server.stop()
    seen = {"seen": "bloom", "seen_capacity": capacity}
    said, written = predicted(costs.REDIS_MEMORY, web, **seen), predicted(costs.REDIS_SNAPSHOT, web, **seen)
    assert agrees(share * said.queued, sizes.memory.queued, within)
    assert agrees(share * said.done, sizes.memory.done, within)
    assert agrees(written.queued, sizes.snapshot.queued)
    assert agrees(written.done, sizes.snapshot.done)


@webs
def test_the_file_of_sqlite(tmp_path: Path, web: Web) -> None:
    measured, said = asyncio.run(sqlite_sizes(tmp_path, web)), predicted(costs.SQLITE_FILE, web)
    assert agrees(said.queued, measured.queued)
    assert agrees(said.done, measured.done)


@pytest.mark.parametrize("web", [Web(4_000, 200), Web(4_000, 1_000, length=100, robots_bytes=300)], ids=str)
def test_the_active_hosts_of_a_worker(redis_server: RedisServer, web: Web) -> None:
    [active] = [
        figure.value
        for section in plan(_size(web))
        for figure in section.figures
        if (section.name, figure.name) == ("worker_memory", "active")
    ]
    assert agrees(active / web.hosts, asyncio.run(active_host_bytes(redis_server, web)))


def test_a_worker_and_what_it_archives(tmp_path: Path) -> None:
    with serve_in_process(Config(kind="bench", hosts=100)) as served:
        seeds = seeds_file(tmp_path, served)
        settings = ("POLITENESS_MIN_DELAY=0.5", "POLITENESS_FACTOR=0", "CONCURRENT_REQUESTS=32")
        figures = ours(tmp_path, seeds, 3.0, *settings, warm_up=20)
    log = (tmp_path / "job/fetch.jsonl").read_bytes()
    requests = [json.loads(line) for line in log.splitlines()]
    pages = [request for request in requests if request["kind"] == "page"]
    robots = len(requests) - len(pages)
    size = Size(
        urls=100 * 100,
        hosts=100,
        pages=len(pages),
        queued=100 * 100,
        open_max=32,
        page_bytes=sum(page["bytes"] for page in pages) // len(pages),
        robots_bytes=sum(request["bytes"] for request in requests if request["kind"] == "robots") // robots,
    )
    warc = sum(path.stat().st_size for path in (tmp_path / "job/warc").iterdir())
    assert agrees(warc_bytes(size, robots), warc)
    assert agrees(costs.LOG_BYTES * len(requests), len(log))
    # A busy machine gives the crawl fewer pages at a time.
    assert agrees(worker_bytes(size, shared=False), figures.peak_memory_bytes, within=ELSEWHERE)


def _size(web: Web) -> Size:
    return Size(
        urls=web.urls,
        hosts=web.hosts,
        pages=web.urls,
        queued=web.urls,
        length=web.length,
        robots_bytes=web.robots_bytes,
    )
