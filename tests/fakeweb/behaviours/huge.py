"""Bodies of gigabytes, announced or not, made as they are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, Step, head, http_answer
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour

if TYPE_CHECKING:
    from collections.abc import Iterator

HUGE: Registry = {}
_BLOCK = b"<p>And there is more to come, and still more after that.</p>\n" * 1000
_NESTED = b"<div><b><ul><li>" * 4000
_HTML = ("Content-Type", "text/html; charset=utf-8")
_ANY_SIZE = Outcome(size=None, disputed=True)


def _size(stage: Stage) -> int:
    return int(stage.number("bytes", 4 * 2**30))


def _blocks(size: int, block: bytes = _BLOCK) -> Iterator[bytes]:
    for _ in range(size // len(block)):
        yield block
    yield block[: size % len(block)]


def _whole(stage: Stage) -> Outcome:
    return Outcome(size=_size(stage), disputed=True)


@behaviour(HUGE, "huge-announced", _whole)
def announced(stage: Stage) -> Answer:
    """``bytes`` (4 GiB) of HTML, announced by Content-Length."""
    length = ("Content-Length", str(_size(stage)))
    return Answer(200, head(200, [_HTML, length]), _blocks(_size(stage)))


def _with_links(stage: Stage) -> bytes:
    size, count = int(stage.number("bytes", 1_500_000)), int(stage.number("links", 30))
    links = b"".join(b'<p><a href="/x/ok?behind=%d">%d</a></p>' % (number, number) for number in range(count))
    return b"".join(_blocks(size - len(links))) + links


@behaviour(HUGE, "huge-links", lambda stage: Outcome(size=int(stage.number("bytes", 1_500_000))))
def links(stage: Stage) -> Answer:
    """``bytes`` (1.5 MB) of HTML that end with ``links`` (30) links, whole and honest."""
    return http_answer(200, _with_links(stage), mime="text/html; charset=utf-8")


def _nested_whole(stage: Stage) -> Outcome:
    return Outcome(size=_nested_size(stage), disputed=True)


def _nested_size(stage: Stage) -> int:
    return int(stage.number("bytes", 200_000_000))


@behaviour(HUGE, "huge-nested", _nested_whole)
def nested(stage: Stage) -> Answer:
    """``bytes`` (200 MB) of tags that are opened in each other and never closed, announced by Content-Length."""
    length = ("Content-Length", str(_nested_size(stage)))
    return Answer(200, head(200, [_HTML, length]), _blocks(_nested_size(stage), _NESTED))


@behaviour(HUGE, "huge-chunked", _whole)
def chunked(stage: Stage) -> Answer:
    """``bytes`` (4 GiB) of HTML in chunks, announced by nothing."""

    def steps() -> Iterator[Step]:
        for block in _blocks(_size(stage)):
            if block:
                yield f"{len(block):x}\r\n".encode() + block + b"\r\n"
        yield b"0\r\n\r\n"

    return Answer(200, head(200, [_HTML, ("Transfer-Encoding", "chunked")]), steps())


@behaviour(HUGE, "huge-until-close", _ANY_SIZE)
def until_close(stage: Stage) -> Answer:
    """HTML without end and without length, to the end of the connection."""

    def steps() -> Iterator[Step]:
        while True:
            yield _BLOCK

    return Answer(200, head(200, [_HTML, ("Connection", "close")]), steps(), close=True)


@behaviour(HUGE, "huge-chunk", _ANY_SIZE)
def one_chunk(stage: Stage) -> Answer:
    """A single chunk that announces itself with 2**62 bytes."""

    def steps() -> Iterator[Step]:
        while True:
            yield _BLOCK

    start = head(200, [_HTML, ("Transfer-Encoding", "chunked")]) + b"4000000000000000\r\n"
    return Answer(200, start, steps())
