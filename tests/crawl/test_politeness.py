"""Politeness, judged by the log of the server that was crawled.

Its gaps are never shorter than those the crawler kept, so nothing is excused but the clock's own resolution.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.fakeweb import Placement, witness
from tests.rows import each_row

MEASURING_ERROR = 0.005
REMEMBERED = 5
FLOOR = 0.05
FACTOR = 3
DELAY = 0.25
CRAWL_DELAY = 0.4
SLOW = 0.1
TROUBLE = (
    Placement("flaky", share=0.15),
    Placement("flaky-reset", share=0.1),
    Placement("redirect-chain", share=0.1, options={"hops": 2, "across": "yes"}),
    Placement("slow-start", share=0.3, options={"seconds": SLOW}),
    Placement("robots-redirect", share=0.5, options={"hops": 2, "across": "yes"}),
)
SLOW_ROBOTS = 0.2
UNKNOWN = 0.8
WEB = {"hosts": 6, "pages": 42, "zipf": 0.3, "seed": 5, "placements": TROUBLE}


def domain_of(hit):
    return ".".join(hit.host.split(".")[-2:])


@pytest.fixture(scope="module")
def webs(serve):
    delays = Placement("robots-delay", hosts=("h0001.localhost",), options={"seconds": CRAWL_DELAY})
    slow = (Placement("slow-start", share=1.0, options={"seconds": SLOW}),)
    hosts_of_domains = {"hosts": 9, "pages": 36, "per_domain": 3, "zipf": 0.2, "placements": slow}
    return {
        "fixed": serve(**WEB),
        "mean": serve(**{**WEB, "placements": (TROUBLE[0], *slow)}),
        "crawl-delay": serve(**{**WEB, "placements": (delays,)}),
        "unknown": serve(
            hosts=4,
            pages=20,
            seed=5,
            zipf=0.0,
            placements=(Placement("robots-slow", share=1.0, options={"seconds": SLOW_ROBOTS}),),
        ),
        "domain": serve(**hosts_of_domains),
        "host": serve(**hosts_of_domains),
    }


@pytest.fixture(scope="module")
def crawls(webs, start):
    """All at the same time: most of it is waiting."""
    settings = {
        "fixed": {"POLITENESS_MODEL": "fixed", "POLITENESS_MIN_DELAY": DELAY, "POLITENESS_FACTOR": 50},
        "mean": {"POLITENESS_MIN_DELAY": FLOOR, "POLITENESS_FACTOR": FACTOR},
        "crawl-delay": {},
        "unknown": {
            "POLITENESS_MIN_DELAY": FLOOR,
            "POLITENESS_FACTOR": FACTOR,
            "POLITENESS_UNKNOWN_DELAY": UNKNOWN,
        },
        "domain": {"POLITENESS_MIN_DELAY": 0.05, "POLITENESS_KEY": "domain"},
        "host": {"POLITENESS_MIN_DELAY": 0.05, "POLITENESS_KEY": "host"},
    }
    started = {name: start(webs[name].seeds, **settings[name]) for name in webs}
    return {name: crawl.wait().assert_ended_well() for name, crawl in started.items()}


def test_a_fixed_delay_lies_between_any_two_requests_to_a_host(webs, crawls):
    hits = webs["fixed"].hits()

    assert witness.violations(hits, lambda hit: DELAY, tolerance=MEASURING_ERROR) == []
    assert witness.most_open(hits) == 1


def test_redirects_retries_and_robots_are_among_what_was_judged(webs, crawls):
    hits = webs["fixed"].hits()
    seen = {hit.status for hit in hits}

    assert {200, 301, 302, 500, None} <= seen
    assert any(hit.is_robots for hit in hits)
    assert any(path.startswith("/x/robots-redirect") for path in (hit.path for hit in hits))
    assert witness.repeated(hits)


def test_the_delay_is_so_many_times_the_mean_of_the_last_five_downloads(webs, crawls):
    hits = webs["mean"].hits()
    owed = {}
    for of_host in witness.by_key(hits).values():
        took = [hit.end_mono - hit.start_mono for hit in of_host]
        for number, hit in enumerate(of_host, start=1):
            last = took[max(number - REMEMBERED, 0) : number]
            owed[hit] = max(FLOOR, FACTOR * sum(last) / len(last))

    assert witness.violations(hits, owed.__getitem__, tolerance=MEASURING_ERROR) == []
    assert max(owed.values()) > FLOOR
    assert witness.most_open(hits) == 1


def test_a_crawl_delay_is_kept_from_the_first_page_on(webs, crawls):
    hits = webs["crawl-delay"].hits()

    def delay_of(hit):
        return CRAWL_DELAY if hit.host == "h0001.localhost" else 0.0

    assert witness.violations(hits, delay_of, tolerance=MEASURING_ERROR) == []
    assert sum(hit.host == "h0001.localhost" for hit in hits) > 3


def test_a_pause_of_its_own_lies_behind_robots_txt_while_no_page_was_downloaded(webs, crawls):
    hits = webs["unknown"].hits()

    def delay_of(hit):
        return UNKNOWN if hit.is_robots else FLOOR

    assert witness.violations(hits, delay_of, tolerance=MEASURING_ERROR) == []
    assert sum(hit.is_robots for hit in hits) == 4


def test_the_time_of_a_robots_txt_is_no_download_time_of_its_host(webs, crawls):
    told = defaultdict(list)
    for line in crawls["unknown"].log():
        told[line["key"]].append(line)

    for lines in told.values():
        pages = [line for line in lines if line["kind"] != "robots"]
        took = [line["end"] - line["start"] for line in pages]
        for number, line in enumerate(pages, start=1):
            last = took[max(number - REMEMBERED, 0) : number]
            owed = max(FLOOR, FACTOR * sum(last) / len(last))
            assert line["delay"] == pytest.approx(owed, abs=MEASURING_ERROR)


def test_hosts_of_one_domain_share_a_clock(webs, crawls):
    hits = webs["domain"].hits()

    assert witness.violations(hits, lambda hit: 0.05, domain_of, tolerance=MEASURING_ERROR) == []
    assert witness.most_open(hits, domain_of) == 1
    assert {line["key"] for line in crawls["domain"].log()} == {domain_of(hit) for hit in hits}


def test_with_the_key_host_each_host_has_a_clock_of_its_own(webs, crawls):
    hits = webs["host"].hits()

    assert witness.violations(hits, lambda hit: 0.05, tolerance=MEASURING_ERROR) == []
    assert witness.most_open(hits, domain_of) > 1
    assert {line["key"] for line in crawls["host"].log()} == {hit.host for hit in hits}


@each_row("name", ["fixed", "mean", "crawl-delay", "unknown", "domain", "host"])
def test_politeness_costs_no_page(webs, crawls, name):
    hits = defaultdict(set)
    for hit in webs[name].hits():
        hits[hit.host].add(hit.path)

    for page in webs[name].web.pages():
        fact_path = webs[name].web.geography.path(page)
        if fact_path.startswith("/private/"):
            continue
        assert fact_path in hits[webs[name].web.hosts[page.host]]
