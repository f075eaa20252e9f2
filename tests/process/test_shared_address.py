"""Fifty hosts at one address, crawled by four workers of which some are killed and frozen: all keep its clock."""

from __future__ import annotations

import random
import time

from tests.crawl import expectation
from tests.fakeweb import witness
from tests.process.crew import Crew

KEY, ADDRESS, LEASE = 0.5, 0.03, 3.0


def at_one_address(hit):
    return "127.0.0.1"


def test_fifty_hosts_at_one_address_share_its_clock_over_four_workers(serve, start, serve_redis):
    seed = random.randrange(1 << 32)
    print("seed:", seed)
    draw = random.Random(seed)
    web = serve(hosts=50, pages=150, zipf=0.2, seed=seed % 1000)
    settings = {"POLITENESS_KEY": "host", "POLITENESS_ADDRESS_DELAY": ADDRESS, "LEASE_SECONDS": LEASE}
    redis = serve_redis()
    crew = Crew(start, redis, web.seeds, POLITENESS_MIN_DELAY=KEY, **settings)
    names = ("w1", "w2", "w3", "w4")
    for name in names:
        crew.start(name)
    crew.until_joined()
    crew.workers["w1"].until(lambda: len(web.hits()) > 60)
    killed, frozen = draw.sample(names, 2)
    crew.kill(killed)
    crew.freeze(frozen)
    time.sleep(LEASE + 0.5)
    crew.thaw(frozen)
    crew.start(killed)
    crew.wait(90)

    hits = web.hits()
    print(len(hits), "requests in", hits[-1].start_mono - hits[0].start_mono, "s")
    assert witness.violations(hits, lambda hit: ADDRESS, at_one_address, tolerance=0.002) == []
    assert witness.violations(hits, lambda hit: KEY, tolerance=0.005) == []
    assert set(expectation.asked(web)) == set(expectation.depths(web))
    assert {line["worker"] for line in crew.lines()} == set(names)
    violations, _ = crew.audit()
    assert violations == []
