"""A page gives the links that a browser would find in it, whichever of the two parsers reads it.

Each page in tests/data/documents/pages is listed in expected.json with its title, its base and its links, and what
its meta elements say to all robots or to one called webcrawl.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.parsing import tree
from webcrawl.parsing.findings import SPELLINGS, PageFindings
from webcrawl.parsing.html import TITLE_MAX, PageInput, ParsedPage, extract
from webcrawl.parsing.links import FOLLOWED, TEXT_MAX, TYPES
from webcrawl.urls.resolve import CONTENT_MAX

PAGES = Path(__file__).parents[2] / "data/documents/pages"
EXPECTED = json.loads((PAGES / "expected.json").read_text("utf-8"))
URL = "http://a.example/dir/page"

# Markup that pages are strewn from: what opens and closes raw text, comments, foreign content, tables and quotes.
_NAMES = [
    "a",
    "a",
    "a",
    "area",
    "base",
    "link",
    "meta",
    "frame",
    "frameset",
    "iframe",
    "script",
    "style",
    "textarea",
    "title",
    "template",
    "svg",
    "math",
    "select",
    "option",
    "table",
    "tr",
    "td",
    "p",
    "b",
    "i",
    "div",
    "li",
    "form",
    "noscript",
    "plaintext",
    "xmp",
    "html",
    "body",
    "head",
    "h1",
    "object",
    "button",
]
tags = st.builds(
    "<{}{}{}>".format,
    st.sampled_from(["", "", "/"]),
    st.sampled_from(_NAMES),
    st.sampled_from(
        [
            "",
            " href=x",
            ' href="/y?a=1&b"',
            " href='z",
            " src=f",
            " name=robots content=none",
            "/",
            " =",
            ' content="0;url=/r"',
            "=",
        ]
    ),
)
soup = st.lists(
    tags
    | st.sampled_from(["<!--", "-->", "<![CDATA[", "]]>", '"', "&", "&#0;", "\0", "x"])
    | st.text(max_size=3)
)


def found(
    html: str | bytes, content_type: str = "text/html; charset=utf-8", types: frozenset[str] = FOLLOWED
) -> ParsedPage:
    body = html.encode() if isinstance(html, str) else html
    return extract(PageInput(body, URL, content_type, links_max=1000, types=types, agents=("WebCrawl",)))


@pytest.fixture(params=["as they are chosen", "tree", "stream"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Reads every page with the one parser or the other."""
    if request.param != "as they are chosen":
        monkeypatch.setattr(tree, "is_harmless", lambda *_: request.param == "tree")
    return str(request.param)


def test_every_page_of_the_cases_is_expected_to_give_something() -> None:
    assert set(EXPECTED) == {path.name for path in PAGES.iterdir()} - {"expected.json"}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_page_gives_its_links(name: str, parser: str) -> None:
    case = EXPECTED[name]
    types = TYPES if case["types"] == "all" else FOLLOWED
    document = found((PAGES / name).read_bytes(), case["content_type"], types)
    links = [list(link) for link in document.links]
    expected = case["links"]
    if parser == "tree" and name == "everywhere.html":
        # Lexbor keeps the content of templates to itself, so the tree is never given a page with a shadow root.
        expected = [link for link in expected if link[0] != "http://a.example/shadow"]
    assert (document.title, document.base, links) == (case["title"], case["base"], expected)
    assert document.robots == case.get("robots", [])


@pytest.mark.usefixtures("parser")
def test_a_link_under_3000_open_elements_is_found() -> None:
    assert len(found("<div>" * 3000 + '<a href="/deep">x</a>' + "</div>" * 3000).links) == 1


@pytest.mark.usefixtures("parser")
def test_no_more_links_are_looked_at_than_the_limit_says() -> None:
    html = "".join(f"<a href='/{number}'>x</a>" for number in range(50))
    document = extract(PageInput(html.encode(), URL, None, links_max=20))
    assert (len(document.links), document.links_dropped) == (20, 30)
    assert document.links[-1].url == "http://a.example/19"


@pytest.mark.usefixtures("parser")
def test_a_reservation_behind_many_elements_is_kept() -> None:
    many = "".join(f"<meta name=a{number} content=b>" for number in range(300))
    document = extract(
        PageInput(f"<head>{many}<meta name=TDM-Reservation content=1>".encode(), URL, "text/html", 10)
    )
    assert document.metas[-1] == ("tdm-reservation", "1")
    assert len(document.metas) == 201


@pytest.mark.usefixtures("parser")
def test_a_link_that_is_too_long_is_dropped_and_counted() -> None:
    document = found(f"<a href='/{'x' * 10_000}'>x</a><a href='/short'>x</a>")
    assert (len(document.links), document.links_dropped) == (1, 1)


@pytest.mark.usefixtures("parser")
def test_links_of_other_schemes_are_kept_apart() -> None:
    document = found(
        "<a href='mailto:a@b.test'> </a><a href='/1'>x</a><a href=' MAILTO:a@b.test' rel=nofollow> write  us</a>"
        "<area href='tel:1' alt=call><a href='http://['>broken</a><iframe src='about:blank'></iframe>"
        "<meta http-equiv=refresh content='0;url=intent://x'>"
    )
    assert [link.url for link in document.links] == ["http://a.example/1"]
    assert document.other_links == [
        ("mailto:a@b.test", "a", "write us", ""),
        ("tel:1", "area", "call", ""),
        ("about:blank", "iframe", "", ""),
        ("intent://x", "refresh", "", ""),
    ]


@pytest.mark.usefixtures("parser")
def test_of_what_holds_its_content_the_beginning_is_kept_however_long_it_is() -> None:
    image = f"<img src=' Data:image/png;base64,{'A' * 50_000}'><a href='JavaScript:{'x' * 50_000}'>x</a>"
    document = found(image + f"<a href='mailto:{'x' * 10_000}'>x</a>", types=TYPES)
    assert [(len(url), url[:11], kind) for url, kind, _, _ in document.other_links] == [
        (CONTENT_MAX, "data:image/", "img"),
        (CONTENT_MAX, "javascript:", "a"),
    ]
    assert document.links_dropped == 1
    assert found(image).other_links[0][1] == "a", "an image is no link unless LINK_TYPES says so"


def test_an_unfinished_document_keeps_what_came_before_the_cut() -> None:
    document = found('<a href="/1">x</a><a href="/2">cut</a><a href="/3')
    assert [link.url[-1] for link in document.links] == ["1", "2"]


def test_the_query_of_a_link_is_encoded_as_the_page_is() -> None:
    html = '<meta charset=windows-1251><a href="/ж?ж">ж</a>'.encode("cp1251")
    document = extract(PageInput(html, URL, None, links_max=10))
    assert document.encoding == "cp1251"
    assert document.links[0][:3] == ("http://a.example/%D0%B6?%E6", "a", "ж")


def test_a_byte_order_mark_is_no_text() -> None:
    assert found(b"\xef\xbb\xbf<title>x</title>").title == "x"
    assert found("\ufeff<title>x</title>".encode("utf-16-le")).title == "x"


@pytest.mark.usefixtures("parser")
def test_titles_and_texts_are_cut_to_one_clean_line() -> None:
    document = found(f"<title>{'a b ' * 100_000}\x01</title><a href=/x>{'c ' * 100_000}</a>")
    assert len(document.title) <= TITLE_MAX
    assert len(document.links[0].text) <= TEXT_MAX
    assert document.title.isprintable()


HOSTILE = {
    "nested": "<div>" * 50_000,
    "nested and closed": "<div>" * 50_000 + "</div>" * 50_000,
    "nested, other elements closed": "<div>" * 20_000 + "</p>" * 20_000,
    "opened, other elements closed": "<div></x>" * 50_000,
    "open formatting made anew": "<p>" + "".join(f"<b a={n}>" for n in range(900)) + "<p>x</p>" * 50_000,
    "open formatting in a small page": "<p>" + "".join(f"<b a={n}>" for n in range(420)) + "<p>x" * 420,
    "anchors in anchors": "<a href=x>some text<object>" * 30_000,
    "signs": "<" * (1 << 20),
    "beginnings of tags": "<a " * 300_000,
    "attributes": "<a " + " ".join(f"a{n}" for n in range(50_000)) + ">",
    "attributes that never end": "<a " + "a=' " * 250_000,
    "whitespace": " " * (1 << 20),
    "comment that never ends": "<!--" + "-x" * 500_000,
    "script that never ends": "<script>" + "<!--<script>" * 80_000,
    "null bytes": "\0" * (1 << 20),
    "title": "<title>" + "x" * (1 << 20),
    "templates": "<template>" * 100_000,
    "references": "&#9;&notit;" * 90_000,
    "srcset": "<img srcset='" + "a," * 400_000 + "'>",
}


@pytest.mark.slow
@each_row("name", HOSTILE)
def test_a_hostile_page_is_read_to_its_end(name: str) -> None:
    before, after = '<a href="/before">x</a>', '</b><a href="/after">x</a>'
    document = extract(
        PageInput((before + HOSTILE[name] + after).encode(), URL, None, links_max=1000, types=TYPES)
    )
    assert document.error is None
    assert document.links[0].url == "http://a.example/before"


@each_row("name", ["open formatting made anew", "attributes", "nested", "opened, other elements closed"])
def test_what_would_make_the_tree_explode_is_not_given_to_it(name: str) -> None:
    assert not tree.is_harmless(HOSTILE[name], tree.APART)


def test_an_ordinary_page_is_given_to_the_tree() -> None:
    item = (
        "<li class='item'><a href='/p/1'>Some <b>words</b></a> <p class='y'><span>and more</span></p></li>\n"
    )
    assert tree.is_harmless("<ul>" + item * 200 + "</ul>")


def test_a_process_that_parses_pages_gives_longer_ones_to_the_tree_than_a_loop() -> None:
    page = "<p>text</p>" * 2_000
    assert tree.is_harmless(page, tree.APART)
    assert not tree.is_harmless(page)
    assert not tree.is_harmless(page * 3, tree.APART)
    assert not tree.is_harmless("x" * (1 << 22), tree.APART)


def test_icons_do_not_count_as_formatting_that_may_be_left_open() -> None:
    icon = '<i class="icon icon-x" aria-hidden="true"></i><b id="x">1</b>'
    assert tree.is_harmless(icon * 700)
    wrong = [
        other
        for other in (
            '<i class="x">',
            '<i class="x"><p></i>',
            '<i class="x"></b>',
            '<i class="></i>',
            "<i class='x'>\"></i>",
            '<i class="x"y="></i>',
            '<i class=x"></i>">',
        )
        if tree.is_harmless(icon * 350 + other * 100 + "<p>" * 1_000)
    ]
    assert wrong == []


@given(st.binary(), st.sampled_from(["text/html", "text/html; charset=utf-16", "application/xhtml+xml", ""]))
def test_arbitrary_bytes_never_raise(body: bytes, content_type: str) -> None:
    found(body, content_type, TYPES)


@settings(max_examples=60)
@given(soup, st.booleans())
def test_tag_soup_never_raises_and_gives_requestable_links_in_text_that_can_be_stored(
    pieces: list[str], harmless: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "is_harmless", lambda *_: harmless)
        document = found("".join(pieces), types=TYPES)
    assert all(link.url.startswith(("http://", "https://")) for link in document.links)
    assert {link.type for link in document.links} <= TYPES
    assert len({link[:2] for link in document.links}) == len(document.links)
    repr(document.links).encode()
    document.title.encode()


@pytest.mark.usefixtures("parser")
def test_repeated_targets_and_fragments_do_not_count_for_the_limit() -> None:
    repeated = '<a href="x#1"></a>' + "".join(f'<a href="x#{number}" rel=ugc>x</a>' for number in range(300))
    spelled = (
        "<a href=x></a><a href=/dir/x></a><a href=//a.example/dir/x></a><a href=http://a.example/dir/x></a>"
    )
    html = f"{repeated}{spelled * 10}<a href=lost>lost</a><a href=more>more</a><a href=most>most</a>"
    document = extract(PageInput(html.encode(), URL, None, links_max=2))
    assert [(link.url, link.text, link.rel) for link in document.links] == [
        ("http://a.example/dir/x", "x", ""),
        ("http://a.example/dir/lost", "lost", ""),
    ]
    assert document.links_dropped == 2


def test_what_a_page_of_many_links_costs_is_bounded_by_the_limit() -> None:
    findings = PageFindings(FOLLOWED, 10)
    for number in range(10_000):
        findings.add(f"/{number}#x", "a")
    assert (len(findings.found), findings.dropped) == (10 * SPELLINGS, 10_000 - 10 * SPELLINGS)
    assert len(findings._places or ()) == 10 * SPELLINGS


def test_thousands_of_links_to_one_page_hide_no_other() -> None:
    body = b'<a href="x#1">x</a>' * 5_000 + b'<a href="lost">x</a>'
    assert [link.url for link in extract(PageInput(body, URL, None, links_max=5_000)).links] == [
        "http://a.example/dir/x", "http://a.example/dir/lost"
    ]  # fmt: skip
