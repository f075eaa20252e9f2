"""The digest of main text: of pages that say the same, and of no others."""

import asyncio

import pytest

from tests.rows import each_row
from webcrawl.processing.contract import Content
from webcrawl.processing.pool import Pool, PoolOptions
from webcrawl.processing.text_digest import PATH, TextDigests, text_digest

PARAGRAPH = "<p>The mirror weighs two tons and was ground over eleven months, in a hall without a window.</p>"


def page(body, title="A page", mime="text/html"):
    text = f"<!doctype html><title>{title}</title><body><nav><a href='/'>Home</a></nav><main>{body}</main>"
    return Content("http://a.test/page", 200, mime, None, {"content-type": mime}, text.encode())


def digests(*pages):
    async def all_of_them():
        texts = TextDigests(Pool(PoolOptions(("tests.unit.processing.hostile.Does", PATH), 1, 10.0, 0, 1)))
        try:
            return [(await texts.of(each)).digest for each in pages]
        finally:
            texts.close()

    return asyncio.run(all_of_them())


@each_row("same", ["one  two", " one\ntwo\t", "one\u00a0two", "one\r\n\r\n two"])
def test_white_space_does_not_count(same):
    assert text_digest(same) == text_digest("one two")
    assert len(text_digest(same)) == 16


def test_how_a_letter_is_composed_does_not_count():
    assert text_digest("u\u0308ber") == text_digest("\u00fcber")


@each_row("other", ["one", "onetwo", "two one", "One two", "one two.", "one 2"])
def test_everything_else_counts(other):
    assert text_digest(other) != text_digest("one two")


@each_row("text", ["", " \n\u00a0", "...", "\u2014 | \u2014", "\u200b"])
def test_what_has_neither_letter_nor_digit_is_no_text(text):
    assert text_digest(text) == b""


def test_what_is_no_character_is_digested_too():
    assert len(text_digest("a\ud800")) == 16


@pytest.mark.slow
def test_pages_that_differ_around_their_text_have_the_same_digest():
    one, around, other, none, plain = digests(
        page(PARAGRAPH),
        page(f"{PARAGRAPH}\n", title="Another"),
        page(PARAGRAPH.replace("two", "three")),
        page(""),
        page(PARAGRAPH, mime="text/plain"),
    )
    assert one == around
    assert len(one) == 16
    assert other != one
    assert none == plain == b""
