"""Slowness: late starts, dribbled bodies, and answers that never come or never end."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, Pause, Step, head, http_answer
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour

if TYPE_CHECKING:
    from collections.abc import Iterator

SLOW: Registry = {}
_NO_RESPONSE = Outcome(status=None, mime=None)
_PART = Outcome(size=None, disputed=True)
FOR_EVER = 86400.0
_PIECES = 20


@behaviour(SLOW, "slow-start")
def slow_start(stage: Stage) -> Answer:
    """A good page whose first byte comes after ``seconds`` (1)."""
    page = http_answer(200, stage.body, mime=stage.mime)
    return Answer(200, steps=iter([Pause(stage.number("seconds", 1)), page.wire]))


@behaviour(SLOW, "slow-body")
def slow_body(stage: Stage) -> Answer:
    """A good page in twenty pieces spread over ``seconds`` (1)."""
    return Answer(
        200, steps=_pieces(http_answer(200, stage.body, mime=stage.mime).wire, stage.number("seconds", 1))
    )


def _pieces(wire: bytes, seconds: float) -> Iterator[Step]:
    size = -(-len(wire) // _PIECES)
    for start in range(0, len(wire), size):
        if start:
            yield Pause(seconds / (_PIECES - 1))
        yield wire[start : start + size]


@behaviour(SLOW, "slow-head", _NO_RESPONSE)
def slow_head(stage: Stage) -> Answer:
    """A response head that grows by a header every ``seconds`` (0.2) and never ends."""

    def steps() -> Iterator[Step]:
        for number in itertools.count():
            yield f"X-Header-{number}: still going\r\n".encode()
            yield Pause(stage.number("seconds", 0.2))

    return Answer(200, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", steps())


@behaviour(SLOW, "drip", _PART)
def drip(stage: Stage) -> Answer:
    """A chunked page that goes on by a few bytes every ``seconds`` (0.2) and never ends."""

    def steps() -> Iterator[Step]:
        while True:
            yield b"9\r\n<p>x</p>\n\r\n"
            yield Pause(stage.number("seconds", 0.2))

    return Answer(200, head(200, [("Content-Type", "text/html"), ("Transfer-Encoding", "chunked")]), steps())


@behaviour(SLOW, "stall", _PART)
def stall(stage: Stage) -> Answer:
    """Half a page, then nothing for ever, the connection open."""
    wire = http_answer(200, stage.body, mime=stage.mime).wire
    return Answer(200, wire[: len(wire) - len(stage.body) // 2], iter([Pause(FOR_EVER)]))


@behaviour(SLOW, "silent", _NO_RESPONSE)
def silent(stage: Stage) -> Answer:
    """The request is taken and never answered."""
    return Answer(None, steps=iter([Pause(FOR_EVER)]))
