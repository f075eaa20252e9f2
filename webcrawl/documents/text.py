"""Text that strangers wrote, reduced to what a person reads: nothing in it steers a terminal or breaks a file."""

from __future__ import annotations

import re

LOOKED_AT = 8_192
"""Characters that are looked at of a longer text, so that a page cannot make one line expensive."""

# Control characters, those that turn the direction of what follows them, and halves of characters (surrogates), which
# no file takes.
_NOT_TEXT = r"\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
_CONTROL = re.compile(rf"[\t-\r\x85{_NOT_TEXT}]")
_CONTROL_IN_LINES = re.compile(rf"[{_NOT_TEXT}]")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")


def line(text: str, length_max: int) -> str:
    """Return text in one line: whitespace collapsed, control characters removed, cut."""
    text = " ".join(text[:LOOKED_AT].split())
    if not text.isprintable():
        text = _CONTROL.sub("", text)
    return text[:length_max]


def lines(text: str, length_max: int) -> str:
    """Return text of several lines: each ended by ``\\n`` alone, control characters but tabs removed, cut."""
    text = _LINE_ENDS.sub("\n", text[:length_max])
    return _CONTROL_IN_LINES.sub("", text).strip()
