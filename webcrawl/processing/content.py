"""What a module is given of a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webcrawl.documents.charset import encoding_of

if TYPE_CHECKING:
    from webcrawl.documents.html import Document

Row = tuple[str, int, str, str | None, dict[str, str], bytes, bool]
"""A Content as plain values."""


@dataclass(slots=True)
class Content:
    """A page as it was fetched, with its content coding taken off."""

    url: str
    status: int
    mime: str
    """In lower case, without parameters, and HTML only where it is: see ``documents.mime.document_type``."""
    encoding: str | None
    """The Python codec of its text where it is known already; ``text`` finds out otherwise."""
    headers: Mapping[str, str]
    """By their names in lower case; several of a name are joined by commas."""
    body: bytes
    truncated: bool = False
    """Whether the body was cut, as one longer than DOWNLOAD_MAXSIZE is."""
    document: Document | None = None
    """What the parser found in an HTML page; for modules that run in place, None for all others."""
    shared: dict[str, Any] = field(default_factory=dict)
    """What modules leave for those that come after them on the same page."""
    _text: str | None = None

    @property
    def text(self) -> str:
        """The body as text: decoded as browsers do, whatever it holds. The whole of it: see to your time."""
        if self._text is None:
            encoding = self.encoding or encoding_of(self.body, self.headers.get("content-type"))
            self._text = self.body.decode(encoding, "replace").removeprefix("\ufeff")
        return self._text

    def row(self) -> Row:
        """This as plain values, without what is for modules in place."""
        return (
            self.url,
            self.status,
            self.mime,
            self.encoding,
            dict(self.headers),
            self.body,
            self.truncated,
        )
