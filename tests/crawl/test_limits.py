"""What would go on for ever is bounded: pages, time, queues, links of a page."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.commands import own_process
from tests.crawl import expectation
from webcrawl.frontier.records import State

CONCURRENT = 8


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=6, pages=80, seed=2)


def test_a_page_count_stops_the_crawl_cleanly_and_it_can_go_on(web, crawl):
    first = crawl(web.seeds, CLOSESPIDER_PAGECOUNT=25, CONCURRENT_REQUESTS=CONCURRENT).assert_ended_well()
    pages = first.lines()

    assert 25 <= len(pages) <= 25 + CONCURRENT
    assert first.assert_sound().queued > 0
    assert "closespider_pagecount" in first.stderr
    assert f"JOBDIR={first.path}" in first.stderr

    second = crawl(web.seeds, of=first).assert_ended_well()
    assert second.fetched() == dict.fromkeys(expectation.depths(web), 1)
    assert second.assert_sound().queued == 0


def test_a_timeout_stops_a_crawl_of_an_endless_web(serve, crawl):
    endless = serve(hosts=5, pages=None)
    crawled = crawl(endless.seeds, CLOSESPIDER_TIMEOUT=2, POLITENESS_MIN_DELAY=0.2).assert_ended_well()

    assert crawled.assert_sound().queued > 0
    assert "closespider_timeout" in crawled.stderr


def test_a_full_queue_is_pruned_and_says_so(serve, crawl):
    endless = serve(hosts=4, pages=None, same_host=1.0)
    crawled = crawl(
        endless.seeds, FRONTIER_QUEUE_MAX=30, CLOSESPIDER_PAGECOUNT=60, CONCURRENT_REQUESTS=CONCURRENT
    ).assert_ended_well()

    figures = crawled.assert_sound()
    assert figures.rules["queue-full"] > 100
    assert max(count for (count,) in crawled.query("SELECT queued FROM hosts")) <= 30


def test_what_was_pruned_from_a_full_queue_is_fetched_when_later_pages_link_to_it(serve, crawl):
    web = serve(hosts=1, pages=120, seed=2, same_host=1.0)
    crawled = crawl(web.seeds, FRONTIER_QUEUE_MAX=10, CONCURRENT_REQUESTS=4).assert_ended_well()

    assert "queue-full" in crawled.stderr
    states = crawled.assert_sound().states
    # Only what no later page leads to stays pruned; it was three in four when what was pruned never came back.
    assert states[State.DONE] > 80
    assert states[State.DONE] + states[State.REFUSED] == 120


def test_no_host_is_asked_more_often_than_the_limit_also_when_the_crawl_goes_on(serve, crawl):
    web = serve(hosts=6, pages=120, zipf=0.2, seed=21)
    first = crawl(web.seeds, REQUESTS_PER_KEY_MAX=8, CLOSESPIDER_PAGECOUNT=20, CONCURRENT_REQUESTS=4)
    again = crawl(web.seeds, of=first, REQUESTS_PER_KEY_MAX=8).assert_ended_well()

    asked = Counter(hit.host for hit in web.hits())
    assert len(asked) == 6
    assert set(asked.values()) == {8}
    figures = again.assert_sound()
    assert figures.queued == 0
    assert figures.rules["requests-per-key"] > 20


def test_every_host_gives_its_budget_of_pages_and_no_more_also_when_the_crawl_goes_on(serve, crawl):
    web = serve(hosts=6, pages=120, zipf=0.2, seed=21)
    seeds = [*web.seeds, *(f"{web.web.origin(host)}/x/redirect-chain?hops=2" for host in range(6))]
    first = crawl(seeds, PAGE_BUDGET=8, CLOSESPIDER_PAGECOUNT=20, CONCURRENT_REQUESTS=4)
    again = crawl(seeds, of=first, PAGE_BUDGET=8).assert_ended_well()

    pages = Counter(
        line["key"] for line in again.lines() if line["kind"] == "page" and 200 <= line["status"] < 300
    )
    asked = Counter(hit.host for hit in web.hits())
    assert set(pages.values()) == {8}
    assert len(pages) == 6
    # Beside the pages there were two redirects of each, at least.
    assert min(asked.values()) >= 8 + 2
    figures = again.assert_sound()
    assert figures.queued == 0
    assert figures.rules["page-budget"] > 20


def test_no_more_links_are_taken_from_a_page_than_the_limit_and_the_others_are_told(serve, crawl, folder):
    web = serve(hosts=1, pages=1)
    page = f"{web.web.origin(0)}/x/links-many?count=3000"
    crawled = crawl([page], LINKS_PER_PAGE_MAX=50, CLOSESPIDER_PAGECOUNT=3).assert_ended_well()

    assert crawled.assert_sound().known <= 51
    assert crawled.line(page)["links_dropped"] == 2_950
    assert re.search(r"^  links dropped +2,950 .* on 1 page$", crawled.stderr, re.MULTILINE)
    assert f"{page} has more links than are taken of a page: 2950 were dropped" in crawled.stderr
    assert "2,950 on 1 page" in (crawled.path / "report.html").read_text()
    unknown = own_process(folder, "explain", f"{web.web.origin(0)}/not-known", JOBDIR=crawled.path).said
    assert re.search(
        rf"dropped +1 page had links over LINKS_PER_PAGE_MAX.*\n  page +{re.escape(page)}", unknown
    )


def test_traps_do_not_keep_other_hosts_waiting(serve, crawl):
    web = serve(hosts=8, pages=60)
    traps = ["trap-path", "trap-calendar", "trap-session", "trap-query"]
    seeds = [f"{web.web.origin(host)}/x/{trap}" for host, trap in enumerate(traps, start=4)]
    crawled = crawl([*seeds, *web.seeds], DEPTH_LIMIT=6, CLOSESPIDER_PAGECOUNT=1500).assert_ended_well()

    assert set(expectation.depths(web)) <= set(crawled.fetched())
    assert all(f"/x/{trap}" in "".join(crawled.fetched()) for trap in traps)


def test_a_crawl_that_goes_on_without_a_limit_fetches_what_was_pruned_and_is_found_again(serve, crawl):
    web = serve(hosts=1, pages=120, seed=2, same_host=1.0)
    first = crawl(
        web.seeds, FRONTIER_QUEUE_MAX=5, CONCURRENT_REQUESTS=2, CLOSESPIDER_PAGECOUNT=10
    ).assert_ended_well()
    pruned = {url for (url,) in first.query("SELECT fingerprint FROM seen WHERE rule = 'queue-full'")}
    assert len(pruned) > 20

    crawl(web.seeds, of=first, FRONTIER_QUEUE_MAX=0).assert_ended_well()
    after = first.assert_sound()
    left = {url for (url,) in first.query("SELECT fingerprint FROM seen WHERE rule = 'queue-full'")}
    assert left < pruned
    assert len(left) < len(pruned) / 2
    assert after.states[State.DONE] + len(left) == 120
