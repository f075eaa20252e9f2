"""What people type to find pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.search.engine import LONGEST, MOST, Query, QueryError, read

CASES = json.loads((Path(__file__).parents[2] / "data/search_queries.json").read_text(encoding="utf-8"))


@each_row(("text", "required", "excluded"), CASES["good"])
def test_words_phrases_choices_and_exclusions(text, required, excluded):
    assert read(text) == Query(tuple(map(tuple, required)), tuple(excluded))


@each_row(("text", "why"), CASES["bad"])
def test_a_query_that_cannot_be_understood_says_why(text, why):
    with pytest.raises(QueryError) as caught:
        read(text)
    assert str(caught.value) == why


def test_a_query_has_a_length():
    with pytest.raises(QueryError, match=f"longer than {LONGEST}"):
        read("a" * (LONGEST + 1))
    with pytest.raises(QueryError, match=f"more than {MOST} words"):
        read("a " * (MOST + 1))


def test_a_site_is_read_as_documents_have_it():
    assert read("a", site=" WWW.Example.org. ", language="EN").site == "www.example.org"
    assert read("a", site="bücher.example", language="EN").site == "xn--bcher-kva.example"
    assert read("a", language="EN").language == "en"
    with pytest.raises(QueryError, match="is no name of a site"):
        read("a", site="https://example.org/")


@given(st.text(max_size=60))
def test_whatever_is_typed_is_a_query_or_says_why_it_is_none(text):
    try:
        query = read(text)
    except QueryError:
        return
    assert all(any(map(str.isalnum, one)) for choice in query.required for one in choice)
