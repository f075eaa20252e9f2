"""Each behaviour sends the bytes it promises, and the truth says what a good client makes of them."""

from __future__ import annotations

import gzip
import re
import zlib
from typing import TYPE_CHECKING

import brotli
import pytest

from tests.fakeweb import FakeWeb, Request, Web
from tests.fakeweb.behaviours import BEHAVIOURS, is_trap
from tests.fakeweb.behaviours.codings import stored_brotli
from tests.fakeweb.config import Placement
from tests.fakeweb.geography import Page
from tests.rows import each_row
from tests.unit.fakeweb.wire import Received, get, receive

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.fakeweb import Site

    Start = Callable[[Site], FakeWeb]

_CLOSE = "Connection: close\r\n"
_QUICK = {"slow-start": "?seconds=0.05", "slow-body": "?seconds=0.1"}
_FIRST_FAILS = {"too-many", "unavailable", "flaky", "flaky-reset"}
_TOO_ODD_FOR_HTTP_CLIENT = {"early-hints", "header-no-colon"}


@pytest.fixture(scope="module")
def web() -> Web:
    return Web(1, 4, 40)


@pytest.fixture(scope="module")
def port(start: Start, web: Web) -> int:
    return start(web).port


def _plain_cases() -> list[str]:
    """Return the behaviours of which an ordinary client is sure to make what the truth says."""
    page = Page(0, 1)
    web = Web(1, 4, 40)
    names = []
    for name, shown in BEHAVIOURS.items():
        outcome = shown.outcome(web.stage(page, Placement(name)))
        if outcome.status is not None and not outcome.disputed:
            names.append(name)
    return [name for name in names if name not in _FIRST_FAILS | _TOO_ODD_FOR_HTTP_CLIENT]


@each_row("name", _plain_cases())
def test_an_ordinary_client_makes_of_it_what_the_truth_says(web: Web, port: int, name: str) -> None:
    path = f"/x/{name}{_QUICK.get(name, '')}"
    status, headers, raw = get(port, path)
    outcome = BEHAVIOURS[name].outcome(web.exhibit_stage(0, path))

    assert status == outcome.status
    mime = (headers.get("Content-Type") or "").partition(";")[0].strip().lower() or None
    assert mime == outcome.mime
    body = _decode(headers.get("Content-Encoding", ""), raw)
    if outcome.size is not None:
        assert len(body) == outcome.size


def _decode(coding: str, body: bytes) -> bytes:
    for name in reversed(coding.replace(" ", "").split(",")):
        if name in ("gzip", "x-gzip"):
            body = gzip.decompress(body)
        elif name == "br":
            body = brotli.decompress(body)
        elif name == "deflate":
            body = zlib.decompress(body) if body[:1] == b"x" else zlib.decompress(body, wbits=-15)
    return body


def _raw(port: int, name: str, query: str = "", *, limit: int = 10**7, patience: float = 5.0) -> Received:
    return receive(port, f"/x/{name}{query}", limit=limit, patience=patience, more=_CLOSE)


@each_row(
    ("name", "end", "begins", "ends"),
    [
        ("empty-reply", "closed", b"", b""),
        ("reset", "reset", b"", b""),
        ("reset-in-head", "reset", b"HTTP/1.1 200 OK\r\n", b"Content-Ty"),
        ("reset-in-body", "reset", b"HTTP/1.1 200 OK\r\n", b""),
        ("garbage", "closed", b"\x00\x01\x02", b"\xfe\xff"),
        ("other-protocol", "closed", b"SSH-2.0-", b"\r\n"),
        ("chunk-size-wrong", "closed", b"HTTP/1.1 200 OK\r\n", b"zz\r\nmore\r\n0\r\n\r\n"),
        ("chunks-cut", "closed", b"HTTP/1.1 200 OK\r\n", b"</html>\n\r\n"),
        ("extra-after", "closed", b"HTTP/1.1 200 OK\r\n", b"\r\n\r\nsecret"),
        ("status-999", "closed", b"HTTP/1.1 999 Unknown\r\n", b"</html>\n"),
        ("status-no-reason", "closed", b"HTTP/1.1 200\r\n", b"</html>\n"),
        ("status-word", "closed", b"HTTP/1.1 FINE OK\r\n", b"\r\n\r\n"),
        ("no-content", "closed", b"HTTP/1.1 204 No Content\r\n", b"\r\n"),
        ("not-modified", "closed", b"HTTP/1.1 304 Not Modified\r\n", b"\r\n\r\n"),
        ("early-hints", "closed", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 ", b"</html>\n"),
        ("only-hints", "closed", b"HTTP/1.1 103 Early Hints\r\n\r\n", b"\r\n\r\n"),
        ("upgrade", "closed", b"HTTP/1.1 101 ", b"\r\n\r\n"),
        ("header-no-colon", "closed", b"HTTP/1.1 200 OK\r\nthis is no header\r\n", b"</html>\n"),
        ("bare-lf", "closed", b"HTTP/1.1 200 OK\nContent-Type:", b"</html>\n"),
        ("http09", "closed", b"<!DOCTYPE html>", b"</html>\n"),
        ("http10", "closed", b"HTTP/1.0 200 OK\r\nContent-Type:", b"</html>\n"),
        ("http2-line", "closed", b"HTTP/7.3 200 OK\r\n", b"</html>\n"),
        ("blank-before", "closed", b"\r\n\r\nHTTP/1.1 200 OK\r\n", b"</html>\n"),
    ],
)
def test_the_bytes_are_as_promised(port: int, name: str, end: str, begins: bytes, ends: bytes) -> None:
    got = _raw(port, name)

    assert got.end == end
    assert got.data.startswith(begins)
    assert got.data.endswith(ends)
    assert bool(got.data) == bool(begins)


@pytest.mark.parametrize(
    ("name", "header", "difference"),
    [
        ("length-too-long", rb"Content-Length: (\d+)", 1000),
        ("length-too-short", rb"Content-Length: (\d+)", None),
    ],
)
def test_a_wrong_length_is_wrong_as_promised(
    port: int, name: str, header: bytes, difference: int | None
) -> None:
    got = _raw(port, name)
    announced = re.search(header, got.head)

    assert announced is not None
    assert int(announced[1]) == (len(got.body) // 2 if difference is None else len(got.body) + difference)


@each_row(
    ("name", "line"),
    [
        ("length-no-number", b"Content-Length: many"),
        ("length-negative", b"Content-Length: -1"),
        ("length-twice", b"Content-Length: 17"),
        ("header-odd", b"X-Folded: one\r\n two"),
        ("header-odd", b": nameless"),
        ("header-nul", b"X-Nul: a\0b"),
        ("header-cookies", b"Set-Cookie: c49=v; Path=/"),
        ("coding-unknown", b"Content-Encoding: rot13"),
        ("charset-wrong", b"Content-Type: text/html; charset=utf-8"),
        ("charset-unknown", b"Content-Type: text/html; charset=klingon-8"),
        ("redirect-dirty", b"Location:   /x/./ok?q=\xc3\xa9 |  "),
        ("redirect-foreign", b"Location: mailto:webmaster@example.com"),
    ],
)
def test_the_head_has_the_promised_line(port: int, name: str, line: bytes) -> None:
    assert b"\r\n" + line + b"\r\n" in _raw(port, name).head + b"\r\n"


@each_row("name", ["silent", "stall", "drip", "slow-head"])
def test_what_never_ends_does_not_end(port: int, name: str) -> None:
    got = receive(port, f"/x/{name}?seconds=0.01", limit=600, patience=0.2)

    assert got.end == ("waiting" if name in ("silent", "stall") else "limit")
    assert bool(got.data) == (name != "silent")
    assert (b"\r\n\r\n" in got.data) == (name in ("stall", "drip"))


@each_row("name", ["huge-announced", "huge-chunked", "huge-until-close", "huge-chunk"])
def test_a_huge_body_comes_as_fast_as_it_is_read(port: int, name: str) -> None:
    got = _raw(port, name, limit=5_000_000)

    assert got.end == "limit"
    assert (b"Content-Length: 4294967296" in got.head) == (name == "huge-announced")
    assert (b"chunked" in got.head) == (name in ("huge-chunked", "huge-chunk"))


def test_a_huge_body_ends_at_the_size_asked_for(port: int) -> None:
    assert len(_raw(port, "huge-announced", "?bytes=1000001").body) == 1_000_001
    assert _raw(port, "huge-chunked", "?bytes=100").body == b"64\r\n" + _first_hundred() + b"\r\n0\r\n\r\n"


def _first_hundred() -> bytes:
    return (b"<p>And there is more to come, and still more after that.</p>\n" * 2)[:100]


def test_large_heads_are_as_large_as_promised(port: int) -> None:
    assert len(_raw(port, "header-huge").head) > 100_000
    assert _raw(port, "header-many").head.count(b"\r\nX-Many-") == 5000


def test_a_gzip_bomb_is_whole_and_small(port: int) -> None:
    got = _raw(port, "gzip-bomb", "?megabytes=30")

    assert len(got.body) < 40_000
    assert gzip.decompress(got.body) == b" " * 30 * 2**20


def test_bad_gzip_cannot_be_unpacked(port: int) -> None:
    for name in ("gzip-bad", "gzip-cut", "coding-lie"):
        with pytest.raises((zlib.error, EOFError, gzip.BadGzipFile)):
            gzip.decompress(_raw(port, name).body)


@each_row("size", [0, 1, 100, 65535, 65536, 65537, 200_000])
def test_stored_brotli_is_brotli(size: int) -> None:
    assert brotli.decompress(stored_brotli(b"x" * size)) == b"x" * size


@pytest.mark.parametrize("name", ["too-many", "unavailable"])
def test_who_is_sent_away_with_retry_after_may_come_back(port: int, name: str) -> None:
    for form, pattern in (("seconds", r"2"), ("date", r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT")):
        status, headers, _ = get(port, f"/x/{name}?form={form}")
        assert status == (429 if name == "too-many" else 503)
        assert re.fullmatch(pattern, headers["Retry-After"])
        assert get(port, f"/x/{name}?form={form}")[0] == 200


def test_what_is_flaky_recovers_after_the_promised_failures(port: int) -> None:
    statuses = [get(port, "/x/flaky?times=2&code=502")[0] for _ in range(4)]

    assert statuses == [502, 502, 200, 200]
    assert [_raw(port, "flaky-reset").end for _ in range(2)] == ["reset", "closed"]


def _follow(port: int, path: str, most: int = 10) -> list[tuple[str, str]]:
    """Follow redirects and return each hop's host and path."""
    host, hops = "h0000.localhost", []
    for _ in range(most):
        hops.append((host, path))
        status, headers, _ = get(port, path, host)
        if status == 200:
            break
        location = re.fullmatch(r"http://([^:/]+):\d+(/.*)", headers["Location"])
        assert location is not None
        host, path = location[1], location[2]
    return hops


def test_a_chain_has_as_many_hops_as_asked_for(port: int) -> None:
    for hops in (1, 2, 6):
        assert len(_follow(port, f"/x/redirect-chain?hops={hops}")) == hops + 1


def test_a_chain_across_hosts_changes_hosts_and_comes_home(port: int) -> None:
    hosts = [host for host, _ in _follow(port, "/x/redirect-chain?hops=3&across=yes")]

    assert hosts == ["h0000.localhost", "h0001.localhost", "h0000.localhost", "h0000.localhost"]


def test_a_loop_never_arrives(port: int) -> None:
    hops = _follow(port, "/x/redirect-loop")

    assert len(hops) == 10
    assert len(set(hops)) == 4


def test_a_changing_page_changes_and_a_validator_knows(port: int) -> None:
    first, second = (get(port, "/x/changing")[2] for _ in range(2))
    assert first != second

    _, headers, _ = get(port, "/x/validators?every=2")
    tag = headers["ETag"]
    statuses = [get(port, "/x/validators?every=2", headers={"If-None-Match": tag})[0] for _ in range(2)]
    assert statuses == [304, 200]


@each_row("name", ["trap-path", "trap-calendar", "trap-session", "trap-query"])
def test_a_trap_leads_ever_deeper(web: Web, name: str) -> None:
    path, seen = f"/x/{name}", set()
    for _ in range(30):
        request = Request("GET", "http", "h0000.localhost", path, "", b"", b"", 1)
        body = web.answer(request).wire.decode()
        links = [link.replace("&amp;", "&") for link in re.findall(r'<a href="([^"]+)"', body)]
        path = links[0] if links[0].startswith("/") else path + links[0]
        assert is_trap(path)
        seen.add(path)

    assert len(seen) == 30


def test_the_index_of_exhibits_links_to_each(port: int) -> None:
    body = get(port, "/x/")[2].decode()

    assert set(re.findall(r'href="/x/([^"]+)"', body)) == set(BEHAVIOURS)
    assert get(port, "/x/nonsense")[0] == 404
