"""Crawls with DUST rules whose workers are killed at random moments, judged by the server's log: no page is lost.

Each run kills 8 to 17 times. Of the sites, four tell the truth about their copies, two do until they
are believed. ``DUST_KILLS_SEED`` repeats the run of a seed that was printed."""

from __future__ import annotations

import os
import random
import time

import pytest

from tests.crawl import expectation
from tests.process.workers import WorkerProcesses

pytestmark = pytest.mark.soak

SECTIONS = ("shop", "forum", "wiki", "mail", "liar", "turning")
SIZE = 60
LEASE = 3.0
SETTINGS = {
    "CONCURRENT_REQUESTS": 16,
    "TRAPS_QUARANTINE": 0,
    "DUST_LEARN": 1,
    "POLITENESS_MIN_DELAY": 0.02,
    "POLITENESS_KEY": "host",
}
RUNS = range(2)


@pytest.fixture
def chance():
    seed = int(os.environ.get("DUST_KILLS_SEED") or random.randrange(1 << 32))
    print("DUST_KILLS_SEED:", seed)
    return random.Random(seed)


def lost(web):
    """The pages that differ and were never fetched, by the server's log."""
    texts = {web.site.text(url) for url in expectation.asked(web)}
    return {
        name: sorted(web.site.truth(name) - texts) for name in web.site.sites if web.site.truth(name) - texts
    }


def until_asked(web, pages, is_over):
    deadline = time.monotonic() + 300
    while len(web.hits()) < pages and not is_over() and time.monotonic() < deadline:
        time.sleep(0.02)


def moments(chance, last=1100):
    """How many requests the server sees until each kill."""
    kills = chance.randint(8, 17)
    return sorted(chance.sample(range(40, last), kills))


@pytest.mark.parametrize("run", RUNS)
def test_two_workers_on_redis_that_are_killed_lose_no_page(serve, start, serve_redis, chance, run):
    web = serve(kind="copies", pages=SIZE, sections=SECTIONS)
    processes = WorkerProcesses(start, serve_redis(), web.seeds, LEASE_SECONDS=LEASE, **SETTINGS)
    for name in ("w1", "w2"):
        processes.start(name)
    kills = 0
    for requests in moments(chance):
        until_asked(web, requests, lambda: not processes.running())
        running = processes.running()
        if not running:
            break
        name = chance.choice(running)
        processes.kill(name)
        kills += 1
        processes.start(name)
    processes.wait(300)
    print("kills:", kills, "requests:", len(web.hits()))
    print(
        "".join(line for log in processes.logs() for line in log.splitlines(keepends=True) if "DUST" in line)
    )
    assert lost(web) == {}


@pytest.mark.parametrize("run", RUNS)
def test_a_crawl_with_sqlite_that_is_killed_loses_no_page(serve, start, chance, run):
    web = serve(kind="copies", pages=SIZE, sections=SECTIONS)
    crawl = start(web.seeds, **SETTINGS)
    kills = 0
    for requests in moments(chance):
        until_asked(web, requests, lambda crawl=crawl: crawl.process.poll() is not None)
        if crawl.process.poll() is not None:
            break
        crawl.kill()
        kills += 1
        crawl = start(web.seeds, of=crawl, **SETTINGS)
    crawl.wait(300).assert_ended_well()
    crawl.assert_sound()
    print("kills:", kills, "requests:", len(web.hits()))
    assert lost(web) == {}
