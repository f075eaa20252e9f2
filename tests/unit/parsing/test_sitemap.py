"""Sitemaps give the URLs they list, whatever their form, and broken ones what can be read.

Cases in tests/data/documents/sitemaps.toml.
"""

from __future__ import annotations

import gzip
import tomllib
import tracemalloc
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.parsing.sitemap import Listed, SitemapReading, facts
from webcrawl.parsing.text import w3c_seconds

CASES = tomllib.loads((Path(__file__).parents[2] / "data/documents/sitemaps.toml").read_text("utf-8"))["case"]

URL = "http://a.test/folder/sitemap.xml"

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
    size = options.pop("chunk", len(body) or 1)
    reading = SitemapReading(URL, **options)
    pages: list[Listed] = []
    sitemaps: list[Listed] = []
    for _ in reading.steps(body[start : start + size] for start in range(0, len(body), size)):
        more = reading.take()
        pages += more[0]
        sitemaps += more[1]
    more = reading.take()
    return reading, pages + more[0], sitemaps + more[1]


def read(body: bytes, **options: int) -> tuple[SitemapReading, list[str], list[str]]:
    reading, pages, sitemaps = read_with_dates(body, **options)
    return reading, [page.url for page in pages], [sitemap.url for sitemap in sitemaps]


@each_row("case", CASES, ids=lambda case: str(case["name"]))
def test_a_sitemap_gives_what_the_table_says(case: dict[str, Any]) -> None:
    body = case["body"].encode(case.get("encoding", "utf-8"))
    for _ in range(case.get("packed", 0)):
        body = gzip.compress(body)
    reading, pages, sitemaps = read(body)
    assert (pages, sitemaps) == (case.get("pages", []), case.get("sitemaps", []))
    assert (reading.error is not None) == case.get("broken", False), reading.error
    assert reading.found == len(pages) + len(sitemaps)


@each_row("case", CASES, ids=lambda case: str(case["name"]))
def test_what_a_sitemap_says_of_its_urls_goes_with_them(case: dict[str, Any]) -> None:
    body = case["body"].encode(case.get("encoding", "utf-8"))
    for _ in range(case.get("packed", 0)):
        body = gzip.compress(body)
    _, pages, sitemaps = read_with_dates(body)
    told = {one.url: facts(one.hints) for one in pages + sitemaps if one.hints is not None}
    assert told == case.get("told", {})


def test_what_is_said_stays_with_its_url_wherever_the_text_is_taken_apart() -> None:
    urls = [f"http://a.test/{number}" for number in range(2000)]
    items = [
        f"<url><lastmod>{1970 + number % 99}</lastmod><loc>{url}</loc></url>"
        for number, url in enumerate(urls)
    ]
    _, pages, _ = read_with_dates(f"<urlset>{''.join(items)}</urlset>".encode())
    assert [page.url for page in pages] == urls
    assert [facts(page.hints or "{}") for page in pages] == [
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
    body = b"http://a.test/1\n" * 1_000_000
    reading, pages, _ = read(gzip.compress(gzip.compress(body)), bytes_max=16_000, urls_max=2_000)
    assert (len(pages), reading.error) == (1_000, "more than 16000 bytes")


def test_of_a_damaged_packing_is_read_what_is_before_the_damage() -> None:
    random = Random(1)
    urls = [f"http://a.test/{random.random()}" for _ in range(5_000)]
    packed = gzip.compress("\n".join(urls).encode())
    whole = len(packed)
    for broken in (
        packed[:-9],
        packed[: whole // 2],
        packed[: whole // 2] + b"\xff" * 99 + packed[whole // 2 :],
    ):
        reading, pages, _ = read(broken)
        assert (reading.error or "").startswith("gzip: ")
        assert len(pages) > 2_300
        assert pages[:2_300] == urls[:2_300]
    assert read(packed + b"\0" * 600 + b"garbage")[1] == urls
    assert read(gzip.compress(b"http://a.test/1\n") + gzip.compress(b"http://a.test/2"))[1] == [
        "http://a.test/1",
        "http://a.test/2",
    ]


def test_it_asks_for_no_more_where_it_has_enough() -> None:
    asked: list[int] = []

    def chunks() -> Iterator[bytes]:
        for number in range(1000):
            asked.append(number)
            yield b"http://a.test/1\n" * 1024

    for reading in (SitemapReading(urls_max=10), SitemapReading(bytes_max=20_000)):
        asked.clear()
        assert list(reading.steps(chunks()))
        assert reading.is_over
        assert len(asked) <= 3


def test_memory_does_not_grow_with_the_document() -> None:
    url = (
        b"<url><loc>http://a.test/1</loc><image:image><image:loc>/1.png</image:loc></image:image></url>" * 10
    )
    for beginning in (
        b"<urlset>",
        b"<urlset><!--",
        b"<urlset><url><loc>",
        b"<urlset><url><loc><![CDATA[",
        b"<urlset a='",
    ):
        tracemalloc.start()
        reading = SitemapReading()
        for _ in reading.steps(chain([beginning], repeat(url, 400))):
            reading.take()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 250_000, beginning


@each_row("size", [1, 7])
@each_row("case", CASES, ids=lambda case: str(case["name"]))
def test_however_it_is_cut_into_chunks_a_sitemap_says_the_same(case: dict[str, Any], size: int) -> None:
    body = case["body"].encode(case.get("encoding", "utf-8"))
    for _ in range(case.get("packed", 0)):
        body = gzip.compress(body)
    with (
        patch("webcrawl.parsing.sitemap._PIECE", size),
        patch("webcrawl.parsing.sitemap._HEAD", len(body)),
    ):
        reading, pages, sitemaps = read_with_dates(body, chunk=size)
    whole = read_with_dates(body)
    assert (pages, sitemaps, reading.error) == (*whole[1:], whole[0].error)


def test_what_is_nested_too_deep_is_not_read_on() -> None:
    reading, pages, _ = read(b"<urlset><url><loc>/1</loc></url>" + b"<a>" * 100_000)
    assert (pages, reading.error) == (["/1"], "nested too deep")


@given(st.binary() | st.lists(pieces, max_size=40).map("".join).map(str.encode), st.booleans())
def test_nothing_makes_it_raise(body: bytes, packed: bool) -> None:
    reading, pages, sitemaps = read(gzip.compress(body) if packed else body, chunk=9)
    assert reading.found == len(pages) + len(sitemaps)
    assert reading.error is None or reading.error.isprintable()
    repr((pages, sitemaps)).encode()
