"""Everything that can be reached of a closed web is fetched, exactly once, and nothing else is."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.crawl import expectation
from tests.fakeweb import Placement, witness

PAGES = 130


@pytest.fixture(scope="module")
def web(serve):
    """Dirty links, many charsets, base elements, meta refresh; some hosts forbid /private/."""
    private = Placement("robots-private", share=0.4)
    return serve(hosts=12, pages=PAGES, seed=11, dirty=True, charsets=True, placements=(private,))


@pytest.fixture(scope="module")
def crawled(web, crawl):
    return crawl(web.seeds).assert_ended_well()


def test_every_allowed_page_is_fetched_exactly_once(web, crawled):
    truth = web.web.truth()
    allowed = {url for url, fact in truth.items() if not fact.forbidden}

    assert len(allowed) < len(truth) == PAGES
    assert Counter(expectation.asked(web)) == Counter(allowed)
    assert crawled.fetched() == Counter(allowed)
    assert set(crawled.statuses().values()) == {200}


def test_robots_txt_is_asked_for_once_per_origin_and_before_its_pages(web, crawled):
    hits = web.hits()

    assert witness.pages_before_robots(hits) == []
    assert Counter(hit.host for hit in hits if hit.is_robots) == Counter(web.web.hosts)


def test_every_url_ends_in_one_state(web, crawled):
    figures = crawled.assert_sound()

    truth = web.web.truth()
    forbidden = sum(fact.forbidden for fact in truth.values())
    assert figures.states == {1: PAGES - forbidden, 3: forbidden}
    assert figures.rules == {"robots": forbidden}
    assert figures.queued == figures.active_hosts == 0


def test_the_same_command_again_finds_nothing_left_to_do(web, crawled, crawl):
    before = len(web.hits())

    again = crawl(web.seeds, of=crawled).assert_ended_well()

    assert len(web.hits()) == before
    assert again.figures() == crawled.figures()


def test_a_web_that_moved_to_https_is_complete_too(serve, crawl):
    """Every http URL redirects, robots.txt included; each origin has a robots.txt of its own."""
    web = serve(hosts=10, pages=60, tls=True, https=1.0)
    seeds = [f"http://{name}:{web.ports.http}/" for name in web.web.hosts]
    crawled = crawl(seeds).assert_ended_well()

    pages = {url: status for url, status in crawled.statuses().items() if url.startswith("https:")}
    assert pages == dict.fromkeys(web.web.urls(), 200)
    assert witness.most_open(web.hits()) == 1
    assert witness.pages_before_robots([hit for hit in web.hits() if hit.scheme == "https"]) == []


def test_a_robots_txt_is_asked_for_again_when_it_has_grown_old(serve, crawl):
    """Judged by the order of requests: before each lies the delay, so that few pages fit into the life of a
    robots.txt, and fewer on a slow machine."""
    delay, ttl = 0.2, 1
    web = serve(hosts=2, pages=20, zipf=0.0)
    crawl(web.seeds, POLITENESS_MIN_DELAY=delay, ROBOTS_TTL_SECONDS=ttl).assert_ended_well()

    for host in web.web.hosts:
        asked = "".join("R" if hit.is_robots else "p" for hit in web.hits() if hit.host == host)
        assert asked.count("p") == 10
        assert asked.startswith("R")
        assert asked.count("R") > 1
        assert max(map(len, asked.split("R"))) <= ttl / delay, asked
