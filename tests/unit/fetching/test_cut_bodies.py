"""Bodies that are too long, too slow, unwanted or cut off: what came is kept and marked, nothing hangs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scrapy.exceptions import ResponseDataLossError

from tests.rows import each_row
from tests.unit.fetching.lab import LOOPS, Client, Fetched, Peer, answering, fetch_from, run, serving
from webcrawl.archive.capture import Capture

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
OPEN = b"HTTP/1.1 200 OK\r\n\r\n"


def length(number: int, more: bytes = b"") -> bytes:
    """A head that announces that many bytes."""
    return b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n" % (more, number)


def kept(fetched: Fetched) -> tuple[bytes, list[str], str | None]:
    """The body, the flags and the mark in the capture; the capture's payload must be the body."""
    response, capture = fetched.response, fetched.meta.capture
    assert response is not None
    assert isinstance(capture, Capture)
    assert capture.payload == response.body
    assert capture.response_head.endswith(b"\r\n\r\n")
    return response.body, response.flags, capture.truncated


@each_row("loop", LOOPS)
@each_row(
    "answer",
    [
        length(1001) + b"x" * 1001,
        length(5000) + b"x" * 5000,
        CHUNKED + b"3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n",
        CHUNKED + b"1\r\nx\r\n" * 1001 + b"0\r\n\r\n",
        OPEN + b"x" * 1001,
    ],
    ids=["length+1", "length", "one chunk", "many chunks", "open"],
)
def test_a_body_over_the_limit_is_cut_at_it(answer: bytes, loop: str) -> None:
    fetched = fetch_from(answering(answer), settings={"DOWNLOAD_MAXSIZE": 1000}, loop=loop)
    assert kept(fetched) == (b"x" * 1000, ["truncated"], "length")


@pytest.mark.parametrize(
    "answer",
    [
        length(1000) + b"x" * 1000,
        CHUNKED + b"3e8\r\n" + b"x" * 1000 + b"\r\n0\r\n\r\n",
        OPEN + b"x" * 1000,
    ],
)
def test_a_body_of_exactly_the_limit_is_whole(answer: bytes) -> None:
    fetched = fetch_from(answering(answer, close=True), settings={"DOWNLOAD_MAXSIZE": 1000})
    assert kept(fetched) == (b"x" * 1000, [], None)


@each_row(
    ("settings", "facts", "meta", "size"),
    [
        ({"DOWNLOAD_MAXSIZE": 10}, {}, {}, 10),
        ({"DOWNLOAD_MAXSIZE": 10}, {"maxsize": 20}, {}, 20),
        ({"DOWNLOAD_MAXSIZE": 10}, {"maxsize": 20}, {"download_maxsize": 30}, 30),
        ({"DOWNLOAD_MAXSIZE": 10}, {"maxsize": 0}, {}, 50),
        ({"DOWNLOAD_MAXSIZE": 0}, {}, {}, 50),
    ],
)
def test_the_nearest_limit_counts(
    settings: dict[str, Any], facts: dict[str, Any], meta: dict[str, Any], size: int
) -> None:
    fetched = fetch_from(answering(length(50) + b"x" * 50), settings=settings, facts=facts, meta=meta)
    assert kept(fetched)[0] == b"x" * size


def test_an_endless_body_is_cut_and_the_server_is_told() -> None:
    told = asyncio.Event()

    async def behave(peer: Peer) -> None:
        await peer.request()
        try:
            await peer.send(OPEN)
            while True:
                await peer.send(b"x" * 4096)
        except ConnectionError:
            told.set()
            raise

    async def test() -> None:
        async with serving(behave) as site, Client(DOWNLOAD_MAXSIZE=50_000) as client:
            assert kept(await client.fetch(site.url())) == (b"x" * 50_000, ["truncated"], "length")
            async with asyncio.timeout(60):
                await told.wait()

    run(test())


@each_row("loop", LOOPS)
@each_row(("pieces", "body"), [((), b""), ((b"a", b"b"), b"ab")])
@each_row("head", [length(100), CHUNKED.replace(b"chunked", b"identity"), OPEN])
def test_a_body_that_does_not_end_in_time_is_kept_as_far_as_it_came(
    head: bytes, pieces: tuple[bytes, ...], body: bytes, loop: str
) -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(head, *pieces, pause=0.01)
        await peer.gone()

    # The body is there before the time is over, if not in so little time then in more.
    for seconds in (0.15, 1, 5, 25):
        fetched = fetch_from(behave, meta={"download_timeout": seconds}, loop=loop)
        if fetched.response is not None and fetched.response.body == body:
            break
    assert kept(fetched) == (body, ["truncated"], "time")


@each_row("loop", LOOPS)
@each_row("reset", [False, True])
@each_row(
    ("answer", "body"),
    [
        (length(100), b""),
        (length(100) + b"half", b"half"),
        (CHUNKED + b"4\r\nhalf\r\n", b"half"),
        (CHUNKED + b"ff\r\nhalf", b"half"),
        (CHUNKED + b"4\r\nhalf\r\n1", b"half"),
    ],
)
def test_a_body_that_is_cut_off_is_kept_as_far_as_it_came(
    answer: bytes, body: bytes, reset: bool, loop: str
) -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer)
        if reset:
            await asyncio.sleep(0.02)
            peer.reset()

    assert kept(fetch_from(behave, loop=loop)) == (body, ["truncated", "dataloss"], "disconnect")


def test_a_reset_at_the_end_of_an_open_body_means_that_something_is_missing() -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(OPEN + b"some")
        await asyncio.sleep(0.02)
        peer.writer.transport.get_extra_info("socket").setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")
        peer.writer.transport.abort()

    assert kept(fetch_from(behave)) == (b"some", ["truncated", "dataloss"], "disconnect")


def test_chunks_that_only_lack_the_end_of_their_trailer_are_whole() -> None:
    fetched = fetch_from(answering(CHUNKED + b"4\r\nhalf\r\n0\r\n", close=True))
    assert kept(fetched) == (b"half", [], None)


@pytest.mark.parametrize(
    ("settings", "meta"),
    [({"DOWNLOAD_FAIL_ON_DATALOSS": True}, {}), ({}, {"download_fail_on_dataloss": True})],
)
def test_whoever_asks_for_an_exception_on_lost_data_gets_it(
    settings: dict[str, Any], meta: dict[str, Any]
) -> None:
    fetched = fetch_from(answering(length(100) + b"half", close=True), settings=settings, meta=meta)
    assert isinstance(fetched.error, ResponseDataLossError)
    assert fetched.word == "reset"
    assert fetched.meta.capture is not None
    assert fetched.meta.capture.payload == b"half"


@each_row(
    "bad", [b"zz\r\n", b"-4\r\n", b"\r\n", b"4halfx\r\n", b"f" * 17 + b"\r\n", b"1" * 9000, b"0x4\r\nhalf"]
)
def test_broken_chunks_leave_what_came_before_them(bad: bytes) -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(CHUNKED + b"4\r\ngood\r\n" + bad)
        await peer.gone()

    assert kept(fetch_from(behave)) == (b"good", ["truncated"], "unspecified")


def test_a_chunk_longer_than_announced_leaves_what_came_before() -> None:
    fetched = fetch_from(answering(CHUNKED + b"4\r\ngoodbye\r\n0\r\n\r\n"))
    assert kept(fetched) == (b"good", ["truncated"], "unspecified")


def test_chunks_that_are_broken_from_the_start_are_no_response() -> None:
    fetched = fetch_from(answering(CHUNKED + b"<html>\r\n"))
    assert fetched.word == "protocol"


HTML = ("text/*", "application/xhtml+xml")


@each_row(
    ("fields", "wanted", "read"),
    [
        (b"Content-Type: text/html; charset=utf-8\r\n", HTML, True),
        (b"Content-Type: TEXT/Html\r\n", HTML, True),
        (b"Content-Type: application/xhtml+xml\r\n", HTML, True),
        (b"Content-Type: text/html, text/plain\r\n", HTML, True),
        (b"", HTML, True),
        (b"Content-Type: \r\n", HTML, True),
        (b"Content-Type: image/png\r\n", None, True),
        (b"Content-Type: image/png\r\n", ("*/*",), True),
        (b"Content-Type: image/png\r\n", HTML, False),
        (b"Content-Type: application/pdf\r\n", HTML, False),
        (b"Content-Type: garbage\r\n", HTML, False),
        (b"Content-Type: image/png\r\n", (), False),
    ],
)
def test_bodies_of_unwanted_types_are_not_read(
    fields: bytes, wanted: tuple[str, ...] | None, read: bool
) -> None:
    fetched = fetch_from(answering(length(4, fields) + b"body"), facts={"wanted": wanted})
    assert kept(fetched) == ((b"body", [], None) if read else (b"", ["cancelled:mime"], "unspecified"))


@pytest.mark.parametrize("status", [301, 404, 500])
def test_types_do_not_matter_outside_of_success(status: int) -> None:
    answer = b"HTTP/1.1 %d X\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\nbody" % status
    assert kept(fetch_from(answering(answer), facts={"wanted": HTML})) == (b"body", [], None)


def test_an_unwanted_body_is_left_with_the_server() -> None:
    closed = asyncio.Event()

    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(length(10**9, b"Content-Type: video/mp4\r\n"))
        await peer.gone()
        closed.set()

    async def test() -> None:
        async with serving(behave) as site, Client(DOWNLOAD_ANNOUNCED_MAXSIZE=0) as client:
            fetched = await client.fetch(site.url(), {"wanted": HTML})
            assert kept(fetched) == (b"", ["cancelled:mime"], "unspecified")
            async with asyncio.timeout(60):
                await closed.wait()

    run(test())


@each_row(
    ("announced", "settings", "facts", "cancelled"),
    [
        (1000, {}, {}, False),
        (1001, {}, {}, True),
        (10**15, {}, {}, True),
        (1001, {"DOWNLOAD_ANNOUNCED_MAXSIZE": 2000}, {}, False),
        (2001, {"DOWNLOAD_ANNOUNCED_MAXSIZE": 2000}, {}, True),
        (10**15, {"DOWNLOAD_ANNOUNCED_MAXSIZE": 0}, {}, False),
        (10**15, {"DOWNLOAD_MAXSIZE": 0}, {"maxsize": 100}, False),
        (10**15, {}, {"kind": "robots"}, False),
    ],
)
def test_a_body_announced_far_too_long_is_not_read(
    announced: int, settings: dict[str, Any], facts: dict[str, Any], cancelled: bool
) -> None:
    fetched = fetch_from(
        answering(length(announced) + b"x" * 500),
        settings={"DOWNLOAD_MAXSIZE": 100, **settings},
        facts=facts,
    )
    expected = (b"", ["cancelled:length"], "length") if cancelled else (b"x" * 100, ["truncated"], "length")
    assert kept(fetched) == expected
