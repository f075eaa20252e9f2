"""What an index has of a page, and which requests change that."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from webcrawl.search.engine import plain

if TYPE_CHECKING:
    from webcrawl.archive.capture import Entry

LANGUAGE_MAX = 8
"""Characters of a language's code; the longest subtags have as many (RFC 5646)."""

_GONE = frozenset({404, 410})
_UNCHANGED = 304
_GOOD = range(200, 300)


@dataclass(frozen=True, slots=True)
class Document:
    """A page that can be found."""

    title: str
    text: str
    """What the page says; all of it."""
    language: str | None
    """An ISO 639 code in lower case, without what may follow it (``en`` for ``en-GB``)."""
    headings: str = ""
    """A line for each; they stand in ``text`` too."""
    boilerplate: str = ""
    """What is visible besides, such as navigation. It counts little."""


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a page: its document now, or None where it is not to be found any more."""

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
    def of_line(cls, line: bytes) -> Change:
        """The change that ``line`` was made of. Raises ValueError for anything else."""
        url, at, *page = json.loads(line)
        return cls(url, at, Document(*page) if page else None)


def change_of(entry: Entry) -> Change | None:
    """What a finished request changes in an index; None when it says nothing new of a page.

    Pages whose authors do not want them in an index, and those that had the same bytes as another URL, are kept out;
    one that was in before goes.
    """
    record = entry.record
    if record.kind != "page" or record.status is None or record.status == _UNCHANGED:
        return None
    if record.status in _GONE:
        return Change(record.url, record.end, None)
    if record.status not in _GOOD:
        return None
    unwanted = record.extra.get("noindex") or record.extra.get("duplicate_of")
    return Change(record.url, record.end, None if unwanted else _document(entry.fields))


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


def sites_of(url: str) -> list[str]:
    """The names by which a page's site may be asked for: its host and all that this is below, ``example.org`` and
    ``org`` for ``www.example.org``; an address stands for itself.
    """
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return []
    if not host or ":" in host or host.rpartition(".")[2].isdigit():
        return [host] if host else []
    labels = host.rstrip(".").split(".")
    return [".".join(labels[start:]) for start in range(len(labels))]
