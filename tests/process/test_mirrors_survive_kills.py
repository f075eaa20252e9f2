"""Crawls with mirrors whose workers are killed at random moments, judged by the server's log: no page is lost.

Each run kills 8 to 17 times. ``MIRROR_KILLS_SEED`` repeats the run of a seed that was printed."""

from __future__ import annotations

import os
import random

import pytest

from tests.crawl import expectation
from tests.process.test_dust_survives_kills import moments, until_asked
from tests.process.workers import WorkerProcesses

pytestmark = pytest.mark.soak

HOSTS = ("original", "mirror", "lacking", "imitator", "portal")
"""The hosts of which no page can be lost, whatever the samples are."""
SIZE = 150
LEASE = 3.0
SETTINGS = {
    "CONCURRENT_REQUESTS": 16,
    "TRAPS_QUARANTINE": 0,
    "MIRRORS_LEARN": 1,
    "POLITENESS_MIN_DELAY": 0.02,
    "POLITENESS_KEY": "host",
}


@pytest.mark.parametrize("run", range(3))
def test_two_workers_on_redis_that_are_killed_lose_no_page(serve, start, serve_redis, run):
    seed = int(os.environ.get("MIRROR_KILLS_SEED") or random.randrange(1 << 32))
    print("MIRROR_KILLS_SEED:", seed)
    chance = random.Random(seed)
    web = serve(kind="mirrors", pages=SIZE, sections=HOSTS)
    processes = WorkerProcesses(start, serve_redis(), web.seeds, LEASE_SECONDS=LEASE, **SETTINGS)
    for name in ("w1", "w2"):
        processes.start(name)
    kills = 0
    for requests in moments(chance, SIZE * 4):
        until_asked(web, requests, lambda: not processes.running())
        running = processes.running()
        if not running:
            break
        name = chance.choice(running)
        processes.kill(name)
        kills += 1
        processes.start(name)
    processes.wait(300)
    asked = expectation.asked(web)
    counts = {name: sum(url.startswith(web.site.origin(name)) for url in asked) for name in web.site.names}
    print("kills:", kills, "requests:", counts)
    print(
        "".join(
            line for log in processes.logs() for line in log.splitlines(keepends=True) if "Mirrors" in line
        )
    )
    assert web.site.truth() - {web.site.text(url) for url in asked} == set()
