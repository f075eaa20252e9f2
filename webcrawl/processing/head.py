"""What the head of an HTML page says of it; the parser has come by all of it anyway."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.documents.dates import epoch_seconds, w3c_seconds
from webcrawl.urls.resolve import resolve, resolve_all

if TYPE_CHECKING:
    from webcrawl.documents.html import Document
    from webcrawl.processing.content import Content

PUBLISHED = (
    "article:published_time",
    "datepublished",
    "dc.date",
    "dcterms.created",
    "dcterms.issued",
    "dc.date.issued",
    "citation_publication_date",
    "date",
    "pubdate",
    "parsely-pub-date",
)
MODIFIED = ("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified")
"""Names of meta elements that tell when; the first that can be read counts."""

_OPEN_GRAPH = ("type", "title", "description", "url", "image", "site_name", "locale")
_DESCRIPTION = ("description", "dc.description")
_AUTHOR = ("author", "article:author", "dc.creator")
_NAMES = frozenset(
    [*_DESCRIPTION, *_AUTHOR, "keywords", *PUBLISHED, *MODIFIED, *(f"og:{name}" for name in _OPEN_GRAPH)]
)
"""Of meta elements that are looked at here: most pages have at least some others."""


class Head:
    """Description, keywords, author, languages, canonical URL, translations, Open Graph (ogp.me) and dates."""

    mime_types = ("text/html", "application/xhtml+xml")
    in_place = True
    fields: ClassVar[dict[str, str]] = {
        "description": "line",
        "keywords": "lines",
        "author": "line",
        "language_declared": "line",
        "canonical": "line",
        "hreflang": "named",
        "published_at": "real",
        "modified_at": "real",
        **{f"og_{name}": "line" for name in _OPEN_GRAPH},
    }

    def process(self, content: Content) -> Mapping[str, Any]:
        document = content.document
        if document is None:
            return {}
        metas = dict(reversed(document.metas))
        language = (
            document.language or metas.get("content-language") or content.headers.get("content-language")
        )
        found: dict[str, Any] = {"language_declared": language}
        if not _NAMES.isdisjoint(metas):
            found |= _of_metas(metas, document)
        if "modified_at" not in found and (changed := content.headers.get("last-modified")):
            found["modified_at"] = epoch_seconds(changed)
        if document.canonical:
            found["canonical"] = resolve(document.canonical, document.base, document.encoding)
        if document.translations:
            found["hreflang"] = _translations(document)
        return found


def _of_metas(metas: Mapping[str, str], document: Document) -> dict[str, Any]:
    found: dict[str, Any] = {
        "description": _first(metas, _DESCRIPTION),
        "author": _first(metas, _AUTHOR),
    }
    if told := metas.get("keywords"):
        found["keywords"] = [word for word in told.split(",") if not word.isspace()]
    for name in _OPEN_GRAPH:
        if said := metas.get(f"og:{name}"):
            absolute = name in ("url", "image")
            found[f"og_{name}"] = resolve(said, document.base, document.encoding) if absolute else said
    for name, sources in (("published_at", PUBLISHED), ("modified_at", MODIFIED)):
        if (at := first_moment(metas[each] for each in sources if each in metas)) is not None:
            found[name] = at
    return found


def _first(metas: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((said for name in names if (said := metas.get(name))), None)


def first_moment(texts: Iterable[str]) -> float | None:
    """The first that is a date, in epoch seconds."""
    return next((at for text in texts if (at := w3c_seconds(text[:100])) is not None), None)


def _translations(document: Document) -> dict[str, str]:
    """URL by language code; of a code the first counts."""
    urls = resolve_all([href for _, href in document.translations], document.base, document.encoding)
    found: dict[str, str] = {}
    for (language, _), url in zip(document.translations, urls, strict=True):
        if url is not None:
            found.setdefault(language.strip().lower(), url)
    return found
