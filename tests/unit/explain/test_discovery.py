"""How a URL was found, by the queue and the logs; why it was not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.rows import each_row
from webcrawl.explain.discovery import (
    DROPPED,
    By,
    Discovery,
    LinkTo,
    Way,
    as_object,
    find_cut_pages,
    find_way,
    follow_redirects,
    rows,
    summarize_links,
)
from webcrawl.explain.logged_fetches import logged_fetches
from webcrawl.frontier.records import QUEUED, Kind, UrlEntry
from webcrawl.storage.inspection import UrlSnapshot
from webcrawl.urls.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

A, B, C, D = (f"http://{name}.test/" for name in "abcd")
LOG: list[dict[str, Any]] = [
    {"url": A, "kind": "page", "status": 200, "via": None, "depth": 0, "end": 1.0},
    {"url": B, "kind": "page", "status": 301, "via": A, "depth": 1, "end": 2.0, "location": "//c.test/%7e?"},
    {"url": f"{C}%7e?", "kind": "page", "status": 302, "via": B, "depth": 1, "end": 3.0, "location": D},
    {"url": D, "kind": "page", "status": 200, "via": f"{C}%7e?", "depth": 1, "end": 4.0},
    {"url": f"{D}x", "kind": "page", "status": 200, "via": D, "depth": 2, "end": 5.0},
    {"url": f"{D}list", "kind": "sitemap", "status": 200, "via": f"{D}robots.txt", "depth": 0, "end": 5.0},
    {"url": f"{D}listed", "kind": "page", "status": 200, "via": f"{D}list", "depth": 1, "end": 6.0},
    {"url": f"{D}from-afar", "kind": "page", "status": 200, "via": "http://w2.test/", "depth": 3, "end": 6.0},
    {"url": f"{A}loop", "kind": "page", "status": 302, "via": f"{A}loop", "end": 7.0, "location": "/loop"},
    {"url": f"{A}from-seed", "kind": "page", "status": 200, "via": f"{A}moved", "depth": 0, "end": 8.0},
    {"url": f"{A}moved", "kind": "page", "status": 302, "via": None, "end": 7.0, "location": "from-seed"},
]
"""Of a crawl from A: a link to B, which redirects to C and that to D, and so on."""


def lines_of(url: str) -> Iterable[Mapping[str, Any]]:
    return [line for line in LOG if line["url"] == url]


def found(url: str, entry: UrlEntry | None = None, log: list[dict[str, Any]] = LOG) -> Way | None:
    snapshot = UrlSnapshot(
        now=9.0,
        key=None,
        known=entry is not None,
        record=QUEUED,
        entry=entry,
        before=0,
        robots=None,
    )
    form = canonical(url)
    return find_way(form, snapshot if entry else None, logged_fetches(log, form), lines_of, canonical)


@each_row(
    ("url", "way"),
    [
        (A, Way(By.SEED, None, 0)),
        (B, Way(By.LINK, A, 1)),
        (f"{C}~", Way(By.REDIRECT, B, 1, (B,), A)),
        (D, Way(By.REDIRECT, f"{C}%7e?", 1, (B, f"{C}%7e?"), A)),
        (f"{D}x", Way(By.LINK, D, 2)),
        (f"{D}listed", Way(By.SITEMAP, f"{D}list", 1)),
        (f"{D}list", Way(By.SITEMAP, f"{D}robots.txt", 0)),
        (f"{D}from-afar", Way(None, "http://w2.test/", 3)),
        (f"{A}from-seed", Way(By.REDIRECT, f"{A}moved", 0, (f"{A}moved",), None)),
        (f"{A}loop", Way(By.REDIRECT, f"{A}loop", None, (f"{A}loop",), f"{A}loop")),
        (f"{A}unheard-of", None),
    ],
)
def test_the_log_tells_how_a_url_that_was_fetched_was_found(url: str, way: Way | None) -> None:
    assert found(url) == way


def test_what_is_queued_tells_it_itself_and_the_log_through_what() -> None:
    entry = UrlEntry(f"{D}y", "d.test", 1, depth=2, via=D)
    assert found(f"{D}y", entry) == Way(By.LINK, D, 2)
    elsewhere = UrlEntry(f"{D}y", "d.test", 1, depth=2, via="http://w2.test/", redirects=1)
    assert found(f"{D}y", elsewhere) == Way(By.REDIRECT, "http://w2.test/", 2, ("http://w2.test/",))
    listed = UrlEntry(f"{D}more", "d.test", 1, depth=0, via="http://w2.test/robots.txt", kind=Kind.SITEMAP)
    assert found(f"{D}more", listed) == Way(By.SITEMAP, "http://w2.test/robots.txt", 0)


def test_a_page_that_was_fetched_again_was_found_as_it_was_at_first() -> None:
    again = {"url": D, "kind": "page", "status": 200, "via": A, "depth": 7, "end": 99.0}
    assert found(D, log=[again, *LOG]) == found(D)


def link(page: str, withheld: str | None = None, at: float = 1.0, kind: str = "a") -> LinkTo:
    return LinkTo(page, at, kind, "words", "nofollow" if withheld == "rel" else "", withheld)


def test_links_are_counted_by_page_and_those_that_are_followed_come_first() -> None:
    told = summarize_links([link(A, "rel"), link(B), link(A, "page", 2.0), link(A, kind="img")])
    assert (told.number, told.withheld, told.whole) == (3, 1, True)
    assert [(one.page, one.type, one.withheld) for one in told.some] == [
        (B, "a", None), (A, "img", None), (A, "a", "page")
    ]  # fmt: skip
    assert not Discovery(links=told).is_withheld
    assert Discovery(links=summarize_links([link(A, "rel"), link(B, "page")])).is_withheld
    assert not Discovery(links=summarize_links([])).is_withheld
    many = summarize_links((link(f"{A}{number}", "rel") for number in range(50)), most=20)
    assert (many.number, many.whole, len(many.some)) == (20, False, 5)
    assert not Discovery(links=many).is_withheld


def test_of_pages_that_were_cut_those_of_the_host_are_told_first() -> None:
    lines = [{"url": f"{name}{number}", "cut": 9} for name in (B, A) for number in range(4)]
    told = find_cut_pages([*lines, {"url": C}, {"cut": 1}, {"url": C, "cut": None}], "a.test")
    assert told.number == 8
    assert told.some == (*(f"{A}{number}" for number in range(4)), f"{B}0")


def test_people_and_programs_are_told_the_same() -> None:
    def said(discovery: Discovery) -> list[tuple[str, str]]:
        return list(rows(discovery, lambda at: f"at {at:g}"))

    assert said(Discovery(found(D))) == [
        ("via", f"a redirect of {C}%7e?"), ("before", f"a redirect of {B}"), ("before", A), ("depth", "1")
    ]  # fmt: skip
    assert said(Discovery(found(A))) == [("via", "named by the operator"), ("depth", "0")]
    links = summarize_links([link(A, "rel"), link(B, "page"), link(C, "type")])
    assert said(Discovery(None, links, find_cut_pages([{"url": A, "cut": 1}], "a.test"))) == [
        ("links", "3 links to it in the link log, 3 not followed"),
        ("a", f'{A}, "words", rel=nofollow, not followed for its rel; fetched at 1'),
        ("a", f'{B}, "words", not followed: the page asks for nofollow; fetched at 1'),
        ("a", f'{C}, "words", not followed: its type is not in LINK_TYPES; fetched at 1'),
        ("cut", "1 page was not read to the end; links after that are not known"),
        ("cut page", A),
    ]
    many = find_cut_pages([{"url": A, "links_dropped": 7}, {"url": B, "cut": 1}], "a.test", DROPPED)
    assert said(Discovery(None, dropped=many)) == [
        ("dropped", "1 page had links over LINKS_PER_PAGE_MAX, or too long; these links are not known"),
        ("page", A),
    ]
    unread = summarize_links([link(A, "sitemaps", kind="sitemap")])
    assert said(Discovery(None, unread))[1] == (
        "sitemap", f'{A}, "words", not followed: SITEMAPS_FOLLOW is off; fetched at 1'
    )  # fmt: skip
    assert said(Discovery(None, summarize_links([]))) == [("links", "none to it in the link log")]
    told = as_object(Discovery(found(D), links))
    assert told is not None
    assert told["way"] == {
        "by": "redirect",
        "via": f"{C}%7e?",
        "depth": 1,
        "through": (B, f"{C}%7e?"),
        "page": A,
    }
    assert (told["links"]["withheld"], told["cut"]) == (3, None)
    assert as_object(None) is None


def onward(start: str, rules: Mapping[str, str], *lines: dict[str, Any]) -> str | None:
    """Where the first of these lines leads, in words."""
    told = follow_redirects(
        lines[0], lambda url: [line for line in lines if line["url"] == url], rules.get, limit=2
    )
    return None if told is None else told.in_words()


def test_a_redirect_says_where_it_led() -> None:
    page = {"url": C, "status": 200}
    first, second = ({"url": url, "status": 301, "location": to} for url, to in ((A, B), (B, C)))
    assert onward(C, {}, page) is None
    assert onward(B, {}, second, page) == f"it redirects to {C}"
    assert onward(A, {}, first, second, page) == f"it redirects to {B}, which leads to {C}"
    assert onward(A, {}, first, second) == f"it redirects to {B}; {C} has not been fetched"
    refused = f"it redirects to {B}, and the chain ended at {C}: robots"
    assert onward(A, {C: "robots"}, first, second) == refused
    cut = (
        f"it redirects to {B}, and the chain was cut after 2 redirects (REDIRECT_MAX_TIMES=2): "
        f"{C} was not requested"
    )
    assert onward(A, {B: "redirects"}, first, second) == cut
    around = {"url": B, "status": 301, "location": A}
    assert onward(A, {}, first, around) == f"it redirects to {B}, which leads to {A}"
