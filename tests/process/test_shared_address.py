"""Fifty hosts at one address, crawled by four workers of which some are killed and frozen: all keep its clock."""

from __future__ import annotations

import time

import pytest

from tests.crawl import expectation
from tests.fakeweb import witness
from tests.process.workers import WorkerProcesses

KEY, ADDRESS, LEASE = 0.5, 0.03, 3.0
NAMES = ("w1", "w2", "w3", "w4")


def at_one_address(hit):
    return "127.0.0.1"


def crew_at_one_address(draw, serve, start, redis, pages):
    web = serve(hosts=50, pages=pages, zipf=0.2, seed=draw.randrange(1000))
    settings = {"POLITENESS_KEY": "host", "POLITENESS_ADDRESS_DELAY": ADDRESS, "LEASE_SECONDS": LEASE}
    processes = WorkerProcesses(start, redis, web.seeds, POLITENESS_MIN_DELAY=KEY, **settings)
    for name in NAMES:
        processes.start(name)
    processes.until_joined()
    return web, processes


def assert_polite_and_complete(web, processes):
    hits = web.hits()
    print(len(hits), "requests in", hits[-1].start_mono - hits[0].start_mono, "s")
    assert witness.violations(hits, lambda hit: ADDRESS, at_one_address, tolerance=0.002) == []
    assert witness.violations(hits, lambda hit: KEY, tolerance=0.005) == []
    assert set(expectation.asked(web)) == set(expectation.depths(web))
    assert len({line["worker"] for line in processes.lines()}) > 2
    violations, _ = processes.audit()
    assert violations == []


def test_fifty_hosts_at_one_address_share_its_clock_over_four_workers(draw, serve, start, serve_redis):
    web, processes = crew_at_one_address(draw, serve, start, serve_redis(), 150)
    processes.workers["w1"].until(lambda: len(web.hits()) > 60)
    killed, frozen = draw.sample(NAMES, 2)
    processes.kill(killed)
    processes.freeze(frozen)
    time.sleep(LEASE + 0.5)
    processes.thaw(frozen)
    processes.start(killed)
    processes.wait(120)
    assert_polite_and_complete(web, processes)


@pytest.mark.soak
def test_a_redis_that_is_killed_and_loses_its_last_second_makes_nobody_impolite(
    draw, serve, start, serve_redis
):
    redis = serve_redis()
    web, processes = crew_at_one_address(draw, serve, start, redis, 600)
    for round_ in range(4):
        processes.workers["w1"].until(lambda goal=60 + 120 * round_: len(web.hits()) > goal)
        lost = draw.choice([0, 400, 2000, 20_000])
        print("redis loses", lost)
        redis.kill()
        time.sleep(draw.uniform(0.1, 1.5))
        redis.forget(lost)
        redis.start()
        if draw.random() < 0.5:
            name = draw.choice(NAMES)
            processes.kill(name)
            processes.start(name)
        processes.until_joined()
    processes.wait(180)
    assert_polite_and_complete(web, processes)
