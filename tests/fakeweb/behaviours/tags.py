"""Pages that ask something of robots: in a header field, in a meta element, in their links."""

from __future__ import annotations

from tests.fakeweb.answer import Answer, http_answer
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour

TAGS: Registry = {}


@behaviour(TAGS, "tag-header")
def in_header(stage: Stage) -> Answer:
    """``X-Robots-Tag`` with each of the ``lines`` (noindex), which are parted by ``|``."""
    lines = [("X-Robots-Tag", line) for line in stage.text("lines", "noindex").split("|")]
    return http_answer(200, stage.body, lines, stage.mime)


@behaviour(TAGS, "usage-header")
def fields_about_use(stage: Stage) -> Answer:
    """The ``fields``, ``name: value``, which are parted by ``|``."""
    fields = [
        (name, value) for name, _, value in (f.partition(": ") for f in stage.text("fields", "").split("|"))
    ]
    return http_answer(200, stage.body, fields, stage.mime)


def _meta(stage: Stage) -> bytes:
    element = f'<meta name="{stage.text("name", "robots")}" content="{stage.text("content", "noindex")}">'
    return stage.body.replace(b"<head>", b"<head>" + element.encode(), 1)


@behaviour(TAGS, "tag-meta", lambda stage: Outcome(size=len(_meta(stage))))
def in_meta(stage: Stage) -> Answer:
    """A meta element ``name`` (robots) with ``content`` (noindex)."""
    return http_answer(200, _meta(stage), mime=stage.mime)


def _rel(stage: Stage) -> bytes:
    return stage.body.replace(b"<a ", f'<a rel="{stage.text("rel", "nofollow")}" '.encode())


@behaviour(TAGS, "tag-rel", lambda stage: Outcome(size=len(_rel(stage))))
def in_links(stage: Stage) -> Answer:
    """All links have ``rel`` (nofollow)."""
    return http_answer(200, _rel(stage), mime=stage.mime)
