"""The whole machine by one command: one web crawled with WORKERS=1, 2 and so on to the number of cores, in turn."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests import processes, redis_program
from tests.bench.crawls import FRESH, HOSTS, ROOT, SCRAPY, seeds_file, steady
from tests.fakeweb.process import Served, serve_in_process

ROUNDS = 3
WARM_UP = 2000
"""Pages before anything is measured."""
PATIENCE_SECONDS = 300.0
BUSY, FULL = 0.95, 0.9
"""Shares of all cores and of one core from which on they count as the limit."""

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Used:
    """CPU seconds so far, of those that are there and of their ended children."""

    workers: float
    """With the command and all of their children."""
    redis: float
    """The server and its keeper."""
    web: float
    machine: float
    """Of everything that ran on the machine."""

    def __sub__(self, other: Used) -> Used:
        return Used(
            self.workers - other.workers,
            self.redis - other.redis,
            self.web - other.web,
            self.machine - other.machine,
        )


@dataclass(frozen=True, slots=True)
class Crawled:
    """A crawl, for as long as it was measured."""

    pages: int
    seconds: float
    used: Used

    @property
    def per_second(self) -> float:
        return self.pages / self.seconds

    @property
    def cpu_ms(self) -> float:
        return 1000 * self.used.workers / self.pages

    @property
    def redis_ms(self) -> float:
        return 1000 * self.used.redis / self.pages

    @property
    def limit(self) -> str:
        """What keeps it from being faster, in words."""
        used, cores = self.used, os.cpu_count() or 1
        others = used.machine - used.workers - used.redis - used.web
        if used.machine / self.seconds / cores >= BUSY:
            parts = {
                "workers": used.workers,
                "Redis": used.redis,
                "the web": used.web,
                "others": max(others, 0.0),
            }
            shares = ", ".join(f"{name} {part / used.machine:.0%}" for name, part in parts.items())
            return f"all {cores} cores are busy: {shares}"
        if used.redis / self.seconds >= FULL:
            return "Redis has one core, and that is full"
        if used.web / self.seconds >= FULL:
            return "the web has one core, and that is full"
        return f"no core is full: the machine is {used.machine / self.seconds / cores:.0%} busy"

    def __str__(self) -> str:
        return (
            f"{self.per_second:6.0f} pages/s {self.cpu_ms:6.2f} CPU-ms a page, Redis {self.redis_ms:.3f}, "
            f"the web {1000 * self.used.web / self.pages:.2f}; {self.limit}"
        )


def workers(folder: Path, seconds: float) -> None:
    """Print pages/s, CPU a page and the limit of each number of workers."""
    cores = os.cpu_count() or 1
    numbers = range(1, cores + 1)
    print(
        f"One command with WORKERS=1 to {cores}, {HOSTS} hosts, {FRESH} of a page's 100 links new, {seconds:g} s "
        f"each ({cores} cores, load {os.getloadavg()[0]:.1f}):"
    )
    found: dict[int, list[Crawled]] = {number: [] for number in numbers}
    for round_number in range(ROUNDS):
        for number in numbers:
            found[number].append(_crawl(folder / f"{number}-{round_number}", number, seconds))
            print(f"  WORKERS={number}  {found[number][-1]}")
    for number in numbers:
        speeds = [one.per_second for one in found[number]]
        costs = [one.cpu_ms for one in found[number]]
        times = median(speeds) / median(one.per_second for one in found[1])
        print(
            f"  WORKERS={number}: {_range(speeds, '.0f')} pages/s, {times:.2f} times one; "
            f"{_range(costs, '.2f')} CPU-ms a page"
        )


def _range(values: list[float], form: str) -> str:
    return f"{median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def _crawl(folder: Path, number: int, seconds: float) -> Crawled:
    folder.mkdir(parents=True)
    with serve_in_process(steady(FRESH)) as web, _started(folder, seeds_file(folder, web), number) as crawl:
        logs = _Logs(folder / "job")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while logs.pages() < WARM_UP:
            if crawl.poll() is not None or time.monotonic() > deadline:
                raise SystemExit((folder / "output.txt").read_text(errors="replace")[-2000:])
            time.sleep(0.1)
        pages, used, began = logs.pages(), _used(crawl.pid, web), time.perf_counter()
        time.sleep(seconds)
        more, later, ended = logs.pages(), _used(crawl.pid, web), time.perf_counter()
    return Crawled(more - pages, ended - began, later - used)


class _Logs:
    """Counts the pages in the fetch logs of all workers: each line once."""

    def __init__(self, jobdir: Path) -> None:
        self._jobdir = jobdir
        self._read: dict[Path, int] = {}
        self._pages = 0

    def pages(self) -> int:
        """Return the pages so far."""
        for path in (*self._jobdir.glob("fetch.jsonl"), *self._jobdir.glob("workers/*/fetch.jsonl")):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                text = file.read()
            whole = text[: text.rfind(b"\n") + 1]
            self._pages += whole.count(b'"kind":"page"') + whole.count(b'"kind": "page"')
            self._read[path] = self._read.get(path, 0) + len(whole)
        return self._pages


@contextmanager
def _started(folder: Path, seeds: Path, number: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start the crawl; it has ended at the end of the block."""
    settings = {
        "WORKERS": number,
        "JOBDIR": folder / "job",
        "FETCH_PRIVATE_ADDRESSES": 1,
        "POLITENESS_MIN_DELAY": 0,
        "POLITENESS_FACTOR": 0,
    }
    environment = {
        **os.environ,
        "SCRAPY_SETTINGS_MODULE": "webcrawl.settings",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        redis_program.CHOICE: str(redis_program.find()),
    }
    words = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    with (folder / "output.txt").open("wb") as output:
        crawl = subprocess.Popen(
            [SCRAPY, "crawl", "broad", "-a", f"seeds={seeds}", *words],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=output,
        )
    try:
        yield crawl
        for _ in range(2):
            # What is measured is over: nothing of the rest is waited for.
            crawl.send_signal(signal.SIGINT)
            time.sleep(0.5)
        crawl.wait(PATIENCE_SECONDS)
    finally:
        if crawl.poll() is None:
            crawl.kill()
            crawl.wait()


def _used(pid: int, web: Served) -> Used:
    workers = redis = 0.0
    for one in processes.all_below(pid):
        with suppress(OSError):
            words = Path(f"/proc/{one}/cmdline").read_bytes()
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            seconds = sum(map(int, fields[11:15])) / _TICKS
            if b"webcrawl.storage.redis.keeper" in words or b"-server " in words.replace(b"\0", b" "):
                redis += seconds
            else:
                workers += seconds
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    machine = (user + nice + system + irq + softirq + steal) / _TICKS
    return Used(workers, redis, web.cpu_seconds(), machine)
