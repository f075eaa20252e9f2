"""What is cheap to send and dear to read is read a little at a time, and not for long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.fakeweb.tls import self_signed
from tests.rows import each_row
from tests.unit.fetching.lab import LOOPS, Client, Peer, answering, fetch_from, run, serving
from webcrawl.fetching.body import FRAMING_FREE_BYTES, STEPS_AT_ONCE
from webcrawl.fetching.connection import SlowLane
from webcrawl.fetching.exchange import Exchange
from webcrawl.fetching.response_head import MAX_INTERIM_HEADS, MAX_LINES, parse_head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webcrawl.fetching.connection import PageProtocol

READ = 256 * 1024
"""What one network read brings at most."""
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SMALL = [b"1\r\nx\r\n", b"1\nx\n", b"0001 ;a=b\r\nx\r\n", b"2\r\nxx\r\n", b"1\r\nx\r\n3\r\nxxx\n"]
ENDLESS = [
    pytest.param(b"1\r\nx\r\n", id="chunks of one byte"),
    pytest.param(b"1;" + b"e" * 8000 + b"\r\nx\r\n", id="extensions"),
    pytest.param(b"0000000000000001\r\nx\r\n", id="zeros"),
]


def _turns(wire: bytes) -> Iterator[Exchange]:
    """The exchange after each turn: a network read, or more of what was read."""
    loop = asyncio.new_event_loop()
    exchange = Exchange(loop.create_future(), "GET", lambda head: 0, lambda head: None)
    for start in range(0, len(wire), READ):
        exchange.feed(wire[start : start + READ])
        yield exchange
        while exchange.behind:
            exchange.go_on()
            yield exchange
    loop.close()


@each_row("unit", SMALL)
def test_a_turn_decodes_no_more_than_its_steps(unit: bytes) -> None:
    times = 10_000
    before = turns = 0
    size = unit.count(b"x")
    for exchange in _turns(CHUNKED + unit * times + b"0\r\n\r\n"):
        assert len(exchange.payload) - before <= size * STEPS_AT_ONCE
        before = len(exchange.payload)
        turns += 1
    assert turns >= times // STEPS_AT_ONCE
    assert exchange.payload == b"x" * size * times
    assert (exchange.truncated, exchange.error, exchange.reusable) == (None, None, True)


@pytest.mark.parametrize("unit", ENDLESS)
def test_framing_may_take_as_much_as_content_and_a_little_beside(unit: bytes) -> None:
    wire = CHUNKED + unit * (4 * 2**20 // len(unit))
    exchange = [*_turns(wire)][-1]
    size = len(exchange.payload)
    assert exchange.done.done()
    assert exchange.truncated == "length"
    assert size * len(unit) > FRAMING_FREE_BYTES
    assert (size - STEPS_AT_ONCE) * len(unit) <= FRAMING_FREE_BYTES + 2 * size + READ


def test_a_page_in_chunks_of_ten_bytes_comes_whole() -> None:
    exchange = [*_turns(CHUNKED + b"a\r\n0123456789\r\n" * 100_000 + b"0\r\n\r\n")][-1]
    assert len(exchange.payload) == 1_000_000
    assert exchange.truncated is None


@each_row("loop", LOOPS)
@each_row("unit", ENDLESS)
def test_a_server_that_sends_framing_for_ever_is_left(unit: bytes, loop: str) -> None:
    most, sent = 64 * 2**20, 0

    async def behave(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        await peer.send(CHUNKED)
        block = unit * (65_536 // len(unit))
        while sent < most:
            await peer.send(block)
            sent += len(block)

    fetched = fetch_from(behave, settings={"DOWNLOAD_MAXSIZE": 2**20}, loop=loop)
    assert fetched.response is not None
    assert fetched.response.flags == ["truncated"]
    # Some lies in the buffers of the two sockets.
    assert sent < 16 * 2**20


@each_row("loop", LOOPS)
@each_row("tls", [False, True])
@each_row("end", [b"0\r\n\r\n", b""])
def test_what_came_before_the_end_of_the_connection_is_decoded(end: bytes, tls: bool, loop: str) -> None:
    context = self_signed(["name.localhost"])[0] if tls else None

    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(CHUNKED + b"1\r\nx\r\n" * 20_000 + end)

    async def test() -> None:
        async with serving(behave, context) as site, Client() as client:
            fetched = await client.fetch(site.url(host="name.localhost"))
            assert fetched.response is not None
            assert fetched.response.body == b"x" * 20_000
            assert fetched.response.flags == ([] if end else ["truncated", "dataloss"])

    run(test(), loop)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_connection_that_was_behind_is_used_again(loop: str) -> None:
    page = CHUNKED + b"1\r\nx\r\n" * 20_000 + b"0\r\n\r\n"

    async def test() -> None:
        async with serving(answering(page)) as site, Client() as client:
            for _ in range(3):
                fetched = await client.fetch(site.url())
                assert fetched.response is not None
                assert len(fetched.response.body) == 20_000
            assert site.connections == 1

    run(test(), loop)


class _Behind:
    """Needs so many turns, and takes down whose turn it was."""

    def __init__(self, name: str, turns: int, said: list[str]) -> None:
        self.name, self.turns, self.said = name, turns, said

    def catch_up(self) -> bool:
        self.said.append(self.name)
        self.turns -= 1
        return self.turns > 0


def test_those_that_are_behind_share_one_turn_in_each_round_of_the_loop() -> None:
    said: list[str] = []

    async def test() -> None:
        lane = SlowLane(asyncio.get_running_loop())
        for name, turns in (("a", 3), ("b", 1), ("c", 2)):
            behind: PageProtocol = _Behind(name, turns, said)  # type: ignore[assignment]
            lane.add(behind)
        for rounds in range(1, 8):
            await asyncio.sleep(0)
            assert len(said) == min(rounds, 6)

    run(test(), "asyncio")
    assert said == ["a", "b", "c", "a", "c", "a"]


def test_of_many_header_lines_the_first_are_read() -> None:
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n" + b"a:\r\n" * 60_000 + b"Z: z\r\n\r\n"
    head = parse_head(raw)
    assert len(head.headers) == MAX_LINES
    assert head.value(b"content-length") == b"1"
    assert head.raw == raw
    assert fetch_from(answering(raw + b"x")).word is None


@pytest.mark.parametrize(("number", "word"), [(MAX_INTERIM_HEADS, None), (MAX_INTERIM_HEADS + 1, "protocol")])
def test_interim_heads_are_few(number: int, word: str | None) -> None:
    raw = b"HTTP/1.1 102 Wait\r\n\r\n" * number + b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
    assert fetch_from(answering(raw)).word == word


@each_row("name", ["Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive"])
def test_a_list_in_a_header_may_be_long(name: str) -> None:
    raw = f"HTTP/1.1 200 OK\r\n{name}: {'1,' * 100_000}1\r\n\r\nx".encode()
    fetched = fetch_from(answering(raw, close=True))
    assert fetched.response is not None
    assert fetched.response.body == b"x"
