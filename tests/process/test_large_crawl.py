"""A crawl of many pages on many hosts: complete, each page once, and not one violation of a delay."""

from __future__ import annotations

import pytest

from tests.crawl import expectation
from tests.fakeweb import witness

DELAY = 0.1


@pytest.mark.parametrize(
    ("pages", "hosts"), [(900, 200), pytest.param(10_000, 1_000, marks=pytest.mark.soak)]
)
def test_a_large_crawl_is_complete_and_polite(serve, crawl, pages, hosts):
    web = serve(hosts=hosts, pages=pages, zipf=0.3, seed=15)
    crawled = crawl(web.seeds, within=300, POLITENESS_MIN_DELAY=DELAY).assert_ended_well()
    hits = web.hits()

    assert set(expectation.asked(web)) == set(web.web.urls())
    assert witness.repeated(hits) == {}
    assert witness.violations(hits, lambda hit: DELAY, tolerance=0.005) == []
    assert witness.most_open(hits) == 1
    assert witness.pages_before_robots(hits) == []
    assert crawled.fetched() == dict.fromkeys(web.web.urls(), 1)
    assert crawled.assert_sound().states == {1: pages}
    print(f"{pages} pages of {hosts} hosts in {crawled.seconds:.1f} s")
