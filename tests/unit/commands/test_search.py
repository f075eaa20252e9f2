"""``scrapy search``: what it finds in which crawls, how it shows it, and with which status it ends."""

from __future__ import annotations

import json

import pytest

from tests.search_server import SearchServer
from tests.unit.search.samples import change
from webcrawl.commands import search as command_module
from webcrawl.search.engine import Hit, Options, SearchResults
from webcrawl.search.marking import Marking
from webcrawl.search.opensearch import OpenSearch
from webcrawl.search.tantivy import Tantivy

TANTIVY = "webcrawl.search.tantivy.Tantivy"


@pytest.fixture
def search(command):
    return command("search")


def crawl(folder, *changes, stemmer="english"):
    """A JOBDIR with an index of these pages."""
    (folder / "search").mkdir(parents=True)
    Marking(TANTIVY, stemmer).claim(folder / "search")
    engine = Tantivy(folder / "search", Options(stemmer=stemmer))
    engine.begin()
    engine.put(changes)
    engine.finish()
    return folder


@pytest.fixture
def workers(tmp_path):
    """Two workers' folders; a page that both had was fetched later by the second."""
    one = [
        change("http://www.a.test/1", "Crawling is slow", "One"),
        change("http://b.test/", "crawls", at=1.0),
    ]
    two = [
        change("http://c.test/2", "Er crawlt", "Zwei", "de"),
        change("http://b.test/", "crawls again", at=5.0),
    ]
    return crawl(tmp_path / "w1", *one), crawl(tmp_path / "w2", *two, change("http://c.test/3", "crawled"))


def test_pages_of_all_workers_are_found_as_text(search, workers):
    said = search("crawl", *map(str, workers)).said
    assert "http://www.a.test/1\n   1970-01-01 00:00:02  en\n   Crawling is slow\n" in said
    assert said.count("http://b.test/") == 1
    assert "crawls again" in said
    assert said.endswith("\n3 pages\n")
    assert "\x1b" not in said


def test_sites_languages_and_a_limit(search, workers):
    told = search("crawl OR crawlt", "--json", "--limit", "2", *map(str, workers)).told
    assert told["count"] == 5, "a page that two have is noticed only if both show it"
    assert len(told["hits"]) == 2
    [hit] = search("crawlt", "--json", "--language", "DE", *map(str, workers)).told["hits"]
    assert hit["url"] == "http://c.test/2"
    assert hit["snippet"] == [["Er ", False], ["crawlt", True]]
    assert {"title": "Zwei", "language": "de", "fetched": 2.0}.items() <= hit.items()
    [hit] = search("crawl", "--json", "--site", "a.test", *map(str, workers)).told["hits"]
    assert hit["url"] == "http://www.a.test/1"
    shown = search("crawl", "--limit", "1", *map(str, workers)).said
    assert shown.endswith(" pages; the best 1 are shown\n")


def test_an_index_is_read_as_it_was_written(search, tmp_path):
    folder = crawl(tmp_path / "w1", change(text="Häuser und Maschinen", language="de"), stemmer="german")
    assert search("haus maschine", "--json", JOBDIR=folder).told["count"] == 1
    assert search("nothing", JOBDIR=folder).said == "Nothing was found.\n"


def test_what_a_page_says_steers_no_terminal():
    hostile = "\x1b]0;owned\x07 \u202e\n\ttext"
    hit = Hit("http://a.test/\x1b[2J", hostile, "e\x1bn", 1.0, 2.0, [(hostile, False), ("wo\x1brd", True)])
    plain = command_module.as_text(SearchResults([hit], 1), marked=False)
    assert all(character.isprintable() or character == "\n" for character in plain)
    marked = command_module.as_text(SearchResults([hit], 1), marked=True)
    assert marked.replace("\x1b[1m", "").replace("\x1b[0m", "") == plain
    assert "\x1b[1mwo\ufffdrd\x1b[0m" in marked
    json.loads(command_module.as_json(SearchResults([hit], 1)))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], 'nothing to search for; give scrapy search "two words"'),
        (["-- !!", "."], "the query has no word"),
        (['one "two', "."], "the query has a quotation mark that is not closed"),
        (["one", ".", "--site", "a b"], "the query 'a b' is no name of a site"),
        (["one", ".", "--limit", "0"], "--limit: must be a whole number from 1 to 1000, not 0"),
        (["one", ".", "-x"], "-x: is no option of this command"),
        (["one"], "which crawl? give the JOBDIRs of all its workers, or -s JOBDIR=DIR"),
        (["one", "nowhere"], "nowhere: is no folder"),
        (["one", ".."], "..: holds no search index; a crawl keeps one with webcrawl.search.store"),
    ],
    ids=str,
)
def test_what_is_wrong_is_told_in_a_line(search, tmp_path, monkeypatch, words, why):
    crawl(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    done = search(*(word if word != "-- !!" else "!!" for word in words))
    assert done.status == 2
    assert why in done.err
    assert done.err.count("\n") == 1


def test_an_index_of_another_engine_is_told(search, tmp_path):
    (tmp_path / "search").mkdir()
    Marking("my.Engine", "none").claim(tmp_path / "search")
    done = search("one", str(tmp_path))
    assert done.status == 2
    assert "was written with another engine; give -s SEARCH_ENGINE=my.Engine" in done.err


def test_an_index_of_another_version_is_told(search, tmp_path):
    (tmp_path / "search").mkdir()
    (tmp_path / "search/index.json").write_text(json.dumps({"engine": TANTIVY, "stemmer": "none"}))
    done = search("one", str(tmp_path))
    assert done.status == 2
    assert "was written by another version, which reads words otherwise; remove the folder" in done.err


def test_a_server_is_asked_once_for_all_workers(search, tmp_path):
    kind = "webcrawl.search.opensearch.OpenSearch"
    with SearchServer() as server:
        engine = OpenSearch(tmp_path, Options(server.url, "none"))
        engine.begin()
        engine.put([change("http://a.test/", "some words")])
        engine.finish()
        told = search("words", "--json", SEARCH_ENGINE=kind, SEARCH_URL=server.url).told
        assert [hit["url"] for hit in told["hits"]] == ["http://a.test/"]
        url = server.url
    done = search("words", SEARCH_ENGINE=kind, SEARCH_URL=url)
    assert done.status == 2
    assert "scrapy search: 127.0.0.1: " in done.err
    done = search("words", SEARCH_ENGINE=kind)
    assert done.status == 2
    assert f"SEARCH_URL: must be the URL of the server of {kind}" in done.err
