"""Pages and heads that are right, and made so that a careless reader works on them for seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakeweb.answer import Answer, http_answer
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour

if TYPE_CHECKING:
    from collections.abc import Callable

HEAVY: Registry = {}
MIB = 1 << 20
_UTF8 = "text/html; charset=utf-8"


def _full(piece: bytes | str, size: int = MIB) -> bytes:
    data = piece.encode() if isinstance(piece, str) else piece
    return (data * (size // len(data) + 1))[:size]


def _numbered(form: str, count: int) -> bytes:
    return "".join(form.format(number) for number in range(count)).encode()


def _html(make: Callable[[], bytes], mime: str | None = _UTF8) -> Callable[[], Answer]:
    return lambda: http_answer(200, make(), mime=mime)


def _head(name: str, make: Callable[[], str], status: int = 200) -> Callable[[], Answer]:
    return lambda: http_answer(status, b"<p>short</p>", [(name, make())])


_HEAD_BYTES = 250_000
HEAVY_FORMS: dict[str, Callable[[], Answer]] = {
    "tiny-elements": _html(lambda: _full("<p>")),
    "anchors": _html(lambda: _full("<a>")),
    "links": _html(lambda: _numbered('<a href="/x/mime?n={0}">x</a>', 30_000)),
    "long-links": _html(lambda: _numbered(f'<a href="/x/mime?n={{0}}&{"%zz" * 600}">x</a>', 5_000)),
    "links-to-hosts": _html(lambda: _numbered('<a href="http://h{0}.d{0}.invalid/">x</a>', 9_000)),
    "many-labels": _html(lambda: _numbered(f'<a href="http://{{0}}.{"ü." * 120}invalid/">x</a>', 2_500)),
    "many-parameters": _html(lambda: _numbered(f'<a href="/x/mime?n={{0}}{"&a=b" * 480}">x</a>', 500)),
    "many-segments": _html(lambda: _numbered(f'<a href="/x/mime{"/a" * 900}?n={{0}}">x</a>', 500)),
    "nested": _html(lambda: b"<div>" * 50_000 + b"<a href=/x/ok>x</a>"),
    "misnested": _html(lambda: b"<b><i>" * 20_000 + b"</u></s>" * 20_000),
    "open-anchors": _html(lambda: b"<object><a href=/x/ok>" * 1_400 + _full("word ", 400_000)),
    "many-attributes": _html(lambda: b"<a " + _numbered("a{0}=1 ", 120_000) + b">x</a>"),
    "long-attribute": _html(lambda: b'<a href=/x/ok title="' + _full("y") + b'">x</a>'),
    "long-rel": _html(lambda: b"<link href=/x/ok rel='" + _full("x ") + b"'>"),
    "long-base": _html(lambda: b'<base href="/' + _full("x/", MIB // 2) + b'">' + _full("<a href=y>")),
    "long-title": _html(lambda: b"<title>" + _full("t ")),
    "long-script": _html(lambda: b'<script type="application/ld+json">' + _full('{"a":[') + b"</script>"),
    "self-closed": _html(lambda: _full("<title />"), "application/xhtml+xml"),
    "open-comments": _html(lambda: _full("<!-- - ")),
    "open-tags": _html(lambda: _full("<a =")),
    "open-tags-at-first": _html(lambda: b"charset" + _full("<a =", 4_000) + _full("word "), "text/html"),
    "invalid-bytes": _html(lambda: _full(b"\xff"), "text/html; charset=windows-1253"),
    "escape-codes": _html(lambda: _full(b"\x1b$B\x81\x30\xff"), "text/html; charset=iso-2022-jp"),
    "no-type": _html(lambda: _full("<!-- "), None),
    "large-text": _html(lambda: _full("word ", 6 * MIB)),
    "hub": _html(lambda: b"<link rel=hub href=/hub>" + _full("rel=rel =")),
    "feed": _html(lambda: b"<?xml version='1.0'?><rss><hub/>" + _full("rel=rel ="), "application/rss+xml"),
    "charsets-in-head": _head("Content-Type", lambda: "text/html;" + 'charset="' * 20_000),
    "link-header": _head("Link", lambda: '<>\\"' * (_HEAD_BYTES // 4)),
    "robots-tags": _head("X-Robots-Tag", lambda: "unavailable_after: ," * (_HEAD_BYTES // 20)),
    "location": _head("Location", lambda: "/x/ok?" + "a=%zz&" * (_HEAD_BYTES // 6), 302),
    "location-labels": _head("Location", lambda: "http://" + "a." * (_HEAD_BYTES // 2), 302),
    "retry-after": _head("Retry-After", lambda: "1 " * (_HEAD_BYTES // 2), 503),
    "cookies": lambda: http_answer(200, b"<p>short</p>", [("Set-Cookie", f"c{n}=v") for n in range(10_000)]),
}
"""What is heavy, by name; each stays within what a reader takes that has limits on heads and bodies."""


@behaviour(HEAVY, "heavy", Outcome(status=None, mime=None, disputed=True))
def heavy(stage: Stage) -> Answer:
    """A page that is expensive to read; ``form`` (links) is one of ``HEAVY_FORMS``."""
    return HEAVY_FORMS[stage.text("form", "links")]()
