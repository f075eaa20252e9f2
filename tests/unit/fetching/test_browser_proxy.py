"""The proxy of a browser: tunnels and whole URLs, refusals, sizes, and one request a connection."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from webcrawl.fetching.browser_proxy import TUNNEL_BODIES, BrowserProxy
from webcrawl.fetching.failures import PrivateAddressError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SIZE = 1000


class Net:
    """Connects every name but ``private.test`` and ``gone.test`` to one server."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.wanted: list[tuple[str, int]] = []

    async def open_socket(self, host: str, port: int, attempt: Any, seconds: float) -> socket.socket:
        self.wanted.append((host, port))
        if host == "private.test":
            raise PrivateAddressError("private.test: 10.0.0.1 is private")
        if host == "gone.test":
            raise ConnectionRefusedError
        return socket.create_connection(("127.0.0.1", self.port))


@asynccontextmanager
async def proxied(answer: bytes) -> AsyncIterator[tuple[BrowserProxy, Net, list[bytes]]]:
    """The proxy, its network, and what the server behind it received."""
    received: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    net = Net(server.sockets[0].getsockname()[1])

    def objection(url: str) -> str | None:
        return "it is excluded" if "excluded.test" in url else None

    proxy = BrowserProxy(net, objection, maxsize=SIZE, seconds=30)  # type: ignore[arg-type]
    await proxy.start()
    yield proxy, net, received
    await proxy.close()
    server.close()


async def ask(proxy: BrowserProxy, sent: bytes, more: bytes = b"") -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2]))
    writer.write(sent)
    if more:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(more)
    try:
        return await asyncio.wait_for(reader.read(), 30)
    except ConnectionResetError:
        # The system resets a connection that is closed before everything was read.
        return b""
    finally:
        writer.close()


def asked(sent: bytes, answer: bytes = b"HTTP/1.1 200 OK\r\n\r\nhello", more: bytes = b"") -> Any:
    """(what the browser gets, network, what the server received, proxy)"""

    async def whole() -> Any:
        async with proxied(answer) as (proxy, net, received):
            return await ask(proxy, sent, more), net, received, proxy

    return asyncio.run(whole())


def test_a_whole_url_is_asked_of_its_server_and_only_once() -> None:
    two = (
        b"GET http://a.test:8080/x?y HTTP/1.1\r\nHost: a.test:8080\r\nProxy-Connection: keep-alive\r\n\r\n"
        * 2
    )
    got, net, received, _ = asked(two)

    assert got.endswith(b"hello")
    assert net.wanted == [("a.test", 8080)]
    assert received == [b"GET /x?y HTTP/1.1\r\nHost: a.test:8080\r\nConnection: close\r\n\r\n"]


def test_a_tunnel_passes_bytes_on() -> None:
    got, net, received, _ = asked(
        b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", b"bytes of TLS", b"more bytes\r\n\r\n"
    )

    assert got == b"bytes of TLS"
    assert net.wanted == [("a.test", 443)]
    assert received == [b"more bytes\r\n\r\n"]


@pytest.mark.parametrize(
    ("sent", "most"),
    [
        (b"GET http://a.test/ HTTP/1.1\r\n\r\n", SIZE),
        (b"CONNECT a.test:443 HTTP/1.1\r\n\r\n", SIZE * TUNNEL_BODIES),
    ],
)
def test_what_is_too_long_is_cut(sent: bytes, most: int) -> None:
    more = b"x\r\n\r\n" if sent.startswith(b"CONNECT") else b""
    assert len(asked(sent, b"x" * 100 * SIZE, more)[0]) == most


@pytest.mark.parametrize(
    ("host", "refused"),
    [
        ("excluded.test", {"excluded.test": "it is excluded"}),
        ("private.test", {"private.test": "private.test: 10.0.0.1 is private"}),
        ("gone.test", {}),
    ],
)
@pytest.mark.parametrize("sent", ["GET http://{}/ HTTP/1.1\r\n\r\n", "CONNECT {}:443 HTTP/1.1\r\n\r\n"])
def test_a_refused_host_gets_no_byte_and_the_browser_no_answer(
    sent: str, host: str, refused: dict[str, str]
) -> None:
    got, _, received, proxy = asked(sent.format(host).encode())

    assert (got, received, proxy.refused) == (b"", [], refused)


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET /path HTTP/1.1\r\n\r\n",
        b"GET ftp://a.test/ HTTP/1.1\r\n\r\n",
        b"CONNECT a.test:port HTTP/1.1\r\n\r\n",
        b"CONNECT \xff:1 HTTP/1.1\r\n\r\n",
        b"POST http://a.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST http://a.test/ HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nX: " + b"x" * 200_000,
    ],
)
def test_what_cannot_be_read_ends_the_connection(sent: bytes) -> None:
    got, _, received, _ = asked(sent)

    assert (got, received) == (b"", [])
