"""Judges of moves: a crawl goes on with one storage after another, and the server's log is that of one crawl."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.crawl import crawling
from tests.gauntlet.promises.judges.acting import counted
from tests.gauntlet.promises.judges.workers import END_SECONDS, server_of_tests
from tests.gauntlet.promises.stages import last_line
from tests.gauntlet.promises.table import judge, need
from tests.gauntlet.promises.web import SECONDS

if TYPE_CHECKING:
    from tests.gauntlet.promises.stages import Short
    from tests.gauntlet.promises.table import Promise

DELAY, SLOW_DELAY = 0.2, 1.0
PAGES = 10
"""Pages of each host beside its start page."""
LIMIT = 10
"""Pages at which each part of the crawl but the last one stops."""
FAST, SLOW, EXCLUDED = "www.fast", "www.slow", "www.excluded"


class _Places:
    """The places to which the crawl goes: jobdir, workers (in one JOBDIR) and redis."""

    def __init__(self, stage: Short, promise: Promise, seeds: list[str]) -> None:
        self._stage = stage
        self._name = re.sub(r"\W+", "-", promise.name)
        self._seeds = seeds
        self._number = 0

    def new(self, kind: str) -> str:
        """Return a place of this kind."""
        self._number += 1
        if kind == "redis":
            assert self._stage.redis is not None
            return self._stage.redis.url
        return str(self._folder(kind) / "job")

    def _folder(self, kind: str) -> Path:
        return self._stage.folder / f"moving-{self._name}-{self._number}-{kind}"

    def run(self, kind: str, **more: Any) -> list[int]:
        """Run the crawl at the place that came last; return the exit statuses."""
        stage, folder = self._stage, self._folder(kind)
        settings: dict[str, Any] = {
            "DNS_NAMESERVERS": stage.web.nameserver,
            "POLITENESS_KEY": "host",
            "POLITENESS_MIN_DELAY": DELAY,
            "LEASE_SECONDS": 3,
            "TRAPS_QUARANTINE": 0,
            **more,
        }
        if kind == "redis":
            stage.workers = stage.start(self._seeds, folder.name, **settings)
        else:
            many: dict[str, Any] = {"WORKERS": 2, "WORKER_NAME": None} if kind == "workers" else {}
            crawl = crawling.start(folder, self._seeds, **settings, **many)
            stage.crawls.append(crawl)
            stage.workers = [crawl]
        return stage.statuses(END_SECONDS)


@judge
def goes_on_elsewhere(stage: Short, promise: Promise) -> str:
    """Parts of one crawl, each at another place. An exclusion and a delay are given at the first one alone; a start
    at a place that the crawl has left is refused."""
    kinds: list[str] = promise.given["places"]
    assert stage.redis is not None
    stage.redis.fresh()
    hosts = [f"{name}.{len(kinds)}.test" for name in (FAST, SLOW, EXCLUDED)]
    fast, slow, excluded = hosts
    for host in hosts:
        stage.site.drip(host, PAGES)
    places = _Places(stage, promise, [stage.site.url(host) for host in hosts])
    with server_of_tests():
        here, statuses, refused = places.new(kinds[0]), [], []
        statuses += places.run(kinds[0], CLOSESPIDER_PAGECOUNT=LIMIT)
        stage.do("exclude", excluded, JOBDIR=here)
        stage.do("delay", slow, SLOW_DELAY, here)
        ruled_at = max(hit.end for hit in stage.web.hits())
        before = len(stage.web.pages(excluded))
        for number, kind in enumerate(kinds[1:], start=2):
            there = places.new(kind)
            stage.do(
                "move", here, there, *(["--workers"] if kind == "workers" else []), POLITENESS_KEY="host"
            )
            hits = len(stage.web.hits())
            refused.append(_start_at(stage, kinds[number - 2], here).status)
            refused.append(stage.run("move", here, there, POLITENESS_KEY="host").status)
            need(len(stage.web.hits()) == hits, f"the crawl was begun again at {kinds[number - 2]}")
            limit = {"CLOSESPIDER_PAGECOUNT": LIMIT // 2} if number < len(kinds) else {}
            statuses += places.run(kind, **limit)
            here = there
    asked = Counter((hit.host, hit.path) for host in (fast, slow) for hit in stage.web.pages(host))
    robots = {len(stage.web.hits(host, path="/robots.txt")) for host in hosts}
    after = len(stage.web.pages(excluded)) - before
    pause = min(stage.web.gaps(hosts), default=0.0)
    slow_pause = min(stage.web.gaps([slow], since=ruled_at - 1e-6), default=0.0)
    return need(
        {*statuses} == {0}
        and {*refused} == {2}
        and len(asked) == 2 * (PAGES + 1)
        and {*asked.values()} == {1}
        and robots == {1}
        and after == 0
        and pause >= DELAY - 0.01
        and slow_pause >= SLOW_DELAY - 0.01,
        f"exit status {statuses}, {refused} at a place that it has left; {counted(len(asked), 'page')} of "
        f"{2 * (PAGES + 1)}, requested {max(asked.values(), default=0)} times at most; robots.txt {max(robots)} "
        f"times; {counted(after, 'page')} of the excluded host afterwards; shortest pause {pause:.3f} s, of the "
        f"slow host {slow_pause:.3f} s",
    )


def _start_at(stage: Short, kind: str, place: str) -> Any:
    words: dict[str, Any] = {"POLITENESS_KEY": "host", "DNS_NAMESERVERS": stage.web.nameserver}
    where = {"REDIS_URL": place, "JOBDIR": stage.folder / "left"} if kind == "redis" else {"JOBDIR": place}
    many = {"WORKERS": 2} if kind == "workers" else {}
    return stage.run(
        "crawl",
        "broad",
        seconds=2 * SECONDS,
        CRAWLER_CONTACT="https://a.test/",
        **words,
        **where,
        **many,
        **({"WORKER_NAME": "w9"} if kind == "redis" else {}),
    )


@judge
def stays_if_the_copy_differs(stage: Short, promise: Promise) -> str:
    """The counts of a stopped crawl are wrong: it is not moved, and goes on where it is."""
    assert stage.redis is not None
    stage.redis.fresh()
    host = "www.stays.test"
    stage.site.drip(host, PAGES)
    places = _Places(stage, promise, [stage.site.url(host)])
    here = places.new("jobdir")
    statuses = places.run("jobdir", CLOSESPIDER_PAGECOUNT=LIMIT // 2)
    with closing(sqlite3.connect(Path(here) / "frontier.db")) as opened, opened:
        opened.execute("UPDATE totals SET done = done + 1")
    done = stage.run("move", here, stage.redis.url, POLITENESS_KEY="host")
    statuses += places.run("jobdir")
    asked = Counter(hit.path for hit in stage.web.pages(host))
    return need(
        done.status == 1
        and "done URLs: " in done.err
        and {*statuses} == {0}
        and len(asked) == PAGES + 1
        and {*asked.values()} == {1},
        f"exit status of the move {done.status}: {last_line(done.err)}; of the crawl {statuses}; {len(asked)} of "
        f"{counted(PAGES + 1, 'page')}",
    )
