"""URLs of other schemes than http and https: one form each, and only those that the crawl fetches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.urls.canonical import canonical
from webcrawl.urls.politeness_key import PolitenessKey, get_host, get_origin, get_port
from webcrawl.urls.schemes import WEB, Schemes, requested_form, resolve_any

ALL = Schemes({"ftp": "/robots.txt", "ftps": "/robots.txt", "gopher": "/0/robots.txt", "gemini": None})

FORMS = {
    "ftp://EXAMPLE.org": "ftp://example.org/",
    "ftp://example.org:21/a/../b%2fc;type=i#part": "ftp://example.org/b%2fc;type=i",
    "ftp://me:secret@example.org/x": "ftp://example.org/x",
    "ftp://me@b:2121/a?b": "ftp://b:2121/a?b",
    "ftps://Example.ORG:990": "ftps://example.org/",
    "ftps://example.org:2990/./a": "ftps://example.org:2990/a",
    "gopher://EXAMPLE.org:70": "gopher://example.org/",
    "gopher://example.org/1/a b": "gopher://example.org/1/a%20b",
    "gopher://example.org?q": "gopher://example.org/?q",
    "gopher://B\u00fccher.example/1": "gopher://xn--bcher-kva.example/1",
    "gopher://127.1:0070/": "gopher://127.0.0.1/",
    "gopher://0x7f.1/": "gopher://127.0.0.1/",
    "gopher://[::0001]:7070/1": "gopher://[::1]:7070/1",
    "gemini://Example.org:1965/": "gemini://example.org/",
    "gemini://u@h.example:2000": "gemini://h.example:2000/",
}


@each_row(("written", "form"), FORMS.items())
def test_a_url_has_one_form(written, form):
    assert ALL.resolve(written, "about:blank") == form
    assert ALL.resolve(form, "about:blank") == form
    assert canonical(canonical(form)) == canonical(form)


@each_row(
    "written",
    ["gopher:x", "gopher:///x", "gopher://h:99999/", "gemini://a b/", "mailto:a@b.example", "gopher://%00/"],
)
def test_a_url_without_a_host_has_none(written):
    assert ALL.resolve(written, "about:blank") is None


def test_links_are_resolved_on_pages_of_their_scheme():
    assert ALL.resolve("../b", "gopher://h.example/1/a/c") == "gopher://h.example/1/b"
    assert ALL.resolve("b/", "ftp://h.example/a/") == "ftp://h.example/a/b/"
    assert ALL.resolve("//g.example/x", "gemini://h.example/") == "gemini://g.example/x"
    assert ALL.resolve("http://g.example", "gopher://h.example/") == "http://g.example/"


def test_only_schemes_of_the_crawl_are_taken():
    for url in FORMS:
        assert WEB.resolve(url, "about:blank") is None
    assert WEB.resolve("http://a.example", "about:blank") == "http://a.example/"
    assert WEB.followed("ftp://a.example/") is None
    assert ALL.followed("ftp://A.example") == "ftp://a.example/"
    assert ALL.followed("mailto:a@b.example") is None
    assert resolve_any("nntp://News.example/x", "about:blank") == "nntp://news.example/x"
    assert resolve_any("file://host/x", "about:blank") is None


def test_key_origin_and_port_are_those_of_the_host():
    key = PolitenessKey("domain")
    for url in ("ftp://f.example.org/a", "gopher://g.example.org:7070/1", "https://example.org/"):
        assert key.of_url(url) == "example.org"
    assert get_origin("ftp://a/x") == "ftp://a"
    assert get_origin("gopher://a.example:7070/1/x") == "gopher://a.example:7070"
    assert get_host("gopher://[::1]:7070/1") == "[::1]"
    ports = {
        "ftp://a/": 21,
        "ftps://a/": 990,
        "gopher://a/": 70,
        "http://a/": 80,
        "https://a/": 443,
        "other://a/": 0,
    }
    assert {url: get_port(url) for url in ports} == ports
    assert get_port("gopher://[::1]:7070/1") == 7070


def test_robots_txt_has_its_place_in_each_scheme():
    assert ALL.robots_url("ftp://a.example") == "ftp://a.example/robots.txt"
    assert ALL.robots_url("gopher://a.example:7070") == "gopher://a.example:7070/0/robots.txt"
    assert ALL.robots_url("https://a.example") == "https://a.example/robots.txt"
    assert ALL.robots_url("gemini://a.example") is None


@given(st.text(max_size=40), st.sampled_from(["ftp", "gopher", "gemini", "ftps"]))
def test_no_text_breaks_it_and_each_form_is_final(rest, scheme):
    form = ALL.resolve(f"{scheme}://{rest}", "about:blank")
    if form is not None:
        assert requested_form(form) == form
        assert form.startswith((f"{scheme}://", "http"))
        assert get_host(form)
        assert get_port(form) >= 0
        assert get_origin(form) + form[len(get_origin(form)) :] == form
