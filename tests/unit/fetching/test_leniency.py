"""Heads that break the rules lose no page that a browser would show; what is no HTTP is a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.rows import each_row
from tests.unit.fetching.lab import LOOPS, Peer, answering, fetch_from
from webcrawl.fetching.response_head import MAX_HEAD_BYTES, parse_head

CASES = json.loads((Path(__file__).parents[2] / "data/downloadhandlers/heads.json").read_text("utf-8"))
FINAL = b"HTTP"


def _ids(case: dict[str, Any]) -> str:
    return str(case["what"])


@each_row("dribble", [False, True])
@each_row("case", CASES["heads"], ids=_ids)
def test_a_page_is_read_however_its_head_looks(case: dict[str, Any], dribble: bool) -> None:
    raw = case["raw"].encode("latin-1") + b"page"

    async def behave(peer: Peer) -> None:
        await peer.request()
        pieces = [raw[at : at + 1] for at in range(len(raw))] if dribble else [raw]
        await peer.send(*pieces)

    fetched = fetch_from(behave)
    response, capture = fetched.response, fetched.meta.capture
    assert response is not None, fetched.error
    assert capture is not None
    assert (response.status, response.body, response.flags) == (case["status"], b"page", [])
    found = parse_head(capture.response_head).headers
    assert [[name.decode("latin-1"), value.decode("latin-1")] for name, value in found] == case["headers"]
    # The capture has the final head as it was received, and nothing of what came before it.
    start = raw.upper().rindex(FINAL)
    assert capture.response_head == raw[start : -len(b"page")]


@each_row("loop", LOOPS)
@each_row("case", CASES["garbage"], ids=_ids)
def test_what_is_no_response_is_a_failure_of_the_protocol(case: dict[str, Any], loop: str) -> None:
    fetched = fetch_from(answering(case["raw"].encode("latin-1"), close=True), loop=loop)
    assert fetched.response is None
    assert fetched.word == "protocol"
    assert fetched.meta.capture is not None
    assert fetched.meta.capture.response_head == b""
    assert fetched.meta.capture.ip == "127.0.0.1"


def test_garbage_is_known_before_it_ends() -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"220 ftp.example FTP server ready\r\n")
        await peer.gone()

    assert fetch_from(behave).word == "protocol"


@pytest.mark.parametrize(("size", "word"), [(100_000, None), (MAX_HEAD_BYTES + 1, "protocol")])
def test_heads_may_be_long_but_not_endless(size: int, word: str | None) -> None:
    filler = b"".join(b"X-%d: %b\r\n" % (number, b"y" * 90) for number in range(size // 100))
    raw = (
        b"HTTP/1.1 200 OK\r\n"
        + filler
        + b"Z: "
        + b"z" * (size - len(filler))
        + b"\r\nContent-Length: 1\r\n\r\nx"
    )
    fetched = fetch_from(answering(raw))
    assert fetched.word == word
    if fetched.response is not None:
        assert len(fetched.response.headers) == size // 100 + 2


def test_interim_responses_may_not_go_on_forever() -> None:
    async def behave(peer: Peer) -> None:
        await peer.request()
        while True:
            await peer.send(b"HTTP/1.1 102 Processing\r\n\r\n" * 500)

    assert fetch_from(behave).word == "protocol"


@pytest.mark.slow
def test_a_hostile_head_is_read_in_linear_time() -> None:
    size = MAX_HEAD_BYTES - 100
    for filler in (b"\r" * size, b" " * size, b"a" * size, b"\n " * (size // 2), b":" * size):
        raw = b"HTTP/1.1 200 OK\r\nX: " + filler + b"\r\nContent-Length: 1\r\n\r\nx"
        assert fetch_from(answering(raw)).word in (None, "protocol")
