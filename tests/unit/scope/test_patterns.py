"""Lists of expressions, looked for in all URLs of a page at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.scope.patterns import Pattern, Patterns, PatternsError

TEXTS = [
    r"[?&]C=[NM]",
    r"\?x=(?:a|b)$",
    r"\?x|y",
    r"[?&]?q",
    r"\??q",
    r"[?-B]1",
    r"[[:alpha:]]1",
    r"[]a]1",
    r"(?i)[ab]1",
    r"(\?|q)z",
    r"\.(?:[|(]|b)",
    r"[^?]x",
    r"\&{0,1}x",
    r"/a\|b",
]
URLS = st.text("?&=xyqabzCN1|/.(]-", max_size=6)


@given(st.lists(st.sampled_from(TEXTS), unique=True, max_size=3), st.lists(URLS, max_size=4))
def test_what_is_in_no_line_is_in_no_url(texts, urls):
    patterns = Patterns([Pattern(number, text, "") for number, text in enumerate(texts)])
    if patterns.are_in_no_line("\n".join(urls)):
        assert all(patterns.first(url) is None for url in urls)


def test_a_page_without_queries_is_seen_through_by_its_characters():
    patterns = Patterns([Pattern(1, r"[?&]a=1", ""), Pattern(2, r"\?b=(?:x|y)", "")])
    assert patterns.are_in_no_line("http://a.test/\nhttp://a.test/a=1")
    assert patterns.are_in_no_line("http://a.test/?c")
    assert not patterns.are_in_no_line("http://a.test/?b=y\nhttp://a.test/")
    assert patterns.first("http://a.test/?b=y") == Pattern(2, r"\?b=(?:x|y)", "")


@each_row(
    ("text", "signs"),
    [(r"[?&]C=[NM]", "?&"), (r"\?x=(?:a|b)$", "?"), (r"/a\|b", None), (r"\.(?:[|(]|b)", ".")]
    + [
        (text, None)
        for text in (r"\?x|y", r"[?&]?q", r"\??q", r"[?-B]1", r"[[:alpha:]]1", "(?i)[ab]1", r"\w")
    ],
)
def test_the_characters_that_all_finds_begin_with(text, signs):
    found = Patterns([Pattern(1, text, "")])._signs
    assert found == (None if signs is None else frozenset(signs))


def test_expressions_that_take_too_much_memory_together_are_named(monkeypatch):
    monkeypatch.setattr("webcrawl.scope.patterns.MEMORY_BYTES", 1 << 10)
    with pytest.raises(PatternsError, match="take more than"):
        Patterns([Pattern(1, "(a{1,500}){1,2}b", "")])
