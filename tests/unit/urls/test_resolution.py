"""What resolving changed, part by part."""

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from tests.unit.urls.test_resolve import link_like
from webcrawl.urls.resolve import PartChange, changes, resolve


@each_row(
    ("written", "expected"),
    [
        ("http://h.test/a?b", []),
        ("HTTP://h.test/", [("scheme", "HTTP", "http")]),
        ("http:\\\\h.test\\a", [("slashes", "\\\\", "//"), ("path", "\\a", "/a")]),
        ("http://u:p@h.test/", [("credentials", "u:p", None)]),
        ("http://H.test:80", [("host", "H.test", "h.test"), ("port", "80", None), ("path", "", "/")]),
        ("https://h.test:8443/", []),
        ("http://0x7f.1/", [("host", "0x7f.1", "127.0.0.1")]),
        ("http://[::0001]:81/", [("host", "[::0001]", "[::1]")]),
        ("http://h.test/a/../b c", [("path", "/a/../b c", "/b%20c")]),
        ("http://h.test/?ü#f", [("query", "ü", "%C3%BC"), ("fragment", "f", None)]),
        (" http://h.\ttest/\n", [("space", " http://h.\ttest/\n", "http://h.test/")]),
    ],
)
def test_each_part_that_is_requested_otherwise_is_named(
    written: str, expected: list[tuple[str, ...]]
) -> None:
    resolved = resolve(written, "about:blank")
    assert resolved is not None
    assert changes(written, resolved) == [PartChange(*change) for change in expected]


def test_what_a_mere_host_lacks_is_added() -> None:
    assert changes("h.test", "http://h.test/") == [
        PartChange("scheme", None, "http"),
        PartChange("slashes", None, "//"),
        PartChange("path", "", "/"),
    ]


@given(link_like | st.text())
def test_what_was_not_changed_is_not_told(href: str) -> None:
    url = resolve(href, "about:blank")
    if url is not None:
        assert (changes(href, url) == []) == (href == url)
        assert changes(url, url) == []
