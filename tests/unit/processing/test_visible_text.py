"""The visible text of pages: nothing of it is lost, and what a page says is told apart from its boilerplate."""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random

from tests.recount import shown_words, words_of
from tests.rows import each_row
from webcrawl.processing.contract import Content
from webcrawl.processing.visible_text import VisibleText, main_markup, visible_text

CASES = tomllib.loads(
    Path(__file__).parents[2].joinpath("data/processing/visible_text.toml").read_text("utf-8")
)
WORDS = ("word", " ", "fsync ", "ab", "&amp;", "한국어", "\n", "一", "1", "<br>", "<a href=1>link</a>")
INLINE = ("b", "span", "code", "span class=menu")
BLOCKS = (
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
LISTED = ("<ul><li>{}<li>x</ul>", "<table><tr><td>{}</td><td>y</td></tr></table>", "<pre>{}</pre>")


def made(random: Random, depth: int = 0) -> str:
    """Some markup: words, and elements in elements."""
    choice = random.randrange(6)
    if depth > 4 or choice == 0:
        return random.choice(WORDS)
    inside = "".join(made(random, depth + 1) for _ in range(random.randrange(4)))
    if choice == 1:
        return random.choice(LISTED).format(inside) if "<pre" not in inside else inside
    name = random.choice(BLOCKS)
    return f"<{name}>{inside}</{name.split()[0]}>"


def inline(random: Random, depth: int = 0) -> str:
    """Words, and elements that part no words."""
    if depth > 2 or random.randrange(2):
        return random.choice(WORDS)
    name = random.choice(INLINE)
    return f"<{name}>{inline(random, depth + 1)}{inline(random, depth + 1)}</{name.split()[0]}>"


def read(body: str, mime: str = "text/html") -> VisibleText:
    return visible_text(Content("http://a.test/", 200, mime, "utf-8", {}, body.encode()))


@each_row("case", CASES["case"], ids=lambda case: case["name"])
def test_a_reader_sees(case):
    found = read(case["body"], case.get("mime", "text/html"))
    assert found.main.replace("\n", "|") == case["main"]
    assert found.headings == case.get("headings", [])
    assert found.boilerplate.replace("\n", "|") == case.get("boilerplate", "")


def test_every_visible_word_is_in_one_part_or_the_other():
    random = Random(13)
    for _ in range(300):
        body = "".join(random.choice((made, inline))(random) for _ in range(8))
        page = f"<!doctype html><html><head><title>x</title></head><body>{body}</body></html>"
        found = read(page)
        assert words_of(f"{found.main}\n{found.boilerplate}") == shown_words(page), page


def test_what_is_kept_for_markdown_has_no_boilerplate():
    markup = main_markup(
        Content(
            "http://a.test/", 200, "text/html", "utf-8", {}, b"<nav>Menu</nav><p>Some <b>text</b> there</p>"
        )
    )
    assert "Menu" not in markup
    assert "<p>Some <b>text</b> there</p>" in markup
