"""A fetched page as those see it who say how relevant it is."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

LOOKED_AT = 1 << 18
"""Characters of a page's markup, or of its text, that are looked at."""

_TAG = re.compile(r"<[^<>]*>")
_UNSEEN = (("<script", "</script"), ("<style", "</style"), ("<!--", "-->"))


@dataclass(slots=True)
class FetchedPage:
    """What is known of a page once it was fetched and processed.

    ``mime`` is the type as which it was read, in lower case; ``title`` one line, empty where there is none;
    ``fields`` what the modules of PROCESSING_MODULES found. A document of a type that is not read
    (MIME_TYPES_WANTED) has neither title nor text.
    """

    url: str
    mime: str = ""
    title: str = ""
    depth: int = 0
    fields: Mapping[str, Any] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)
    encoding: str | None = None
    """A codec of Python, the one with which ``body`` is to be read; None where it is no text."""
    _markup: str | None = field(default=None, repr=False)
    _text: str | None = field(default=None, repr=False)

    @property
    def markup(self) -> str:
        """The body as text, at most ``LOOKED_AT`` characters; empty where it is no text."""
        if self._markup is None:
            if self.encoding is None:
                self._markup = ""
            else:
                self._markup = self.body[: 4 * LOOKED_AT].decode(self.encoding, "replace")[:LOOKED_AT]
        return self._markup

    @property
    def text(self) -> str:
        """What is to be read: the main text where a module gave it as ``text``, or else all that is visible."""
        if self._text is None:
            given = self.fields.get("text")
            self._text = given[:LOOKED_AT] if isinstance(given, str) else visible(self.markup)
        return self._text


def visible(markup: str) -> str:
    """What of HTML is no tag, no script, no style and no comment, with references resolved. Takes time in proportion
    to the length, whatever it holds.
    """
    for begin, end in _UNSEEN:
        markup = _without(markup, begin, end)
    return html.unescape(_TAG.sub(" ", markup))


def _without(markup: str, begin: str, end: str) -> str:
    """Leave out what stands between two signs, which may be in capitals as a whole."""
    folded = markup.replace(begin.upper(), begin)
    kept: list[str] = []
    position = 0
    while (start := folded.find(begin, position)) >= 0:
        kept.append(folded[position:start])
        stop = folded.find(end, start)
        if stop < 0:
            stop = folded.find(end.upper(), start)
        if stop < 0:
            return "".join(kept)
        position = stop
    kept.append(folded[position:])
    return "".join(kept)
