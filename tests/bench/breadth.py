"""How many hosts have had a visit when as many pages were fetched as there are seeds, by the server's log."""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING

from tests.bench.crawls import ROOT, SCRAPY, seeds_file
from tests.fakeweb.config import Config
from tests.fakeweb.process import Served, serve_in_process
from tests.fakeweb.witness import violations
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from pathlib import Path

HOSTS_A_SECOND = 1000
"""Seeds for each of the seconds that were asked for: about as many pages as a machine fetches in a second."""
WORKERS = 3
DELAY = 5.0
PATIENCE_SECONDS = 3600.0


def hosts_visited(folder: Path, seconds: float) -> None:
    """Hosts without an end, all of them seeds, with the default politeness: on SQLite and on Redis."""
    hosts = round(seconds * HOSTS_A_SECOND)
    print(f"Breadth over {hosts:,} hosts without an end, a delay of {DELAY:g} s, the machine is the limit:")
    for workers in (1, WORKERS):
        place = folder / f"by-{workers}"
        place.mkdir(parents=True)
        with serve_in_process(
            Config(kind="bench", hosts=hosts, pages=20, fresh=10), place / "access.log"
        ) as web:
            started = time.perf_counter()
            if workers == 1:
                _crawl(place, web, hosts, workers)
            else:
                with RedisServer(place / "server") as server:
                    _crawl(place, web, hosts, workers, f"REDIS_URL={server.url}")
            took = time.perf_counter() - started
            _tell(web, hosts, workers, took)


def _crawl(folder: Path, web: Served, hosts: int, workers: int, *more: str) -> None:
    seeds = seeds_file(folder, web)
    settings = ("FETCH_PRIVATE_ADDRESSES=1", f"CLOSESPIDER_PAGECOUNT={-(-hosts // workers)}", *more)
    crawls = []
    for number in range(workers):
        each = (*settings, f"JOBDIR={folder / f'w{number}'}", f"WORKER_NAME=w{number}")
        words = [part for setting in each for part in ("-s", setting)]
        with (folder / f"output-{number}.txt").open("wb") as output:
            command = [SCRAPY, "crawl", "broad", "-a", f"seeds={seeds}", *words]
            crawls.append(
                subprocess.Popen(command, cwd=ROOT, env=dict(os.environ), stdout=output, stderr=output)
            )
    try:
        for crawl in crawls:
            crawl.wait(PATIENCE_SECONDS)
    finally:
        for crawl in crawls:
            if crawl.poll() is None:
                crawl.kill()
                crawl.wait()


def _tell(web: Served, hosts: int, workers: int, took: float) -> None:
    hits = web.hits()
    asked: Counter[str] = Counter()
    visited: Counter[str] = Counter()
    for hit in hits:
        asked[hit.host] += 1
        visited[hit.host] += hit.path != "/robots.txt"
    pages = sum(visited.values())
    had = sum(count > 0 for count in visited.values())
    wrong = violations(hits, lambda hit: DELAY)
    print(
        f"  {'on SQLite' if workers == 1 else f'{workers} workers on Redis'}: {pages:,} pages in {took:.0f} s, "
        f"{had / hosts:.1%} of the hosts had a visit, {len(asked) / hosts:.1%} were asked, "
        f"{max(visited.values())} pages of a host at most; {len(wrong)} violations"
    )
