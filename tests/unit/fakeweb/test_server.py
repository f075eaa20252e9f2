"""The server keeps connections alive, answers in order, and logs what really happened."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

from tests.fakeweb import AccessLog, FakeWeb, Hit, Web, read_log
from tests.unit.fakeweb.wire import receive, talk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.fakeweb import Site

    Start = Callable[[Site], FakeWeb]


def _request(path: str, more: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: h0000.localhost\r\nUser-Agent: tester/1\r\n{more}\r\n".encode()


def _hits(server: FakeWeb) -> list[Hit]:
    assert server.log is not None
    return server.log.hits


def test_pipelined_requests_are_answered_in_order(start: Start) -> None:
    server = start(Web(1, 2, 20))

    paths = ["/x/echo?1", "/x/slow-start?seconds=0.05", "/x/echo?2", "/x/echo?3"]
    got = talk(server.port, b"".join(map(_request, paths)) + _request("/x/echo?4", "Connection: close\r\n"))

    assert got.end == "closed"
    assert got.data.count(b"HTTP/1.1 200 OK") == 5
    places = [got.data.index(f"GET /x/echo?{number} ".encode()) for number in (1, 2, 3, 4)]
    assert places == sorted(places)
    assert [hit.path for hit in _hits(server)] == [*paths, "/x/echo?4"]
    assert len({hit.connection for hit in _hits(server)}) == 1


def test_a_request_in_single_bytes_is_understood(start: Start) -> None:
    server = start(Web(1, 2, 20))

    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in _request("/x/status?code=410", "Connection: close\r\n"):
            connection.sendall(bytes([byte]))
        assert connection.recv(100).startswith(b"HTTP/1.1 410 Gone\r\n")


def test_a_body_is_read_before_the_answer(start: Start) -> None:
    server = start(Web(1, 2, 20))
    head = b"POST /x/echo HTTP/1.1\r\nHost: h0000.localhost\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"

    got = talk(server.port, head + b"hello")

    assert got.body.endswith(b"\r\n\r\nhello")


def test_head_gets_the_head_alone(start: Start) -> None:
    server = start(Web(1, 2, 20))

    got = talk(server.port, b"HEAD / HTTP/1.1\r\nHost: h0000.localhost\r\nConnection: close\r\n\r\n")

    assert got.data.endswith(b"\r\n\r\n")
    assert b"Content-Length: 2" in got.data


def test_what_is_no_request_gets_400_and_the_end(start: Start) -> None:
    server = start(Web(1, 2, 20))

    got = talk(server.port, b"\x16\x03\x01\x02\x00\x01\r\n\r\n")

    assert got.data.startswith(b"HTTP/1.1 400 ")
    assert got.end == "closed"


def test_the_log_tells_when_an_answer_began_and_ended(start: Start) -> None:
    server = start(Web(1, 2, 20))

    got = receive(server.port, "/x/slow-body?seconds=0.2", more="Connection: close\r\nUser-Agent: a b\r\n")

    (hit,) = _hits(server)
    assert hit.end_mono - hit.start_mono > 0.15
    assert abs((hit.end - hit.start) - (hit.end_mono - hit.start_mono)) < 0.1
    assert (hit.host, hit.path, hit.status) == ("h0000.localhost", "/x/slow-body?seconds=0.2", 200)
    assert (hit.user_agent, hit.sent, hit.complete) == ("a b", len(got.data), True)


def test_the_end_of_a_large_answer_is_when_the_peer_has_taken_it() -> None:
    async def scenario() -> Hit:
        log = AccessLog()
        async with FakeWeb(Web(1, 2, 20), log) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(_request("/x/huge-announced?bytes=30000000", "Connection: close\r\n"))
            await reader.readexactly(100)
            assert not log.hits
            while await reader.read(2**20):
                pass
            writer.close()
            await writer.wait_closed()
        return log.hits[0]

    hit = asyncio.run(scenario())

    assert hit.complete
    assert hit.sent > 30_000_000


def test_a_peer_that_leaves_is_logged_as_such() -> None:
    async def scenario() -> list[Hit]:
        log = AccessLog()
        async with FakeWeb(Web(1, 2, 20), log) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(_request("/x/drip?seconds=0.01"))
            await reader.readexactly(200)
            writer.close()
            await writer.wait_closed()
            while server.connections:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        return log.hits

    (hit,) = asyncio.run(scenario())

    assert not hit.complete
    assert hit.path == "/x/drip?seconds=0.01"


def test_requests_that_are_open_when_the_server_ends_are_in_the_log() -> None:
    async def scenario() -> list[Hit]:
        log = AccessLog()
        async with FakeWeb(Web(1, 2, 20), log) as server:
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(_request("/x/silent"))
            await asyncio.sleep(0.05)
        writer.close()
        return log.hits

    (hit,) = asyncio.run(scenario())

    assert not hit.complete


def test_a_log_file_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "access.jsonl"
    hit = Hit(1.0, 2.0, 3.0, 4.0, "http", 'h"ö', "127.0.0.1", "GET", "/", None, 5, True, 6, "\\")
    with AccessLog(path) as log:
        log.add(hit)
        with path.open("a") as torn:
            torn.write('{"start": 1.0, "en')

        assert read_log(path) == [hit]
