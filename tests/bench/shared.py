"""Crawls on Redis: beside one on SQLite, by several workers, and what a million URLs take there."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.bench.crawls import FRESH, HOSTS, MUCH_FRESH, ROOT, SCRAPY, seeds_file, steady
from tests.bench.meter import Figures
from tests.bench.planning import about
from tests.bench.sizes import Web, redis_sizes
from tests.fakeweb.process import Served, serve_in_process
from tests.redis_server import RedisServer

ROUNDS = 3
WORKERS = (1, 2, 4)
WARM_UP = 2000
"""Pages of all workers together before anything is measured."""
PATIENCE_SECONDS = 300.0

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Measured:
    """One crawl, by one worker or several, for as long as all of them were measured."""

    workers: list[Figures]
    redis_cpu: float
    """Seconds of CPU of the server and of processes that it started to write its files; 0 without one."""
    web_cpu: float
    machine_cpu: float
    """Of everything that ran on the machine."""
    wall: float

    @property
    def pages(self) -> int:
        return sum(worker.pages for worker in self.workers)

    @property
    def cpu_ms(self) -> float:
        """Of the workers, a page."""
        return 1000 * sum(worker.cpu for worker in self.workers) / self.pages

    @property
    def redis_ms(self) -> float:
        return 1000 * self.redis_cpu / self.pages

    @property
    def per_second(self) -> float:
        return sum(worker.per_second for worker in self.workers)

    def __str__(self) -> str:
        cores = os.cpu_count() or 1
        others = self.machine_cpu - self.redis_cpu - self.web_cpu - sum(worker.cpu for worker in self.workers)
        told = f"{self.per_second:7.0f} pages/s {self.cpu_ms:7.2f} CPU-ms a page"
        if self.redis_cpu:
            told += f", Redis {self.redis_ms:.3f}"
        web, busy = 1000 * self.web_cpu / self.pages, self.machine_cpu / self.wall / cores
        return (
            f"{told}, the web {web:.2f}  ({self.pages} pages; {cores} cores {busy:.0%} "
            f"busy, {max(others, 0.0) / self.wall / cores:.0%} with other things)"
        )


def beside_sqlite(folder: Path, seconds: float) -> None:
    """One worker, its state in SQLite and in Redis in turn."""
    for fresh in (FRESH, MUCH_FRESH):
        _in_turn(folder / str(fresh), seconds, fresh)


def _in_turn(folder: Path, seconds: float, fresh: int) -> None:
    print(
        f"One worker on SQLite and on Redis in turn, {fresh} of a page's 100 links new, {seconds:g} s each:"
    )
    sqlite: list[Measured] = []
    redis: list[Measured] = []
    for number in range(ROUNDS):
        sqlite.append(_crawled(folder / f"sqlite-{number}", seconds, 1, fresh=fresh))
        print(f"  SQLite {sqlite[-1]}")
        with RedisServer(folder / f"server-{number}") as server:
            redis.append(_crawled(folder / f"redis-{number}", seconds, 1, server, fresh))
            print(f"  Redis  {redis[-1]}")
            name = about(server)
    ratio = median(one.cpu_ms for one in redis) / median(one.cpu_ms for one in sqlite)
    print(f"  on Redis a worker takes {ratio:.2f} times the CPU a page (medians)")
    print(f"  {name} takes {median(one.redis_ms for one in redis):.3f} CPU-ms a page (median)")


def several_workers(folder: Path, seconds: float) -> None:
    """The same crawl by one worker, by two and by four, on one machine."""
    print(f"Workers on one Redis and one machine, {HOSTS} hosts, {seconds:g} s each:")
    found: dict[int, list[Measured]] = {number: [] for number in WORKERS}
    for round_number in range(ROUNDS):
        for number in WORKERS:
            name = f"{number}-workers-{round_number}"
            with RedisServer(folder / f"server-of-{name}") as server:
                found[number].append(_crawled(folder / name, seconds, number, server))
            print(f"  {number} {'worker ' if number == 1 else 'workers'} {found[number][-1]}")
    alone = median(one.cpu_ms for one in found[1])
    for number in WORKERS[1:]:
        ratio = median(one.cpu_ms for one in found[number]) / alone
        print(f"  {number} workers take {ratio:.2f} times the CPU a page of one (medians)")


def a_million_in_redis(folder: Path, seconds: float) -> None:
    """Memory of a million URLs of 60 characters on 10,000 hosts: queued, and done."""
    web = Web(1_000_000, 10_000)
    print(f"A million URLs of {web.length} characters on {web.hosts:,} hosts in Redis:")
    with RedisServer(folder) as server:
        memory = asyncio.run(redis_sizes(server, web)).memory
        print(f"  {about(server)}")
    queued, done = memory.urls + memory.hosts, memory.done - memory.robots
    print(
        f"  {queued / web.urls:.1f} bytes for a URL that is queued, {done / web.urls:.1f} for one that is done:"
    )
    print(f"  with the records of hosts, {memory.hosts / web.hosts:.0f} bytes more each once they answered")
    print(
        f"  answers of robots.txt ({web.robots_bytes} bytes): {memory.robots / web.hosts:.0f} each beside that"
    )


# -- crawls that are measured together -------------------------------------------------------------------------


def _crawled(
    folder: Path, seconds: float, workers: int, server: RedisServer | None = None, fresh: int = FRESH
) -> Measured:
    """A crawl from its beginning; when all workers are warm they are measured for so many seconds."""
    folder.mkdir(parents=True)
    with serve_in_process(steady(fresh)) as web:
        seeds, go = seeds_file(folder, web), folder / "go"
        settings = [f"METER_SECONDS={seconds}", f"METER_GO={go}", f"METER_WARM_UP={WARM_UP // workers}"]
        if server is not None:
            settings.append(f"REDIS_URL={server.url}")
        with _started(folder, seeds, workers, settings) as crawls:
            files = [folder / f"w{number}" / "meter.json" for number in range(workers)]
            _await([file.with_suffix(".warm") for file in files], crawls, folder)
            go.touch()
            before, started = _cpu(web, server), time.perf_counter()
            time.sleep(seconds)
            after, wall = _cpu(web, server), time.perf_counter() - started
            _await(files, crawls, folder)
        figures = [Figures(**json.loads(file.read_text())) for file in files]
    return Measured(figures, *(late - early for early, late in zip(before, after, strict=True)), wall)


@contextmanager
def _started(
    folder: Path, seeds: Path, workers: int, settings: Sequence[str]
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Workers as processes, which have ended at the end of the block."""
    own = ("FETCH_PRIVATE_ADDRESSES=1", "POLITENESS_MIN_DELAY=0", "POLITENESS_FACTOR=0", *settings)
    environment = {
        **os.environ,
        "SCRAPY_SETTINGS_MODULE": "tests.bench.our_settings",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    crawls: list[subprocess.Popen[bytes]] = []
    try:
        for number in range(workers):
            home = folder / f"w{number}"
            home.mkdir()
            each = (f"JOBDIR={home / 'job'}", f"METER_FILE={home / 'meter.json'}", f"WORKER_NAME=w{number}")
            words = [part for setting in (*own, *each) for part in ("-s", setting)]
            with (home / "output.txt").open("wb") as output:
                command = [SCRAPY, "crawl", "broad", "-a", f"seeds={seeds}", *words]
                crawls.append(
                    subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
                )
        yield crawls
        for crawl in crawls:
            crawl.wait(PATIENCE_SECONDS)
    finally:
        for crawl in crawls:
            if crawl.poll() is None:
                crawl.kill()
                crawl.wait()


def _await(files: Sequence[Path], crawls: Sequence[subprocess.Popen[bytes]], folder: Path) -> None:
    """Wait until all files are there."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not all(file.exists() and (file.suffix == ".warm" or file.read_text()) for file in files):
        ended = [crawl.poll() for crawl in crawls]
        missing = [
            file
            for file, status in zip(files, ended, strict=True)
            if status is not None and not file.exists()
        ]
        if missing or time.monotonic() > deadline:
            tails = [
                path.read_text(errors="replace")[-1000:] for path in sorted(folder.glob("w*/output.txt"))
            ]
            raise SystemExit(f"no figures, ended with {ended}:\n" + "\n".join(tails))
        time.sleep(0.02)


def _cpu(web: Served, server: RedisServer | None) -> tuple[float, float, float]:
    """Seconds of CPU so far: Redis, the web, the whole machine."""
    redis = 0.0
    if server is not None:
        fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
        redis = sum(map(int, fields[11:15])) / _TICKS
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return redis, web.cpu_seconds(), (user + nice + system + irq + softirq + steal) / _TICKS
