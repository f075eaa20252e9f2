"""Sitemaps that robots.txt names are read politely, and what they list is fetched where it is in scope."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from urllib.parse import urlencode

import pytest

from tests.crawl import expectation
from tests.fakeweb import Placement, witness

DELAY = 0.05


def sitemap(form, *urls):
    """The path of a sitemap."""
    return f"/x/sitemap?{urlencode({'form': form, 'urls': '|'.join(urls)})}"


def page(name):
    """The path of a page that nothing links to."""
    return f"/x/duplicate?{name}"


FORMS = ("xml", "gz", "text", "rss", "atom", "cut", "utf16", "guid", "messy")
GOOD = {form: (page(f"{form}-1"), page(f"{form}-2&more")) for form in FORMS}
BROKEN = (sitemap("html", page("in-html")), sitemap("bomb"), "/x/binary", "/x/empty")
ABSENT = ("/x/none", "/x/status?code=500", "/x/redirect-self", "/x/redirect-foreign")
NAMED = (
    *(sitemap(form, *pages) for form, pages in GOOD.items()),
    *BROKEN,
    *ABSENT,
    sitemap("moved", sitemap("xml", page("moved"))),
    sitemap(
        "index", sitemap("xml", page("in-index")), sitemap("gz", page("in-index-2")), "/private/sitemap.xml"
    ),
    sitemap("xml", "/private/x", "javascript:alert(1)", "http://h0004.localhost/excluded", "mailto:x", ""),
)
LISTED = {url for pages in GOOD.values() for url in pages}
LISTED |= {page("in-index"), page("in-index-2"), page("moved")}


@pytest.fixture(scope="module")
def web(serve):
    parts = (
        Placement("robots-sitemap", hosts=("h0001.localhost",), options={"sitemaps": "|".join(NAMED)}),
        Placement(
            "robots-sitemap", hosts=("h0002.localhost",), options={"sitemaps": sitemap("many", page("m"))}
        ),
    )
    return serve(hosts=5, pages=20, zipf=0.1, seed=2, placements=parts)


@pytest.fixture(scope="module")
def crawled(web, crawl, folder):
    exclusions = folder / "exclusions.txt"
    exclusions.write_text("h0004.localhost\n")
    return crawl(
        expectation.roots(web)[:4],
        EXCLUSION_FILE=exclusions,
        SITEMAP_URLS_MAX=40,
        POLITENESS_MIN_DELAY=DELAY,
        RETRY_TIMES=1,
    )


def paths(web, host):
    return Counter(hit.path for hit in web.hits() if hit.host == f"{host}.localhost")


def test_the_crawl_ends_well(crawled):
    crawled.assert_ended_well().assert_sound()


def test_what_a_sitemap_of_any_form_lists_is_fetched_once(web, crawled):
    asked = paths(web, "h0001")
    assert {path for path in asked if path.startswith("/x/duplicate")} == LISTED
    assert {asked[path] for path in LISTED} == {1}
    assert not any(path.startswith("/private/") for path in asked)
    assert not paths(web, "h0004")


def test_each_sitemap_is_asked_for_once_and_is_no_page(web, crawled):
    asked = paths(web, "h0001")
    assert {asked[path] for path in NAMED if "500" not in path} == {1}
    lines = [line for line in crawled.lines("sitemap") if line["key"] == "h0001.localhost"]
    assert {line["url"].partition("localhost")[2].partition("/")[2] for line in lines} >= {
        path[1:] for path in NAMED
    }
    assert not any("/x/sitemap" in line["url"] for line in crawled.lines())


def test_a_page_from_a_sitemap_is_as_deep_as_a_link_on_a_seed(web, crawled):
    origin = web.web.origin(1)
    line = crawled.line(origin + page("gz-1"))
    assert (line["depth"], line["via"]) == (1, origin + NAMED[FORMS.index("gz")])


def test_the_log_has_what_the_sitemap_says_of_a_page_and_nothing_of_others(web, crawled):
    origin = web.web.origin(1)
    of_page = crawled.line(origin + page("gz-1"))
    assert (of_page["lastmod"], of_page["priority"]) == (1767225600, 0.7)
    said = {line["url"] for line in crawled.log() if "lastmod" in line}
    assert said == {origin + name for form in ("xml", "gz", "cut", "messy") for name in GOOD[form]} | {
        origin + page(name) for name in ("in-index", "in-index-2", "moved")
    } | {line["url"] for line in crawled.lines() if "h0002" in line["url"] and "?m" in line["url"]}


def test_a_broken_sitemap_is_a_failure_that_the_log_explains(web, crawled):
    origin = web.web.origin(1)
    told = {line["url"]: line for line in crawled.lines("sitemap")}
    rows = crawled.query("SELECT rule, count(*) FROM seen WHERE state = 2 GROUP BY rule")
    assert dict(rows) == {"sitemap": len(BROKEN), "redirect-target": 1}
    for path in BROKEN:
        assert told[origin + path]["broken"], path
        assert told[origin + path]["urls"] == 0
    assert told[origin + NAMED[FORMS.index("cut")]]["broken"]
    assert "broken" not in told[origin + NAMED[0]]


def test_no_more_urls_are_taken_from_a_sitemap_than_its_limit(web, crawled):
    assert sum(path.startswith("/x/duplicate") for path in paths(web, "h0002")) == 40


def test_sitemaps_are_under_the_clock_of_their_host(web, crawled):
    assert witness.violations(web.hits(), lambda hit: DELAY * 0.9) == []


def test_sitemaps_can_be_left_alone(web, crawl):
    before = len(web.hits())
    crawl(expectation.roots(web)[:3], SITEMAPS_FOLLOW=0, DEPTH_LIMIT=1).assert_ended_well()
    assert not any(hit.path.startswith("/x/") for hit in web.hits()[before:])


def test_the_sitemaps_of_an_index_wait_until_nothing_else_is_left(serve, crawl):
    """All but the first: so a site with thousands of them fills its queue with one at a time."""
    children = [sitemap("xml", page(f"{number}-0"), page(f"{number}-1")) for number in range(3)]
    named = sitemap("index", *children)
    part = Placement("robots-sitemap", options={"sitemaps": named}, hosts=("h0000.localhost",))
    web = serve(hosts=1, pages=3, placements=(part,))
    # Time enough for a sitemap to be read and queued before the next request.
    crawl(web.seeds, POLITENESS_MIN_DELAY=0.3).assert_ended_well()

    asked = [hit.path for hit in web.hits()]
    places = [asked.index(child) for child in children]
    assert places == sorted(places)
    assert {page("0-0"), page("0-1"), page("1-0"), page("1-1")} <= set(asked[: places[2]])
    assert not any(page("1-0") == path for path in asked[: places[1]])


def test_indexes_of_indexes_are_followed_as_far_as_the_setting_says(serve, crawl):
    inner = sitemap(
        "index", sitemap("xml", page("two-deep")), sitemap("indices", "/x/sitemap?form=indices&urls=")
    )
    named = sitemap("index", sitemap("xml", page("one-deep")), inner)
    part = Placement("robots-sitemap", options={"sitemaps": named}, hosts=("h0000.localhost",))
    web = serve(hosts=1, pages=3, placements=(part,))
    crawl(web.seeds, SITEMAP_NESTED_MAX=1).assert_ended_well()

    asked = [hit.path for hit in web.hits()]
    assert {page("one-deep"), inner} <= set(asked)
    assert page("two-deep") not in asked
    assert len([path for path in asked if "/x/sitemap" in path]) == 3


def test_a_long_sitemap_lies_in_a_file_until_it_is_read_and_archived(serve, crawl):
    """More of them than there is memory for bodies."""
    forms = ("long", "long-gz", "long", "long-gz")
    pages = [page(f"{number}-of-{form}") for number, form in enumerate(forms)]
    named = [sitemap(form, listed) for form, listed in zip(forms, pages, strict=True)]
    part = Placement("robots-sitemap", options={"sitemaps": "|".join(named)}, hosts=("h0000.localhost",))
    web = serve(hosts=1, pages=3, placements=(part,))
    crawled = crawl(web.seeds, BODY_MEMORY_BYTES=1 << 20, CONCURRENT_REQUESTS=8)
    crawled.assert_ended_well().assert_sound()

    asked = Counter(hit.path for hit in web.hits())
    assert {asked[path] for path in (*pages, *named)} == {1}
    archived = {record.url: record for record in crawled.records() if record.type == "response"}
    for path, listed in zip(named, pages, strict=True):
        url = web.web.origin(0) + path
        line, body = crawled.line(url), archived[url].content
        assert line["bytes"] == len(body) > 300_000
        assert line["urls"] == 1
        text = gzip.decompress(body) if "long-gz" in path else body
        assert listed.encode() in text
    assert list((crawled.path / "spool").iterdir()) == []


@pytest.mark.parametrize(
    ("full", "times"), [("WithoutRoomAtFirst", [2, 1, 1]), ("WithoutRoomForLinksAtFirst", [1, 2, 1])]
)
def test_a_sitemap_for_which_there_was_no_room_comes_again_and_leaves_no_file(serve, crawl, full, times):
    """Before it was read, and when it had been."""
    named = sitemap("long", page("of-long")), sitemap("thousands", "/private/")
    part = Placement("robots-sitemap", options={"sitemaps": "|".join(named)}, hosts=("h0000.localhost",))
    web = serve(hosts=1, pages=3, placements=(part,))
    meddling = json.dumps({f"tests.crawl.ordinary.middlewares.{full}": 163})
    crawled = crawl(web.seeds, DOWNLOADER_MIDDLEWARES=meddling).assert_ended_well()

    asked = Counter(hit.path for hit in web.hits())
    assert [asked[path] for path in (*named, page("of-long"))] == times
    assert list((crawled.path / "spool").iterdir()) == []
