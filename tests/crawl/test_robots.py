"""robots.txt in every state and shape: it is asked for first, obeyed, and doubt means no."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.crawl import expectation
from tests.fakeweb import Placement, witness

STATES = (
    ("robots-missing", {}),
    ("robots-missing", {"status": 401}),
    ("robots-missing", {"status": 403}),
    ("robots-missing", {"status": 410}),
    ("robots-empty", {}),
    ("robots-forbid", {}),
    ("robots-private", {}),
    ("robots-agent", {}),
    ("robots-wildcard", {}),
    ("robots-error", {"status": 500}),
    ("robots-error", {"status": 503}),
    ("robots-error", {"status": 429}),
    ("robots-error", {"status": 999}),
    ("robots-silent", {}),
    ("robots-reset", {}),
    ("robots-garbage", {}),
    ("robots-redirect", {"hops": 1}),
    ("robots-redirect", {"hops": 5}),
    ("robots-redirect", {"hops": 5, "across": "yes"}),
    ("robots-redirect", {"hops": 6}),
    ("robots-redirect", {"hops": 6, "across": "yes"}),
    ("robots-loop", {}),
    ("robots-html", {}),
    ("robots-mime", {"type": "image/png"}),
    ("robots-bom", {}),
    ("robots-utf16", {}),
    ("robots-latin1", {}),
    ("robots-nul", {}),
    ("robots-cr", {}),
    ("robots-huge", {}),
    ("robots-endless", {}),
)


def name_of(number):
    """The host of the state of this number; the first one is an ordinary host."""
    return f"h{number + 1:04d}.localhost"


@pytest.fixture(scope="module")
def web(serve):
    placements = tuple(
        Placement(state, hosts=(name_of(number),), options=options)
        for number, (state, options) in enumerate(STATES)
    )
    count = len(STATES) + 1
    return serve(hosts=count, pages=30 * count, zipf=0.1, same_host=1.0, placements=placements)


@pytest.fixture(scope="module")
def crawled(web, crawl):
    return crawl(expectation.roots(web), DOWNLOAD_TIMEOUT=2, FRONTIER_PATIENCE_SECONDS=0)


def test_the_crawl_ends_well(crawled):
    crawled.assert_ended_well().assert_sound()


@pytest.mark.parametrize("number", range(len(STATES)), ids=lambda number: str(STATES[number]))
def test_exactly_what_robots_txt_allows_is_fetched(web, crawled, number):
    host = name_of(number)
    expected = {url for url in expectation.depths(web, expectation.roots(web)) if f"//{host}:" in url}
    asked = [
        expectation.address(web, hit) for hit in web.hits() if hit.host == host and hit.path[:3] != "/x/"
    ]

    pages = [url for url in asked if not url.endswith("/robots.txt")]
    assert Counter(pages) == Counter(expected)


def test_no_page_is_asked_for_before_the_robots_txt_of_its_origin(web, crawled):
    cut = {name_of(STATES.index((state, {}))) for state in ("robots-huge", "robots-endless")}
    hits = [hit for hit in web.hits() if hit.host not in cut]

    assert witness.pages_before_robots(hits) == []


def test_robots_txt_is_asked_for_once_and_a_redirect_at_most_five_times(web, crawled):
    hits = web.hits()
    of_robots = Counter(hit.host for hit in hits if hit.is_robots)

    assert of_robots[name_of(-1)] == 1
    assert of_robots[name_of(STATES.index(("robots-loop", {})))] == 6
    alone = set(map(name_of, range(len(STATES)))) - {name_of(STATES.index(("robots-loop", {})))}
    assert {of_robots[host] for host in alone} == {1}
    six = name_of(STATES.index(("robots-redirect", {"hops": 6})))
    assert sum(hit.host == six for hit in hits) == 6


def test_no_more_of_a_robots_txt_is_read_than_its_limit(web, crawled):
    for state in ("robots-huge", "robots-endless"):
        host = name_of(STATES.index((state, {})))
        (line,) = [line for line in crawled.lines("robots") if f"//{host}:" in line["url"]]
        assert line["bytes"] == 512_000
        assert line["truncated"] == "length"


def test_robots_requests_are_logged_and_archived_like_pages(web, crawled):
    lines = crawled.lines("robots")
    archived = {record.url for record in crawled.records() if record.type == "response"}

    assert {line["url"] for line in lines if "status" in line} <= archived
    words = {line["error"] for line in lines if "error" in line}
    assert words == {"timeout", "reset", "protocol"}
