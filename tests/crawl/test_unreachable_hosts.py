"""Hosts that cannot be reached cost a slot each, never the crawl, and the crawl comes to an end."""

from __future__ import annotations

import pytest

from tests.crawl import expectation
from tests.rows import each_row

KINDS = ("dead-port", "dead-silent", "dead-tls", "dead-name")
TIMEOUT = 1.0


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=6, pages=60, suffix="test", dead=KINDS, dns=True, dns_failing=("h0005.test",))


@pytest.fixture(scope="module")
def crawled(web, crawl):
    return crawl(
        web.seeds,
        DNS_NAMESERVERS=web.nameserver,
        DOWNLOAD_TIMEOUT=TIMEOUT,
        CONCURRENT_REQUESTS=8,
        FRONTIER_PATIENCE_SECONDS=0,
    )


def test_the_crawl_ends_well(crawled):
    crawled.assert_ended_well().assert_sound()
    assert "a downloader middleware" not in crawled.stderr


def test_every_page_that_can_be_reached_is_fetched(web, crawled):
    truth = web.web.truth()
    reachable = {fact.url for fact in truth.values() if not fact.forbidden and fact.host != "h0005.test"}

    assert set(expectation.asked(web)) == reachable
    assert sum(status == 200 for status in crawled.statuses().values()) == len(reachable)


@each_row(
    ("kind", "word"),
    [
        ("dead-port", "connection-refused"),
        ("dead-silent", "timeout"),
        ("dead-tls", "timeout"),  # the server waits for the rest of a request
        ("dead-name", "dns"),
        ("h0005", "dns"),
    ],
)
def test_each_kind_is_recorded_by_its_word(web, crawled, kind, word):
    lines = [line for line in crawled.lines("robots") if line["key"].startswith(kind)]

    assert {line["error"] for line in lines} == {word}
    assert not [line for line in crawled.lines() if line["key"].startswith(kind)]


def test_what_could_not_be_fetched_stays_queued(web, crawled):
    queued = {url for (url,) in crawled.query("SELECT url FROM queue")}
    dead = {link.origin + link.path for link in web.web.dead()}
    unresolved = {fact.url for fact in web.web.truth().values() if fact.host == "h0005.test"}

    assert dead <= queued <= dead | unresolved
