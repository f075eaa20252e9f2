"""Connections are kept and used again, never one too many, and nothing of them is left at the end."""

from __future__ import annotations

import asyncio
import gc
import socket
from time import time
from typing import TYPE_CHECKING

import pytest

from tests.fakeweb.tls import self_signed
from tests.rows import each_row
from tests.unit.fetching.lab import LOOPS, Client, Peer, answering, run, serving
from webcrawl.fetching.connection import PageProtocol

if TYPE_CHECKING:
    from tests.unit.fetching.lab import Behaviour

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def _bodies(client: Client, *urls: str, method: str = "GET") -> list[bytes | str | None]:
    """Fetch one after the other: the body of each, or its failure word."""
    found: list[bytes | str | None] = []
    for url in urls:
        fetched = await client.fetch(url, method=method)
        found.append(fetched.response.body if fetched.response is not None else fetched.word)
    return found


@each_row("loop", LOOPS)
@each_row(
    ("answer", "connections"),
    [
        (OK, 1),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 1),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", 1),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 2),
        (b"HTTP/1.1 200 OK\r\nConnection: foo, CLOSE\r\nContent-Length: 2\r\n\r\nok", 2),
        (OK + b"and more", 2),
        (OK + OK, 2),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n\r\n", 2),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok?", 2),
    ],
)
def test_a_connection_is_used_again_where_both_sides_know_where_the_body_ended(
    answer: bytes, connections: int, loop: str
) -> None:
    async def test() -> None:
        async with serving(answering(answer)) as site, Client() as client:
            bodies = await _bodies(client, site.url("/1"), site.url("/2"))
            assert [body[:2] for body in bodies if isinstance(body, bytes)] == [b"ok", b"ok"]
            assert site.connections == connections

    run(test(), loop)


def _closing_after(requests: int) -> Behaviour:
    """Answer so many requests on the first connection and take one more before closing; then behave well."""

    async def behave(peer: Peer) -> None:
        if peer.number == 1:
            for _ in range(requests):
                await peer.request()
                await peer.send(OK)
            await peer.request()
            return
        await answering(OK)(peer)

    return behave


@each_row("loop", LOOPS)
@each_row("tls", [False, True])
@each_row("method", ["GET", "HEAD"])
def test_a_request_that_met_a_closing_connection_is_sent_on_a_new_one(
    loop: str, method: str, tls: bool
) -> None:
    context = self_signed(["name.localhost"])[0] if tls else None

    async def test() -> None:
        async with serving(_closing_after(1), context) as site, Client() as client:
            url = site.url(host="name.localhost")
            await client.fetch(url)
            before = time()
            again = await client.fetch(url, method=method)
            assert again.response is not None
            assert again.response.status == 200
            assert site.connections == 2
            capture = again.meta.capture
            assert capture is not None
            lost = capture.lost
            assert lost is not None
            assert before <= lost.started_at <= lost.ended_at <= capture.started_at <= capture.ended_at

    run(test(), loop)


@each_row("loop", LOOPS)
@each_row(("method", "body"), [("POST", b""), ("PUT", b"x"), ("GET", b"x")])
def test_a_request_that_may_have_done_something_is_not_sent_twice(
    loop: str, method: str, body: bytes
) -> None:
    async def test() -> None:
        async with serving(_closing_after(1)) as site, Client() as client:
            await client.fetch(site.url())
            fetched = await client.fetch(site.url(), method=method, body=body)
            assert fetched.word == "empty"
            assert site.connections == 1

    run(test(), loop)


@each_row("loop", LOOPS)
@each_row(
    ("sent", "reset", "word", "connections"),
    [(b"", True, None, 2), (b"HTT", True, "reset", 1), (b"HTT", False, "protocol", 1)],
)
def test_an_answer_that_had_begun_is_not_asked_for_again(
    sent: bytes, reset: bool, word: str | None, connections: int, loop: str
) -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(OK)
        await peer.request()
        if peer.number > 1:
            await peer.send(OK)
        await peer.send(sent)
        if reset:
            await asyncio.sleep(0.02)
            linger = b"\1\0\0\0\0\0\0\0"
            peer.writer.transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, linger
            )
            peer.reset()

    async def test() -> None:
        async with serving(behave) as site, Client() as client:
            await client.fetch(site.url())
            assert (await client.fetch(site.url())).word == word
            assert site.connections == connections

    run(test(), loop)


def test_a_request_is_sent_twice_and_never_a_third_time() -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        if peer.number == 1:
            await peer.send(OK)
            await peer.request()

    async def test() -> None:
        async with serving(behave) as site, Client() as client:
            assert await _bodies(client, site.url(), site.url(), site.url()) == [b"ok", "empty", "empty"]
            assert site.connections == 3

    run(test())


def test_connections_to_a_host_that_closed_one_on_a_request_are_not_kept() -> None:
    async def test() -> None:
        async with serving(_closing_after(1)) as site, Client() as client:
            await _bodies(client, site.url(), site.url(), site.url())
            assert client.idle_connections == 0
            assert site.connections == 3

    run(test())


@each_row("loop", LOOPS)
@each_row("said", [b"timeout=5, max=0", b"timeout=0", b'foo, Timeout="0"'])
def test_a_connection_that_is_about_to_close_is_closed_by_us(said: bytes, loop: str) -> None:
    answer = OK.replace(b"Content", b"Keep-Alive: %b\r\nContent" % said)

    async def test() -> None:
        async with serving(answering(answer)) as site, Client() as client:
            await _bodies(client, site.url())
            assert client.idle_connections == 0
            await _bodies(client, site.url())
            assert site.connections == 2

    run(test(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_an_idle_connection_is_closed_before_the_server_closes_it(
    loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webcrawl.fetching.connection.MARGIN_SECONDS", 0.95)
    closed = asyncio.Event()

    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(OK.replace(b"Content", b"Keep-Alive: timeout=1\r\nContent"))
        await peer.gone()
        closed.set()

    async def test() -> None:
        async with serving(behave) as site, Client() as client:
            await _bodies(client, site.url())
            await closed.wait()
            assert client.idle_connections == 0

    run(test(), loop)


def test_a_connection_that_the_server_closed_while_idle_is_not_used() -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(OK)

    async def test() -> None:
        async with serving(behave) as site, Client() as client:
            assert await _bodies(client, site.url()) == [b"ok"]
            await asyncio.sleep(0.05)
            assert client.idle_connections == 0
            assert await _bodies(client, site.url(), method="POST") == [b"ok"]
            assert site.connections == 2

    run(test())


@pytest.mark.parametrize("loop", LOOPS)
def test_bytes_nobody_asked_for_end_an_idle_connection(loop: str) -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(OK)
        await asyncio.sleep(0.02)
        await peer.send(b"HTTP/1.1 408 Too Slow\r\n\r\n")
        await peer.gone()

    async def test() -> None:
        async with serving(behave) as site, Client() as client:
            assert await _bodies(client, site.url()) == [b"ok"]
            await asyncio.sleep(0.1)
            assert client.idle_connections == 0
            assert await _bodies(client, site.url()) == [b"ok"]
            assert site.connections == 2

    run(test(), loop)


def test_no_more_idle_connections_are_kept_than_allowed() -> None:
    async def test() -> None:
        async with serving(answering(OK)) as site, Client(DOWNLOAD_IDLE_CONNECTIONS=2) as client:
            urls = [site.url(host=f"127.0.0.{number}") for number in (1, 1, 1)]
            hosts = [site.url(host=f"name{number}.localhost") for number in range(4)]
            await _bodies(client, *urls, *hosts)
            assert client.idle_connections == 2
            before = site.connections
            await _bodies(client, site.url())
            assert site.connections == before
            assert client.idle_connections == 2

    run(test())


def test_idle_connections_leave_half_of_the_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (7, 7))

    async def test() -> None:
        async with serving(answering(OK)) as site, Client() as client:
            await _bodies(client, *[site.url(host=f"name{number}.localhost") for number in range(5)])
            assert client.idle_connections == 3

    run(test())


def test_a_sent_connection_header_is_obeyed_by_both_sides() -> None:
    async def behave(peer: Peer) -> None:
        head = await peer.request()
        assert b"Connection: close" in head
        await peer.send(OK)

    async def test() -> None:
        async with serving(behave) as site, Client() as client:
            for _ in range(2):
                fetched = await client.fetch(site.url(), headers={"Connection": "close"})
                assert fetched.response is not None
            assert client.idle_connections == 0

    run(test())


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
def test_thousands_of_requests_leave_nothing_behind(loop: str) -> None:
    bad = [
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ]

    async def behave(peer: Peer) -> None:
        while True:
            head = await peer.request()
            number = int(head.split(b" ")[1][1:])
            if number % 5 == 0:
                await peer.send(bad[number // 5 % len(bad)])
                return
            await peer.send(OK)

    async def test() -> None:
        async with serving(behave) as site, Client() as client:
            await _bodies(client, *(site.url(f"/{number}") for number in range(1, 20)))
            tasks = len(asyncio.all_tasks())
            await _bodies(client, *(site.url(f"/{number}") for number in range(2000)))
            await asyncio.sleep(0.02)
            assert client.idle_connections <= 1
            assert len(asyncio.all_tasks()) <= tasks
            gc.collect()
            assert sum(isinstance(found, PageProtocol) for found in gc.get_objects()) <= 3

    run(test(), loop)


def test_a_bind_address_is_used() -> None:
    peers: list[str] = []

    async def behave(peer: Peer) -> None:
        peers.append(peer.writer.get_extra_info("peername")[0])
        await answering(OK)(peer)

    async def test(value: object) -> None:
        async with serving(behave) as site, Client(DOWNLOAD_BIND_ADDRESS=value) as client:
            assert await _bodies(client, site.url()) == [b"ok"]

    run(test("127.0.0.7"))
    run(test(("127.0.0.8", 0)))
    assert peers == ["127.0.0.7", "127.0.0.8"]
