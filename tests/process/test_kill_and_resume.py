"""kill -9 at any moment: the same command completes the crawl, and only what was in flight is fetched again."""

from __future__ import annotations

import random
import time

import pytest

from tests.crawl import expectation
from tests.crawl.auditing import audited
from tests.fakeweb import witness
from webcrawl.control.selection import select_crawl_in
from webcrawl.storage import technology_in

CONCURRENT = 32
DELAY = 0.3


@pytest.fixture(scope="module")
def draw():
    """Where the kills fall; the seed is printed with a failure."""
    seed = random.randrange(1 << 32)
    print("seed:", seed)
    return random.Random(seed)


def killed_legs(draw, kills, pages, begin):
    """Start again and again, and kill each time: while it starts, in a burst of commits, or somewhere."""
    crawl = None
    for left in range(kills, 0, -1):
        lines = len(crawl.log()) if crawl else 0
        # However fast the crawl is, every kill comes before its end.
        most = max((pages - lines) // (left + 1), 2)
        crawl = begin(crawl)
        if draw.random() < 0.15:
            time.sleep(draw.uniform(0.0, 0.8))  # the moment of the kill is what this test draws
        else:
            crawl.until_logged(lines + draw.randrange(1, most))
            time.sleep(draw.uniform(0.0, 0.05))
        yield crawl.kill(alone=draw.random() < 0.5)


def in_flight(crawl, asked):
    """Those of the pages asked for that are still queued: they will be fetched again."""
    return {url for (url,) in crawl.query("SELECT url FROM queue")} & set(asked)


@pytest.mark.parametrize(
    ("seen", "kills", "pages"),
    [
        ("exact", 8, 500),
        pytest.param("exact", 20, 1500, marks=pytest.mark.soak),
        pytest.param("bloom", 5, 1500, marks=pytest.mark.soak),
    ],
)
def test_kills_lose_nothing(serve, start, crawl, draw, seen, kills, pages):
    web = serve(hosts=40, pages=pages, zipf=0.5, seed=9)
    settings = {"CONCURRENT_REQUESTS": CONCURRENT, "FRONTIER_SEEN": seen}
    refetched, before = 0, 0
    for killed in killed_legs(draw, kills, pages, lambda last: start(web.seeds, of=last, **settings)):
        if not (killed.path / "frontier.db").exists() or not killed.query("SELECT 1 FROM sqlite_master"):
            continue
        asked = expectation.asked(web)
        again = in_flight(killed, asked[before:])
        before = len(asked)
        assert len(again) <= CONCURRENT
        refetched += len(again)
        status = select_crawl_in(killed.path, technology_in(killed.path)).status()
        assert status.counts.done <= status.totals["pages"] <= len(asked)
        if seen == "exact":
            killed.assert_sound()
        last = killed

    done = crawl(web.seeds, of=last, **settings).assert_ended_well()
    expected = set(expectation.depths(web))
    assert len(expected) == pages
    assert set(expectation.asked(web)) == expected == set(done.fetched())
    assert sum(witness.repeated(web.hits()).values()) <= 2 * refetched
    assert done.figures().totals["done"] == pages
    assert done.figures().queued == 0
    if seen == "exact":
        done.assert_sound()
    assert {record.url for record in done.records() if record.type == "response"} >= expected
    assert not list(done.path.rglob("*.open"))


def test_a_kill_is_no_excuse_for_haste(serve, start, crawl, draw):
    """Across kills the server sees every delay kept, and never two requests open on a host."""
    web = serve(hosts=20, pages=120, zipf=0.2, seed=10)
    settings = {"POLITENESS_MIN_DELAY": DELAY}
    crawled = None
    for _ in range(3):
        lines = len(crawled.log()) if crawled else 0
        crawled = start(web.seeds, of=crawled, **settings)
        crawled.until_logged(lines + draw.randrange(10, 35))
        crawled.kill()
    crawl(web.seeds, of=crawled, **settings).assert_ended_well()

    hits = web.hits()
    assert set(expectation.asked(web)) == set(expectation.depths(web))
    assert witness.violations(hits, lambda hit: DELAY, tolerance=0.005) == []
    assert witness.most_open(hits) == 1
    assert witness.pages_before_robots(hits) == []
    violations, totals = audited(crawled.path)
    assert violations == []
    assert totals.unproved == totals.without_delay == 0
