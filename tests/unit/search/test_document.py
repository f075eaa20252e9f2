"""What a finished request changes in an index."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from tests.unit.search.samples import URL, entry
from webcrawl.search.document import Document, IndexChange, index_change, searchable_sites


def test_a_page_that_was_fetched_can_be_found():
    assert index_change(entry()) == IndexChange(URL, 2.0, Document("A title", "Some words.", "en"))
    only_text = index_change(entry(title=None, text="x" * 3_000_000))
    assert only_text is not None
    assert only_text.document == Document("", "x" * 3_000_000, "en")


def test_headings_and_boilerplate_are_kept_apart():
    told = entry()
    told.fields = {"boilerplate": "Prev Up Home", "headings": ["One", "Two"]}
    assert index_change(told) == IndexChange(URL, 2.0, Document("", "", None, "One\nTwo", "Prev Up Home"))


@pytest.mark.parametrize(
    ("written", "read"),
    [("soft\u00adhyphen zero\u200bwidth", "softhyphen zerowidth"), ("u\u0308ber", "\u00fcber"), ("ｶﾞ", "ガ")],
)
def test_words_are_kept_as_they_are_typed(written, read):
    told = index_change(entry(title=None, text=written))
    assert told is not None
    assert told.document is not None
    assert told.document.text == read


def test_a_line_of_an_earlier_version_is_read():
    line = b'["http://a.test/", 2.0, "A title", "Some words", "en"]'
    assert IndexChange.of_line(line).document == Document("A title", "Some words", "en")


@each_row(
    "said",
    [
        {"status": 404},
        {"status": 410},
        {"noindex": True},
        {"withheld": True},
        {"withheld": True, "status": 304},
        {"duplicate_of": "http://a.test/"},
        {"title": None, "text": None},
    ],
    ids=str,
)
def test_what_is_not_to_be_found_goes_if_it_was_in(said):
    assert index_change(entry(**said)) == IndexChange(URL, 2.0, None)


@each_row(
    "said",
    [
        {"status": 304},
        {"status": 500},
        {"refusal": "challenge"},
        {"status": 301},
        {"status": None, "error": "timeout"},
        {"kind": "robots"},
        {"kind": "sitemap"},
    ],
    ids=str,
)
def test_what_says_nothing_of_a_page_changes_nothing(said):
    assert index_change(entry(**said)) is None


@each_row(
    ("url", "sites"),
    [
        ("https://www.Example.org:8080/x", ["www.example.org", "example.org", "org"]),
        ("http://localhost/", ["localhost"]),
        ("http://10.0.0.1/", ["10.0.0.1"]),
        ("http://[::1]:80/", ["::1"]),
        ("http://[broken/", []),
        ("mailto:me", []),
    ],
)
def test_a_page_is_of_its_host_and_of_all_that_this_is_below(url, sites):
    assert searchable_sites(url) == sites


@given(st.text(), st.text(), st.text(), st.floats(0, 1e10))
def test_a_change_is_one_line_and_comes_back(url, title, text, at):
    told = IndexChange(url, at, Document(title, text, None))
    line = told.line()
    assert line.splitlines() == [line]
    read = IndexChange.of_line(line)
    kept = [each.encode("utf-8", "replace").decode() for each in (url, title, text)]
    assert (read.url, read.document, read.at) == (kept[0], Document(kept[1], kept[2], None), at)
