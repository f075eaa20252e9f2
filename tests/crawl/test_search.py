"""Full text in a crawl: every page that may be found is, by the words that it really has."""

from __future__ import annotations

import pytest
from lxml import html

from tests.commands import in_process

STORE = "webcrawl.search.store.SearchIndex"
MODULES = "webcrawl.processing.modules.Head,webcrawl.processing.main_text.MainText"


@pytest.fixture
def search(capsys):
    return in_process("search", capsys)


def words_of(record):
    """How a page's text begins, as another parser reads it: words of its title that every encoding has."""
    title = html.document_fromstring(record.content).findtext(".//title")
    return tuple((title or "").split()[:3])


def test_pages_are_found_by_their_words_after_the_crawl(serve, crawl, search):
    web = serve(hosts=2, pages=8, seed=5)
    settings = {"SEARCH_STEMMER": "none", "RETRY_TIMES": 0}
    done = crawl(web.seeds, ARCHIVE_SINKS=STORE, PROCESSING_MODULES=MODULES, **settings).assert_ended_well()

    pages = {
        record.url: words_of(record)
        for record in done.records()
        if record.type == "response" and record.status == 200 and not record.url.endswith("robots.txt")
    }
    assert pages.keys() == {web.web.url(page) for page in web.web.pages()}
    for url, words in pages.items():
        phrase = f'"{" ".join(words)}"'
        found = search(phrase, "--json", "--limit", "100", JOBDIR=done.path).told["hits"]
        begin = {hit["url"] for hit in found if tuple(hit["title"].split()[:3]) == words}
        assert url in begin
        assert begin == {other for other, title in pages.items() if title == words}
        site = url.split("/")[2].partition(":")[0]
        there = search(phrase, "--json", "--limit", "100", "--site", site, JOBDIR=done.path).told["hits"]
        assert {hit["url"].split("/")[2].partition(":")[0] for hit in there} == {site}


def test_a_store_whose_fields_nobody_finds_is_told_before_anything_begins(crawl):
    done = crawl(["http://a.test/"], ARCHIVE_SINKS=STORE)
    assert done.status == 2
    assert (
        "PROCESSING_MODULES: must have a module that finds text, such as webcrawl.processing.main_text.MainText; "
        f"{STORE} in ARCHIVE_SINKS needs it" in done.stderr
    )
    assert not done.path.exists()
