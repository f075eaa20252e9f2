"""Fetches without a response: each has its word, Scrapy's exception, and a capture with time and place."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from time import time

import aiohttp
import pytest
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    NotSupported,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)

from tests.rows import each_row
from tests.unit.fetching.lab import LOOPS, Client, Fetched, Peer, fetch_from, run, serving
from webcrawl.fetching.failures import (
    EmptyResponseError,
    MalformedResponseError,
    PrivateAddressError,
    failure_word,
    translate,
)
from webcrawl.politeness.health import FAILURES


def _check_capture(fetched: Fetched, before: float) -> None:
    capture = fetched.meta.capture
    assert capture is not None
    assert capture.response_head == b""
    assert capture.payload == b""
    assert before <= capture.started_at <= capture.ended_at <= time()


@pytest.mark.parametrize("loop", LOOPS)
def test_a_refused_connection(loop: str) -> None:
    async def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        before = time()
        async with Client() as client:
            fetched = await client.fetch(f"http://127.0.0.1:{port}/")
            assert fetched.word == "connection-refused"
            assert isinstance(fetched.error, DownloadConnectionRefusedError)
            assert fetched.meta.capture is not None
            assert fetched.meta.capture.ip == "127.0.0.1"
            assert fetched.meta.capture.request_head == b""
            _check_capture(fetched, before)
            both = await client.fetch(f"http://both.localhost:{port}/")
            assert both.word == "connection-refused"

    run(test(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_server_that_never_answers(loop: str) -> None:
    before = time()

    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.gone()

    fetched = fetch_from(behave, meta={"download_timeout": 0.1}, loop=loop)
    assert fetched.word == "timeout"
    assert isinstance(fetched.error, DownloadTimeoutError)
    assert fetched.meta.capture is not None
    assert fetched.meta.capture.request_head.startswith(b"GET / HTTP/1.1\r\n")
    _check_capture(fetched, before)


def test_a_head_that_does_not_end_in_time() -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nA:")
        await peer.gone()

    assert fetch_from(behave, meta={"download_timeout": 0.1}).word == "timeout"


def test_a_connection_that_is_never_accepted() -> None:
    async def test() -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(0)
            port = listener.getsockname()[1]
            # The backlog takes what it can; the connection after that waits for an accept that never comes.
            fillers = []
            for _ in range(3):
                filler = socket.socket()
                filler.setblocking(False)
                filler.connect_ex(("127.0.0.1", port))
                fillers.append(filler)
            async with Client() as client:
                fetched = await client.fetch(f"http://127.0.0.1:{port}/", meta={"download_timeout": 0.2})
                assert fetched.word == "timeout"
            for filler in fillers:
                filler.close()

    run(test())


@each_row("loop", LOOPS)
@each_row(
    ("settings", "meta"),
    [({}, {"download_timeout": 0.1}), ({"DOWNLOAD_CONNECT_TIMEOUT": 0.1}, {"download_timeout": 9})],
)
def test_a_tls_handshake_that_does_not_end_in_time(
    settings: dict[str, float], meta: dict[str, float], loop: str
) -> None:
    async def behave(peer: Peer) -> None:
        await peer.gone()

    async def test() -> None:
        async with serving(behave) as site, Client(**settings) as client:
            fetched = await client.fetch(f"https://127.0.0.1:{site.port}/", meta=meta)
            assert fetched.word == "timeout"
            assert fetched.meta.capture is not None
            assert fetched.meta.capture.ip == "127.0.0.1"
            assert fetched.meta.capture.request_head == b""

    run(test(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_connection_closed_without_an_answer_is_not_tried_again_behind_our_back(loop: str) -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()

    async def test() -> None:
        async with serving(behave) as site, Client() as client:
            fetched = await client.fetch(site.url())
            assert fetched.word == "empty"
            assert isinstance(fetched.error, EmptyResponseError)
            assert site.connections == 1

    run(test(), loop)


@each_row("loop", LOOPS)
@each_row("sent", [b"", b"HTTP/1.1 200 OK\r\nA: b"])
def test_a_reset_before_the_head_has_ended(sent: bytes, loop: str) -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        if sent:
            await peer.send(sent, pause=0.02)
        linger = b"\1\0\0\0\0\0\0\0"
        peer.writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        peer.reset()

    assert fetch_from(behave, loop=loop).word == "reset"


def test_a_name_that_has_no_address() -> None:
    async def test() -> None:
        async with Client(DNS_NAMESERVERS=["127.0.0.1:9"], DNS_TIMEOUT=0.2) as client:
            fetched = await client.fetch("http://nowhere.example/")
            assert fetched.word == "dns"
            assert isinstance(fetched.error, CannotResolveHostError)
            assert fetched.meta.capture is not None
            assert fetched.meta.capture.ip is None

    run(test())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_fetch_that_is_cancelled_closes_its_connection(loop: str) -> None:
    asked, closed = asyncio.Event(), asyncio.Event()

    async def behave(peer: Peer) -> None:
        await peer.request()
        asked.set()
        await peer.gone()
        closed.set()

    async def test() -> None:
        async with serving(behave) as site, Client() as client:
            task = asyncio.ensure_future(client.fetch(site.url()))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with asyncio.timeout(10):
                await closed.wait()

    run(test(), loop)


def test_closing_ends_what_is_still_open() -> None:
    asked = asyncio.Event()

    async def behave(peer: Peer) -> None:
        await peer.request()
        asked.set()
        await peer.gone()

    async def test() -> None:
        async with serving(behave) as site:
            async with Client() as client:
                task = asyncio.ensure_future(client.fetch(site.url()))
                await asked.wait()
            assert (await task).word in ("empty", "reset")
            await client.handler.close()

    run(test())


def test_the_addresses_that_refused_are_named() -> None:
    one, other = "Connect call failed ('127.0.0.1', 80)", "Connect call failed ('::1', 80, 0, 0)"
    for error, text in (
        (OSError(111, one), "http://a.test/: Connection refused: 127.0.0.1:80"),
        (
            OSError(111, f"Multiple exceptions: [Errno 111] {one}, [Errno 111] {other}"),
            "http://a.test/: Connection refused: 127.0.0.1:80, [::1]:80",
        ),
        (
            OSError(f"Multiple exceptions: [Errno 111] {one}, [Errno 101] {other}"),
            "http://a.test/: Connection refused: 127.0.0.1:80; Network is unreachable: [::1]:80",
        ),
    ):
        assert str(translate(error, "http://a.test/")) == text


def _caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@each_row(
    ("error", "word"),
    [
        (CannotResolveHostError("x"), "dns"),
        (_caused(CannotResolveHostError("x"), TimeoutError()), "dns"),
        (socket.gaierror(-2, "x"), "dns"),
        (DownloadConnectionRefusedError("x"), "connection-refused"),
        (OSError(errno.ECONNREFUSED, "x"), "connection-refused"),
        (OSError(errno.ENETUNREACH, "x"), "unreachable"),
        (OSError(errno.EHOSTUNREACH, "x"), "unreachable"),
        (_caused(DownloadFailedError("x"), OSError(errno.EHOSTUNREACH, "x")), "unreachable"),
        (OSError("Multiple exceptions: [Errno 111] a ('::1'), [Errno 101] b"), "connection-refused"),
        (OSError("Multiple exceptions: [Errno 101] a, [Errno 113] b"), "unreachable"),
        (OSError("Multiple exceptions: nonsense"), "other"),
        (DownloadTimeoutError("x"), "timeout"),
        (TimeoutError(), "timeout"),
        (OSError(errno.ETIMEDOUT, "x"), "timeout"),
        (ssl.SSLError(1, "x"), "tls"),
        (ssl.SSLCertVerificationError(1, "x"), "tls"),
        (_caused(DownloadFailedError("x"), ssl.SSLError(1, "x")), "tls"),
        (ConnectionResetError(), "reset"),
        (OSError(errno.EPIPE, "x"), "reset"),
        (_caused(DownloadFailedError("x"), ConnectionResetError()), "reset"),
        (ResponseDataLossError("x"), "reset"),
        (EmptyResponseError("x"), "empty"),
        (aiohttp.ServerDisconnectedError(), "empty"),
        (MalformedResponseError("x"), "protocol"),
        (PrivateAddressError("x"), "private"),
        (_caused(PrivateAddressError("x"), OSError(errno.ECONNREFUSED, "x")), "private"),
        (UnsupportedURLSchemeError("x"), "unsupported"),
        (NotSupported("x"), "unsupported"),
        (DownloadCancelledError("x"), "cancelled"),
        (asyncio.CancelledError(), "cancelled"),
        (OSError(errno.EMFILE, "x"), "other"),
        (DownloadFailedError("x"), "other"),
        (ZeroDivisionError(), "other"),
    ],
    ids=repr,
)
def test_every_exception_has_its_word(error: BaseException, word: str) -> None:
    assert failure_word(error) == word
    assert word in FAILURES


def test_a_chain_of_causes_may_be_a_circle() -> None:
    one, two = DownloadFailedError("1"), DownloadFailedError("2")
    one.__cause__, two.__cause__ = two, one
    assert failure_word(one) == "other"


def test_mistakes_in_the_program_are_not_passed_off_as_failed_fetches() -> None:
    mistake = KeyError("x")
    assert translate(mistake, "http://a/") is mistake
