"""Character references (``&amp;``, ``&#38;``) as the HTML standard decodes them (13.2.5.72 and following)."""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5

# A number of more digits than this is out of Unicode's range unless it begins with many zeros.
_DIGITS_MAX = 12

_IN_TEXT = re.compile(r"&(?:#[0-9]++;?|#[xX][0-9a-fA-F]++;?|[A-Za-z][A-Za-z0-9]*+;?)")
_IN_ATTRIBUTE = re.compile(
    r"&(?:#[0-9]++;?|#[xX][0-9a-fA-F]++;?|[A-Za-z][A-Za-z0-9]*+(?:;|(?![=A-Za-z0-9])))"
)


def decoded_text(text: str) -> str:
    """Return text with its references decoded; one without a semicolon may be the beginning of a word."""
    return _IN_TEXT.sub(_in_text, text) if "&" in text else text


def decoded_attribute(value: str) -> str:
    """Return an attribute's value with its references decoded.

    Here ``&copy=1`` and ``&copyright`` stay what they are, for the sake of queries in links.
    """
    return _IN_ATTRIBUTE.sub(_in_attribute, value) if "&" in value else value


def _in_text(match: re.Match[str]) -> str:
    reference = match[0]
    return _number(reference) if reference[1] == "#" else unescape(reference)


def _in_attribute(match: re.Match[str]) -> str:
    reference = match[0]
    return _number(reference) if reference[1] == "#" else html5.get(reference[1:], reference)


def _number(reference: str) -> str:
    return unescape(reference) if len(reference) <= _DIGITS_MAX else "�"
