"""What strangers may send costs time in proportion to its length: counted in CPU seconds, with much to spare."""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING

import pytest

from tests.rows import each_row
from webcrawl.features.websub.discovery import advertised
from webcrawl.parsing.charset import detect_encoding
from webcrawl.parsing.html import PageInput, extract
from webcrawl.robots import page_directives
from webcrawl.robots.page_directives import RobotsTags

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "http://a.example/"


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds that some work takes."""
    began_at = thread_time()
    work()
    return thread_time() - began_at


@each_row("pattern", ["<a =", "<meta ", "<a b='x' c=", "<!", "<?xml encoding=", '<a ="'])
def test_tags_that_do_not_end_are_looked_through_once_for_a_charset(pattern: str) -> None:
    body = b"charset" + pattern.encode() * (4_000 // len(pattern))
    assert seconds(lambda: [detect_encoding(body, None) for _ in range(20)]) < 0.4


def test_a_charset_behind_a_tag_that_ends_is_found() -> None:
    assert detect_encoding(b'<a b="1"><meta charset=koi8-r>', None) == "koi8-r"
    assert detect_encoding(b"<a b=1 <meta charset=koi8-r>", None) == "utf-8"
    assert detect_encoding(b'<a b="1 <meta charset=koi8-r>', None) == "koi8-r"


@each_row("piece", ['<>\\"', '<a>;"', '<>;a="\\"', '<>"\\', "<", '<>;a=\\"', ";a="])
def test_a_link_header_of_quotes_that_do_not_end_is_read_once(piece: str) -> None:
    header = piece * (250_000 // len(piece))
    assert seconds(lambda: advertised([header], b"", None, URL)) < 2
    assert seconds(lambda: advertised([header + "\\"], b"", None, URL)) < 2


def test_a_link_header_says_the_same_as_before() -> None:
    header = '<http://h.example/>; title="a, \\"b\\""; rel="x hub", <http://s.example/>; rel=self'
    found = advertised([header], b"", None, URL)
    assert found is not None
    assert (found.topic, found.hubs) == ("http://s.example/", ("http://h.example/",))


@pytest.mark.parametrize("piece", [b"rel=rel =", b"hub ", b"rel=hub,"])
def test_a_document_full_of_words_of_a_hub_is_looked_through_once(piece: bytes) -> None:
    feed = b"<?xml version='1.0'?><rss><hub/>" + piece * (500_000 // len(piece))
    page = b"<p>hub" + piece * (60_000 // len(piece))
    assert seconds(lambda: advertised([], feed, "application/rss+xml", URL)) < 4
    assert seconds(lambda: advertised([], page, "text/html", URL)) < 2


def test_more_robots_tags_than_anybody_means_are_read_as_the_most_that_could_be_asked() -> None:
    long = "unavailable_after: ," * 20_000
    assert page_directives.of_header([long], ["webcrawl"], 0) == RobotsTags(noindex=True, nofollow=True)
    assert page_directives.of_meta(["all"] * 20_000, 0) == RobotsTags(noindex=True, nofollow=True)
    assert page_directives.of_header(["all"] * 20, ["webcrawl"], 0) == page_directives.NOTHING


def test_a_base_that_is_too_long_leaves_the_links_that_need_none() -> None:
    base = "/" + "x/" * 50_000
    body = f'<base href="{base}">{"<a href=y>y</a>" * 3_000}<a href=http://b.example/>b</a>'.encode()
    document = extract(PageInput(body, URL, "text/html", links_max=5_000))

    assert [link.url for link in document.links] == ["http://b.example/"]
    assert document.links_dropped == 3_000


def test_links_that_stand_in_each_other_have_texts_only_up_to_a_limit() -> None:
    body = b"".join(b"<object><a href=/%d>" % number for number in range(1_400)) + b"word " * 80_000
    document = extract(PageInput(body, URL, "text/html", links_max=5_000))

    assert len(document.links) == 1_400
    assert document.links[0].text.startswith("word word")
    assert document.links[-1].text == ""
