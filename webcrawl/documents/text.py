"""Text reduced to the line that a person reads."""

from __future__ import annotations

import re

LOOKED_AT = 8_192
"""Characters that are looked at of a longer text, so that a page cannot make one line expensive."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def line(text: str, length_max: int) -> str:
    """Return text in one line: whitespace collapsed, control characters removed, cut."""
    text = " ".join(text[:LOOKED_AT].split())
    if not text.isprintable():
        text = _CONTROL.sub("", text)
    return text[:length_max]
