"""Texts from outside in a page."""

from __future__ import annotations

from html import escape

from webcrawl.urls.listfile import printable

LONGEST = 120
"""Characters of a name; what is longer is cut."""


def safe(text: str) -> str:
    """``text`` as it may stand in a page: what cannot be printed is replaced, nothing of it is markup."""
    return escape(text if text.isprintable() else printable(text, None))


def name(text: str) -> str:
    """The same of a host, a type, a URL, cut where it is very long."""
    return safe(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
