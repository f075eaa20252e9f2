"""The document of a page in an index, and the requests that change it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from webcrawl.search.characters import plain

if TYPE_CHECKING:
    from webcrawl.archive.capture import ArchiveEntry

LANGUAGE_MAX = 8
"""The longest code of a language in characters; the longest subtags have as many (RFC 5646)."""

_GONE = frozenset({404, 410})
_UNCHANGED = 304
_GOOD = range(200, 300)


@dataclass(frozen=True, slots=True)
class Document:
    """A page in the index."""

    title: str
    text: str
    """The text of the page; all of it."""
    language: str | None
    """An ISO 639 code in lower case, without its suffixes (``en`` for ``en-GB``)."""
    headings: str = ""
    """A line for each heading; they are in ``text`` too."""
    boilerplate: str = ""
    """Other visible text, such as navigation. It has a low weight."""


@dataclass(frozen=True, slots=True)
class IndexChange:
    """A change of a page: its new document, or None if it must be removed."""

    url: str
    at: float
    """Epoch seconds when the response had ended."""
    document: Document | None

    def line(self) -> bytes:
        """One line of JSON, without its end."""
        page = self.document
        row: list[Any] = [self.url, self.at]
        if page is not None:
            row += [page.title, page.text, page.language, page.headings, page.boilerplate]
        return json.dumps(row, ensure_ascii=False).encode("utf-8", "replace")

    @classmethod
    def of_line(cls, line: bytes) -> IndexChange:
        """Parse a line. Raises ValueError for anything else."""
        url, at, *page = json.loads(line)
        return cls(url, at, Document(*page) if page else None)


def index_change(entry: ArchiveEntry) -> IndexChange | None:
    """Return the change that a finished request makes in an index; None if it has no new content of a page.

    Pages whose authors do not allow indexing, those that may not be used for what the crawl is for, and those that
    had the same bytes as another URL, or nearly its text and are not stored, are not indexed; if one was indexed
    before it is removed.
    """
    record = entry.record
    if record.kind != "page" or record.status is None:
        return None
    if record.status == _UNCHANGED:
        return IndexChange(record.url, record.end, None) if record.extra.get("withheld") else None
    if record.status in _GONE:
        return IndexChange(record.url, record.end, None)
    if record.status not in _GOOD or "refusal" in record.extra:
        # What the page had before a challenge is not gone.
        return None
    unwanted = any(
        record.extra.get(name) for name in ("noindex", "withheld", "duplicate_of", "body_withheld")
    )
    return IndexChange(record.url, record.end, None if unwanted else _document(entry.fields))


def _document(fields: Any) -> Document | None:
    title, text, boilerplate = (_text(fields.get(name)) for name in ("title", "text", "boilerplate"))
    if not title and not text and not boilerplate:
        return None
    headings = fields.get("headings")
    language = _text(fields.get("language") or fields.get("language_declared"))
    code = language.strip().lower().replace("_", "-").partition("-")[0]
    return Document(
        title,
        text,
        code[:LANGUAGE_MAX] or None,
        "\n".join(map(_text, headings)) if isinstance(headings, list) else "",
        boilerplate,
    )


def _text(value: object) -> str:
    return plain(value) if isinstance(value, str) else ""


def searchable_sites(url: str) -> list[str]:
    """Return the names by which a page's site may be searched: its host and all parent domains, ``example.org`` and
    ``org`` for ``www.example.org``; for an address itself.
    """
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return []
    if not host or ":" in host or host.rpartition(".")[2].isdigit():
        return [host] if host else []
    labels = host.rstrip(".").split(".")
    return [".".join(labels[start:]) for start in range(len(labels))]
