"""What failed may succeed later: retries, pauses that hosts ask for, and hosts that are parked."""

from __future__ import annotations

import itertools

import pytest

from tests.crawl import expectation
from tests.fakeweb import witness

PARK = 0.5


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=12, pages=12)


@pytest.fixture(scope="module")
def cases(web):
    """Each on a host of its own, so that none waits for another."""
    paths = {
        "twice": "/x/flaky?times=2",
        "thrice": "/x/flaky?times=3",
        "cut": "/x/flaky-reset?times=1",
        "gone": "/x/status?code=404",
        "busy": "/x/too-many?seconds=2",
        "down": "/x/unavailable?seconds=2&form=date",
        "limited": "/x/too-many?seconds=2&form=limit",
    }
    return {name: f"{web.web.origin(host)}{path}" for host, (name, path) in enumerate(paths.items(), start=1)}


@pytest.fixture(scope="module")
def failing(web):
    """Pages of one host that fails seven times in a row, after the first, which is sent again at once: it is lost on
    the connection that robots.txt left open. From then on none is kept."""
    return [f"{web.web.origin(10)}/x/flaky-reset?times=1&page={number}" for number in range(8)]


@pytest.fixture(scope="module")
def crawled(web, cases, failing, crawl):
    seeds = [*cases.values(), *failing]
    return crawl(seeds, arguments={"allow": "/x/"}, RETRY_TIMES=2, HEALTH_PARK_SECONDS=PARK)


def times_asked(web, url):
    return expectation.asked(web).count(url)


def test_the_crawl_ends_well(crawled):
    figures = crawled.assert_ended_well().assert_sound()
    assert figures.queued == 0


def test_a_page_that_fails_twice_is_fetched_at_the_third_try(web, cases, crawled):
    assert times_asked(web, cases["twice"]) == 3
    assert [line["status"] for line in crawled.lines() if line["url"] == cases["twice"]] == [500, 500, 200]
    assert times_asked(web, cases["cut"]) == 2


def test_there_are_no_more_tries_than_retry_times(web, cases, crawled):
    assert times_asked(web, cases["thrice"]) == 3
    assert [line.get("attempt", 1) for line in crawled.lines() if line["url"] == cases["thrice"]] == [1, 2, 3]


def test_a_missing_page_is_not_asked_for_again(web, cases, crawled):
    assert times_asked(web, cases["gone"]) == 1


@pytest.mark.parametrize("name", ["busy", "down", "limited"])
def test_retry_after_is_obeyed(web, cases, crawled, name):
    host = cases[name].split("/")[2].partition(":")[0]
    refused, good = [hit for hit in web.hits() if hit.host == host and not hit.is_robots]

    assert (refused.status, good.status) == (503 if name == "down" else 429, 200)
    # A date has whole seconds.
    assert good.start_mono - refused.end_mono >= (1.0 if name == "down" else 2.0)


def test_a_host_that_fails_five_times_in_a_row_is_parked_and_loses_nothing(web, failing, crawled):
    hits = [hit for hit in web.hits() if hit.host == "h0010.localhost" and not hit.is_robots]
    gaps = [after.start_mono - before.end_mono for before, after in itertools.pairwise(hits)]

    assert max(gaps[:6]) < PARK
    assert gaps[6] >= PARK
    assert gaps[7] >= 2 * PARK
    assert {url: crawled.statuses()[url] for url in failing} == dict.fromkeys(failing, 200)


def test_a_parked_host_does_not_hold_up_the_others(web, crawled):
    hits = web.hits()
    parked_at = [hit.end_mono for hit in hits if hit.host == "h0010.localhost"][7]
    others = [
        hit
        for hit in hits
        if hit.host not in ("h0010.localhost", *(f"h000{number}.localhost" for number in (5, 6, 7)))
    ]

    assert max(hit.start_mono for hit in others) < parked_at + PARK
    assert witness.most_open(hits) == 1
