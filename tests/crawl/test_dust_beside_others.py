"""DUST rules beside other features: equal pages are one page in the index, the archive and the counts of links."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.commands import in_process, own_process

SEARCH = {
    "ARCHIVE_SINKS": "webcrawl.search.store.SearchIndex",
    "PROCESSING_MODULES": "webcrawl.processing.modules.Head,webcrawl.processing.main_text.MainText",
}
SETTINGS = {
    **SEARCH,
    "DUST_LEARN": 1,
    "FRONTIER_ORDER": "in_links",
    "TRAPS_QUARANTINE": 0,
    "COMMIT_INTERVAL_SECONDS": 0,
    "POLITENESS_MIN_DELAY": 0.03,
}
SIZE = 60


@pytest.fixture(scope="module")
def web(serve):
    return serve(kind="copies", pages=SIZE, sections=("forum",))


@pytest.fixture(scope="module")
def ended(web, crawl):
    ended = crawl(web.seeds, **SETTINGS).assert_ended_well()
    assert ended.figures().rules["dust"] > 0
    return ended


def test_equal_pages_are_one_hit(ended, web, capsys):
    found = in_process("search", capsys)("thread", "--json", "--limit", "1000", JOBDIR=ended.path).told["hits"]
    texts = Counter(web.site.text(hit["url"]) for hit in found)
    assert {text for text in texts if text.startswith("forum: thread")} == {
        text for text in web.site.truth("forum") if text.startswith("forum: thread")
    }
    assert set(texts.values()) == {1}


def test_the_record_of_a_copy_refers_to_that_of_the_first(ended, web):
    first = {}
    copies = 0
    for record in ended.records():
        text = web.site.text(record.url)
        if record.status != 200 or text is None:
            continue
        if record.type == "response":
            assert first.setdefault(text, record.url) == record.url
        elif record.type == "revisit":
            copies += 1
            print(record)
            assert record.refers_to == first[text]
    assert copies > 0
