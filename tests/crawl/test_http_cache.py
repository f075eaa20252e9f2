"""Scrapy's HTTP cache: what it has contacts nobody, so no pause is owed for it."""

from __future__ import annotations

import re
import time
from email.utils import formatdate

import pytest

from tests.commands import in_process
from tests.crawl import expectation

HOUR = 3600


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=1, pages=6, seed=3)


@pytest.fixture(scope="module")
def cache(folder):
    return {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": folder / "cache"}


@pytest.fixture(scope="module")
def filled(web, crawl, cache):
    """A crawl that has put all pages into the cache."""
    return crawl(web.seeds, **cache).assert_ended_well()


@pytest.fixture(scope="module")
def again(web, crawl, cache, filled):
    """(crawl, requests) of the same pages from the cache, with a pause that no test would wait for."""
    before = len(web.hits())
    crawled = crawl(web.seeds, POLITENESS_MIN_DELAY=HOUR, POLITENESS_MAX_DELAY=HOUR, **cache)
    return crawled.assert_ended_well(), len(web.hits()) - before


def test_cached_pages_wait_for_no_clock_and_contact_nobody(filled, again):
    crawled, asked = again
    assert asked == 0
    assert crawled.statuses() == filled.statuses()
    assert all(line["cached"] and "delay" not in line and "lost_at" not in line for line in crawled.log())


def test_an_audit_does_not_count_them(again, capsys):
    crawled, _ = again
    said = in_process("audit", capsys)(str(crawled.path)).said
    assert "The logs hold no request." in said
    assert f"{len(crawled.log())} requests from a cache" in said


def test_a_page_that_is_not_in_the_cache_restarts_the_clock(web, start, cache, filled):
    before = expectation.asked(web)
    missing = [f"{web.web.origin(0)}/x/ok?missing-{number}" for number in range(2)]
    crawled = start(
        [missing[0], web.seeds[0], missing[1]],
        POLITENESS_MIN_DELAY=HOUR,
        POLITENESS_MAX_DELAY=HOUR,
        DEPTH_LIMIT=1,
        **cache,
    )
    crawled.until(lambda: len(expectation.asked(web)) > len(before))
    crawled.until(lambda: any(line.get("delay") for line in crawled.log()))
    crawled.signal()
    crawled.wait().assert_ended_well()
    (line,) = [line for line in crawled.log() if line.get("delay")]
    assert line["delay"] == HOUR
    assert line["url"] in missing
    assert len(expectation.asked(web)) == len(before) + 1


def test_a_robots_txt_that_is_too_old_is_requested_again(web, crawl, cache, filled):
    [folder] = [
        path.parent
        for path in cache["HTTPCACHE_DIR"].rglob("meta")
        if "/robots.txt'" in path.read_text(encoding="utf-8")
    ]
    heads = (folder / "response_headers").read_bytes()
    old = formatdate(time.time() - 25 * HOUR, usegmt=True).encode()
    (folder / "response_headers").write_bytes(re.sub(rb"(?im)^date: .*$", b"Date: " + old, heads))
    before, pages = len(web.hits()), len(expectation.asked(web))
    crawled = crawl(web.seeds, **cache).assert_ended_well()

    assert len(expectation.asked(web)) == pages
    assert len(web.hits()) == before + 1
    assert "cached" not in crawled.lines("robots")[0]
    assert crawl(web.seeds, **cache).lines("robots")[0]["cached"]


def test_bodies_that_are_not_whole_are_not_stored(serve, crawl, cache):
    web = serve(hosts=1, pages=1)
    url = f"{web.web.origin(0)}/x/mime?type=image/png"
    for _ in range(2):
        assert "cached" not in crawl([url], **cache).assert_ended_well().line(url)
