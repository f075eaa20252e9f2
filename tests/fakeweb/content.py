"""What pages say: HTML with a title, navigation, text and links, clean or as dirty as the real web's."""

from __future__ import annotations

import html
import itertools
from typing import NamedTuple

from tests.fakeweb.dirt import base_path, dirty_link, noise, refresh
from tests.fakeweb.names import numbers

_SYLLABLES = tuple(
    a + b for a, b in itertools.product("bdfgklmnprstvz", ("a", "e", "i", "o", "u", "ar", "en"))
)
_WORDS = tuple(a + b for a, b in itertools.product(_SYLLABLES[::3], _SYLLABLES[1::4]))
_CHARSETS = (
    ("utf-8", "header", "é ü ß € –"),
    ("iso-8859-1", "header", "é ü ß ñ"),
    ("windows-1252", "meta", "é ü € – “q”"),
    ("koi8-r", "meta", "привет мир"),
    ("shift_jis", "header", "日本語のページ"),
    ("utf-16-le", "bom", "é 日本語 привет"),
    ("utf-8", "meta", "é 日本語 привет"),
)


class Link(NamedTuple):
    """Where a link leads: the target's origin and its path with query."""

    origin: str
    path: str


def word(number: int) -> str:
    """Return the word of this number, counted around."""
    return _WORDS[number % len(_WORDS)]


class Writer:
    """Writes the pages of one web. Everything it writes depends on the seed, the URL and its links alone."""

    def __init__(self, seed: int, *, words: int, dirty: bool, charsets: bool) -> None:
        self._seed = seed
        self._words = words
        self._dirty = dirty
        self._charsets = charsets

    def page(self, origin: str, path: str, links: list[Link]) -> tuple[str, bytes]:
        """Return Content-Type and body of a page."""
        host = origin.partition("://")[2].partition(":")[0]
        draws = numbers(f"{self._seed} text {host}{path}", self._words + 8)
        charset, where, accents = _CHARSETS[draws[0] % len(_CHARSETS) if self._charsets else 0]
        title = " ".join(word(draw) for draw in draws[1:4]).capitalize() + f" & {accents}"
        head = [f"<title>{html.escape(title)}</title>"]
        if where == "meta":
            head.insert(0, f'<meta charset="{charset}">')
        head.append('<link rel="stylesheet" href="data:text/css,body{font-family:serif}">')
        body = self._body(origin, path, title, links, draws[8:], head)
        mark = "\ufeff" if where == "bom" else ""
        inner = "\n".join([*head, "</head>", "<body>", body])
        text = f"{mark}<!DOCTYPE html>\n<html lang=en>\n<head>\n{inner}</body>\n</html>\n"
        mime = f"text/html; charset={charset}" if where == "header" else "text/html"
        return mime, text.encode(charset, errors="xmlcharrefreplace")

    def _body(
        self, origin: str, path: str, title: str, links: list[Link], draws: tuple[int, ...], head: list[str]
    ) -> str:
        """Return the body's inside, and add to ``head`` what belongs there."""
        anchors = (
            self._dirty_anchors(origin, path, links, head)
            if self._dirty
            else self._clean_anchors(origin, links)
        )
        navigation = "\n".join(f"<li>{anchor}</li>" for anchor in anchors[: len(anchors) // 2])
        text = [word(draw) for draw in draws]
        parts = [f"<h1>{html.escape(title)}</h1>\n<nav><ul>\n{navigation}\n</ul></nav>\n"]
        rest = anchors[len(anchors) // 2 :] or [""]
        step = max(1, len(text) // len(rest))
        for place, anchor in enumerate(rest):
            sentence = " ".join(text[place * step : (place + 1) * step])
            parts.append(f"<p>{sentence.capitalize()} {anchor}.</p>\n")
        return "".join(parts)

    def _clean_anchors(self, origin: str, links: list[Link]) -> list[str]:
        anchors = []
        for place, link in enumerate(links):
            target = link.path if link.origin == origin else link.origin + link.path
            anchors.append(f'<a href="{html.escape(target)}">{word(place)} {place}</a>')
        return anchors

    def _dirty_anchors(self, origin: str, path: str, links: list[Link], head: list[str]) -> list[str]:
        host = origin.partition("://")[2].partition(":")[0]
        draws = numbers(f"{self._seed} dirt {host}{path}", len(links) + 2)
        base = base_path(path, draws[0])
        if base != path:
            head.append(f'<base href="{base}">')
        anchors = []
        if links and draws[0] % 7 == 0:
            head.append(refresh(origin, base, *links.pop(0)))
        for place, link in enumerate(links):
            text = f"{word(place)} {place}"
            anchors.append(dirty_link(origin, base, link.origin, link.path, text, draws[place + 2]))
        return anchors + noise(draws[1], own_base=base != path)
