"""However a response is cut into network reads, the same comes out."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from webcrawl.fetching.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import Sequence

EOL = st.sampled_from([b"\r\n", b"\n"])
Outcome = tuple[bytes, int, str | None, bool, str | None, bytes]


@st.composite
def responses(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A response and its body, in any of the three framings."""
    body = draw(st.binary(max_size=60))
    eol = draw(EOL)
    interim = b"HTTP/1.1 103 x" + eol + eol if draw(st.booleans()) else b""
    head = interim + b"HTTP/1.1 200 OK" + eol + b"A: b" + eol
    match draw(st.sampled_from(["length", "chunked", "open"])):
        case "length":
            return head + b"Content-Length: %d" % len(body) + eol + eol + body, body
        case "open":
            return head + eol + body, body
    wire = head + b"Transfer-Encoding: chunked" + eol + eol
    at = 0
    while at < len(body):
        size = draw(st.integers(1, len(body) - at))
        wire += b"%x" % size + draw(st.sampled_from([b"", b";x=y", b" "])) + draw(EOL)
        wire += body[at : at + size] + draw(EOL)
        at += size
    return wire + b"0" + draw(EOL) + draw(st.sampled_from([b"", b"T: u\r\n"])) + draw(EOL), body


def play(pieces: Sequence[bytes], limit: int = 0) -> Outcome:
    """Feed the pieces and then the end of the connection."""
    loop = asyncio.new_event_loop()
    try:
        exchange = Exchange(loop.create_future(), "GET", lambda head: limit, lambda head: None)
        for piece in pieces:
            exchange.feed(piece)
        exchange.lost(None)
    finally:
        loop.close()
    assert exchange.done.done()
    head = exchange.head
    return (
        exchange.payload,
        head.status if head else 0,
        exchange.truncated,
        exchange.reusable,
        str(exchange.error) if exchange.error else None,
        head.raw if head else b"",
    )


def _cut(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(places) if start < end]


@settings(deadline=None)
@given(responses(), st.lists(st.integers(0, 10_000), max_size=8))
def test_a_body_does_not_depend_on_the_reads_it_comes_in(
    response: tuple[bytes, bytes], cuts: list[int]
) -> None:
    wire, body = response
    whole = play([wire])
    assert whole[0] == body
    assert whole[2] is None
    assert play(_cut(wire, cuts)) == whole
    assert play([wire[at : at + 1] for at in range(len(wire))]) == whole


@settings(deadline=None)
@given(responses(), st.integers(1, 40), st.lists(st.integers(0, 10_000), max_size=8))
def test_a_limit_cuts_at_the_same_place(response: tuple[bytes, bytes], limit: int, cuts: list[int]) -> None:
    wire, body = response
    for pieces in ([wire], _cut(wire, cuts)):
        payload, _, truncated, *_ = play(pieces, limit)
        assert payload == body[:limit]
        assert truncated == ("length" if len(body) > limit else None)


@settings(deadline=None)
@given(st.binary(max_size=200), st.lists(st.integers(0, 10_000), max_size=5))
def test_any_bytes_end_in_an_outcome(noise: bytes, cuts: list[int]) -> None:
    for prefix in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"):
        payload, status, *_ = play(_cut(prefix + noise, cuts))
        assert status or not payload
