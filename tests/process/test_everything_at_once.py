"""A web on which every host and page may misbehave, killed again and again: polite, obedient and complete."""

from __future__ import annotations

import random
import time

import pytest

from tests.crawl import expectation
from tests.fakeweb import Placement, witness
from tests.fakeweb.behaviours import BEHAVIOURS
from tests.fakeweb.robots import ROBOTS

DELAY = 0.05
KILLS = 5
TIMEOUT = 2.0
PAGES = [name for name in BEHAVIOURS if not name.startswith("trap-") and name != "links-many"]
STATES = [name for name in ROBOTS if name != "robots-flaky"]
"""The flaky one is asked again after a minute, later than this crawl waits."""
SETTINGS = {
    "POLITENESS_MIN_DELAY": DELAY,
    "DOWNLOAD_TIMEOUT": TIMEOUT,
    "DOWNLOAD_MAXSIZE": 200_000,
    "HEALTH_PARK_SECONDS": 1,
    "FRONTIER_PATIENCE_SECONDS": 8,
    "CONCURRENT_REQUESTS": 64,
}


def owed(hit):
    """Where the crawler hung up, the server is a while behind in noticing."""
    hung_up = not hit.complete or hit.end_mono - hit.start_mono > 0.9 * TIMEOUT
    return DELAY / 2 if hung_up else DELAY


@pytest.mark.soak
def test_a_web_of_trouble_is_crawled_politely_through_any_number_of_kills(serve, start, crawl):
    seed = random.randrange(1 << 20)
    print("seed:", seed)
    draw = random.Random(seed)
    placements = [Placement(name, share=0.6 / len(PAGES)) for name in PAGES]
    placements += [Placement(name, share=0.5 / len(STATES)) for name in STATES]
    web = serve(
        hosts=200,
        pages=2500,
        zipf=0.5,
        seed=seed,
        dirty=True,
        charsets=True,
        placements=tuple(placements),
        dead=("dead-port", "dead-silent"),
    )
    crawled = None
    for _ in range(KILLS):
        lines = len(crawled.log()) if crawled else 0
        crawled = start(web.seeds, of=crawled, **SETTINGS)
        crawled.until_logged(lines + draw.randrange(1, 350))
        time.sleep(draw.uniform(0.0, 0.05))  # the moment of the kill is what this test draws
        crawled.kill().assert_sound()
    crawled = crawl(web.seeds, of=crawled, within=300, **SETTINGS).assert_ended_well()

    hits, truth = web.hits(), web.web.truth()
    asked = set(expectation.asked(web))
    good = {url for url, fact in truth.items() if not fact.forbidden and fact.behaviour is None}
    statuses = crawled.statuses()
    assert witness.violations(hits, owed, tolerance=0.005) == []
    assert witness.most_open(hits) == 1
    assert [url for url in asked if url in truth and truth[url].forbidden] == []
    assert {url: statuses.get(url) for url in good} == dict.fromkeys(good, 200)
    crawled.assert_sound()
    crawled.records()
