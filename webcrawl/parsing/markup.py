"""A tolerant XML tokenizer that reads piece by piece: names, attributes and text, whatever errors there are.

Standard parsers stop at the first error, or repair it by dropping text (libxml2 drops the text after a bare ``&`` of
an address). This tokenizer never stops: anything that is no markup is text, and an unknown reference stays as
written. It supports only the predefined entities and those of HTML, so no document can make it read a file, contact a
server or expand to more than its size.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import Protocol

TAG_MAX = 65_536
"""The longest tag in characters; longer ones are text."""

_REFERENCE = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]{1,30}));")
_ATTRIBUTE = re.compile(
    r"""(?<![^\s=/"'<>])([^\s=/"'<>]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'<>]++))"""
)
_PLAIN_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9:_.-]*+)>")
"""Matches most tags at a third of the cost."""
_WHOLE_TAG = re.compile(r"""<[^<>"']*+(?:"[^"<]*+"[^<>"']*+|'[^'<]*+'[^<>"']*+)*+>""")

_COMMENT = "!--"
_CDATA = "![CDATA["


class Handler(Protocol):
    """Receives the tokens, in the order of the document. Names are in lower case, with their prefix."""

    def start(self, name: str, attributes: str, *, is_empty: bool) -> None:
        """Take a start tag. ``attributes`` is the text after the name, see ``parse_attributes``."""

    def end(self, name: str) -> None:
        """Take an end tag, whether or not it has a start tag."""

    def data(self, text: str) -> None:
        """Take text with its references as written, see ``unescaped``."""

    def entity_declared(self) -> None:
        """Take the declaration of an entity."""


def parse_attributes(text: str) -> dict[str, str]:
    """Return the attributes of a tag by their names as written; the first of a name counts."""
    matches = _ATTRIBUTE.findall(text)
    return {name: unescaped(double or single or bare) for name, double, single, bare in reversed(matches)}


def unescaped(text: str) -> str:
    """Return text with its references resolved. A bare ``&`` and unknown references are left as they are."""
    return _REFERENCE.sub(_unescape_reference, text) if "&" in text else text


def has_bare_ampersand(text: str) -> bool:
    """Return True if the text has an ``&`` that begins no known reference."""
    return "&" in text and "&" in _REFERENCE.sub("", text)


def _unescape_reference(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if name:
        return html5.get(f"{name};", reference[0])
    code = int(decimal) if decimal else int(hexadecimal, 16)
    if not 0 < code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return chr(code)


class Markup:
    """Splits a document into tokens. Feed it text of any length, then read ``ends_in_tag``. Never raises."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._rest = ""
        """The beginning of markup that is incomplete."""
        self._inside: str | None = None
        """``_COMMENT`` or ``_CDATA``: the section that is being read."""

    @property
    def ends_in_tag(self) -> bool:
        """True if the text fed so far ends between ``<`` and ``>``."""
        return bool(self._rest) and self._inside is None

    def feed(self, text: str) -> None:
        """Take the next piece of the document."""
        text, self._rest = self._rest + text, ""
        at = 0
        while 0 <= at < len(text):
            if self._inside is not None:
                at = self._section(text, at)
                continue
            opening = text.find("<", at)
            if opening != at:
                self._handler.data(text[at:opening] if opening >= 0 else text[at:])
            at = self._tag(text, opening) if opening >= 0 else -1

    def _section(self, text: str, at: int) -> int:
        """Read on in a comment or CDATA section; return where it ends, -1 if its end is not in this piece."""
        is_cdata = self._inside == _CDATA
        end = text.find("]]>" if is_cdata else "-->", at)
        # The last two characters may be the beginning of the end.
        upto = end if end >= 0 else max(at, len(text) - 2)
        if is_cdata and upto > at:
            self._handler.data(text[at:upto].replace("&", "&amp;"))
        if end < 0:
            self._rest = text[upto:]
            return -1
        self._inside = None
        return end + 3

    def _tag(self, text: str, opening: int) -> int:
        """Read the markup that begins at ``opening``; return where it ends, -1 if it is incomplete."""
        plain = _PLAIN_TAG.match(text, opening)
        if plain is not None:
            if plain[1]:
                self._handler.end(plain[2].lower())
            else:
                self._handler.start(plain[2].lower(), "", is_empty=False)
            return plain.end()
        following = text.find("<", opening + 1)
        closing = text.find(">", opening + 1, following if following >= 0 else len(text))
        is_last = following < 0 and len(text) - opening < TAG_MAX
        if text.startswith("!", opening + 1):
            return self._declaration(text, opening, closing, is_last)
        if closing < 0:
            if is_last:
                self._rest = text[opening:]
                return -1
            return self._no_markup(opening)
        if text.find('"', opening, closing) >= 0 or text.find("'", opening, closing) >= 0:
            # A value may contain a ">".
            whole = _WHOLE_TAG.match(text, opening)
            if whole is not None:
                closing = whole.end() - 1
            elif is_last:
                self._rest = text[opening:]
                return -1
        inner = text[opening + 1 : closing]
        first = inner[:1]
        if first == "/":
            self._handler.end(inner[1:].strip().lower())
        elif first.isalpha() or first == "_":
            is_empty = inner[-1] == "/"
            name, *rest = (inner[:-1] if is_empty else inner).split(None, 1)
            self._handler.start(name.lower(), rest[0] if rest else "", is_empty=is_empty)
        elif first != "?":
            return self._no_markup(opening)
        return closing + 1

    def _declaration(self, text: str, opening: int, closing: int, is_last: bool) -> int:
        """Read a comment, CDATA, or a document type: each declaration in its internal subset is read as one of its
        own.
        """
        for section in (_COMMENT, _CDATA):
            if text.startswith(section, opening + 1):
                self._inside = section
                return opening + 1 + len(section)
        if is_last and (closing < 0 or len(text) - opening <= len(_CDATA)):
            self._rest = text[opening:]
            return -1
        if text[opening + 1 : opening + 8].upper() == "!ENTITY":
            self._handler.entity_declared()
        return closing + 1 if closing >= 0 else opening + 1

    def _no_markup(self, opening: int) -> int:
        self._handler.data("<")
        return opening + 1
