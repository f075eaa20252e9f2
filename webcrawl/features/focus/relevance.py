"""The relevance of fetched pages: the interface of its classifiers, the page that they rate, and the classifier of a
focus."""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class FocusError(ValueError):
    """A focus that cannot be used; the message gives the reason, for people."""


LOOKED_AT = 1 << 18
"""Maximum number of characters of a page's markup, or of its text, that are read."""

_TAG = re.compile(r"<[^<>]*>")
_UNSEEN = (("<script", "</script"), ("<style", "</style"), ("<!--", "-->"))


@dataclass(slots=True)
class FetchedPage:
    """A page after it was fetched and processed, as classifiers receive it.

    ``mime`` is the type as which it was parsed, in lower case; ``title`` one line, empty if there is none; ``fields``
    are the fields found by the modules of PROCESSING_MODULES. A document of a type that is not parsed
    (MIME_TYPES_WANTED) has neither title nor text.
    """

    url: str
    mime: str = ""
    title: str = ""
    depth: int = 0
    fields: Mapping[str, Any] = field(default_factory=dict)
    body: bytes = field(default=b"", repr=False)
    encoding: str | None = None
    """The codec of Python that decodes ``body``; None if it is no text."""
    _markup: str | None = field(default=None, repr=False)
    _text: str | None = field(default=None, repr=False)

    @property
    def markup(self) -> str:
        """The body as text, at most ``LOOKED_AT`` characters; empty if it is no text."""
        if self._markup is None:
            if self.encoding is None:
                self._markup = ""
            else:
                self._markup = self.body[: 4 * LOOKED_AT].decode(self.encoding, "replace")[:LOOKED_AT]
        return self._markup

    @property
    def text(self) -> str:
        """The main text if a module returned it as ``text``, or else all visible text."""
        if self._text is None:
            text = self.fields.get("text")
            self._text = text[:LOOKED_AT] if isinstance(text, str) else visible(self.markup)
        return self._text


def visible(markup: str) -> str:
    """Return HTML without tags, scripts, styles and comments, with character references resolved. Takes time in
    proportion to the length, for any content."""
    for begin, end in _UNSEEN:
        markup = _without(markup, begin, end)
    return html.unescape(_TAG.sub(" ", markup))


def _without(markup: str, begin: str, end: str) -> str:
    """Remove the text between two marks, each of which may be all in upper case."""
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


class Classifier(Protocol):
    """Rates how relevant fetched pages are."""

    is_slow: bool
    """True if it may take more than a millisecond, so that it is called in a thread."""

    def relevance(self, page: FetchedPage) -> float:
        """Return a value from 0 for a page that has nothing relevant to 1 for a fully relevant one. May raise any
        exception: then the page has no rating."""
        ...

    def promises(self, url: str, text: str) -> bool:
        """Return whether the URL of a link and its anchor text promise a relevant page. Called for every link, so it
        must be fast."""
        ...


class Function:
    """Classifier that calls a function, or the method of a spider, with a ``FetchedPage``."""

    is_slow = True

    def __init__(self, function: Callable[[FetchedPage], float]) -> None:
        self._function = function

    def relevance(self, page: FetchedPage) -> float:
        return self._function(page)

    def promises(self, url: str, text: str) -> bool:
        return False


def clamped(relevance: float) -> float:
    """Return the value limited to 0..1; NaN becomes 0."""
    relevance = float(relevance)
    return 0.0 if math.isnan(relevance) else min(max(relevance, 0.0), 1.0)
