"""The comparable form: what it makes equal, and that it is the same when it is made again."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.rows import each_row
from tests.unit.urls.test_resolve import link_like
from webcrawl.urls.canonical import DEFAULT, CanonicalRules, _rewrite, canonical, canonical_all
from webcrawl.urls.resolve import resolve

DATA = Path(__file__).parents[2] / "data"

GROUPS = json.loads((DATA / "urls_canonical.json").read_text("utf-8"))
CASES = [pytest.param(group["rules"], *case, id=case[0]) for group in GROUPS for case in group["cases"]]

rules = st.builds(CanonicalRules, *[st.booleans()] * 7)
escapes = st.lists(
    st.sampled_from(
        [
            "%",
            "4",
            "[",
            "%5b",
            "%5D",
            "|",
            "{",
            "^",
            "a",
            "C",
            "%41",
            "%2e",
            "%2F",
            "%c3",
            "%7e",
            "/",
            "//",
            "?",
            ".",
            "index.",
            "A",
        ]
    ),
    max_size=9,
).map("".join)


@each_row(("switches", "url", "expected"), CASES)
def test_urls_that_differ_only_in_spelling_have_one_form(switches, url, expected):
    assert canonical(url, CanonicalRules(**switches)) == expected


def test_many_urls_have_the_forms_of_single_ones():
    urls = ["http://h.test/", "http://h.test/%7e", "http://h.test/?"]
    assert canonical_all(urls) == [canonical(url) for url in urls]
    assert canonical_all([]) == []


def test_the_default_rules_are_those_of_no_arguments():
    assert CanonicalRules() == DEFAULT


@given(escapes | link_like, rules)
@example("%%32%65", DEFAULT)
def test_making_the_comparable_form_again_changes_nothing(path, switches):
    url = resolve("/" + path, "http://h.test./")
    if url is not None:
        once = canonical(url, switches)
        assert canonical(once, switches) == once


@given(escapes | link_like, rules)
def test_the_quick_look_overlooks_nothing_that_has_to_change(path, switches):
    url = resolve("http://h.test./" + path, "http://h.test/")
    if url is not None:
        assert canonical(url, switches) == _rewrite(url, switches)


@given(escapes | link_like, rules)
def test_the_comparable_form_is_a_url_on_the_same_machine(path, switches):
    url = resolve("/" + path, "http://h.test:8080/")
    if url is not None:
        form = canonical(url, switches)
        assert resolve(form, "http://h.test/") is not None
        assert form.startswith("http://") == url.startswith("http://")
