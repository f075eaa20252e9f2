"""Scrapy's signals during a download reach those who are connected, and may stop it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, signals
from scrapy.exceptions import StopDownload

from tests.unit.fetching.lab import Client, Fetched, Peer, run, serving

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = b"HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 8\r\n\r\n"


async def _two_pieces(peer: Peer) -> None:
    await peer.request()
    await peer.send(HEAD, b"1234", b"5678", pause=0.02)
    await peer.gone()


def _fetch(signal: object, receiver: Callable[..., Any]) -> Fetched:
    async def test() -> Fetched:
        async with serving(_two_pieces) as site, Client() as client:
            client.crawler.signals.connect(receiver, signal)
            return await client.fetch(site.url())

    fetched: Fetched = run(test())
    return fetched


def test_headers_and_bytes_are_told_as_they_come() -> None:
    told: list[Any] = []

    def on_headers(headers: Any, body_length: int, request: Request, spider: object) -> None:
        told.append((headers[b"X"], body_length, request.method))

    def on_bytes(data: bytes, request: Request, spider: object) -> None:
        told.append(data)

    async def test() -> None:
        async with serving(_two_pieces) as site, Client() as client:
            client.crawler.signals.connect(on_headers, signals.headers_received)
            client.crawler.signals.connect(on_bytes, signals.bytes_received)
            fetched = await client.fetch(site.url())
            assert fetched.response is not None
            assert (fetched.response.body, fetched.response.flags) == (b"12345678", [])

    run(test())
    assert told == [(b"y", 8, "GET"), b"1234", b"5678"]


@pytest.mark.parametrize(
    ("signal", "body"), [(signals.headers_received, b""), (signals.bytes_received, b"1234")]
)
def test_a_receiver_may_stop_the_download_and_keep_what_came(signal: object, body: bytes) -> None:
    def stop(**_: object) -> None:
        raise StopDownload(fail=False)

    fetched = _fetch(signal, stop)
    assert fetched.response is not None
    assert (fetched.response.body, fetched.response.flags) == (body, ["download_stopped"])
    assert fetched.meta.capture is not None
    assert fetched.meta.capture.truncated == "unspecified"


def test_a_receiver_may_stop_the_download_and_make_it_fail() -> None:
    def stop(**_: object) -> None:
        raise StopDownload

    fetched = _fetch(signals.headers_received, stop)
    assert isinstance(fetched.error, StopDownload)
    assert fetched.error.response is not None
    assert fetched.error.response.flags == ["download_stopped"]
    assert fetched.word == "cancelled"
    assert fetched.meta.capture is not None
    assert fetched.meta.capture.response_head == HEAD


def test_a_receiver_that_fails_does_not_harm_the_page(caplog: pytest.LogCaptureFixture) -> None:
    def fail(**_: object) -> None:
        raise ZeroDivisionError

    fetched = _fetch(signals.bytes_received, fail)
    assert fetched.response is not None
    assert fetched.response.body == b"12345678"
    assert "Error caught on signal handler" in caplog.text
