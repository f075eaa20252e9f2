"""Answers that break off or break the rules of HTTP's framing."""

from __future__ import annotations

from tests.fakeweb.answer import Answer, Cut, Pause, head, http_answer
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour

BROKEN: Registry = {}
NO_RESPONSE = Outcome(status=None, mime=None)
_PERHAPS = Outcome(status=None, mime=None, disputed=True)
_PART = Outcome(size=None, disputed=True)
_SETTLE = Pause(0.02)
"""Time for what was sent to be read before a reset would overtake it."""
_HTML = ("Content-Type", "text/html; charset=utf-8")
_CHUNKED = ("Transfer-Encoding", "chunked")


@behaviour(BROKEN, "empty-reply", NO_RESPONSE)
def empty_reply(stage: Stage) -> Answer:
    """The connection is closed without a byte."""
    return Answer(None, close=True)


@behaviour(BROKEN, "reset", NO_RESPONSE)
def reset(stage: Stage) -> Answer:
    """The connection is reset without a byte."""
    return Answer(None, steps=iter([Cut.RESET]))


@behaviour(BROKEN, "reset-in-head", NO_RESPONSE)
def reset_in_head(stage: Stage) -> Answer:
    """The connection is reset in the middle of a header line."""
    return Answer(200, b"HTTP/1.1 200 OK\r\nContent-Ty", iter([_SETTLE, Cut.RESET]))


@behaviour(BROKEN, "reset-in-body", _PART)
def reset_in_body(stage: Stage) -> Answer:
    """The connection is reset in the middle of the body."""
    wire = http_answer(200, stage.body, mime=stage.mime).wire
    return Answer(200, wire[: len(wire) - len(stage.body) // 2], iter([_SETTLE, Cut.RESET]))


@behaviour(BROKEN, "garbage", NO_RESPONSE)
def garbage(stage: Stage) -> Answer:
    """Bytes that are no HTTP, then the end."""
    return Answer(None, bytes(range(256)) * 4, close=True)


@behaviour(BROKEN, "other-protocol", NO_RESPONSE)
def other_protocol(stage: Stage) -> Answer:
    """The greeting of an SSH server."""
    return Answer(None, b"SSH-2.0-OpenSSH_9.2\r\n", close=True)


@behaviour(BROKEN, "length-too-long", _PART)
def length_too_long(stage: Stage) -> Answer:
    """A Content-Length 1,000 bytes above what comes before the connection closes."""
    length = ("Content-Length", str(len(stage.body) + 1000))
    return Answer(200, head(200, [_HTML, length]) + stage.body, close=True)


@behaviour(BROKEN, "length-too-short", lambda stage: Outcome(size=len(stage.body) // 2))
def length_too_short(stage: Stage) -> Answer:
    """A Content-Length of half of what comes before the connection closes."""
    length = ("Content-Length", str(len(stage.body) // 2))
    return Answer(200, head(200, [_HTML, length]) + stage.body, close=True)


@behaviour(BROKEN, "length-no-number", _PERHAPS)
def length_no_number(stage: Stage) -> Answer:
    """A Content-Length that is a word."""
    return Answer(200, head(200, [_HTML, ("Content-Length", "many")]) + stage.body, close=True)


@behaviour(BROKEN, "length-negative", _PERHAPS)
def length_negative(stage: Stage) -> Answer:
    """A Content-Length below zero."""
    return Answer(200, head(200, [_HTML, ("Content-Length", "-1")]) + stage.body, close=True)


@behaviour(BROKEN, "length-twice", _PERHAPS)
def length_twice(stage: Stage) -> Answer:
    """Two Content-Lengths that contradict each other."""
    lengths = [("Content-Length", str(len(stage.body))), ("Content-Length", "17")]
    return Answer(200, head(200, [_HTML, *lengths]) + stage.body, close=True)


@behaviour(BROKEN, "chunks")
def chunks(stage: Stage) -> Answer:
    """A good page in chunks, with an extension, odd case and a trailer: nothing is wrong with it."""
    half = len(stage.body) // 2
    first, second = stage.body[:half], stage.body[half:]
    wire = b"%X;note=x\r\n%b\r\n%08x\r\n%b\r\n" % (len(first), first, len(second), second)
    return Answer(200, head(200, [_HTML, _CHUNKED]) + wire + b"0\r\nX-Trailer: end\r\n\r\n")


@behaviour(BROKEN, "chunk-size-wrong", _PART)
def chunk_size_wrong(stage: Stage) -> Answer:
    """A good chunk, then one whose size is no number."""
    wire = b"%x\r\n%b\r\nzz\r\nmore\r\n0\r\n\r\n" % (len(stage.body), stage.body)
    return Answer(200, head(200, [_HTML, _CHUNKED]) + wire, close=True)


@behaviour(BROKEN, "chunks-cut", _PART)
def chunks_cut(stage: Stage) -> Answer:
    """Chunks that end with the connection, without the last one."""
    wire = b"%x\r\n%b\r\n" % (len(stage.body), stage.body)
    return Answer(200, head(200, [_HTML, _CHUNKED]) + wire, close=True)


@behaviour(BROKEN, "extra-after")
def extra_after(stage: Stage) -> Answer:
    """A good page, and after it bytes that nobody asked for, the connection open."""
    wire = http_answer(200, stage.body, mime=stage.mime).wire
    return Answer(200, wire + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
