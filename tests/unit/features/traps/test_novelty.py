"""What a page says, and how much of it is news."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.features.traps import novelty
from webcrawl.features.traps.novelty import (
    FULL_AT,
    LOOKED_AT,
    PIECE,
    TEXT_MAX,
    Sketch,
    alike,
    page_shingles,
    same,
    words_in,
)


def says(html):
    return page_shingles(html.encode(), "utf-8").stretches


@each_row(
    ("html", "stretches"),
    [
        ("<p>One <b>Two</b> three", ("one", "two", "three")),
        ("<script>var x = 1;</script>Said<style>p{}</style><!-- not -->.", ("said", ".")),
        ("Said<script>never ends", ("said",)),
        ("May 12, 2031 at 10:30", ("may #, # at #:#",)),
        ("12.05.2031 or 12.5.", ("# or #.",)),
        ("9.99 EUR, 1,250.00 EUR, 17 pieces", ("9.99 eur, # eur, # pieces",)),
        ("call 5551234, 20310512, 1735689600, 12345", ("call 5551234, #, #, #",)),
        ("same<br>same", ("same",)),
        ("<p", ("<p",)),
        ("", ()),
    ],
)
def test_text_is_cut_at_tags_and_numbers_are_alike(html, stretches):
    assert says(html) == stretches


@given(
    st.lists(
        st.sampled_from(
            [
                "<p>",
                "<",
                ">",
                "Word, ",
                "two ",
                " 12.5 ",
                " 9.99 ",
                "\0",
                "\n",
                "stra\xdfe ",
                "<b",
                "_a." * 99,
            ]
        ),
        max_size=400,
    ),
    st.sampled_from([1, 60]),
)
def test_pieces_of_a_page_say_what_all_of_it_says(parts, times):
    html = "".join(parts) * times
    text = re.sub(r"<[^<>]*>", "\0", html[:LOOKED_AT].lower())
    cut = page_shingles(html.encode(), "utf-8")
    expected = [part.strip().replace("12.5", "#") for part in text.split("\0")]
    assert cut.stretches == tuple(dict.fromkeys(filter(None, expected)))
    assert cut.is_short == (len(text) <= TEXT_MAX)
    assert cut.words() == re.findall(r"[\w#]+(?:[.,]+[\w#]+)*", text[:TEXT_MAX])


@given(st.text(st.characters(max_codepoint=127)) | st.text())
def test_dots_and_commas_stand_within_words(text):
    assert words_in(text) == re.findall(r"[\w#]+(?:[.,]+[\w#]+)*", text)


def test_a_page_that_says_much_at_its_beginning_is_not_cut_to_its_end(monkeypatch):
    cut, text_of = [], novelty._blank_tags
    monkeypatch.setattr(novelty, "_blank_tags", lambda piece: cut.append(piece) or text_of(piece))
    text = " ".join(f"w{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(600))
    page = f"<p>{text}" + "<p>more" * PIECE
    Sketch().take(page_shingles(page.encode(), "utf-8"))
    assert sum(map(len, cut)) < 2 * PIECE


def test_files_that_are_shown_count_without_their_queries():
    body = (
        b'<IMG alt=x src="/A/1.jpg?v=2"><video src=/b.mp4></video><object data=\'c.pdf\'><img src="data:x">'
    )
    assert page_shingles(body, "utf-8").shown == {"/a/1.jpg", "/b.mp4", "c.pdf", "data:x"}


@given(st.binary(max_size=2000), st.sampled_from(["utf-8", "utf-16-le", "shift_jis", "windows-1252"]))
def test_no_body_makes_it_raise(body, encoding):
    Sketch().take(page_shingles(body, encoding))


@each_row(
    "piece",
    [
        "<",
        "<script",
        "<!--",
        "<img ",
        "1.",
        "1",
        "a1",
        "<a><b>",
        "\0",
        "<img src=",
        ".",
        "a.",
        "a ",
        "10:10 ",
        "<a href=" + "a" * 1999 + ">",
        "<a href=" + "a1" * 990 + ">",
        "<img src=src=",
        "<img src=?",
        "request id ",
        "<img alt=",
        "<b>a</b>",
    ],
)
def test_a_hostile_page_is_read_in_time(piece):
    # Whatever takes a time that grows with the square of the length would not end within the test's own patience.
    Sketch().take(page_shingles((piece * (4 * LOOKED_AT)).encode()[: 4 * LOOKED_AT], "utf-8"))


def test_what_was_said_before_is_no_news():
    sketch = Sketch()
    first = page_shingles(b"<p>a b c d e f<p>g h i<p>alpha beta", "utf-8")
    assert sketch.take(first).share == 1
    assert sketch.take(first) == (0, 0, 0)
    half = sketch.take(page_shingles(b"<p>a b c d e f<p>gamma delta epsilon zeta eta theta", "utf-8"))
    assert 0.3 < half.share < 0.7
    assert half.words == 6
    assert sketch.take(page_shingles(b"<p>theta eta zeta epsilon delta gamma", "utf-8")).words == 0


def test_a_sketch_forgets_what_was_said_long_ago():
    sketch = Sketch()
    early = [f"early{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(100)]
    first = page_shingles("".join(f"<p>{' '.join(early[n : n + 5])}" for n in range(95)).encode(), "utf-8")
    sketch.take(first)
    assert sketch.take(first).share == 0
    for number in range(4 * FULL_AT // 100):
        text = " ".join(f"w{chr(97 + number % 26)}{chr(97 + number // 26)}{chr(97 + n)}" for n in range(26))
        sketch.take(page_shingles((text + " " + text[::-1]).encode(), "utf-8"))
    assert sketch.take(first).share > 0.1


def test_pages_that_say_nearly_the_same_are_alike():
    paragraphs = [f"<p>paragraph {chr(97 + n)}" for n in range(20)]
    one, other = "".join(paragraphs), "".join([*paragraphs[:19], "<p>visitor x"])
    signatures = [page_shingles(html.encode(), "utf-8").signature() for html in (one, other, "<p>else", "")]
    assert alike(signatures[0], signatures[0])
    assert alike(signatures[0], signatures[1])
    assert same(signatures[0], signatures[0])
    assert not same(signatures[0], signatures[1])
    assert not same(signatures[3], signatures[3])
    assert not alike(signatures[0], signatures[2])
    assert not alike(signatures[3], signatures[3])
