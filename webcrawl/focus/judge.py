"""How relevant a page is, by what an operator says in one line."""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from webcrawl.focus.errors import FocusError

if TYPE_CHECKING:
    from collections.abc import Callable

    from webcrawl.focus.page import FetchedPage

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
    from webcrawl.focus.judges import examples, expression, keywords, mime, model

    focus = focus.strip()
    kind, colon, rest = focus.partition(":")
    if not focus:
        raise FocusError("it is empty")
    if not colon:
        return keywords.Keywords(focus)
    rest = rest.strip()
    if kind == "re":
        return expression.Expression(rest)
    if kind == "mime":
        return mime.MimeTypes(rest)
    if kind == "pages":
        return examples.Examples(examples.read(rest))
    if kind == "model":
        return model.Model(rest)
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
