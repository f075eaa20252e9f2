"""Each robots.txt is sent as promised, and forbids in the truth what it forbids in its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from protego import Protego

from tests.fakeweb import FakeWeb, Web
from tests.fakeweb.robots import KEEP_PRIVATE, LIMIT_BYTES, ROBOTS
from tests.rows import each_row
from tests.unit.fakeweb.wire import get, receive

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fakeweb import Site

    Start = Callable[[Site], FakeWeb]

_PATHS = ("/", "/private/1.html", "/private/view?view=full&id=3", "/news/1.html", "/shop/1.html", "/shop/2/")
_READABLE = (
    "robots-allow",
    "robots-empty",
    "robots-forbid",
    "robots-private",
    "robots-delay",
    "robots-agent",
    "robots-wildcard",
    "robots-sitemap",
    "robots-html",
    "robots-mime",
    "robots-latin1",
)


@pytest.fixture(scope="module")
def port(start: Start) -> int:
    return start(Web(1, 4, 40)).port


@each_row("name", _READABLE)
def test_the_truth_agrees_with_the_text(port: int, name: str) -> None:
    status, _, body = get(port, f"/x/{name}")
    rules = Protego.parse(body.decode("latin-1"))

    assert status == 200
    for path in _PATHS:
        assert ROBOTS[name].forbids(path, {}) == (not rules.can_fetch(path, "webcrawl"))


@each_row(
    ("name", "text"),
    [
        ("robots-bom", b"\xef\xbb\xbf" + KEEP_PRIVATE),
        ("robots-utf16", b"\xff\xfeU\0s\0e\0r\0"),
        ("robots-cr", b"User-agent: *\rDisallow: /private/\r"),
        ("robots-nul", b"\0\0\nUser-agent: *\n\0\nDisallow: /private/\n\0\n"),
        ("robots-delay-splits", b"User-agent: somebody\nCrawl-delay: 1\nUser-agent: *\n"),
        ("robots-html", b"<!DOCTYPE html>"),
    ],
)
def test_odd_texts_are_as_odd_as_promised(port: int, name: str, text: bytes) -> None:
    assert get(port, f"/x/{name}")[2].startswith(text)


def test_a_huge_one_forbids_everything_only_beyond_the_limit(port: int) -> None:
    body = get(port, "/x/robots-huge")[2]

    assert len(body) > 7 * LIMIT_BYTES
    assert body.index(b"Disallow: /\n") > LIMIT_BYTES


def test_one_of_all_sizes_never_ends(port: int) -> None:
    assert receive(port, "/x/robots-endless", limit=2_000_000).end == "limit"


@pytest.mark.parametrize(("name", "query", "status"), [("missing", "", 404), ("missing", "?status=403", 403)])
def test_a_missing_one_allows_everything(port: int, name: str, query: str, status: int) -> None:
    assert get(port, f"/x/robots-{name}{query}")[0] == status
    assert not ROBOTS[f"robots-{name}"].forbids("/private/", {})


@pytest.mark.parametrize(("query", "status"), [("", 500), ("?status=503", 503), ("?status=429", 429)])
def test_an_error_forbids_everything(port: int, query: str, status: int) -> None:
    assert get(port, f"/x/robots-error{query}")[0] == status
    assert ROBOTS["robots-error"].forbids("/", {})


@pytest.mark.parametrize(
    ("name", "end"), [("robots-silent", "waiting"), ("robots-reset", "reset"), ("robots-garbage", "closed")]
)
def test_no_answer_forbids_everything(port: int, name: str, end: str) -> None:
    got = receive(port, f"/x/{name}", patience=0.2)

    assert got.end == end
    assert not got.data.startswith(b"HTTP/")
    assert ROBOTS[name].forbids("/", {})


@pytest.mark.parametrize("across", ["yes", "no"])
def test_a_chain_ends_at_a_real_one(port: int, across: str) -> None:
    path, host, hops = f"/x/robots-redirect?hops=6&across={across}", "h0002.localhost", 0
    while True:
        status, headers, body = get(port, path, host)
        if status == 200:
            break
        host, _, path = headers["Location"].removeprefix("http://").partition("/")
        host, path, hops = host.partition(":")[0], "/" + path, hops + 1

    assert (hops, body) == (6, KEEP_PRIVATE)
    assert (host != "h0002.localhost") == (across == "yes")


def test_a_flaky_one_recovers(port: int) -> None:
    assert [get(port, "/x/robots-flaky?times=2")[0] for _ in range(3)] == [503, 503, 200]
