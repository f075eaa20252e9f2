"""Judges of a crawl that has several processes on one machine by one command, and of the kill of each of them."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import processes, redis_program
from tests.gauntlet.promises.judges.acting import counted
from tests.gauntlet.promises.judges.starts import new_sites, start_crawl
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fakeweb.log import Hit
    from tests.gauntlet.promises.stages import Short
    from tests.gauntlet.promises.table import Promise

DELAY = 0.3
SETTINGS: dict[str, Any] = {
    "WORKERS": 2,
    "WORKER_NAME": None,
    "POLITENESS_MIN_DELAY": DELAY,
    "LEASE_SECONDS": 3,
    "TRAPS_QUARANTINE": 0,
}
END_SECONDS = 300.0
NAMES = ("one", "two", "three", "four")
VICTIMS = {
    "worker": "webcrawl.workers.worker",
    "server": "-server ",
    "keeper": "webcrawl.storage.redis.keeper",
}
"""Words of the command lines of the processes below the command itself."""


@contextmanager
def server_of_tests() -> Iterator[None]:
    """Have the crawls find the Redis that the tests have."""
    before = os.environ.get(redis_program.CHOICE)
    os.environ[redis_program.CHOICE] = str(redis_program.find())
    try:
        yield
    finally:
        os.environ.pop(redis_program.CHOICE)
        if before is not None:
            os.environ[redis_program.CHOICE] = before


def _begin(stage: Short, promise: Promise, pages: int) -> list[str]:
    """Start the crawl of some sites in two processes; return its hosts."""
    hosts = new_sites(stage, *NAMES, pages=pages)
    start_crawl(stage, promise, [stage.site.url(host) for host in hosts], **SETTINGS)
    return hosts


def _begin_again(stage: Short, hosts: list[str]) -> None:
    """Give the same command again."""
    seeds = [stage.site.url(host) for host in hosts]
    stage.workers = stage.start(seeds, stage.jobdirs[0].parent.name, **SETTINGS)


def _of(stage: Short) -> dict[int, str]:
    """The processes of the crawl below its command, by number, with their command lines."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        number = int(path.parent.name)
        if str(stage.jobdirs[0]) in words and number != stage.workers[0].process.pid:
            found[number] = words
    return found


@judge
def works_in_several_processes(stage: Short, promise: Promise) -> str:
    """Two workers run; the server sees each page once, and each pause kept; nothing is left of them at the end."""
    with server_of_tests():
        hosts = _begin(stage, promise, pages=12)
        until(lambda: _workers(stage) == 2, 120.0)
        workers = _workers(stage)
        statuses = stage.statuses(END_SECONDS)
    asked = Counter((hit.host, hit.path) for host in hosts for hit in stage.web.pages(host))
    pause = min(stage.web.gaps(hosts), default=0.0)
    rest = _of(stage)
    return need(
        (workers, statuses, rest) == (2, [0], {}) and {*asked.values()} == {1} and pause >= DELAY - 0.01,
        f"{counted(workers, 'worker')}, exit status {statuses}; {counted(len(asked), 'page')}, requested "
        f"{max(asked.values(), default=0)} times at most; shortest pause {pause:.3f} s; processes left: {len(rest)}",
    )


@judge
def survives_kills(stage: Short, promise: Promise) -> str:
    """kill -9 of a worker, of the server, of its keeper and of the command, which is given again: all pages come."""
    told = []
    with server_of_tests():
        hosts = _begin(stage, promise, pages=40)
        for number, (victim, words) in enumerate(VICTIMS.items(), start=1):
            until(partial(_has_pages, stage, hosts, 12 * number), 120.0)
            pid = next((pid for pid, line in sorted(_of(stage).items()) if words in line), None)
            if pid is not None:
                processes.kill(pid)
                told.append(victim)
        until(partial(_has_pages, stage, hosts, 60), 120.0)
        stage.workers[0].kill(alone=True)
        told.append("command")
        _begin_again(stage, hosts)
        statuses = stage.statuses(END_SECONDS)
    asked = Counter((hit.host, hit.path) for hit in _pages(stage, hosts))
    wanted, again = 40 * len(hosts), sum(asked.values()) - len(asked)
    pause = min(stage.web.gaps(hosts), default=0.0)
    return need(
        len(told) == 4 and statuses == [0] and len(asked) >= wanted and again <= 32 and pause >= DELAY - 0.01,
        f"killed: {', '.join(told)}; exit status {statuses}; {len(asked)} of {wanted} pages, {again} requested "
        f"again; shortest pause {pause:.3f} s",
    )


def _workers(stage: Short) -> int:
    return sum(VICTIMS["worker"] in words for words in _of(stage).values())


def _has_pages(stage: Short, hosts: list[str], number: int) -> bool:
    return len(_pages(stage, hosts)) >= number


def _pages(stage: Short, hosts: list[str]) -> list[Hit]:
    return [hit for host in hosts for hit in stage.web.pages(host)]
