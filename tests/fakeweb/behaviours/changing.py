"""Pages that change, and pages that know whether they did."""

from __future__ import annotations

from tests.fakeweb.answer import Answer, head, http_answer
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour

CHANGING: Registry = {}


def _version(stage: Stage) -> int:
    return (stage.visit - 1) // max(1, int(stage.number("every", 1)))


def _body(stage: Stage) -> bytes:
    return stage.body + b"<p>Version %06d.</p>\n" % _version(stage)


@behaviour(CHANGING, "changing", lambda stage: Outcome(size=len(_body(stage))))
def changing(stage: Stage) -> Answer:
    """A page that changes with each ``every``-th (1) visit."""
    return http_answer(200, _body(stage), mime=stage.mime)


@behaviour(CHANGING, "validators", lambda stage: Outcome(size=len(_body(stage))))
def validators(stage: Stage) -> Answer:
    """The same, with an ETag, and 304 for who has that version already; ``every`` is 1,000 if not said."""
    options = {"every": 1000, **stage.options}
    version = (stage.visit - 1) // max(1, int(options["every"]))
    tag = f'"version-{version}"'
    known = stage.request.header("If-None-Match") if stage.request is not None else None
    if known is not None and tag in known:
        return Answer(304, head(304, [("ETag", tag)]))
    body = stage.body + b"<p>Version %06d.</p>\n" % version
    return http_answer(200, body, [("ETag", tag)], mime=stage.mime)
