"""From the bytes of a robots.txt to its lines."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.robots.rules import RobotsRules
from webcrawl.robots.text import MAX_BYTES, MAX_SITEMAPS, decode, product_token, product_tokens, read

DATA = Path(__file__).parents[2] / "data" / "robots"
BODIES: list[dict[str, Any]] = tomllib.loads((DATA / "bodies.toml").read_text("utf-8"))["body"]


@each_row("case", BODIES, ids=lambda case: case["name"])
def test_bytes_of_any_encoding_are_read(case: dict[str, Any]) -> None:
    text = decode(case["body"].encode(case["encoding"]), case.get("max_bytes", MAX_BYTES))
    rules = RobotsRules(text, "foobot")
    assert [path for path in case.get("refused", []) if rules.allows(path)] == []
    assert [path for path in case.get("allowed", []) if not rules.allows(path)] == []


def test_half_a_megabyte_is_read_and_no_more() -> None:
    head = b"User-agent: *\n"
    filler = b"#" * (MAX_BYTES - len(head) - len(b"\nDisallow: /x\n")) + b"\n"
    rules = RobotsRules(decode(head + filler + b"Disallow: /x\nDisallow: /y\n"), "foobot")
    assert not rules.allows("/x")
    assert rules.allows("/y")


@settings(deadline=None)
@given(st.binary(max_size=300), st.integers(0, 300))
def test_any_bytes_can_be_decoded(body: bytes, max_bytes: int) -> None:
    text = decode(body, max_bytes)
    assert "\0" not in text
    assert len(text) <= max_bytes
    read(text, "foobot")


pieces = st.sampled_from(
    [
        b"User-agent",
        b"Disallow",
        b"Allow",
        b"Crawl-delay",
        b"Sitemap",
        b":",
        b": *",
        b": foobot",
        b": /x",
        b" ",
        b"#",
    ]
)
ends = st.sampled_from([b"\n", b"\r", b"\r\n", b"\0", b"\n\n"])
bodies = st.lists(pieces | ends | st.binary(max_size=4), max_size=30).map(b"".join)


@settings(deadline=None)
@given(bodies, st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"]))
def test_what_was_read_reads_the_same_when_it_is_written_down_and_read_again(
    body: bytes, mark: bytes
) -> None:
    """As from the storage after a restart, and as a file of nothing but what counts."""
    text = decode(mark + body)
    reading = read(text, "foobot")
    assert decode(text.encode("utf-8", "surrogatepass")) == text
    delay = reading.crawl_delay_seconds
    written = ["User-agent: foobot", *map(str, reading.rules)]
    written += [] if delay is None else [f"Crawl-delay: {delay:.17f}"]
    written += [f"Sitemap: {sitemap}" for sitemap in reading.sitemaps]
    again = read("\n".join(written), "foobot")
    assert [str(rule) for rule in again.rules] == [str(rule) for rule in reading.rules]
    assert again.sitemaps == reading.sitemaps
    assert again.crawl_delay_seconds == delay


@settings(deadline=None)
@given(st.binary(max_size=200).map(lambda tail: b"User-agent: *\nDisallow: /x\n#" + tail))
def test_no_bytes_behind_a_rule_take_it_back(body: bytes) -> None:
    if body.count(0) < 8:
        assert any(rule.pattern == "/x" for rule in read(decode(body), "foobot").rules)


@each_row(
    ("user_agent", "token"),
    [
        ("webcrawl/0.1 (+https://example.org/bot)", "webcrawl"),
        ("webcrawl", "webcrawl"),
        ("My_Crawl-er2/1.0", "My_Crawl-er2"),
        ("webcrawl (like Gecko)", "webcrawl"),
        ("Mozilla/5.0 (compatible; FooBot/2.1; +http://foo.example/bot.html)", "FooBot"),
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (compatible; foobot/1.0)", "foobot"),
        ("Mozilla/5.0 (X11; Linux x86_64)", "Mozilla"),
        ("foobot (compatible; barbot)", "foobot"),
        ("Mozilla/5.0 (X11; Linux x86_64) locations/1.0 (+https://a.example) framework/2.19", "locations"),
        (
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; foobot/2.1; +http://foo.example) "
            "Chrome/W.X.Y.Z Safari/537.36",
            "foobot",
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 "
            "Safari/605.1.15 (foobot/0.1; +http://foo.example/bot)",
            "foobot",
        ),
        (
            "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/41.0.2272.96 Mobile Safari/537.36",
            "Mozilla",
        ),
        ("Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0", "Mozilla"),
        ("", ""),
        ("(+https://example.org)", ""),
        ("ボット", ""),
    ],
)
def test_the_product_token_is_the_crawlers_bare_name(user_agent: str, token: str) -> None:
    assert product_token(user_agent) == token


def test_a_crawler_has_the_names_of_all_its_user_agents_each_once() -> None:
    assert product_tokens("bot/1.0", "") == ("bot",)
    assert product_tokens("bot/1.0", "Bot") == ("bot",)
    assert product_tokens("bot/1.0", "Mozilla/5.0 (compatible; other)") == ("bot", "other")
    assert product_tokens("bot/1.0", "*") == ("bot", "")


def test_a_rule_that_stands_twice_is_kept_once_with_its_first_line() -> None:
    reading = read("User-agent: *\nDisallow: /x\nDisallow: /x\nAllow: /x\n", "foobot")
    assert [(str(rule), rule.line) for rule in reading.rules] == [("Disallow: /x", 2), ("Allow: /x", 4)]


def test_lines_are_counted_as_the_file_has_them() -> None:
    reading = read("# one\r\n\r\nUser-agent: *\rDisallow: /x", "foobot")
    assert [rule.line for rule in reading.rules] == [4]


def test_the_number_of_sitemaps_is_bounded() -> None:
    text = "".join(f"Sitemap: https://example.com/{n}.xml\n" for n in range(2 * MAX_SITEMAPS))
    assert len(read(text, "foobot").sitemaps) == MAX_SITEMAPS
