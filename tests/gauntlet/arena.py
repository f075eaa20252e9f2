"""One crawl in the arena: serve, start the crawler, watch, kill or stop it, and hand the evidence to the judges."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests import processes
from tests.gauntlet.crawlers.base import Order
from tests.gauntlet.evidence import ACCESS, RUN, Evidence, Run
from tests.gauntlet.server import PIPE, Ready, served
from tests.gauntlet.web import schemes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.gauntlet.crawlers.base import Crawler
    from tests.gauntlet.scorecard import Judged
    from tests.gauntlet.subjects import Subject

POLL_SECONDS = 0.1
START_SECONDS = 60.0
END_SECONDS = 30.0
"""How long a crawl may take to end after it was told to."""


def run(crawler: Crawler, subjects: Sequence[Subject], folder: Path) -> Iterator[Judged]:
    """Crawl the sites of these subjects in one crawl, and yield what is judged of it."""
    prepare(folder)
    if not all(subject.is_possible() for subject in subjects):
        yield from judge(subjects, folder)
        return
    with served([subject.name for subject in subjects], folder) as ready:
        order = _order(subjects, folder, ready)
        try:
            told = _Watch(crawler, order, subjects).crawl()
        finally:
            crawler.close()
    (folder / RUN).write_text(told.to_json())
    yield from judge(subjects, folder)


def judge(subjects: Sequence[Subject], folder: Path) -> Iterator[Judged]:
    """Yield what is judged of the evidence in a folder."""
    for subject in subjects:
        evidence = Evidence.read(subject.site(), folder)
        for row in subject.judge(evidence):
            yield replace(row, seconds=evidence.run.seconds)


def prepare(folder: Path) -> None:
    """Put into the folder what pages with ``file:`` links name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / schemes.CANARY).write_text(f"<p>{schemes.TOKEN}</p><a href='/from-the-canary'>x</a>\n")
    if not (folder / PIPE).exists():
        os.mkfifo(folder / PIPE)


def _order(subjects: Sequence[Subject], folder: Path, ready: Ready) -> Order:
    sites = [subject.site() for subject in subjects]
    first = subjects[0]
    return Order(
        seeds=tuple(ready.seeds),
        folder=folder / "crawl",
        delay_seconds=first.delay_seconds,
        request_seconds=first.request_seconds,
        redirects=first.redirects,
        excluded=tuple(site.address(name) for site in sites for name in site.excluded),
        hosts=tuple(host.address for site in sites for host in site.hosts.values()),
        nameserver=f"127.0.0.1:{ready.dns}",
        subjects=tuple(subject.name for subject in subjects),
        requests=first.requests,
    )


class _Watch:
    """Watches the processes of a crawl: their memory, the requests that they make, and the time."""

    def __init__(self, crawler: Crawler, order: Order, subjects: Sequence[Subject]) -> None:
        self._crawler, self._order = crawler, order
        self._access = order.folder.parent / ACCESS
        self._limit = max(subject.limit_seconds for subject in subjects)
        self._enough = max(subject.enough for subject in subjects)
        self._kills = [number for subject in subjects for number in subject.kills]
        self._first_at: float | None = None
        self._processes: list[subprocess.Popen[bytes]] = []
        self._run = Run(
            crawler=crawler.name,
            delay_seconds=order.delay_seconds,
            request_seconds=order.request_seconds,
            redirects=order.redirects,
            can=list(crawler.can),
        )

    def crawl(self) -> Run:
        """Crawl to the end, or to the limit of time."""
        begun = time.monotonic()
        self._processes = self._crawler.start(self._order)
        try:
            while any(process.poll() is None for process in self._processes):
                self._look()
                if time.monotonic() - self._counted_from(begun) > self._limit or self._is_enough():
                    self._run.ended = False
                    self._stop()
                    break
                time.sleep(POLL_SECONDS)
        finally:
            self._kill()
        self._run.seconds = time.monotonic() - begun
        self._run.exit_statuses = [process.wait() for process in self._processes]
        folder = self._order.folder
        self._run.jobdirs = [
            str(path.relative_to(folder.parent)) for path in self._crawler.jobdirs(self._order)
        ]
        self._run.files = [folder.name]
        return self._run

    def _look(self) -> None:
        alive = [process.pid for process in self._processes if process.poll() is None]
        every = {pid for first in alive for pid in processes.all_below(first)}
        self._run.peak_bytes = max(self._run.peak_bytes, sum(map(processes.resident_bytes, every)))
        if self._kills and "resume" in self._crawler.can and self._requests() >= self._kills[0]:
            self._kills.pop(0)
            self._run.kills.append(time.monotonic())
            self._kill()
            self._processes = self._crawler.start(self._order)

    def _is_enough(self) -> bool:
        return 0 < self._enough <= self._requests()

    def _counted_from(self, begun: float) -> float:
        """Return when the first request came: a busy machine may take long to start a process. No more than 60 s."""
        now = time.monotonic()
        if self._first_at is None and (self._requests() or now - begun > START_SECONDS):
            self._first_at = now
        return now if self._first_at is None else self._first_at

    def _requests(self) -> int:
        return self._access.read_bytes().count(b"\n") if self._access.exists() else 0

    def _stop(self) -> None:
        """Ask it to end, as Ctrl-C does, twice if need be."""
        for seconds in (END_SECONDS, 5.0):
            for process in self._processes:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGINT)
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                if all(process.poll() is not None for process in self._processes):
                    return
                self._look()
                time.sleep(POLL_SECONDS)

    def _kill(self) -> None:
        """kill -9 of all that is left, children included, as when a container is killed."""
        started = [pid for process in self._processes for pid in processes.all_below(process.pid)]
        for process in self._processes:
            if process.poll() is None:
                process.kill()
        for pid in started:
            if not any(pid == process.pid for process in self._processes):
                processes.kill(pid)
        for process in self._processes:
            process.wait()
