"""TLS with and without trust, and both ways of going through a proxy."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import TYPE_CHECKING

import pytest

from tests.fakeweb.tls import self_signed
from tests.unit.fetching.lab import LOOPS, Client, Peer, answering, run, serving

if TYPE_CHECKING:
    from collections.abc import Callable

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture(scope="module")
def tls() -> ssl.SSLContext:
    return self_signed("example")[0]


@pytest.mark.parametrize("loop", LOOPS)
def test_certificates_are_not_verified_by_default(tls: ssl.SSLContext, loop: str) -> None:
    async def test() -> None:
        async with serving(answering(OK), tls) as site, Client() as client:
            for _ in range(2):
                fetched = await client.fetch(site.url())
                assert fetched.response is not None
                assert fetched.response.body == b"ok"
                assert fetched.meta.capture is not None
                assert fetched.meta.capture.ip == "127.0.0.1"
                assert f"Host: 127.0.0.1:{site.port}\r\n".encode() in fetched.meta.capture.request_head
            assert site.connections == 1

    run(test(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_an_untrusted_certificate_is_a_failure_of_tls_where_asked(tls: ssl.SSLContext, loop: str) -> None:
    async def test() -> None:
        async with serving(answering(OK), tls) as site, Client(DOWNLOAD_VERIFY_CERTIFICATES=True) as client:
            assert (await client.fetch(site.url())).word == "tls"

    run(test(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_server_that_speaks_no_tls(loop: str) -> None:
    async def behave(peer: Peer) -> None:
        await peer.reader.read(10)
        await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async def test() -> None:
        async with serving(behave) as site, Client() as client:
            assert (await client.fetch(f"https://127.0.0.1:{site.port}/")).word == "tls"

    run(test(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_server_that_refuses_the_handshake(loop: str) -> None:
    alert = bytes.fromhex("15 03 01 00 02 02 46")  # fatal: protocol version

    async def behave(peer: Peer) -> None:
        await peer.reader.read(10)
        await peer.send(alert)
        await peer.gone()

    async def test() -> None:
        async with serving(behave) as site, Client() as client:
            assert (await client.fetch(f"https://127.0.0.1:{site.port}/")).word == "tls"

    run(test(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_an_open_body_over_tls_is_whole_however_the_server_hangs_up(tls: ssl.SSLContext, loop: str) -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\nup to the end")

    async def test() -> None:
        async with serving(behave, tls) as site, Client() as client:
            fetched = await client.fetch(site.url())
            assert fetched.response is not None
            assert (fetched.response.body, fetched.response.flags) == (b"up to the end", [])

    run(test(), loop)


def test_a_proxy_is_sent_the_whole_url_and_the_credentials() -> None:
    sent: list[bytes] = []

    async def test() -> None:
        async with serving(answering(OK, record=sent)) as proxy, Client() as client:
            for proxy_url in (proxy.url(), f"127.0.0.1:{proxy.port}"):
                fetched = await client.fetch(
                    "http://a.example/b?",
                    meta={"proxy": proxy_url, "verbatim_url": True},
                    headers={"Proxy-Authorization": "Basic dTpw"},
                )
                assert fetched.response is not None
                assert fetched.response.url == "http://a.example/b?"
            assert proxy.connections == 1

    run(test())
    assert len(sent) == 2
    assert sent[0].startswith(b"GET http://a.example/b? HTTP/1.1\r\nHost: a.example\r\n")
    assert b"\r\nProxy-Authorization: Basic dTpw\r\n" in sent[0]


def test_credentials_for_a_proxy_are_not_sent_to_the_site() -> None:
    sent: list[bytes] = []

    async def test() -> None:
        async with serving(answering(OK, record=sent)) as site, Client() as client:
            await client.fetch(site.url(), headers={"Proxy-Authorization": "Basic dTpw"})

    run(test())
    assert b"Proxy" not in sent[0]


def tunnel(port: Callable[[], int], asked: list[bytes]) -> Callable[[Peer], object]:
    """A proxy that connects everybody to one port of this machine."""

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            writer.close()

    async def behave(peer: Peer) -> None:
        asked.append(await peer.request())
        reader, writer = await asyncio.open_connection("127.0.0.1", port())
        await peer.send(b"HTTP/1.1 200 Connected\r\n\r\n")
        await asyncio.gather(copy(peer.reader, writer), copy(reader, peer.writer))

    return behave


@pytest.mark.parametrize("loop", LOOPS)
def test_https_goes_through_a_tunnel(tls: ssl.SSLContext, loop: str) -> None:
    asked: list[bytes] = []
    sent: list[bytes] = []

    async def test() -> None:
        async with (
            serving(answering(OK, record=sent), tls) as site,
            serving(tunnel(lambda: site.port, asked)) as proxy,  # type: ignore[arg-type]
            Client() as client,
        ):
            for _ in range(2):
                fetched = await client.fetch(
                    "https://a.example/b",
                    meta={"proxy": proxy.url()},
                    headers={"Proxy-Authorization": "Basic dTpw", "User-Agent": "crawler"},
                )
                assert fetched.response is not None, fetched.error
                assert fetched.response.body == b"ok"

    run(test(), loop)
    assert asked[0].startswith(b"CONNECT a.example:443 HTTP/1.1\r\n")
    assert b"\r\nProxy-Authorization: Basic dTpw\r\n" in asked[0]
    assert b"aiohttp" not in asked[0]
    assert b"User-Agent: crawler" in asked[0]
    assert len(sent) == 2
    assert sent[0].startswith(b"GET /b HTTP/1.1\r\nHost: a.example\r\n")
    assert b"Proxy-Authorization" not in sent[0]


def test_a_proxy_that_refuses_the_tunnel_is_a_failure() -> None:
    async def test() -> None:
        refusal = b"HTTP/1.1 407 Who Are You\r\nContent-Length: 0\r\n\r\n"
        async with serving(answering(refusal)) as proxy, Client() as client:
            fetched = await client.fetch("https://a.example/", meta={"proxy": proxy.url()})
            assert fetched.word == "other"
            assert "407" in str(fetched.error)

    run(test())
