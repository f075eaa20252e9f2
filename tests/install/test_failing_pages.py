"""What becomes of a spider's own requests that fail, and of its items: as a user of Scrapy expects it."""

from __future__ import annotations

import json

import pytest

from tests.fakeweb.ports import closed_port
from tests.install import home

SPIDERS = '''
from scrapy import Request, Spider


class Mixed(Spider):
    """-a urls=A,B -a start=C ; every one gets its callback or its errback, and the start URL ``parse``."""

    name = "mixed"

    def __init__(self, *args, urls="", start="", **kwargs):
        super().__init__(*args, **kwargs)
        self.urls, self.start_urls = urls.split(","), [start]

    async def start(self):
        async for request in super().start():
            yield request
        for url in self.urls:
            yield Request(url, self.came, errback=self.failed, cb_kwargs={"asked": url})

    def parse(self, response):
        yield {"asked": response.url, "status": response.status}

    def came(self, response, asked):
        yield {"asked": asked, "status": response.status}

    def failed(self, failure):
        response = getattr(failure.value, "response", None)
        asked = failure.request.cb_kwargs["asked"]
        yield {"asked": asked, "failed": type(failure.value).__name__, "status": response and response.status}
'''
PIPELINES = """
from scrapy.exceptions import DropItem


class Dropping:
    def process_item(self, item):
        if item.get("asked", "").endswith("/drop"):
            raise DropItem("not this one")
        return item
"""


@pytest.fixture(scope="module")
def project(folder):
    return home.bare(folder / "home", spiders=SPIDERS, pipelines=PIPELINES)


@pytest.fixture(scope="module")
def mixed(project):
    """The items by path, the site, and the output of a crawl in which all kinds of things fail."""
    hops = {f"/hop{number}": (302, {"Location": f"/hop{number + 1}"}, b"") for number in range(60)}
    pages = {
        **hops,
        **{f"/turn{number}": (302, {"Location": f"/turn{number + 1}"}, b"") for number in range(20)},
        "/hop12": home.page(),
        "/turn20": home.page(),
        "/busy": home.text("", 503),
        "/forbidden": home.text("", 403),
        **dict.fromkeys(["/a", "/b", "/c", "/drop"], home.page()),
    }
    bad = {"/robots.txt": home.text("", 503), "/no-robots": home.page()}
    with home.served(pages) as site, home.served(bad) as other, closed_port() as refused:
        paths = [
            "/busy",
            "/a",
            "/b",
            "/forbidden",
            "/c",
            "/none",
            "/hop0",
            "/hop13",
            "/drop",
        ]
        urls = [*(site.origin + path for path in paths), f"http://127.0.0.1:{refused}/refused"]
        urls += [
            f"{other.origin.replace('127.0.0.1', 'localhost')}/no-robots",
            "http://nowhere.invalid/no-name",
        ]
        done = project.scrapy(
            "crawl",
            "mixed",
            "-a",
            f"urls={','.join(urls)}",
            "-a",
            f"start={site.origin}/turn0",
            "-O",
            "-:jsonlines",
            ITEM_PIPELINES='{"home.pipelines.Dropping": 300}',
            FRONTIER_PATIENCE_SECONDS=20,
        )
    assert done.status == 0, done.err
    items = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
    items = {"/" + item["asked"].rpartition("/")[2]: item for item in items}
    return items, (site, other), done


def test_each_request_gets_its_callback_or_its_errback_before_the_crawl_has_finished(mixed):
    items, _, done = mixed

    statuses = {path: item.get("status") for path, item in items.items()}
    assert statuses == {
        **dict.fromkeys(["/a", "/b", "/c", "/hop0", "/turn20"], 200),
        "/busy": 503,
        "/forbidden": 403,
        "/none": 404,
        "/hop13": None,
        "/refused": None,
        "/no-robots": None,
        "/no-name": None,
    }
    assert items["/refused"]["failed"]
    assert "finished after" in done.err


def test_one_page_that_fails_does_not_park_its_site(mixed):
    _, (site, _), _ = mixed

    assert max(hit.at for hit in site.hits) - min(hit.at for hit in site.hits) < 30
    assert site.paths().count("/busy") == 3


def test_what_is_given_up_dropped_or_redirected_too_often_has_a_line_at_info(mixed):
    _, (site, _), done = mixed

    assert (
        f"ERROR: Gave up retrying <GET {site.origin}/busy> (failed 3 times): 503 Service Unavailable"
        in done.err
    )
    assert "WARNING: Dropped: not this one" in done.err
    assert "/hop34" not in site.paths()
    assert f"Not fetched: {site.origin}/hop33 (redirected 21 times" in done.err
    assert "1 dropped" in done.err


def test_requests_that_fail_with_their_robots_txt_have_a_line_each(mixed):
    _, _, done = mixed

    assert done.err.count("ERROR: Gave up <GET ") == 3
    assert "ERROR: Gave up <GET http://nowhere.invalid/no-name>: the robots.txt of its host" in done.err


def test_a_robots_txt_that_fails_is_requested_again_in_seconds_and_its_pages_never(mixed):
    _, (_, other), _ = mixed

    assert other.paths() == ["/robots.txt"] * 3
    assert other.hits[-1].at - other.hits[0].at < 30
