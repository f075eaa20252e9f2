"""Markup reduced to the line of text that a person reads."""

from __future__ import annotations

import re

from webcrawl.documents.markup import COMMENT, REST, attributes
from webcrawl.documents.references import decoded_attribute, decoded_text

# What is looked at of a longer text, so that a page cannot make one line expensive.
_MARKUP_MAX = 8_192

_BLOCKS = "address|article|aside|blockquote|br|dd|div|dl|dt|figcaption|figure|footer|h[1-6]|header|hr|li|main|nav|ol"
_BREAK = re.compile(rf"</?(?:{_BLOCKS}|p|pre|section|table|td|th|tr|ul)(?=[\s/>]){REST}", re.IGNORECASE)
_TAG = re.compile(rf"<(?:{COMMENT}|/?[a-zA-Z]{REST}|[!?/][^>]*+>)")
_IMAGE = re.compile(rf"<[iI][mM][gG](?=[\s/])({REST})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def line(text: str, length_max: int) -> str:
    """Return decoded text in one line: whitespace collapsed, control characters removed, cut."""
    text = " ".join(text.split())
    if not text.isprintable():
        text = _CONTROL.sub("", text)
    return text[:length_max]


def plain_line(markup: str, length_max: int) -> str:
    """Return the text of an element that holds no tags (``title``), in one line."""
    return line(decoded_text(markup[:_MARKUP_MAX]), length_max)


def anchor_line(markup: str, length_max: int) -> str:
    """Return the text of an anchor in one line, or else the ``alt`` of the first image that has one."""
    if "<" not in markup:
        if len(markup) <= length_max and "&" not in markup:
            text = " ".join(markup.split())
            if text.isprintable():
                return text
        return plain_line(markup, length_max)
    markup = markup[:_MARKUP_MAX]
    text = plain_line(_TAG.sub("", _BREAK.sub(" ", markup)), length_max)
    return text or _alternative(markup, length_max)


def _alternative(markup: str, length_max: int) -> str:
    for image in _IMAGE.finditer(markup):
        if alt := line(decoded_attribute(attributes(image[1]).get("alt", "")), length_max):
            return alt
    return ""
