"""Every backend, seen test and order completes the same web."""

from __future__ import annotations

import pytest

from tests.crawl import expectation
from tests.fakeweb import witness
from tests.rows import each_row

CHOICES = {
    "memory": {"FRONTIER_BACKEND": "memory"},
    "bloom": {"FRONTIER_SEEN": "bloom", "FRONTIER_SEEN_CAPACITY": 1000, "FRONTIER_SEEN_ERROR_RATE": 1e-6},
    "priority": {
        "FRONTIER_ORDER": "priority",
        "FRONTIER_PRIORITISER": "webcrawl.frontier.order.by_path_depth",
        "FRONTIER_BIAS": 3,
    },
    "random": {"FRONTIER_ORDER": "random"},
    "random-walk": {"FRONTIER_ORDER": "random_walk"},
    "opic": {"FRONTIER_ORDER": "opic", "FRONTIER_REORDERING": 1, "FRONTIER_ACTIVE_MAX": 4},
    "few-active": {"FRONTIER_ACTIVE_MAX": 2, "CONCURRENT_REQUESTS": 3, "WARC_ENABLED": 0},
    "one-at-a-time": {"CONCURRENT_REQUESTS": 1, "COMMIT_INTERVAL_SECONDS": 0},
    "last": {"POLITENESS_MODEL": "last", "POLITENESS_FACTOR": 1, "POLITENESS_KEY": "host"},
}
AT_A_TIME = 2
PAGES = 60


@pytest.fixture(scope="module")
def crawls(serve, start):
    """Choice to (web, crawl), two at a time."""
    done = {}
    names = list(CHOICES)
    for place in range(0, len(names), AT_A_TIME):
        started = {}
        for name in names[place : place + AT_A_TIME]:
            web = serve(hosts=8, pages=PAGES, seed=6)
            started[name] = (web, start(web.seeds, **CHOICES[name]))
        done |= {name: (web, crawl.wait()) for name, (web, crawl) in started.items()}
    return done


@each_row("name", CHOICES)
def test_the_web_is_complete_and_no_page_fetched_twice(crawls, name):
    web, crawled = crawls[name]
    crawled.assert_ended_well()

    assert crawled.fetched() == dict.fromkeys(expectation.depths(web), 1)
    assert witness.repeated(web.hits()) == {}
    assert witness.most_open(web.hits()) == 1


@each_row("name", [name for name in CHOICES if "memory" not in name and name != "bloom"])
def test_the_state_is_sound(crawls, name):
    assert crawls[name][1].assert_sound().queued == 0


def test_the_memory_backend_leaves_archive_and_log_but_no_state(crawls):
    _, crawled = crawls["memory"]

    assert not (crawled.path / "frontier.db").exists()
    assert crawled.records()


def test_without_warc_there_is_a_log_alone(crawls):
    _, crawled = crawls["few-active"]

    assert crawled.lines()
    assert not crawled.warcs()


def test_what_was_counted_of_links_is_kept(crawls):
    kept = (crawls["opic"][1].path / "importance.table").read_bytes()

    assert b'"pages": %d' % PAGES in kept.partition(b"\n")[0]


def test_a_bloom_filter_survives_a_stop(serve, crawl):
    web = serve(hosts=8, pages=PAGES, seed=6)
    first = crawl(web.seeds, **CHOICES["bloom"], CLOSESPIDER_PAGECOUNT=20).assert_ended_well()
    second = crawl(web.seeds, of=first, **CHOICES["bloom"]).assert_ended_well()

    assert list(second.path.glob("seen-*.bloom"))
    assert second.fetched() == dict.fromkeys(expectation.depths(web), 1)
    assert witness.repeated(web.hits()) == {}


def test_a_bloom_filter_in_redis_is_shared_and_survives_a_stop(serve, crawl, serve_redis):
    web = serve(hosts=8, pages=PAGES, seed=6)
    shared = {**CHOICES["bloom"], "REDIS_URL": serve_redis().url}
    first = crawl(web.seeds, **shared, CLOSESPIDER_PAGECOUNT=20).assert_ended_well()
    second = crawl(web.seeds, **shared).assert_ended_well()

    fetched = {**first.fetched(), **second.fetched()}
    assert fetched == dict.fromkeys(expectation.depths(web), 1)
    assert witness.repeated(web.hits()) == {}


def test_priority_fetches_high_levels_first(serve, crawl):
    """Of one host the front page comes first, and what lies deeper in folders later, as far as it is known."""
    web = serve(hosts=1, pages=60, links=60)
    crawled = crawl(web.seeds, **CHOICES["priority"]).assert_ended_well()
    depths = [line["url"].partition("?")[0].count("/") for line in crawled.lines()]
    known_at_once = {link.origin + link.path for link in web.web.links(next(iter(web.web.pages())))}
    firsts = [url.partition("?")[0].count("/") for url in crawled.fetched() if url in known_at_once]

    assert len(depths) == 60
    assert sum(firsts[:10]) < sum(firsts[-10:])


def test_a_random_walk_is_no_breadth_first_walk(crawls):
    order = {name: [line["url"].split(":", 2)[2][5:] for line in crawls[name][1].lines()] for name in crawls}

    assert order["random"] != order["one-at-a-time"]
