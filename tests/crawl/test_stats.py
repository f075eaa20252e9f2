"""The statistics have Scrapy's names and values, for packages that watch a crawl by them."""

from __future__ import annotations

import json
import re

import pytest

from tests.fakeweb import Placement

SITEMAP = "/x/sitemap?form=xml&urls=%2Fx%2Fok%3Flisted"
"""That of robots.txt: it lists one page."""
PREFIXES = (
    "downloader/",
    "dupefilter/",
    "httperror/",
    "finish_reason",
    "item_",
    "offsite/",
    "request_depth_",
    "retry/",
    "robotstxt/",
    "scheduler/",
)
APART = {
    # The header fields that are sent differ, and so does the coding of bodies that is asked for.
    "downloader/request_bytes",
    "downloader/response_bytes",
    # Plain Scrapy refuses in a middleware, for which an exception is raised; here scope refuses before.
    "offsite/domains",
}


@pytest.fixture(scope="module")
def counted(serve, crawl):
    """What the same spider counts here and under plain Scrapy, with Scrapy's middleware for robots.txt in both."""
    found = {}
    for name in ("settings", "plain_settings"):
        named = Placement("robots-sitemap", hosts=("h0000.localhost",), options={"sitemaps": SITEMAP})
        web = serve(hosts=1, pages=1, placements=(named,))
        crawled = crawl(
            spider="counted",
            module=f"tests.crawl.ordinary.{name}",
            arguments={"origin": web.web.origin(0), "output": "stats.json"},
            RETRY_TIMES=1,
            ROBOTSTXT_OBEY=1,
            DOWNLOADER_MIDDLEWARES=json.dumps(
                {"scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": 100}
            ),
        )
        assert crawled.status == 0, crawled.stderr
        stats = json.loads((crawled.path.parent / "stats.json").read_text())
        found[name] = (
            {key: value for key, value in stats.items() if key.startswith(PREFIXES) and key not in APART},
            stats,
            {hit.path for hit in web.hits()},
        )
    return found


def test_they_are_those_of_plain_scrapy(counted):
    (ours, _, _), (theirs, _, _) = counted["settings"], counted["plain_settings"]
    assert ours == theirs
    assert len(ours) > 20


def test_a_spider_gets_no_page_of_a_sitemap_that_it_did_not_request(counted):
    _, _, asked = counted["settings"]
    assert "/robots.txt" in asked
    assert not {SITEMAP, "/x/ok?listed"} & asked


def test_bytes_are_counted(counted):
    for _, stats, _ in counted.values():
        assert stats["downloader/request_bytes"] > 50 * stats["downloader/request_count"]
        assert stats["downloader/response_bytes"] > 50 * stats["downloader/response_count"]


@pytest.fixture(scope="module")
def sites(serve, crawl):
    """What is counted when a site is followed: by ``broad``, and by a CrawlSpider here and under plain Scrapy."""
    found = {}
    for name in ("broad", "settings", "plain_settings"):
        web = serve(hosts=1, pages=8, seed=5)
        origin = web.web.origin(0)
        ways = {"seeds": [f"{origin}/"], "arguments": {"stay": "host"}}
        if name != "broad":
            ways = {
                "spider": "counted_rules",
                "module": f"tests.crawl.ordinary.{name}",
                "arguments": {"origin": origin},
            }
        crawled = crawl(
            **ways, RETRY_TIMES=0, RETRY_ENABLED=0, STATS_DUMP=1, LOG_LEVEL="INFO", SITEMAPS_FOLLOW=0
        )
        assert crawled.status == 0, crawled.stderr
        stats = dict(re.findall(r"^[ {]'([^']+)': (.*?)[,}]$", crawled.stderr, re.MULTILINE))
        found[name] = {
            key: value for key, value in stats.items() if key.startswith(PREFIXES) and key not in APART
        }
    return found


def test_a_spider_with_rules_counts_what_plain_scrapy_counts(sites):
    ours, theirs = sites["settings"], sites["plain_settings"]
    assert ours == theirs
    assert ours["request_depth_max"] == "2"
    assert ours["dupefilter/filtered"] != "0"


def test_broad_counts_the_same_pages_alike(sites):
    """A Page is an item, and the callback of the rules has no page at which it begins."""
    ours, theirs = dict(sites["broad"]), dict(sites["plain_settings"])
    assert int(ours.pop("item_scraped_count")) == int(theirs.pop("item_scraped_count")) + 1
    assert ours == theirs
    assert not any(name.startswith("retry/") for name in ours)
