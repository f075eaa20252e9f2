"""The URLs in style sheets: of style sheets that are imported, and of images and fonts (CSS Syntax Level 3)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_STRING = r""""(?:[^"\\\n\r\f]|\\.)*+"?|'(?:[^'\\\n\r\f]|\\.)*+'?"""
_TOKEN = re.compile(
    rf"""/\*.*?(?:\*/|\Z)
    | @import\s++(?P<imported>{_STRING})
    | url\(\s*+(?:(?P<quoted>{_STRING})|(?P<bare>(?:[^\s"'()\\]|\\[0-9A-Fa-f]{{1,6}}+\s?+|\\.)*+)\s*+\))
    | {_STRING}
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{1,6})(?:\r\n|[ \t\n\r\f])?|(\r\n|[\n\r\f])|(.))", re.DOTALL)
_NO_LINK = re.compile(r"\s*(?:\#|data:|about:|javascript:|\Z)", re.IGNORECASE)

CSS = "text/css"


def is_style_sheet(mime: str | None) -> bool:
    """Return whether a document of this type is a style sheet."""
    return mime == CSS


def css_urls(text: str) -> Iterator[str]:
    """Yield the URLs in a style sheet or in a declaration, as written, those of ``@import`` included.

    Comments and other strings are passed over, and so are data URLs and fragments alone. It takes linear time.
    """
    for match in _TOKEN.finditer(text):
        written = match["imported"] or match["quoted"]
        url = written[1:].removesuffix(written[0]) if written else match["bare"]
        if url is None or _NO_LINK.match(url):
            continue
        yield _ESCAPE.sub(_character, url) if "\\" in url else url


def _character(escape: re.Match[str]) -> str:
    code, line_break, character = escape.groups()
    if code is None:
        return "" if line_break else str(character)
    number = int(code, 16)
    return chr(number) if 0 < number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF else "\ufffd"
