"""The statistics have Scrapy's names and values, for packages that watch a crawl by them."""

from __future__ import annotations

import json

import pytest

PREFIXES = (
    "downloader/",
    "dupefilter/",
    "httperror/",
    "item_",
    "offsite/",
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
    """What the same spider counts under this crawler and under plain Scrapy."""
    found = {}
    for name in ("settings", "plain_settings"):
        web = serve(hosts=1, pages=1)
        crawled = crawl(
            spider="counted",
            module=f"tests.crawl.ordinary.{name}",
            arguments={"origin": web.web.origin(0), "output": "stats.json"},
            RETRY_TIMES=1,
        )
        assert crawled.status == 0, crawled.stderr
        stats = json.loads((crawled.path.parent / "stats.json").read_text())
        found[name] = (
            {key: value for key, value in stats.items() if key.startswith(PREFIXES) and key not in APART},
            stats,
        )
    return found


def test_they_are_those_of_plain_scrapy(counted):
    (ours, _), (theirs, _) = counted["settings"], counted["plain_settings"]
    assert ours == theirs
    assert len(ours) > 20


def test_bytes_are_counted(counted):
    for _, stats in counted.values():
        assert stats["downloader/request_bytes"] > 50 * stats["downloader/request_count"]
        assert stats["downloader/response_bytes"] > 50 * stats["downloader/response_count"]
