"""``Content-Usage``, the field and the line of robots.txt of the IETF's working group AIPREF.

Followed: draft-ietf-aipref-vocab-07 and draft-ietf-aipref-attach-05 (19 August 2026). A statement is a dictionary of
structured fields (RFC 9651) with the tokens ``y`` and ``n``; all else in it is unknown, and so is all of it if it
cannot be parsed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import http_sf

from webcrawl.features.usage.statements import Statement, statement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.features.usage.statements import Meaning

NAME = "Content-Usage"
CATEGORIES = {"train-ai": "train-ai", "search": "search"}
"""The draft's categories and the purposes that they are."""

LENGTH_MAX = 8_192
"""Characters of a value that are read; a longer one says nothing."""


def parse_meaning(value: str) -> Meaning:
    """Return what a value says. Never raises."""
    if len(value) > LENGTH_MAX:
        return ()
    try:
        parsed = http_sf.parse(value.encode("utf-8", "surrogatepass"), tltype="dictionary")
    except (ValueError, http_sf.StructuredFieldError):
        return ()
    assert isinstance(parsed, dict)
    stated = []
    for category, purpose in CATEGORIES.items():
        member = parsed.get(category)
        item = member[0] if isinstance(member, tuple) else None
        if isinstance(item, http_sf.Token) and str(item) in ("y", "n"):
            stated.append((purpose, str(item) == "y"))
    return tuple(stated)


def in_header(lines: Iterable[str]) -> list[Statement]:
    """Return the statement of the field's lines, which are one value (RFC 9651, section 4.2)."""
    value = ", ".join(lines)
    return [statement(NAME, "header", f"{NAME}: {value}", parse_meaning(value))]
