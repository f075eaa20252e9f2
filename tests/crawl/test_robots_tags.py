"""What pages ask of robots is done: noindex keeps them out of the feeds, nofollow their links out of the queues."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from tests.crawl import expectation
from tests.fakeweb import Placement

PAST = "unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT"
HEADER = {
    "noindex": "noindex",
    "otherbot: nofollow|webcrawl: noindex": "noindex",
    PAST: "noindex",
    "noindex, otherbot: none": "noindex",
    "nofollow": "nofollow",
    "none": "noindex nofollow",
    "otherbot: noindex, nofollow": "",
    "all, unavailable_after: 2100-01-01": "",
}
"""Lines of X-Robots-Tag to what they ask of us."""
META = {
    ("robots", "noindex"): "noindex",
    ("WebCrawl", "NoIndex, NoFollow"): "noindex nofollow",
    ("robots", PAST): "noindex",
    ("robots", "nofollow"): "nofollow",
    ("otherbot", "none"): "",
}
RELS = {"nofollow": "nofollow", "external UGC": "nofollow", "sponsored": "nofollow", "noopener": ""}


def placements():
    """Each on some pages, and what it asks for by the behaviour and its options."""
    # Everywhere below these, so that there are pages that nothing else leads to.
    yield (
        Placement("tag-meta", paths=("/news/",), options={"name": "robots", "content": "nofollow"}),
        "nofollow",
    )
    yield Placement("tag-rel", paths=("/blog/",), options={"rel": "ugc"}), "nofollow"
    yield Placement("tag-header", paths=("/shop/1/",), options={"lines": "none"}), "noindex nofollow"
    for lines, asks in HEADER.items():
        yield Placement("tag-header", 0.05, options={"lines": lines}), asks
    for (name, content), asks in META.items():
        yield Placement("tag-meta", 0.05, options={"name": name, "content": content}), asks
    for rel, asks in RELS.items():
        yield Placement("tag-rel", 0.05, options={"rel": rel}), asks


@pytest.fixture(scope="module")
def web(serve):
    return serve(hosts=12, pages=240, links=8, seed=5, placements=tuple(part for part, _ in placements()))


@pytest.fixture(scope="module")
def asks(web):
    """URL to what its page asks of us."""
    known = {(part.behaviour, json.dumps(part.options)): words for part, words in placements()}
    parts = {web.web.url(page): web.web.part(page) for page in web.web.pages()}
    return {
        url: known[part.behaviour, json.dumps(part.options)].split() if part else []
        for url, part in parts.items()
    }


def crawled_and_asked(web, crawl, folder, name, **settings):
    before = len(web.hits())
    feed = folder / f"{name}.jsonl"
    crawled = crawl(web.seeds, options=("-o", str(feed)), **settings).assert_ended_well()
    crawled.assert_sound()
    hits = [hit for hit in web.hits()[before:] if not hit.is_robots]
    items = [json.loads(line) for line in feed.read_text().splitlines()]
    return crawled, Counter(expectation.address(web, hit) for hit in hits), items


def test_noindex_keeps_pages_out_of_feeds_and_nofollow_links_out_of_the_frontier(web, asks, crawl, folder):
    expected = expectation.depths(web, leads=lambda url: "nofollow" not in asks[url])
    crawled, asked, items = crawled_and_asked(web, crawl, folder, "obeyed")

    assert asked == Counter(list(expected))
    assert len(expected) < len(expectation.depths(web))
    assert {words for url in expected for words in asks[url]} == {"noindex", "nofollow"}
    stored = {item["url"] for item in items}
    assert stored == {url for url in expected if "noindex" not in asks[url]}
    assert not any("noindex" in item for item in items)
    of_links = {
        url for url in expected if (part := web.web.part(_page(web, url))) and part.behaviour == "tag-rel"
    }
    for line in crawled.lines():
        facts = [word for word in ("noindex", "nofollow") if line.get(word)]
        assert facts == ([] if line["url"] in of_links else asks[line["url"]])
    assert crawled.statuses().keys() == expected.keys()
    for rule in ("robots-header", "robots-meta", "rel"):
        assert re.search(rf"^\s+{rule}\s+[1-9]", crawled.stderr, re.MULTILINE)


def _page(web, url):
    return next(page for page in web.web.pages() if web.web.url(page) == url)


def test_each_rule_can_be_switched_off(web, asks, crawl, folder):
    expected = expectation.depths(web)
    crawled, asked, items = crawled_and_asked(
        web, crawl, folder, "ignored", ROBOTS_META_OBEY=0, ROBOTS_HEADER_OBEY=0, NOFOLLOW_RELS=""
    )

    assert asked == Counter(list(expected))
    assert {item["url"] for item in items} == set(expected)
    assert not any("noindex" in line or "nofollow" in line for line in crawled.lines())
