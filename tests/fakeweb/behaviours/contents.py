"""Bodies that are not what they say, or hard to parse."""

from __future__ import annotations

from html import escape

from tests.fakeweb.answer import Answer, http_answer
from tests.fakeweb.behaviours.stage import Outcome, Registry, Stage, behaviour

CONTENTS: Registry = {}
_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63606060000000040001f61738550000000049454e44ae426082"
)
_UTF16_LIE = b'<meta charset="UTF-16">\n'
_SAME = b"<title>Session expired</title><p>Go to the <a href='/'>start</a>.</p>\n" * 10


def _html(body: bytes, mime: str | None = "text/html; charset=utf-8") -> Answer:
    return http_answer(200, body, mime=mime)


@behaviour(CONTENTS, "empty", Outcome(size=0))
def empty(stage: Stage) -> Answer:
    """200 and not a byte of body."""
    return _html(b"")


@behaviour(CONTENTS, "charset-wrong")
def wrong_charset(stage: Stage) -> Answer:
    """Says UTF-8; the text is Latin-1, and of as many bytes as the page has."""
    text = b"<title>Caf\xe9</title><p>d\xe9j\xe0 vu <a href='/'>\xfc</a>"
    return _html(text + b" " * (len(stage.body) - len(text)))


@behaviour(CONTENTS, "charset-unknown")
def unknown_charset(stage: Stage) -> Answer:
    """A charset that does not exist."""
    return _html(stage.body, "text/html; charset=klingon-8")


@behaviour(CONTENTS, "charset-utf16-lie", lambda stage: Outcome(size=len(_UTF16_LIE) + len(stage.body)))
def utf16_lie(stage: Stage) -> Answer:
    """A meta element that says UTF-16 on a page of UTF-8."""
    return _html(_UTF16_LIE + stage.body, "text/html")


@behaviour(CONTENTS, "mime-missing", lambda stage: Outcome(mime=None, size=len(stage.body)))
def no_mime(stage: Stage) -> Answer:
    """A page without a Content-Type."""
    return _html(stage.body, None)


@behaviour(CONTENTS, "mime-odd", lambda stage: Outcome(mime="text/html", size=len(stage.body)))
def odd_mime(stage: Stage) -> Answer:
    """A Content-Type in capitals, with blanks and an empty parameter."""
    return _html(stage.body, ' TEXT/HTML ; ; charset="UTF-8" ; x')


def _type(stage: Stage) -> str:
    return stage.text("type", "application/pdf")


@behaviour(CONTENTS, "mime", lambda stage: Outcome(mime=_type(stage), size=len(stage.body)))
def mime(stage: Stage) -> Answer:
    """The page's bytes under another ``type`` (application/pdf)."""
    return _html(stage.body, _type(stage))


@behaviour(CONTENTS, "image", Outcome(mime="image/png", size=len(_PNG)))
def image(stage: Stage) -> Answer:
    """A picture of one pixel."""
    return _html(_PNG, "image/png")


@behaviour(CONTENTS, "binary", Outcome(size=64 * 1024))
def binary(stage: Stage) -> Answer:
    """64 KiB of every byte there is, called HTML."""
    return _html(bytes(range(256)) * 256)


@behaviour(CONTENTS, "nul-bytes", lambda stage: Outcome(size=2 * len(stage.body)))
def nul_bytes(stage: Stage) -> Answer:
    """A page with a NUL after every byte, and no word that it might be UTF-16."""
    return _html(b"".join(b"%c\0" % byte for byte in stage.body))


def _nested_body(stage: Stage) -> bytes:
    return (
        b"<title>Deep</title>" + b"<div>" * int(stage.number("depth", 50_000)) + b"<a href='/'>down here</a>"
    )


@behaviour(CONTENTS, "nested", lambda stage: Outcome(size=len(_nested_body(stage))))
def nested(stage: Stage) -> Answer:
    """A link below ``depth`` (50,000) open div elements."""
    return _html(_nested_body(stage))


def _crowded_body(stage: Stage) -> bytes:
    count = int(stage.number("count", 20_000))
    return b"<title>Many</title>" + b"".join(b"<a href=/?%d>x</a> " % number for number in range(count))


@behaviour(CONTENTS, "links-many", lambda stage: Outcome(size=len(_crowded_body(stage))))
def many_links(stage: Stage) -> Answer:
    """``count`` (20,000) links, each to a page that does not exist."""
    return _html(_crowded_body(stage))


def _linked_body(stage: Stage) -> bytes:
    links = "".join(f"<a href='{escape(url)}'>x</a>\n" for url in stage.text("to", "/").split("|"))
    return f"<title>Links</title>\n{links}".encode()


@behaviour(CONTENTS, "links", lambda stage: Outcome(size=len(_linked_body(stage))))
def links(stage: Stage) -> Answer:
    """Links as they are written in ``to`` (the host's front page), parted by ``|``."""
    return _html(_linked_body(stage))


@behaviour(CONTENTS, "title-controls")
def control_title(stage: Stage) -> Answer:
    """A title with escape sequences and line breaks, that no terminal and no log may obey."""
    return _html(
        stage.body.replace(b"<title>", b"<title>\x1b[31mred\x07\r\n\x00\xe2\x80\xae", 1)[: len(stage.body)]
    )


@behaviour(CONTENTS, "duplicate", lambda stage: Outcome(size=len(_SAME)))
def duplicate(stage: Stage) -> Answer:
    """The same bytes at every URL that plays this part."""
    return _html(_SAME)
