"""Pages in which an expression is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import re2

from webcrawl.focus.errors import FocusError

if TYPE_CHECKING:
    from webcrawl.focus.page import FetchedPage

MEMORY_BYTES = 8 << 20


class Expression:
    """1 for a page in whose URL, title or text the expression (RE2 syntax) is found, 0 for all others."""

    is_slow = False

    def __init__(self, expression: str) -> None:
        options = re2.Options()
        options.max_mem = MEMORY_BYTES
        options.log_errors = False
        try:
            self._pattern = re2.compile(expression, options)
        except re2.error as error:
            raise FocusError(f"{expression!r} is no expression: {_reason(error)}") from error
        if self._pattern.search(""):
            raise FocusError(f"{expression!r} is found in every page")

    def relevance(self, page: FetchedPage) -> float:
        search = self._pattern.search
        return float(any(search(text) for text in (page.url, page.title)) or search(page.text) is not None)

    def promises(self, url: str, text: str) -> bool:
        search = self._pattern.search
        return search(text) is not None or search(url) is not None


def _reason(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
