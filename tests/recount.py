"""The words that pages show, counted by another parser (libxml2, by lxml) and by rules of its own."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

from lxml import html

APART = frozenset(
    {"address", "article", "aside", "blockquote", "body", "br", "button", "caption", "center", "dd"}
    | {"details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form"}
    | {"h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "img", "input", "legend", "li"}
    | {"main", "menu", "nav", "noscript", "ol", "optgroup", "option", "p", "pre", "search", "section"}
    | {"select", "summary", "sup", "table", "tbody", "td", "textarea", "tfoot", "th", "thead", "tr", "ul"}
)
"""Elements whose text a browser shows apart from what is before and behind."""
UNSEEN = frozenset(
    {"script", "style", "template", "head", "title", "iframe", "noframes", "datalist", "rt", "rp"}
)
_WORD = re.compile(r"[^\W_]+")
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*>")
_LINK = "a"


def words_of(text: str) -> set[str]:
    """Letters and digits between other characters, in lower case, without accents."""
    text = unicodedata.normalize("NFC", text.replace("\xad", "").replace("\u200b", ""))
    return set(_WORD.findall("".join(map(_without_accent, text)).lower()))


@lru_cache(maxsize=10_000)
def _without_accent(char: str) -> str:
    base = unicodedata.normalize("NFKD", char)[0]
    return base if base.isascii() and base.isalnum() else char


def shown_text(markup: str) -> str:
    """All that a page shows, each block apart."""
    try:
        page = html.document_fromstring(_DECLARATION.sub("", markup))
    except (html.etree.ParserError, ValueError):
        return ""
    pieces: list[str] = []
    waiting: list[Any] = [page]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            pieces.append(one)
            continue
        if not isinstance(one.tag, str) or one.tag in UNSEEN:
            continue
        apart = "\n" if one.tag in APART else ""
        inside: list[Any] = [apart, one.text or ""]
        for child in one:
            tail = child.tail or ""
            beside = child.getnext()
            if child.tag == _LINK and not tail and beside is not None and beside.tag == _LINK:
                tail = "\n"
            inside += [child, tail]
        waiting += reversed([*inside, apart])
    return "".join(pieces)


def shown_words(markup: str) -> set[str]:
    return words_of(shown_text(markup))
