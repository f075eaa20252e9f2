"""Settings of Scrapy that are translated have their effect in a crawl; those without one are named at its start."""

from __future__ import annotations

import json

import pytest

from tests.crawl import expectation
from tests.fakeweb import witness

DELAY = 0.4
MEASURING_ERROR = 0.005


SLOT_DELAY = 0.6
"""That of the first host, by DOWNLOAD_SLOTS."""


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=4, pages=4)


@pytest.fixture(scope="module")
def cases(web):
    paths = {
        "gone": "/x/status?code=404",
        "busy": "/x/status?code=500",
        "reset": "/x/reset",
        "moved": "/x/redirect-chain?hops=1",
    }
    return {name: f"{web.web.origin(host)}{path}" for host, (name, path) in enumerate(paths.items())}


@pytest.fixture(scope="module")
def crawled(web, cases, crawl):
    return crawl(
        list(cases.values()),
        arguments={"allow": "/x/"},
        POLITENESS_KEY="host",
        DOWNLOAD_DELAY=DELAY,
        DOWNLOAD_SLOTS=json.dumps({web.web.hosts[0]: {"delay": SLOT_DELAY}}),
        RETRY_TIMES=1,
        RETRY_HTTP_CODES="404",
        RETRY_EXCEPTIONS="scrapy.exceptions.CannotResolveHostError",
        REDIRECT_ENABLED=0,
        ROBOTSTXT_OBEY=0,
        SCHEDULER_DEBUG=1,
    ).assert_ended_well()


def asked(web, url):
    return expectation.asked(web).count(url)


def test_the_given_statuses_and_exceptions_decide_what_is_tried_again(web, cases, crawled):
    assert asked(web, cases["gone"]) == 2
    assert asked(web, cases["busy"]) == 1
    # It is sent twice at most, since it is lost on the connection that robots.txt left open.
    assert [line.get("attempt") for line in crawled.lines() if line["url"] == cases["reset"]][-1] is None


def test_redirects_are_not_followed(web, cases, crawled):
    assert crawled.statuses()[cases["moved"]] == 302
    moved = [hit.path for hit in web.hits() if "redirect-chain" in hit.path]
    assert moved == ["/x/redirect-chain?hops=1"]
    assert len(crawled.statuses()) == 4


def test_the_larger_delay_is_kept(web, crawled):
    def owed(hit):
        return SLOT_DELAY if hit.host == web.web.hosts[0] else DELAY

    assert len(web.hits()) > 4
    assert not witness.violations(web.hits(), owed, tolerance=MEASURING_ERROR)


def test_robots_txt_is_asked_for_all_the_same(web, crawled):
    assert sum(hit.is_robots for hit in web.hits()) == 4


def test_what_has_no_effect_is_named_at_the_start(crawled):
    assert "ROBOTSTXT_OBEY=0 has no effect: the crawl always obeys robots.txt" in crawled.stderr
    assert "SCHEDULER_DEBUG=1 has no effect: the frontier has queues of its own; set" in crawled.stderr
    assert "DOWNLOAD_DELAY=0.4: POLITENESS_MIN_DELAY is 0.4 s" in crawled.stderr
    assert crawled.stderr.count("has no effect") == 2
