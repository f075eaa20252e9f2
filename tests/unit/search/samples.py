"""Finished requests, and what they change in an index."""

from __future__ import annotations

from typing import Any

from webcrawl.archive.capture import ArchiveEntry, FetchRecord
from webcrawl.search.document import Document, IndexChange

URL = "http://www.a.test/page"


def entry(
    url: str = URL, title: str | None = "A title", text: str | None = "Some words.", **said: Any
) -> ArchiveEntry:
    """A page that was fetched; ``said`` replaces what the log says of it, or adds to it."""
    known = {"status": 200, "kind": "page", "end": 2.0, "error": None}
    at = {name: said.pop(name, value) for name, value in known.items()}
    record = FetchRecord(
        start=1.0,
        end=at["end"],
        url=url,
        key="a.test",
        ip=None,
        kind=at["kind"],
        status=at["status"],
        error=at["error"],
        mime="text/html",
        bytes=1,
        location=None,
        via=None,
        depth=0,
        worker="w0",
        extra=said,
    )
    fields = {"title": title, "text": text, "language": "en-GB"}
    return ArchiveEntry(record, fields={name: value for name, value in fields.items() if value is not None})


def change(
    url: str = URL, text: str = "", title: str = "", language: str | None = "en", at: float = 2.0
) -> IndexChange:
    """A page that can be found from now on."""
    return IndexChange(url, at, Document(title, text, language))


def gone(url: str = URL, at: float = 3.0) -> IndexChange:
    return IndexChange(url, at, None)
