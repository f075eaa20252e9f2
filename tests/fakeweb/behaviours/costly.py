"""Answers that cost a server nothing and a client much: framing without content."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, Step, head, http_answer
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour

if TYPE_CHECKING:
    from collections.abc import Iterator

COSTLY: Registry = {}
_HTML = ("Content-Type", "text/html; charset=utf-8")
_CHUNKED = ("Transfer-Encoding", "chunked")
_PERHAPS = Outcome(size=None, disputed=True)
_FAILS = Outcome(status=None, mime=None, disputed=True)
_TEXT = b"<p>Each byte by itself.</p>\n" * 300
_PIECES = b"".join(b"1\r\n%c\r\n" % byte for byte in _TEXT)


@behaviour(COSTLY, "chunks-of-one-byte", _PERHAPS)
def one_byte(stage: Stage) -> Answer:
    """``bytes`` (1 MiB) of HTML in chunks of one byte, each of which takes six."""

    def steps() -> Iterator[Step]:
        left = int(stage.number("bytes", 2**20))
        while left:
            size = min(left, len(_TEXT))
            yield _PIECES[: 6 * size]
            left -= size
        yield b"0\r\n\r\n"

    return Answer(200, head(200, [_HTML, _CHUNKED]), steps())


@behaviour(COSTLY, "chunk-extensions", _PERHAPS)
def extensions(stage: Stage) -> Answer:
    """Chunks of one byte with extensions of 8,000 bytes, without end."""
    block = (b"1;note=" + b"x" * 8000 + b"\r\n.\r\n") * 8
    return Answer(200, head(200, [_HTML, _CHUNKED]), itertools.repeat(block))


@behaviour(COSTLY, "tiny-headers", Outcome(disputed=True))
def tiny_headers(stage: Stage) -> Answer:
    """A good page whose head has 60,000 header lines of four bytes after those that matter."""
    wire = http_answer(200, stage.body, mime=stage.mime).wire
    end = wire.index(b"\r\n\r\n") + 2
    return Answer(200, wire[:end] + b"a:\r\n" * 60_000 + wire[end:])


@behaviour(COSTLY, "interim-heads", _FAILS)
def interim_heads(stage: Stage) -> Answer:
    """Ten thousand interim heads before a good page."""
    wire = http_answer(200, stage.body, mime=stage.mime).wire
    return Answer(200, b"HTTP/1.1 102 Wait\r\n\r\n" * 10_000 + wire)


@behaviour(COSTLY, "chunks-malformed", _FAILS)
def malformed(stage: Stage) -> Answer:
    """A whole head, and then chunks of which the first has no size."""
    return Answer(200, head(200, [_HTML, _CHUNKED]) + b"zz\r\n" + stage.body + b"\r\n0\r\n\r\n", close=True)
