"""The visible text of pages: nothing of it is lost, and what a page says is told apart from its boilerplate."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.recount import shown_words, words_of
from webcrawl.processing.content import Content
from webcrawl.processing.visible_text import VisibleText, main_markup, visible_text

CASES = tomllib.loads(
    Path(__file__).parents[2].joinpath("data/processing/visible_text.toml").read_text("utf-8")
)
WORDS = st.sampled_from(
    ["word", " ", "fsync ", "ab", "&amp;", "한국어", "\n", "一", "1", "<br>", "<a href=1>link</a>"]
)


def _elements(inside: st.SearchStrategy[str], *begins: str) -> st.SearchStrategy[str]:
    return st.builds(
        lambda begin, parts: f"<{begin}>{''.join(parts)}</{begin.split()[0]}>",
        st.sampled_from(begins),
        st.lists(inside, max_size=4),
    )


INLINE = st.recursive(
    WORDS, lambda inside: _elements(inside, "b", "span", "code", "span class=menu"), max_leaves=4
)
BLOCKS = st.recursive(
    INLINE,
    lambda inside: (
        _elements(
            inside,
            "div",
            "nav",
            "footer",
            "section",
            "main",
            "article",
            "div class=sidebar",
            "div id=header",
            "div hidden",
        )
        | inside.map("<ul><li>{0}<li>x</ul>".format)
        | inside.map("<table><tr><td>{0}</td><td>y</td></tr></table>".format)
        | INLINE.map("<h1>{0}</h1>".format)
    ),
    max_leaves=12,
)


def read(body: str, mime: str = "text/html") -> VisibleText:
    return visible_text(Content("http://a.test/", 200, mime, "utf-8", {}, body.encode()))


@pytest.mark.parametrize("case", CASES["case"], ids=lambda case: case["name"])
def test_a_reader_sees(case):
    found = read(case["body"], case.get("mime", "text/html"))
    assert found.main.replace("\n", "|") == case["main"]
    assert found.headings == case.get("headings", [])
    assert found.boilerplate.replace("\n", "|") == case.get("boilerplate", "")


@given(st.lists(BLOCKS, max_size=6).map("".join))
def test_every_visible_word_is_in_one_part_or_the_other(body):
    page = f"<!doctype html><html><head><title>x</title></head><body>{body}</body></html>"
    found = read(page)
    assert words_of(f"{found.main}\n{found.boilerplate}") == shown_words(page)


def test_what_is_kept_for_markdown_has_no_boilerplate():
    markup = main_markup(
        Content(
            "http://a.test/", 200, "text/html", "utf-8", {}, b"<nav>Menu</nav><p>Some <b>text</b> there</p>"
        )
    )
    assert "Menu" not in markup
    assert "<p>Some <b>text</b> there</p>" in markup
