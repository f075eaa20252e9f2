"""Status codes: usual, unusual and impossible ones, and servers that want to be asked later."""

from __future__ import annotations

import time
from email.utils import formatdate

from tests.fakeweb.answer import Answer, Cut, head, http_answer
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour

STATUSES: Registry = {}


def _page(stage: Stage) -> Answer:
    return http_answer(200, stage.body, mime=stage.mime)


def _code(stage: Stage) -> int:
    return int(stage.number("code", 404))


@behaviour(STATUSES, "ok")
def ok(stage: Stage) -> Answer:
    """A good page."""
    return _page(stage)


@behaviour(STATUSES, "status", lambda stage: Outcome(status=_code(stage), size=len(stage.body)))
def status(stage: Stage) -> Answer:
    """A page under the status ``code`` (404)."""
    return http_answer(_code(stage), stage.body, mime=stage.mime)


@behaviour(STATUSES, "status-999", lambda stage: Outcome(status=999, size=len(stage.body)))
def status_999(stage: Stage) -> Answer:
    """A status beyond every class, as some sites send it to crawlers."""
    return http_answer(999, stage.body, mime=stage.mime)


@behaviour(STATUSES, "status-no-reason")
def no_reason(stage: Stage) -> Answer:
    """A good page whose status line ends after the code."""
    wire = _page(stage).wire
    return Answer(200, wire.replace(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200\r\n", 1))


@behaviour(STATUSES, "status-word", Outcome(status=None, mime=None, disputed=True))
def status_word(stage: Stage) -> Answer:
    """A status that is a word."""
    return Answer(None, b"HTTP/1.1 FINE OK\r\nContent-Length: 0\r\n\r\n", close=True)


@behaviour(STATUSES, "no-content", Outcome(status=204, mime=None, size=0))
def no_content(stage: Stage) -> Answer:
    """204, and nothing after the head."""
    return Answer(204, head(204, []))


@behaviour(STATUSES, "not-modified", Outcome(status=304, mime=None, size=0))
def not_modified(stage: Stage) -> Answer:
    """304 to a request that set no condition."""
    return Answer(304, head(304, [("ETag", '"x"')]))


@behaviour(STATUSES, "early-hints")
def early_hints(stage: Stage) -> Answer:
    """100, 102 and 103 before the good page."""
    hints = head(103, [("Link", "</style.css>; rel=preload")], "Early Hints")
    return Answer(200, head(100, []) + head(102, []) + hints + _page(stage).wire)


@behaviour(STATUSES, "only-hints", Outcome(status=None, mime=None))
def only_hints(stage: Stage) -> Answer:
    """A hundred times 103, then the end."""
    return Answer(103, head(103, [], "Early Hints") * 100, close=True)


@behaviour(STATUSES, "upgrade", Outcome(status=101, mime=None, size=None, disputed=True))
def upgrade(stage: Stage) -> Answer:
    """101 to a request that asked for no other protocol."""
    return Answer(101, head(101, [("Upgrade", "websocket"), ("Connection", "Upgrade")]), close=True)


def _later(stage: Stage, code: int) -> Answer | None:
    """Return a refusal with Retry-After for the first ``times`` visits."""
    if stage.visit > stage.number("times", 1):
        return None
    seconds = stage.number("seconds", 2)
    if stage.text("form", "seconds") == "limit":
        return http_answer(code, b"Not now.\n", [("RateLimit", f'"x";r=0;t={int(seconds)}')])
    as_date = formatdate(time.time() + seconds, usegmt=True)
    form = as_date if stage.text("form", "seconds") == "date" else str(int(seconds))
    return http_answer(code, b"Not now.\n", [("Retry-After", form)])


@behaviour(STATUSES, "too-many")
def too_many(stage: Stage) -> Answer:
    """429 with Retry-After ``seconds`` (2) for the first ``times`` (1); ``form``: ``date`` or ``limit``."""
    return _later(stage, 429) or _page(stage)


@behaviour(STATUSES, "unavailable")
def unavailable(stage: Stage) -> Answer:
    """503 with Retry-After ``seconds`` (2) for the first ``times`` (1); ``form=date``: as an HTTP date."""
    return _later(stage, 503) or _page(stage)


@behaviour(STATUSES, "flaky")
def flaky(stage: Stage) -> Answer:
    """``code`` (500) for the first ``times`` (1), then the good page."""
    if stage.visit <= stage.number("times", 1):
        return http_answer(int(stage.number("code", 500)), b"Oops.\n")
    return _page(stage)


@behaviour(STATUSES, "flaky-reset")
def flaky_reset(stage: Stage) -> Answer:
    """A reset connection for the first ``times`` (1), then the good page."""
    if stage.visit <= stage.number("times", 1):
        return Answer(None, steps=iter([Cut.RESET]))
    return _page(stage)


@behaviour(STATUSES, "echo", Outcome(mime="text/plain", size=None))
def echo(stage: Stage) -> Answer:
    """The request as it arrived, as plain text."""
    request = stage.request
    sent = request.head + b"\r\n" + request.body if request is not None else b""
    return http_answer(200, sent, mime="text/plain; charset=utf-8")
