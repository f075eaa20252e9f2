"""Texts from outside, so that they steer nothing: no terminal, no page, no line of a list."""

from __future__ import annotations

from html import escape

from webcrawl.urls.lists import printable


def shown(text: str) -> str:
    """For people: what cannot be printed is replaced."""
    return text if text.isprintable() else printable(text, None)


def in_html(text: str) -> str:
    """The same, as text or in an attribute of a page."""
    return escape(shown(text))


def one_line(url: str) -> str:
    """A URL for a list that is read again: what cannot be printed, and spaces, are percent-encoded."""
    if url.isprintable() and " " not in url:
        return url
    return "".join(
        [
            character if character.isprintable() and character != " " else _encoded(character)
            for character in url
        ]
    )


def _encoded(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "replace"))
