"""Links resolve as the WHATWG URL standard says. The cases are derived from its text, not from a parser."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.urls.resolve import CONTENT_MAX, resolve, resolve_all, resolve_other_scheme

DATA = Path(__file__).parents[2] / "data"

GROUPS = json.loads((DATA / "urls_resolve.json").read_text("utf-8"))
CASES = [
    pytest.param(
        href, group["base"], group.get("encoding", "utf-8"), expected, id=f"{group['about'][:40]}: {href!a}"
    )
    for group in GROUPS
    for href, expected in group["cases"]
]

any_text = st.text() | st.text(alphabet=st.characters(categories=("Cs", "Ll", "Cc")))
pieces = [
    *"/?#.:@\\%;&=~-_ \t\n'\"|[]{}^`",
    "//",
    "..",
    "%2e",
    "%",
    "http:",
    "https://",
    "xn--",
    "a",
    "B",
    "é",
    "日",
    "1",
]
pieces += [
    "0x7f",
    "o.test",
    "[::1]",
    ":80",
    ":443",
    "user:pass@",
    "\x00",
    "\ud800",
    "ß",
    "\u3002",
    "index.html",
    "mailto:",
]
link_like = st.lists(st.sampled_from(pieces), max_size=12).map("".join)
page_urls = st.sampled_from(
    ["http://h.test/d/e?q", "https://u:p@h.test:8443/", "about:blank", "data:x", "http://["]
)
encodings = st.sampled_from(
    ["utf-8", "windows-1252", "shift_jis", "iso-2022-jp", "gb18030", "x-user-defined", "?"]
)


@each_row(("href", "base", "encoding", "expected"), CASES)
def test_a_link_resolves_as_a_browser_takes_it(href, base, encoding, expected):
    assert resolve(href, base, encoding) == expected


@each_row("group", GROUPS, ids=[group["about"] for group in GROUPS])
def test_the_links_of_a_page_resolve_like_single_ones(group):
    hrefs = [href for href, _ in group["cases"]]
    expected = [url for _, url in group["cases"]]
    assert resolve_all(hrefs, group["base"], group.get("encoding", "utf-8")) == expected


def test_a_page_without_links_has_none():
    assert resolve_all([], "http://h.test/") == []


@given(any_text | link_like, any_text | page_urls, encodings | any_text)
def test_no_text_whatsoever_makes_resolving_raise(href, base, encoding):
    resolve(href, base, encoding)


@given(st.lists(link_like | any_text, max_size=5), page_urls, encodings)
def test_the_shortcut_for_many_links_changes_no_result(hrefs, base, encoding):
    assert resolve_all(hrefs, base, encoding) == [resolve(href, base, encoding) for href in hrefs]


clean = st.text(alphabet="abzABZ019-._~!$&()*+,;=:@/?%", max_size=30)


@given(st.sampled_from(["/", "http://", "https://", "http://o.test/", "../", "../../../", "#", "x#"]), clean)
@example("../", "x/../y#z")
@example("../", "../a?b=../c")
@example("../", "//o.test/")
@example("../" * 20, "x")
@example("/", "a/.%2e/b")
@example("http://", "0x7f.xn--a/")
@example("http://", "o.test:80/")
def test_the_shortcut_takes_no_link_that_a_browser_would_change(beginning, rest):
    href = beginning + rest
    for base in ("http://h.test/d/e?q", "http://h.test/", "http://h.test//a/b//c/d"):
        assert resolve_all([href], base) == [resolve(href, base)]


@given(link_like | any_text, page_urls, encodings)
def test_a_resolved_url_is_ascii_without_fragment_and_credentials_and_resolves_to_itself(
    href, base, encoding
):
    url = resolve(href, base, encoding)
    if url is not None:
        assert url.isascii()
        assert url.startswith(("http://", "https://"))
        assert "#" not in url
        authority, slash, _ = url.partition("//")[2].partition("/")
        assert authority
        assert "@" not in authority
        assert slash
        assert resolve(url, "http://h.test/") == url


@each_row(
    ("href", "expected"),
    [
        ("mailto:a@b.test?subject=x#y", "mailto:a@b.test?subject=x#y"),
        (" \tMAILTO:A@b.test\n", "mailto:A@b.test"),
        ("tel:+49 1#2", "tel:+49 1#2"),
        ("java\nscript:void(0)", "javascript:void(0)"),
        ("FTP://F.Test:21/%7e/../x", "ftp://f.test/x"),
        ("ftp://f.test/?\u00e9", "ftp://f.test/?%E9"),
        ("mailto:a@b.test?subject=\u00e9", "mailto:a@b.test?subject=%C3%A9"),
        ("data:," + "x" * 500, ("data:," + "x" * 500)[:CONTENT_MAX]),
        ("javascript:" + "x" * 500, ("javascript:" + "x" * 500)[:CONTENT_MAX]),
        ("magnet:?xt=" + "x" * 500, "magnet:?xt=" + "x" * 500),
        ("/path", None),
        ("http://b.test/", None),
        ("ftp://", None),
        ("http://[", None),
        ("\ud800:", None),
    ],
)
def test_what_is_no_url_of_http_is_as_the_standard_writes_it(href, expected):
    assert resolve_other_scheme(href, "http://h.test/d/", "windows-1252") == expected


@given(any_text | link_like, any_text | page_urls, encodings | any_text)
def test_every_url_is_one_of_http_or_of_another_scheme_and_never_both(href, base, encoding):
    other = resolve_other_scheme(href, base, encoding)
    if other is not None:
        assert not other.startswith(("http://", "https://"))
        assert resolve(href, base, encoding) is None
        assert other.isascii()
        assert not set(other) & set("\t\n\r")
