"""HTTP/2 without a network: what comes of frames, hostile ones too, and the forms of heads."""

from __future__ import annotations

import asyncio
import random
from typing import NamedTuple

import pytest

pytest.importorskip("h2")

from hpack import Decoder, Encoder

from tests.rows import each_row
from webcrawl.fetching.exchange import Exchange
from webcrawl.fetching.failures import failure_word
from webcrawl.fetching.http2 import (
    FRAMING_FREE_BYTES,
    MAX_FRAME_BYTES,
    STEPS_AT_ONCE,
    WINDOW_BYTES,
    Http2Connection,
    request_fields,
    response_head,
)
from webcrawl.fetching.response_head import MAX_HEAD_BYTES, MAX_INTERIM_HEADS

DATA, HEADERS, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END, ACK, END_HEADERS, PADDED = 0x1, 0x1, 0x4, 0x8
REQUEST = b"GET /a?b HTTP/1.1\r\nHost: h.test\r\nUser-Agent: Bot\r\nConnection: keep-alive\r\n\r\n"


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def block(*fields: tuple[str, str], status: str = "200") -> bytes:
    return bytes(Encoder().encode([(":status", status), *fields], huffman=False))


def head(*fields: tuple[str, str], status: str = "200", flags: int = 0, stream: int = 1) -> bytes:
    return frame(HEADERS, END_HEADERS | flags, stream, block(*fields, status=status))


def data(payload: bytes, flags: int = 0, stream: int = 1) -> bytes:
    return frame(DATA, flags, stream, payload)


def goaway(last: int, code: int = 0) -> bytes:
    return frame(GOAWAY, 0, 0, last.to_bytes(4) + code.to_bytes(4))


START = frame(SETTINGS) + frame(SETTINGS, ACK)
OK = head() + data(b"ok", END)


class Outcome(NamedTuple):
    """What became of one request."""

    error: str | None = None
    status: int | None = None
    payload: bytes = b""
    truncated: str | None = None
    reusable: bool = False


def play(
    script: bytes, at_a_time: int = 1 << 16, limit: int = 0, method: str = "GET"
) -> tuple[Outcome, Http2Connection, bytes]:
    """Send a request, feed what a server answers, then its end. Return the outcome, and what the client has sent."""
    loop = asyncio.new_event_loop()
    try:
        exchange = Exchange(loop.create_future(), method, lambda _: limit, lambda _: None)
        connection = Http2Connection()
        connection.request(exchange, "https", REQUEST.replace(b"GET", method.encode(), 1), b"")
        for place in range(0, len(script), at_a_time):
            connection.feed(script[place : place + at_a_time])
            while connection.behind:
                connection.go_on()
        reusable = exchange.reusable and not connection.is_over
        if not exchange.done.done():
            exchange.lost(None)
        error = None if exchange.error is None else failure_word(exchange.error)
        status = None if exchange.head is None else exchange.head.status
        sent = connection.data_to_send()
        return Outcome(error, status, exchange.payload, exchange.truncated, reusable), connection, sent
    finally:
        loop.close()


def whole(payload: bytes, status: int = 200) -> Outcome:
    return Outcome(None, status, payload, None, True)


WELL_BEHAVED = {
    "a page": (START + OK, whole(b"ok")),
    "without content": (START + head(flags=END, status="404"), whole(b"", 404)),
    "an empty frame ends it": (START + head() + data(b"ok") + data(b"", END), whole(b"ok")),
    "trailers end it": (START + head() + data(b"ok") + frame(HEADERS, END | END_HEADERS, 1), whole(b"ok")),
    "padding": (START + head() + frame(DATA, END | PADDED, 1, b"\x03ok\0\0\0"), whole(b"ok")),
    "a head of several frames": (
        START + frame(HEADERS, 0, 1, block()[:1]) + frame(CONTINUATION, END_HEADERS, 1) + data(b"ok", END),
        whole(b"ok"),
    ),
    "an interim head": (START + head(status="103") + OK, whole(b"ok")),
    "pings, settings and room between": (
        START + frame(PING, 0, 0, b"12345678") + head() + frame(WINDOW, 0, 0, b"\0\0\1\0") + data(b"o")
        + frame(SETTINGS) + data(b"k", END),
        whole(b"ok"),
    ),
    "frames of unknown types": (START + frame(0xEE, 0, 1, b"x") + OK + frame(0xEF), whole(b"ok")),
    "the announced length": (START + head(("content-length", "2")) + data(b"ok", END), whole(b"ok")),
    "a reset after the end": (START + OK + frame(RESET, 0, 1, b"\0\0\0\0"), whole(b"ok")),
    "fields that HTTP/2 forbids": (
        START + head(("connection", "keep-alive"), ("transfer-encoding", "chunked")) + data(b"ok", END),
        whole(b"ok"),
    ),
    "the server goes, and answers before": (
        START + goaway(1) + head() + data(b"ok", END),
        Outcome(None, 200, b"ok", None, False),
    ),
}  # fmt: skip


@each_row("script, expected", WELL_BEHAVED.values(), ids=WELL_BEHAVED)
def test_answers_are_received_however_they_are_cut_into_reads(script: bytes, expected: Outcome) -> None:
    for at_a_time in (1, 10, 1 << 16):
        assert play(script, at_a_time)[0] == expected


CUT = {
    "silence": (START, Outcome("empty")),
    "no frame at all": (b"", Outcome("empty")),
    "HTTP/1.1": (b"HTTP/1.1 400 Bad Request\r\n\r\n", Outcome("protocol")),
    "the server goes at once": (START + goaway(0), Outcome("empty")),
    "the server goes for a reason": (START + goaway(1, 0xB), Outcome("reset")),
    "the request is refused": (START + frame(RESET, 0, 1, b"\0\0\0\7"), Outcome("empty")),
    "a reset before the head": (START + frame(RESET, 0, 1, b"\0\0\0\2"), Outcome("reset")),
    "HTTP/1.1 is wanted": (START + frame(RESET, 0, 1, b"\0\0\0\x0d"), Outcome("protocol")),
    "a reset within the body": (
        START + head() + data(b"o") + frame(RESET, 0, 1, b"\0\0\0\2"),
        Outcome(None, 200, b"o", "disconnect"),
    ),
    "the connection ends within the body": (START + head() + data(b"o"), Outcome(None, 200, b"o", "disconnect")),
    "less than announced": (
        START + head(("content-length", "5")) + data(b"ok", END),
        Outcome(None, 200, b"ok", "disconnect"),
    ),
    "a body over the limit": (START + head() + data(b"longer", END), Outcome(None, 200, b"long", "length")),
    "no status": (START + frame(HEADERS, END_HEADERS, 1), Outcome("protocol")),
    "a status of words": (START + head(status="fine"), Outcome("protocol")),
    "two lines in a field": (START + head(("a", "b\r\nset-cookie: c")), Outcome("protocol")),
    "a switch of protocols": (START + head(status="101"), Outcome("protocol")),
    "content before the head": (START + data(b"ok", END), Outcome("protocol")),
    "content of another stream": (START + head() + data(b"x", 0, 3), Outcome("protocol", 200, b"", "disconnect")),
    "content within a head": (START + frame(HEADERS, 0, 1, block()) + data(b"ok"), Outcome("protocol")),
    "more padding than content": (
        START + head() + frame(DATA, PADDED, 1, b"\x09ok"),
        Outcome("protocol", 200, b"", "disconnect"),
    ),
    "a push": (START + frame(PUSH, END_HEADERS, 1, b"\0\0\0\2" + block()), Outcome("protocol")),
    "a request of the server": (START + head(stream=2), Outcome("protocol")),
    "a ping of seven bytes": (START + frame(PING, 0, 0, b"1234567"), Outcome("protocol")),
    "settings on a stream": (frame(SETTINGS, 0, 1), Outcome("protocol")),
    "a window of nothing": (START + frame(WINDOW, 0, 0, b"\0\0\0\0"), Outcome("protocol")),
    "a window over all bounds": (START + frame(WINDOW, 0, 0, b"\x7f\xff\xff\xff"), Outcome("protocol")),
    "a head that cannot be decoded": (START + frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff"), Outcome("protocol")),
}  # fmt: skip


@each_row("script, expected", CUT.values(), ids=CUT)
def test_what_came_of_an_answer_that_was_cut_is_kept(script: bytes, expected: Outcome) -> None:
    for at_a_time in (1, 1 << 16):
        assert play(script, at_a_time, limit=4)[0] == expected


MANY = FRAMING_FREE_BYTES // 9 + 1
BOMB = b"\x40\x01a" + b"\x7f\xe1\x1e" + b"b" * 4000  # kept in the table of the compression
FLOODS = {
    "settings": (frame(SETTINGS, 0, 0, b"\0\1\0\0\x10\0") * MANY, "protocol"),
    "acknowledgements": (frame(SETTINGS, ACK) * MANY, "protocol"),
    "pings": (frame(PING, 0, 0, b"12345678") * MANY, "protocol"),
    "resets of other streams": (frame(RESET, 0, 1, b"\0\0\0\0") * MANY, "reset"),
    "room": (frame(WINDOW, 0, 0, b"\0\0\0\1") * MANY, "protocol"),
    "priorities": (frame(2, 0, 3, b"\0\0\0\0\1") * MANY, "protocol"),
    "frames of unknown types": (frame(0xEE) * MANY, "protocol"),
    "a head without end": (frame(HEADERS, 0, 1, block()) + frame(CONTINUATION, 0, 1) * MANY, "protocol"),
    "a long head": (
        frame(HEADERS, 0, 1, block()) + frame(CONTINUATION, 0, 1, b"\0" * MAX_FRAME_BYTES) * 99,
        "protocol",
    ),
    "a head of many references": (
        frame(HEADERS, END_HEADERS, 1, block() + BOMB + b"\xbe" * 8_000),
        "protocol",
    ),
    "interim heads": (head(status="103") * (MAX_INTERIM_HEADS + 1), "protocol"),
    "a frame that is too long": (b"\xff\xff\xff\0\0\0\0\0\1" + bytes(1 << 15), "protocol"),
}  # fmt: skip


@each_row("script, word", FLOODS.values(), ids=FLOODS)
def test_floods_end_the_connection(script: bytes, word: str) -> None:
    outcome, connection, sent = play(START + script)
    assert outcome == Outcome(word)
    # Nothing is kept of it, and the answers to it are few.
    assert connection._unread == b""
    assert len(sent) < 2 * FRAMING_FREE_BYTES


@each_row(
    "flood",
    [data(b""), frame(DATA, PADDED, 1, b"\0"), frame(PING, 0, 0, b"12345678")],
    ids=["empty", "padding", "pings"],
)
def test_floods_within_a_body_leave_what_came(flood: bytes) -> None:
    outcome, connection, _ = play(START + head() + data(b"so far") + flood * MANY)
    assert outcome == Outcome(None, 200, b"so far", "length")
    assert connection.is_over


def test_small_frames_with_content_are_no_flood() -> None:
    outcome, _, _ = play(START + head() + data(b"0123456789") * (2 * MANY) + data(b"", END))
    assert outcome == whole(b"0123456789" * (2 * MANY))


def test_few_frames_are_allowed_between_two_requests() -> None:
    _, connection, _ = play(START + head() + data(bytes(MAX_FRAME_BYTES)) * 20 + data(b"", END))
    connection.end()
    connection.feed(frame(PING, 0, 0, b"12345678") * 10)
    assert not connection.is_over
    connection.feed(frame(PING, 0, 0, b"12345678") * MANY)
    while connection.behind:
        connection.go_on()
    assert connection.is_over


def test_a_limited_number_of_frames_is_processed_in_a_turn() -> None:
    loop = asyncio.new_event_loop()
    exchange = Exchange(loop.create_future(), "GET", lambda _: 0, lambda _: None)
    connection = Http2Connection()
    connection.request(exchange, "https", REQUEST, b"")
    connection.feed(START + head() + data(b"x") * (2 * STEPS_AT_ONCE))
    assert connection.behind
    assert len(exchange.payload) < STEPS_AT_ONCE
    loop.close()


def test_a_long_body_gets_room() -> None:
    pieces = 2 * WINDOW_BYTES // MAX_FRAME_BYTES
    outcome, _, sent = play(START + head() + data(bytes(MAX_FRAME_BYTES)) * pieces + data(b"", END))
    assert len(outcome.payload) == pieces * MAX_FRAME_BYTES
    rooms = {0: 0, 1: 0}
    for kind, stream, payload in frames(sent):
        if kind == WINDOW:
            rooms[stream] += int.from_bytes(payload)
    assert rooms[1] >= WINDOW_BYTES // 2
    assert rooms[0] >= WINDOW_BYTES - 65_535 + WINDOW_BYTES // 2


def frames(sent: bytes) -> list[tuple[int, int, bytes]]:
    """The frames that a client has sent after its first words: type, stream and payload of each."""
    rest, found = sent.removeprefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), []
    while rest:
        length = int.from_bytes(rest[:3])
        found.append((rest[3], int.from_bytes(rest[5:9]), rest[9 : 9 + length]))
        rest = rest[9 + length :]
    return found


def test_what_is_sent_at_first() -> None:
    _, _, sent = play(b"")
    (kind, _, settings), (room, _, _), (request, stream, fields) = frames(sent)
    assert (kind, room, request, stream) == (SETTINGS, WINDOW, HEADERS, 1)
    told = {settings[at + 1]: int.from_bytes(settings[at + 2 : at + 6]) for at in range(0, len(settings), 6)}
    # ENABLE_PUSH, INITIAL_WINDOW_SIZE, MAX_HEADER_LIST_SIZE
    assert (told[2], told[4], told[6]) == (0, WINDOW_BYTES, MAX_HEAD_BYTES)
    assert Decoder().decode(fields) == [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "h.test"),
        (":path", "/a?b"),
        ("user-agent", "Bot"),
    ]


def test_the_body_of_a_request_waits_for_room() -> None:
    loop = asyncio.new_event_loop()
    exchange = Exchange(loop.create_future(), "POST", lambda _: 0, lambda _: None)
    connection = Http2Connection()
    connection.request(exchange, "https", b"POST / HTTP/1.1\r\nHost: h.test\r\n\r\n", bytes(100_000))
    sent = [len(payload) for kind, _, payload in frames(connection.data_to_send()) if kind == DATA]
    assert sum(sent) == 65_535
    connection.feed(START + frame(WINDOW, 0, 0, b"\0\1\0\0") + frame(WINDOW, 0, 1, b"\0\1\0\0"))
    sent += [len(payload) for kind, _, payload in frames(connection.data_to_send()) if kind == DATA]
    assert (sum(sent), max(sent)) == (100_000, MAX_FRAME_BYTES)
    connection.feed(OK)
    assert exchange.payload == b"ok"
    loop.close()


def test_requests_follow_one_another() -> None:
    loop = asyncio.new_event_loop()
    connection = Http2Connection()
    for number in range(200):
        exchange = Exchange(loop.create_future(), "GET", lambda _: 0, lambda _: None)
        connection.request(exchange, "https", REQUEST, b"")
        stream = 2 * number + 1
        # More than the 100 streams at a time that the server allows, if the earlier ones did not end.
        connection.feed((START if stream == 1 else b"") + frame(SETTINGS, 0, 0, b"\0\3\0\0\0\1"))
        connection.feed(head(stream=stream) + data(b"ok", END, stream))
        assert (exchange.payload, exchange.reusable, connection.is_over) == (b"ok", True, False), number
        connection.end()
    assert connection.close() is False
    loop.close()


@each_row(
    "lines, expected",
    [
        (b"X-A: b", [(b"x-a", b"b")]),
        (b"Keep-Alive: 5\r\nTE: x\r\nTransfer-Encoding: chunked\r\nUpgrade: h2\r\nProxy-Connection: a", []),
        (b"Cookie: a=b; c=d", [(b"cookie", b"a=b; c=d")]),
    ],
)
def test_fields_of_requests(lines: bytes, expected: list[tuple[bytes, bytes]]) -> None:
    fields = request_fields(b"GET / HTTP/1.1\r\nHost: h\r\n" + lines + b"\r\n\r\n", "https")
    assert [tuple(field) for field in fields[4:]] == expected
    # A cookie is not kept in the table of the compression.
    assert all(getattr(field, "indexable", True) == (field[0] != b"cookie") for field in fields)


def test_the_head_of_a_response() -> None:
    made = response_head(
        [
            (b":status", b"404"),
            (b"content-type", b" a "),
            (b"b a d", b"x"),
            (b"set-cookie", b"1"),
            (b"set-cookie", b"2"),
        ]
    )
    assert made.raw == b"HTTP/1.1 404 Not Found\r\ncontent-type: a\r\nset-cookie: 1\r\nset-cookie: 2\r\n\r\n"
    assert (made.version, made.status, made.values(b"set-cookie")) == ((2, 0), 404, [b"1", b"2"])
    assert response_head([(b":status", b"999")]).raw == b"HTTP/1.1 999 \r\n\r\n"


def test_whatever_bytes_come_the_exchange_ends() -> None:
    """Whole scripts with some bytes changed, with a seed."""
    chance = random.Random(2)
    scripts = [script for script, _ in [*WELL_BEHAVED.values(), *CUT.values()]]
    for _ in range(400):
        script = bytearray(chance.choice(scripts) + chance.choice(scripts))
        for _ in range(chance.randrange(1, 6)):
            script[chance.randrange(len(script))] = chance.randrange(256)
        outcome, connection, _ = play(bytes(script))
        assert (outcome.error is None) != (outcome.status is None) or outcome.truncated == "disconnect"
        assert len(connection._unread) <= MAX_FRAME_BYTES + 9
