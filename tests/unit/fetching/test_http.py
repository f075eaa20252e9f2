"""What the handler promises of pages that come as they should, and of what it sends."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Address
from itertools import count
from time import time
from typing import Any

import pytest
from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse

from tests.rows import each_row
from tests.unit.fetching.lab import LOOPS, Client, Peer, answering, fetch_from, run, serving

HEAD = b"HTTP/1.1 200 Fine\r\ncontent-TYPE: text/html\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\n"
PAGE = HEAD + b"hello"


@pytest.mark.parametrize("loop", LOOPS)
def test_a_page_comes_back_as_scrapy_knows_responses(loop: str) -> None:
    fetched = fetch_from(answering(PAGE), "/a", loop=loop)

    response = fetched.response
    assert isinstance(response, HtmlResponse)
    assert response.url == fetched.request.url
    assert (response.status, response.body, response.protocol) == (200, b"hello", "HTTP/1.1")
    assert response.headers.getlist("X-A") == [b"1", b"2"]
    assert response.ip_address == IPv4Address("127.0.0.1")
    assert response.flags == []
    assert response.certificate is None
    assert fetched.request.meta["download_latency"] > 0


@pytest.mark.parametrize("loop", LOOPS)
def test_the_capture_has_the_bytes_of_both_heads_and_the_times(loop: str) -> None:
    sent: list[bytes] = []
    before = time()
    fetched = fetch_from(
        answering(PAGE, record=sent), "/a", method="PUT", body=b"put this", loop=loop, headers={"X-B": "ü"}
    )

    capture = fetched.meta.capture
    assert capture is not None
    assert capture.url == fetched.request.url
    assert capture.method == "PUT"
    assert capture.request_head == sent[0]
    assert capture.request_body == b"put this"
    assert capture.response_head == HEAD
    assert capture.payload == b"hello"
    assert capture.truncated is None
    assert capture.ip == "127.0.0.1"
    assert before <= capture.started_at <= capture.ended_at <= time()


def test_a_request_is_sent_as_it_was_made() -> None:
    sent: list[bytes] = []
    body = b"a=1&b=2"

    async def behave(peer: Peer) -> None:
        sent.append(await peer.request())
        sent.append(await peer.reader.readexactly(len(body)))
        await peer.send(PAGE)

    fetched = fetch_from(
        behave,
        "/form",
        method="POST",
        body=body,
        headers={
            "User-Agent": "crawler",
            "X-Many": ["1", "2"],
            "Content-Type": "text/x",
            "Evil": "a\r\nb: c",
        },
    )
    assert fetched.response is not None
    lines = sent[0].decode().split("\r\n")
    host = fetched.request.url.removeprefix("http://").removesuffix("/form")
    assert lines == [
        "POST /form HTTP/1.1",
        f"Host: {host}",
        "User-Agent: crawler",
        "X-Many: 1",
        "X-Many: 2",
        "Content-Type: text/x",
        "Evil: a b: c",
        "Accept-Encoding: gzip, deflate, br, zstd",
        "Connection: keep-alive",
        "Content-Length: 7",
        "",
        "",
    ]
    assert sent[1] == body


def test_headers_of_the_request_take_the_place_of_automatic_ones() -> None:
    sent: list[bytes] = []
    headers = {"Host": "other.example", "Accept-Encoding": "identity", "Connection": "close"}
    fetch_from(answering(PAGE, record=sent), headers=headers)
    assert sent[0].count(b"\r\n") == 5
    assert b"Host: other.example\r\nAccept-Encoding: identity\r\nConnection: close\r\n" in sent[0]


@each_row(
    ("path", "target"),
    [
        ("", "/"),
        ("?", "/?"),
        ("?q=1", "/?q=1"),
        ("/a?", "/a?"),
        ("/a/../b/./c", "/a/../b/./c"),
        ("/a//b", "/a//b"),
        ("/%7e|%41{x}", "/%7e|%41{x}"),
        ("/a#fragment", "/a"),
        ("/a?b#c", "/a?b"),
        ("/x y", "/x%20y"),
        ("/ü", "/%C3%BC"),
        ("/a?x=%2f&y=+&z=%zz", "/a?x=%2f&y=+&z=%zz"),
    ],
)
def test_the_url_is_fetched_byte_for_byte(path: str, target: str) -> None:
    sent: list[bytes] = []
    fetch_from(answering(PAGE, record=sent), path, meta={"verbatim_url": True})
    assert sent[0].split(b" HTTP/1.1")[0].decode() == f"GET {target}"


def test_credentials_in_the_url_are_not_sent() -> None:
    sent: list[bytes] = []

    async def test() -> None:
        async with serving(answering(PAGE, record=sent)) as site, Client() as client:
            fetched = await client.fetch(f"http://user:secret@127.0.0.1:{site.port}/a")
            assert fetched.response is not None
            assert f"Host: 127.0.0.1:{site.port}\r\n".encode() in sent[0]

    run(test())
    assert b"secret" not in sent[0]
    assert b"Authorization" not in sent[0]


@each_row(
    ("fields", "path", "body", "expected"),
    [
        (b"Content-Type: text/html", "/", b"x", HtmlResponse),
        (b"Content-Type: application/xhtml+xml;charset=x", "/", b"x", HtmlResponse),
        (b"Content-Type: application/rss+xml", "/", b"x", XmlResponse),
        (b"Content-Type: application/json", "/", b"x", JsonResponse),
        (b"Content-Type: text/plain", "/", b"x", TextResponse),
        (b"Content-Type: image/png", "/", b"\x89PNG\0\1", Response),
        (b"X: y", "/a.html", b"x", HtmlResponse),
        (b"X: y", "/", b"<html><p>x", HtmlResponse),
        (b"X: y", "/", b"\0\1\2", Response),
        (b"Content-Type: text/html\r\nContent-Encoding: gzip", "/a.html", b"\x1f\x8b", Response),
        (b"Content-Type: text/html\r\nContent-Encoding: utf-8", "/", b"x", HtmlResponse),
    ],
)
def test_the_response_has_the_class_that_its_body_has_after_decoding(
    fields: bytes, path: str, body: bytes, expected: type[Response]
) -> None:
    answer = b"HTTP/1.1 200 OK\r\n%b\r\nContent-Length: %d\r\n\r\n%b" % (fields, len(body), body)
    assert type(fetch_from(answering(answer), path).response) is expected


@each_row("status", [100 + 100, 301, 404, 418, 503, 600, 999])
def test_every_status_is_passed_on(status: int) -> None:
    answer = b"HTTP/1.1 %d\r\nContent-Length: 2\r\n\r\nok" % status
    response = fetch_from(answering(answer)).response
    assert response is not None
    assert (response.status, response.body) == (status, b"ok")


def test_a_redirect_is_not_followed_and_cookies_are_not_kept() -> None:
    sent: list[bytes] = []
    answer = b"HTTP/1.1 302 Found\r\nLocation: /b\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"

    async def test() -> None:
        async with serving(answering(answer, record=sent)) as site, Client() as client:
            for _ in range(2):
                fetched = await client.fetch(site.url())
                assert fetched.response is not None
                assert fetched.response.status == 302

    run(test())
    assert len(sent) == 2
    assert b"Cookie" not in sent[1]


@each_row(("method", "status"), [("HEAD", 200), ("HEAD", 404), ("GET", 204), ("GET", 304), ("HEAD", 304)])
def test_responses_without_a_body_end_with_their_head_and_leave_the_connection_usable(
    method: str, status: int
) -> None:
    answer = b"HTTP/1.1 %d X\r\nContent-Length: 500\r\nContent-Type: image/png\r\n\r\n" % status

    async def test() -> None:
        async with serving(answering(answer)) as site, Client() as client:
            for _ in range(2):
                fetched = await client.fetch(site.url(), method=method)
                assert fetched.response is not None
                assert (fetched.response.status, fetched.response.body) == (status, b"")
            assert site.connections == 1

    run(test())


@pytest.mark.parametrize("pieces", [1, 3, 1000])
def test_a_chunked_body_is_put_together(pieces: int) -> None:
    body = b"4;ext=1\r\nwiki\r\n05  \r\npedia\n0\r\nTrailer: x\r\n\r\n"
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + body
    step = len(answer) // pieces or 1
    parts = [answer[at : at + step] for at in range(0, len(answer), step)]

    async def behave(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.send(*parts)

    async def test() -> None:
        async with serving(behave) as site, Client() as client:
            for _ in range(2):
                fetched = await client.fetch(site.url())
                assert fetched.response is not None
                assert fetched.response.body == b"wikipedia"
                assert fetched.response.flags == []
            assert site.connections == 1

    run(test())


@pytest.mark.parametrize("version", [b"HTTP/1.0", b"HTTP/1.1"])
def test_a_body_that_the_connections_end_ends_is_complete(version: bytes) -> None:
    answer = version + b" 200 OK\r\nContent-Type: text/html\r\n\r\nup to the end"
    fetched = fetch_from(answering(answer, close=True))
    assert fetched.response is not None
    assert fetched.response.body == b"up to the end"
    assert fetched.response.flags == []
    assert fetched.response.protocol == version.decode()
    assert fetched.meta.capture is not None
    assert fetched.meta.capture.truncated is None


def test_a_fetch_does_not_write_over_the_capture_of_the_request_it_was_copied_from() -> None:
    async def test() -> None:
        async with serving(answering(PAGE)) as site, Client() as client:
            first = await client.fetch(site.url("/1"), {"lease_id": 7, "depth": 3})
            capture = first.meta.capture
            second = await client.fetch(first.request.replace(url=site.url("/2")))
            assert first.meta.capture is capture
            assert second.meta.capture is not capture
            assert second.meta.depth == 3

    run(test())


def test_an_answer_before_the_whole_request_was_sent_counts_and_ends_the_connection() -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(PAGE)
        await asyncio.sleep(0.2)

    async def test() -> None:
        async with serving(behave) as site, Client() as client:
            fetched = await client.fetch(site.url(), method="POST", body=b"x" * 20_000_000)
            assert fetched.response is not None
            assert fetched.response.body == b"hello"
            again = await client.fetch(site.url())
            assert again.response is not None
            assert site.connections == 2

    run(test())


@pytest.mark.parametrize(
    "kwargs",
    [
        {"headers": {"Bad Name": "x"}},
        {"method": "GE T"},
        {"meta": {"proxy": "socks5://127.0.0.1:1"}},
    ],
)
def test_what_cannot_be_sent_is_unsupported(kwargs: dict[str, Any]) -> None:
    fetched = fetch_from(answering(PAGE), **kwargs)
    assert fetched.word == "unsupported"


@each_row("url", ["http://a:99999/", "http://127.1/", "http:///x", "http://[::1/"])
def test_urls_without_a_usable_host_are_unsupported(url: str) -> None:
    async def test() -> None:
        async with Client() as client:
            fetched = await client.fetch(url, meta={"verbatim_url": True})
            assert fetched.word == "unsupported"
            assert fetched.meta.capture is not None

    run(test())


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/", "/cut"])
def test_a_clock_that_is_set_back_meanwhile_ends_no_request_before_its_start(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    seconds = count(2e9, -3600)
    monkeypatch.setattr("webcrawl.fetching.http.time", lambda: next(seconds))
    behaviour = answering(PAGE) if path == "/" else answering(b"HTTP/1.1 200 OK\r\nContent-Le")

    fetched = fetch_from(behaviour, path)
    capture = fetched.meta.capture
    assert capture is not None
    assert (fetched.error is None) is (path == "/")
    assert capture.started_at <= capture.ended_at < capture.started_at + 600
