"""Sitemaps give the URLs they list, whatever their form, and broken ones what can be read.

Cases in tests/data/documents/sitemaps.toml.
"""

from __future__ import annotations

import gzip
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.documents.dates import w3c_seconds
from webcrawl.documents.listed import Listed, facts
from webcrawl.documents.sitemap import MAX_BYTES, SitemapReading, unpacked

CASES = tomllib.loads((Path(__file__).parents[2] / "data/documents/sitemaps.toml").read_text("utf-8"))["case"]

pieces = st.sampled_from(
    [
        *("<urlset>", "</urlset>", "<url>", "</url>", "<loc>", "</loc>", "<sitemap>", "</sitemap>", "<item>"),
        *(
            "<link href='/x'/>",
            "<lastmod>2026-01-01</lastmod>",
            "<priority>",
            "<entry>",
            "http://a.test/",
            "&amp;",
            "&",
            "<![CDATA[",
            "]]>",
            "<!--",
            "-->",
            "\n",
        ),
        *(
            "<!DOCTYPE rss [",
            "<!ENTITY a 'b'>",
            "]>",
            "&a;",
            "<?xml version='1.0' encoding='utf-16'?>",
            "\0",
            "<",
        ),
    ]
)


def read_with_dates(body: bytes, **options: int) -> tuple[SitemapReading, list[Listed], list[Listed]]:
    body, _ = unpacked(body, MAX_BYTES)
    reading = SitemapReading(body, **options)
    pages: list[Listed] = []
    sitemaps: list[Listed] = []
    for _ in reading.steps():
        more = reading.take()
        pages += more[0]
        sitemaps += more[1]
    more = reading.take()
    return reading, pages + more[0], sitemaps + more[1]


def read(body: bytes, **options: int) -> tuple[SitemapReading, list[str], list[str]]:
    reading, pages, sitemaps = read_with_dates(body, **options)
    return reading, [page.url for page in pages], [sitemap.url for sitemap in sitemaps]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_a_sitemap_gives_what_the_table_says(case: dict[str, Any]) -> None:
    body = case["body"].encode(case.get("encoding", "utf-8"))
    for _ in range(case.get("packed", 0)):
        body = gzip.compress(body)
    reading, pages, sitemaps = read(body)
    assert (pages, sitemaps) == (case.get("pages", []), case.get("sitemaps", []))
    assert (reading.error is not None) == case.get("broken", False), reading.error
    assert reading.found == len(pages) + len(sitemaps)


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_what_a_sitemap_says_of_its_urls_goes_with_them(case: dict[str, Any]) -> None:
    body = case["body"].encode(case.get("encoding", "utf-8"))
    for _ in range(case.get("packed", 0)):
        body = gzip.compress(body)
    _, pages, sitemaps = read_with_dates(body)
    told = {one.url: facts(one.told) for one in pages + sitemaps if one.told is not None}
    assert told == case.get("told", {})


def test_what_is_said_stays_with_its_url_wherever_the_text_is_taken_apart() -> None:
    urls = [f"http://a.test/{number}" for number in range(2000)]
    items = [
        f"<url><lastmod>{1970 + number % 99}</lastmod><loc>{url}</loc></url>"
        for number, url in enumerate(urls)
    ]
    _, pages, _ = read_with_dates(f"<urlset>{''.join(items)}</urlset>".encode())
    assert [page.url for page in pages] == urls
    assert [facts(page.told or "{}") for page in pages] == [
        {"lastmod": w3c_seconds(str(1970 + number % 99))} for number in range(2000)
    ]


def test_no_more_urls_are_taken_than_the_limit_says() -> None:
    body = b"<urlset>" + b"<url><loc>http://a.test/</loc></url>" * 5000 + b"</urlset>"
    for text in (body, b"http://a.test/\n" * 5000):
        reading, pages, _ = read(text, urls_max=100)
        assert (len(pages), reading.found, reading.dropped) == (100, 100, True)


def test_a_url_of_any_length_is_dropped_and_not_the_next() -> None:
    long = "http://a.test/" + "x" * 1_000_000
    assert read(f"<urlset><url><loc>{long}</loc></url><url><loc>/1</loc></url></urlset>".encode())[1] == [
        "/1"
    ]
    assert read(f"{long}\nhttp://a.test/1\n".encode())[1] == ["http://a.test/1"]


def test_a_packed_bomb_is_unpacked_up_to_the_limit() -> None:
    body, _ = unpacked(gzip.compress(bytes(10_000_000)), 1_000_000)
    assert len(body) == 1_000_000
    assert unpacked(gzip.compress(b"http://a.test/1\n" * 1000)[:-20], 1_000_000)[1] is not None


def test_what_is_nested_too_deep_is_not_read_on() -> None:
    reading, pages, _ = read(b"<urlset><url><loc>/1</loc></url>" + b"<a>" * 100_000)
    assert (pages, reading.error) == (["/1"], "nested too deep")


@given(st.binary() | st.lists(pieces, max_size=40).map("".join).map(str.encode), st.booleans())
def test_nothing_makes_it_raise(body: bytes, packed: bool) -> None:
    reading, pages, sitemaps = read(gzip.compress(body) if packed else body)
    assert reading.found == len(pages) + len(sitemaps)
    assert reading.error is None or reading.error.isprintable()
    repr((pages, sitemaps)).encode()
