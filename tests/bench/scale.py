"""Large queues: memory with a million URLs in them, and how long a crawl of ten million takes to start."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from tests.bench.crawls import HOSTS, WIDE, ours, seeds_file
from tests.fakeweb.process import Served, serve_in_process
from webcrawl.frontier.records import UrlEntry
from webcrawl.storage.contract import Batch
from webcrawl.storage.sqlite.frontier import SqliteBackend, SqliteOptions
from webcrawl.urls.fingerprint import fingerprint
from webcrawl.urls.politeness_key import PolitenessKey, get_host

_AT_ONCE = 20_000


def a_million_queued(folder: Path, seconds: float) -> None:
    """A crawl that has a million URLs in its queues: the most memory it takes."""
    print(f"With a million URLs queued on {HOSTS} hosts:")
    with serve_in_process(WIDE) as web:
        _fill(folder / "job", web, 1_000_000)
        figures = ours(
            folder, seeds_file(folder, web), seconds, "POLITENESS_MIN_DELAY=0", "POLITENESS_FACTOR=0"
        )
    print(
        f"  {figures.peak_memory_bytes / 1e6:.0f} MB at most (resident), {figures.cpu_ms:.2f} CPU-ms a page"
    )


def ten_million_queued(folder: Path, seconds: float) -> None:
    """A crawl that has ten million URLs in its queues: from the command to the first response."""
    print("With ten million URLs queued:")
    with serve_in_process(WIDE) as web:
        seeds = seeds_file(folder, web)
        fast = ("POLITENESS_MIN_DELAY=0", "POLITENESS_FACTOR=0")
        empty = _start_seconds(folder / "empty", seeds, *fast)
        _fill(folder / "full" / "job", web, 10_000_000)
        full = _start_seconds(folder / "full", seeds, *fast)
    print(f"  {full:.1f} s from the command to the first page; a new crawl takes {empty:.1f} s")


def _start_seconds(folder: Path, seeds: Path, *settings: str) -> float:
    started = time.time()
    return ours(folder, seeds, 1.0, *settings, warm_up=50).first_response_at - started


def _fill(folder: Path, web: Served, urls: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    identity = {"POLITENESS_KEY": "domain", "FRONTIER_SEEN": "exact"}
    started = time.perf_counter()
    asyncio.run(_commit_all(SqliteBackend(folder, SqliteOptions(), identity), web, urls))
    size = (folder / "frontier.db").stat().st_size
    took = time.perf_counter() - started
    print(f"  {urls:,} URLs queued in {took:.0f} s, {size / urls:.0f} bytes on disk each", file=sys.stderr)


async def _commit_all(backend: SqliteBackend, web: Served, urls: int) -> None:
    await backend.open(time.time())
    key = PolitenessKey("domain")
    roots = [seed.rstrip("/") for seed in web.seeds]
    batch: list[UrlEntry] = []
    for number in range(urls):
        url = f"{roots[number % len(roots)]}/some/longer/path/to/page-{number // len(roots)}"
        entry = UrlEntry(url, key.of_host(get_host(url)), fingerprint(url), 0, number + 1, 1, roots[0])
        batch.append(entry)
        if len(batch) == _AT_ONCE:
            await backend.commit(Batch(discovered=batch))
            batch = []
    await backend.commit(Batch(discovered=batch))
    await backend.close()
