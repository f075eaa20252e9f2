"""Escaping of untrusted text for terminals, HTML pages and lists of lines."""

from __future__ import annotations

from html import escape

from webcrawl.urls.lists import printable


def for_terminal(text: str) -> str:
    """Return text for a terminal: unprintable characters are replaced."""
    return text if text.isprintable() else printable(text, None)


def in_html(text: str) -> str:
    """Return the same escaped for the text or an attribute of an HTML page."""
    return escape(for_terminal(text))


def one_line(url: str) -> str:
    """Return a URL for a list of lines: unprintable characters and spaces are percent-encoded."""
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
