"""Response heads that are too large, malformed or of another age."""

from __future__ import annotations

from tests.fakeweb.answer import Answer, http_answer
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour

HEADERS: Registry = {}
_PERHAPS = Outcome(status=None, mime=None, disputed=True)


def _lenient(stage: Stage) -> Outcome:
    return Outcome(size=len(stage.body), disputed=True)


def _with_lines(stage: Stage, lines: bytes) -> Answer:
    """Return a good page with further header lines right after the status line."""
    wire = http_answer(200, stage.body, mime=stage.mime).wire
    start = wire.index(b"\r\n") + 2
    return Answer(200, wire[:start] + lines + wire[start:])


@behaviour(HEADERS, "header-no-colon")
def no_colon(stage: Stage) -> Answer:
    """A header line without a colon, which browsers skip."""
    return _with_lines(stage, b"this is no header\r\n")


@behaviour(HEADERS, "header-odd", _lenient)
def odd(stage: Stage) -> Answer:
    """Empty name, blanks before the colon, a folded line, raw Latin-1 and UTF-8, as browsers take them."""
    return _with_lines(
        stage, b": nameless\r\nX-Blank : value\r\nX-Folded: one\r\n two\r\nX-Raw: caf\xe9 caf\xc3\xa9\r\n"
    )


@behaviour(HEADERS, "header-nul", _lenient)
def with_nul(stage: Stage) -> Answer:
    """A NUL in a header's value."""
    return _with_lines(stage, b"X-Nul: a\0b\r\n")


@behaviour(HEADERS, "header-huge", _PERHAPS)
def huge(stage: Stage) -> Answer:
    """One header line of ``bytes`` (100,000)."""
    return _with_lines(stage, b"X-Huge: " + b"x" * int(stage.number("bytes", 100_000)) + b"\r\n")


@behaviour(HEADERS, "header-many", _PERHAPS)
def many(stage: Stage) -> Answer:
    """``count`` (5,000) header lines."""
    count = int(stage.number("count", 5000))
    return _with_lines(stage, b"".join(b"X-Many-%d: value\r\n" % number for number in range(count)))


@behaviour(HEADERS, "header-content-location")
def content_location(stage: Stage) -> Answer:
    """A Content-Location: the URL at which what was sent would be had without negotiation (RFC 9110, section 8.7)."""
    return _with_lines(stage, b"Content-Location: /page.de.html\r\n")


@behaviour(HEADERS, "header-cookies")
def cookies(stage: Stage) -> Answer:
    """Fifty cookies."""
    return _with_lines(stage, b"".join(b"Set-Cookie: c%d=v; Path=/\r\n" % number for number in range(50)))


@behaviour(HEADERS, "bare-lf", _lenient)
def bare_lf(stage: Stage) -> Answer:
    """A head whose lines end in LF alone."""
    start, _, body = http_answer(200, stage.body, mime=stage.mime).wire.partition(b"\r\n\r\n")
    return Answer(200, start.replace(b"\r\n", b"\n") + b"\n\n" + body)


@behaviour(HEADERS, "http09", _PERHAPS)
def http09(stage: Stage) -> Answer:
    """A page without a head, as HTTP/0.9 had it."""
    return Answer(None, stage.body, close=True)


@behaviour(HEADERS, "http10")
def http10(stage: Stage) -> Answer:
    """HTTP/1.0, no length: the page ends with the connection."""
    start = f"HTTP/1.0 200 OK\r\nContent-Type: {stage.mime}\r\n\r\n".encode()
    return Answer(200, start + stage.body, close=True)


@behaviour(HEADERS, "http2-line", _PERHAPS)
def http2_line(stage: Stage) -> Answer:
    """A status line of a version that is not spoken like this."""
    wire = http_answer(200, stage.body, mime=stage.mime).wire
    return Answer(200, wire.replace(b"HTTP/1.1", b"HTTP/7.3", 1), close=True)


@behaviour(HEADERS, "blank-before", _lenient)
def blank_before(stage: Stage) -> Answer:
    """Two empty lines before the status line."""
    return Answer(200, b"\r\n\r\n" + http_answer(200, stage.body, mime=stage.mime).wire)
