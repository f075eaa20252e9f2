"""Pages in legacy encodings with links that are written in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.fakeweb.answer import Answer, http_answer
from tests.gauntlet.web.site import Host, Respond, Site, page, text

if TYPE_CHECKING:
    from tests.fakeweb.answer import Request


IN_QUERIES = "!$%&()*+,-./:;=?@[\\]^_`{|}~"
"""What browsers leave as it is in the query of an http URL (WHATWG URL, special-query percent-encode set)."""


@dataclass(frozen=True, slots=True)
class Charset:
    """An encoding, where it is declared, and a word in it."""

    codec: str
    label: str
    declared: str
    """``header``, ``meta``, ``bom`` or ``nowhere``."""
    word: str

    @property
    def name(self) -> str:
        """Encoding and declaration."""
        return f"{self.label}-{self.declared}"

    @property
    def targets(self) -> frozenset[str]:
        """The paths to which its two links lead (WHATWG URL: paths are UTF-8, queries in the page's encoding)."""
        codec = "utf-8" if self.codec.startswith("utf-16") else self.codec
        return frozenset(
            {f"/{quote(self.word)}", f"/find?q={quote(self.word.encode(codec), safe=IN_QUERIES)}"}
        )


CHARSETS = (
    Charset("cp1251", "windows-1251", "header", "привет"),
    Charset("cp1251", "windows-1251", "meta", "погода"),
    Charset("koi8_r", "koi8-r", "meta", "новости"),
    Charset("shift_jis", "shift_jis", "meta", "天気"),
    Charset("euc_jp", "euc-jp", "header", "音楽"),
    Charset("iso2022_jp", "iso-2022-jp", "meta", "新聞"),
    Charset("euc_kr", "euc-kr", "meta", "날씨"),
    Charset("gb18030", "gb18030", "header", "天气"),
    Charset("big5", "big5", "meta", "新聞"),
    Charset("cp1252", "iso-8859-1", "header", "café"),
    Charset("utf-16-le", "utf-16", "bom", "wörter"),
    Charset("utf-8", "utf-8", "bom", "größe"),
)


def build(number: int) -> Site:
    """Return the site."""
    site = Site("charsets", number)
    for one in CHARSETS:
        site.add(
            Host(
                one.name,
                _pages(one),
                text("User-agent: *\nDisallow:\n"),
                wanted=frozenset({"/", *one.targets}),
            )
        )
    return site


def _pages(one: Charset) -> Respond:
    meta = f"<meta charset={one.label}>" if one.declared == "meta" else ""
    body = (
        f"<!DOCTYPE html><html><head>{meta}<title>{one.word}</title></head><body><p>{one.word} {one.word}</p>"
        f'<a href="/{one.word}">path</a> <a href="/find?q={one.word}">query</a></body></html>'
    )
    mark = (
        {"utf-16-le": b"\xff\xfe", "utf-8": b"\xef\xbb\xbf"}.get(one.codec, b"")
        if one.declared == "bom"
        else b""
    )
    mime = f"text/html; charset={one.label}" if one.declared == "header" else "text/html"

    def respond(request: Request, visit: int) -> Answer | None:
        if request.path == "/":
            return http_answer(200, mark + body.encode(one.codec), mime=mime)
        return http_answer(200, page(f"{one.name} {request.path}"))

    return respond
