"""DUST rules beside other features: equal pages are one page in the index, the archive and the counts of links."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.commands import in_process, own_process
from tests.crawl import expectation
from webcrawl.features.link_scores.scorer import Importance, LinkScoreStore
from webcrawl.features.link_scores.worth_table import WorthTable
from webcrawl.urls.canonical import canonical
from webcrawl.urls.fingerprint import fingerprint

SETTINGS = {
    "ARCHIVE_SINKS": "webcrawl.search.store.SearchIndex",
    "PROCESSING_MODULES": "webcrawl.processing.modules.Head,webcrawl.processing.main_text.MainText",
    "DUST_LEARN": 1,
    "FRONTIER_ORDER": "in_links",
    "TRAPS_QUARANTINE": 0,
    "COMMIT_INTERVAL_SECONDS": 0,
    "POLITENESS_MIN_DELAY": 0.03,
}


@pytest.fixture(scope="module")
def web(serve):
    return serve(kind="copies", pages=40, sections=("wiki",))


@pytest.fixture(scope="module")
def ended(web, crawl):
    ended = crawl(web.seeds, **SETTINGS).assert_ended_well()
    assert ended.figures().rules["dust"] > 0
    return ended


@pytest.fixture
def first(ended, web):
    """The URL under which each page came first, by its text."""
    urls: dict[str, str] = {}
    for line in ended.lines():
        if line["status"] == 200:
            urls.setdefault(web.site.text(line["url"]), line["url"])
    return urls


def test_equal_pages_are_one_hit(ended, web, capsys):
    found = in_process("search", capsys)("article", "--json", "--limit", "1000", JOBDIR=ended.path).told[
        "hits"
    ]
    texts = Counter(web.site.text(hit["url"]) for hit in found)
    assert set(texts) == {text for text in web.site.truth("wiki") if text.startswith("wiki: article")}
    assert set(texts.values()) == {1}


def test_the_record_of_a_copy_refers_to_that_of_a_page_with_its_text(ended, web):
    """A copy that comes before the first one is on the disk is stored in full."""
    records = ended.records()
    whole = {record.url for record in records if record.type == "response"}
    copies = [record for record in records if record.type == "revisit"]
    assert copies
    for record in copies:
        first = record.headers["WARC-Refers-To-Target-URI"]
        assert first in whole
        assert web.site.text(first) == web.site.text(record.url)
        assert record.headers["WARC-Profile"].endswith("/identical-payload-digest")


def test_links_to_withheld_urls_count_for_the_page_that_they_have(ended, web, first):
    importance = Importance(WorthTable(), cash=False)
    assert asyncio.run(LinkScoreStore(importance, "in_links", ended.path, None).begin(0.0))
    links = {
        (line["url"], web.site.text(link))
        for line in ended.lines()
        if line["status"] == 200
        for link in web.site.sites["wiki"].look(line["url"])[1]
    }
    expected = Counter(text for url, text in links if text != web.site.text(url))
    counted = {text: importance.table.worth(fingerprint(canonical(first[text]))) for text in expected}
    print(sum(counted.values()), expected.total())
    # Links that came before their rule was proved count for the URLs as they are.
    assert sum(counted.values()) > expected.total() * 0.7


@pytest.mark.soak
def test_a_revisit_notices_that_a_rule_is_not_true_any_more(serve, crawl):
    web = serve(kind="copies", pages=60, sections=("drifting",))
    ended = crawl(
        web.seeds,
        arguments={"mode": "continuous"},
        DUST_LEARN=1,
        REVISIT_POLICY="fixed",
        REVISIT_INTERVAL_SECONDS=1,
        REVISIT_INTERVAL_MIN_SECONDS=0,
        TRAPS_QUARANTINE=0,
        COMMIT_INTERVAL_SECONDS=0,
        POLITENESS_MIN_DELAY=0.01,
        CLOSESPIDER_PAGECOUNT=60 * 14,
    )
    assert ended.status == 0
    [rule] = own_process(ended.path.parent, "dust", ended.path, "--json").told["rules"]
    assert (rule["name"], rule["state"]) == ("ref", "undone")
    assert "differ" in rule["why"]
    asked = Counter(expectation.asked(web))
    assert len([url for url in asked if url.endswith("?ref=a")]) == 60
