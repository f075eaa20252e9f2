"""Documents of certain types: PDFs, videos."""

from __future__ import annotations

import re
from functools import lru_cache
from mimetypes import guess_type
from typing import TYPE_CHECKING

from webcrawl.documents.mime import unwanted
from webcrawl.focus.errors import FocusError

if TYPE_CHECKING:
    from webcrawl.focus.page import FetchedPage

_PATTERN = re.compile(r"[a-z0-9!#$&^_.+-]+/(?:\*|[a-z0-9!#$&^_.+-]+)")


class MimeTypes:
    """1 for a document of one of the types (``video/*`` for all of a kind), 0 for all others. It is the link to it
    that is learned: a page is worth what it leads to.
    """

    is_slow = False

    def __init__(self, types: str) -> None:
        self._types = tuple(one.strip().lower() for one in types.split(","))
        for one in self._types:
            if not _PATTERN.fullmatch(one):
                raise FocusError(f"{one!r} is no MIME type such as application/pdf or video/*")

    def relevance(self, page: FetchedPage) -> float:
        return float(bool(page.mime) and not unwanted(page.mime, self._types))

    def promises(self, url: str, text: str) -> bool:
        last = url[url.rfind("/") + 1 :]
        if "?" in url:
            last = url.partition("?")[0].rpartition("/")[2]
        return "." in last and self._is_of(last[last.rfind(".") :])

    @lru_cache(maxsize=1000)  # noqa: B019 - there is one judge in a process
    def _is_of(self, ending: str) -> bool:
        """Whether files that end like this are of one of the types."""
        mime = guess_type("x" + ending.lower())[0]
        return mime is not None and not unwanted(mime, self._types)
