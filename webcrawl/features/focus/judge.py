"""How relevant a page is, by what an operator says in one line.

What is wrong with a focus.

A fetched page as those see it who say how relevant it is.
"""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class FocusError(ValueError):
    """A focus that cannot be used; the message says why, for a person."""


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


ALLOWED = (
    "keywords such as 'telescope, radio astronomy', re:EXPRESSION, mime:TYPE[,TYPE...], pages:FILE, model:FILE "
    "or the import path module:function"
)
"""What a focus may be, for messages."""


class Judge(Protocol):
    """Says of fetched pages how relevant they are."""

    is_slow: bool
    """Whether it may take more than a millisecond, so that it is asked in a thread."""

    def relevance(self, page: FetchedPage) -> float:
        """From 0 for a page that has nothing of what is looked for to 1 for one that is just that. May raise what it
        likes: then nothing is known of this page.
        """
        ...

    def promises(self, url: str, text: str) -> bool:
        """Whether the URL of a link and its anchor text say that it leads to what is looked for. Asked of every link,
        so it must be quick.
        """
        ...


class Function:
    """A function, or the method of a spider, that takes a ``FetchedPage``."""

    is_slow = True

    def __init__(self, function: Callable[[FetchedPage], float]) -> None:
        self._function = function

    def relevance(self, page: FetchedPage) -> float:
        return self._function(page)

    def promises(self, url: str, text: str) -> bool:
        return False


def judge_of(focus: str) -> Judge:
    """The judge for a focus: see ``ALLOWED``. :raises FocusError: it is none of these, or its file cannot be used."""
    from webcrawl.features.focus import judges

    focus = focus.strip()
    kind, colon, rest = focus.partition(":")
    if not focus:
        raise FocusError("it is empty")
    if not colon:
        return judges.Keywords(focus)
    rest = rest.strip()
    if kind == "re":
        return judges.Expression(rest)
    if kind == "mime":
        return judges.MimeTypes(rest)
    if kind == "pages":
        return judges.Examples(judges.read(rest))
    if kind == "model":
        return judges.Model(rest)
    return _imported(kind, rest)


def _imported(module: str, name: str) -> Judge:
    if not all(part.isidentifier() for part in (*module.split("."), name)):
        raise FocusError(f"{module!r} is none of re, mime, pages, model, and no module")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise FocusError(str(error)) from error
    if not callable(found):
        raise FocusError(f"{module}.{name} is no function")
    return Function(found)


def clamped(relevance: float) -> float:
    """Within 0..1; what is no number says nothing."""
    relevance = float(relevance)
    return 0.0 if math.isnan(relevance) else min(max(relevance, 0.0), 1.0)
