"""The modules of PROCESSING_MODULES that come with the crawler: head, images, JSON-LD, language, feeds, text,
tags.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.parsing.sitemap import SitemapReading
from webcrawl.parsing.text import epoch_seconds, line, w3c_seconds
from webcrawl.processing.main_text import HTML, main_text
from webcrawl.processing.pdf import pdf_text
from webcrawl.urls.resolve import resolve, resolve_all

if TYPE_CHECKING:
    from webcrawl.parsing.html import ParsedPage
    from webcrawl.processing.contract import Content


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
"""Names of meta elements with the time of a change; the first that can be parsed counts."""

_OPEN_GRAPH = ("type", "title", "description", "url", "image", "site_name", "locale")
_DESCRIPTION = ("description", "dc.description")
_AUTHOR = ("author", "article:author", "dc.creator")
_NAMES = frozenset(
    [*_DESCRIPTION, *_AUTHOR, "keywords", *PUBLISHED, *MODIFIED, *(f"og:{name}" for name in _OPEN_GRAPH)]
)
"""The names of meta elements that are used here: most pages have at least some others."""


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
        fields: dict[str, Any] = {"language_declared": language}
        if not _NAMES.isdisjoint(metas):
            fields |= _of_metas(metas, document)
        if "modified_at" not in fields and (changed := content.headers.get("last-modified")):
            fields["modified_at"] = epoch_seconds(changed)
        if document.canonical:
            fields["canonical"] = resolve(document.canonical, document.base, document.encoding)
        if document.translations:
            fields["hreflang"] = _translations(document)
        return fields


def _of_metas(metas: Mapping[str, str], document: ParsedPage) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "description": _first(metas, _DESCRIPTION),
        "author": _first(metas, _AUTHOR),
    }
    if keywords := metas.get("keywords"):
        fields["keywords"] = [word for word in keywords.split(",") if not word.isspace()]
    for name in _OPEN_GRAPH:
        if content := metas.get(f"og:{name}"):
            absolute = name in ("url", "image")
            fields[f"og_{name}"] = resolve(content, document.base, document.encoding) if absolute else content
    for name, sources in (("published_at", PUBLISHED), ("modified_at", MODIFIED)):
        if (at := first_moment(metas[each] for each in sources if each in metas)) is not None:
            fields[name] = at
    return fields


def _first(metas: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((content for name in names if (content := metas.get(name))), None)


def first_moment(texts: Iterable[str]) -> float | None:
    """Return the first text that is a date, in epoch seconds."""
    return next((at for text in texts if (at := w3c_seconds(text[:100])) is not None), None)


def _translations(document: ParsedPage) -> dict[str, str]:
    """Return URLs by language code; the first URL of a code counts."""
    urls = resolve_all([href for _, href in document.translations], document.base, document.encoding)
    translations: dict[str, str] = {}
    for (language, _), url in zip(document.translations, urls, strict=True):
        if url is not None:
            translations.setdefault(language.strip().lower(), url)
    return translations


_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"BM", "bmp"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"\x00\x00\x01\x00", "ico"),
)


class Image:
    """Type, width and height of an image in pixels. Needs ``image/*`` in MIME_TYPES_WANTED, and no extensions of
    images in EXTENSIONS_REFUSED.
    """

    mime_types = ("image/*",)
    packages = ("imagesize",)
    fields: ClassVar[dict[str, str]] = {"image_type": "line", "image_width": "whole", "image_height": "whole"}

    def process(self, content: Content) -> Mapping[str, Any]:
        import imagesize

        kind = _kind(content)
        fields: dict[str, Any] = {"image_type": kind}
        width, height = imagesize.get(BytesIO(content.body))
        if width > 0 and height > 0:
            fields |= {"image_width": width, "image_height": height}
        return fields


def _kind(content: Content) -> str:
    """Return the type by the image's own first bytes, or else the server's type."""
    body = content.body
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "webp"
    if body[4:8] == b"ftyp":
        return "avif" if body[8:12] in (b"avif", b"avis") else "heif"
    for magic, kind in _MAGIC:
        if body.startswith(magic):
            return kind
    return content.mime.removeprefix("image/").removesuffix("+xml")


BLOCKS_MAX = 50
NODES_MAX = 2_000
"""The number of objects that are searched in all blocks of a page."""
KEPT_MAX = 200_000
"""The number of characters of JSON that are kept; a page with more has its types alone."""


class JsonLd:
    """All JSON-LD blocks as one JSON array, their types, and dates, author and language if an object has them."""

    mime_types = HTML
    fields: ClassVar[dict[str, str]] = {
        "json_ld": "text",
        "json_ld_types": "lines",
        "author": "line",
        "published_at": "real",
        "modified_at": "real",
    }

    def process(self, content: Content) -> Mapping[str, Any]:
        if "ld+json" not in content.text:
            return {}
        blocks = list(_blocks(content.text))
        nodes = list(_nodes(blocks))
        kept = json.dumps(blocks, ensure_ascii=True, separators=(",", ":")) if blocks else ""
        return {
            "json_ld": kept if len(kept) <= KEPT_MAX else None,
            "json_ld_types": [name for node in nodes for name in _texts(node.get("@type"))],
            "author": next((name for node in nodes for name in _names(node.get("author"))), None),
            "published_at": first_moment(
                text for node in nodes for text in _texts(node.get("datePublished"))
            ),
            "modified_at": first_moment(text for node in nodes for text in _texts(node.get("dateModified"))),
        }


def _blocks(text: str) -> Iterator[Any]:
    """Yield the values of all blocks that are JSON; invalid blocks are left out."""
    from selectolax.lexbor import LexborHTMLParser

    scripts = LexborHTMLParser(text).css("script[type='application/ld+json' i]")
    for script in scripts[:BLOCKS_MAX]:
        try:
            # Line breaks within strings are wrong and common.
            yield json.loads(script.text(), strict=False, parse_constant=lambda name: None)
        except (ValueError, RecursionError):
            continue


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in a value, the outer ones first."""
    waiting = deque([value])
    for _ in range(NODES_MAX):
        if not waiting:
            return
        each = waiting.popleft()
        if isinstance(each, dict):
            yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each[:NODES_MAX]


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str)]


def _names(author: Any) -> Iterator[str]:
    for each in author if isinstance(author, list) else [author]:
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            yield from _texts(each.get("name"))


LOOKED_AT = 2_000
"""The number of characters of a text that are used: more take time and do not change the result."""
LEAST = 20
"""The smallest number of characters of a text for which a language is detected."""


class Language:
    """The language of the main text (of HTML), of a PDF or of a plain text, as an ISO 639 code."""

    mime_types = (*HTML, "text/plain", "text/markdown", "application/pdf")
    packages = ("py3langid", "pypdf")
    fields: ClassVar[dict[str, str]] = {"language": "line", "language_probability": "real"}

    def __init__(self) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def process(self, content: Content) -> Mapping[str, Any]:
        if content.mime in HTML:
            text = main_text(content)
        elif content.mime == "application/pdf":
            text = pdf_text(content)
        else:
            text = content.text
        text = " ".join(text[:LOOKED_AT].split())
        if sum(map(str.isalpha, text)) < LEAST:
            return {}
        language, probability = self._identifier.classify(text)
        return {"language": language, "language_probability": round(float(probability), 4)}


_ROOT = re.compile(rb"<(?:[\w.-]+:)?(rss|feed|rdf|urlset|sitemapindex)[\s>]", re.IGNORECASE)
_KINDS = {"rss": "rss", "feed": "atom", "rdf": "rss", "urlset": "sitemap", "sitemapindex": "sitemapindex"}
_TITLE = re.compile(r"<title[^<>]{0,200}+>")
_TITLE_MAX = 2_000
_XML = ("text/xml", "application/xml", "application/rss+xml", "application/atom+xml", "application/rdf+xml")
_LOOKED_AT = 8_192
"""Bytes in which the root element and the title of a feed are searched."""


class Feed:
    """Kind, title and number of entries of RSS and Atom; the entries' URLs are links. For feeds with types such as
    ``application/rss+xml`` MIME_TYPES_WANTED must include the type.
    """

    mime_types: Sequence[str] = _XML
    fields: ClassVar[dict[str, str]] = {"title": "line", "listing": "line", "listed": "whole"}
    kinds: Sequence[str] = ("rss", "atom")

    def process(self, content: Content) -> Mapping[str, Any]:
        root = _ROOT.search(content.body[:_LOOKED_AT])
        kind = _KINDS[root[1].decode("ascii").lower()] if root else None
        if kind is None or kind not in self.kinds:
            return {}
        reading = SitemapReading(content.url)
        for _ in reading.steps([content.body]):
            pass
        pages, sitemaps = reading.take()
        if reading.error is not None and not reading.found:
            raise ValueError(reading.error)
        fields: dict[str, Any] = {"listing": kind, "listed": reading.found}
        fields["links"] = [each.url for each in (*pages, *sitemaps)]
        return fields | self._title(content)

    def _title(self, content: Content) -> dict[str, Any]:
        text = content.text[:_LOOKED_AT]
        tag = _TITLE.search(text)
        end = text.find("</title>", tag.end()) if tag else -1
        if tag is None or end < 0:
            return {}
        title = text[tag.end() : end].strip().removeprefix("<![CDATA[").removesuffix("]]>")
        return {"title": _unescaped(title[:_TITLE_MAX])}


class Sitemap(Feed):
    """Kind and number of URLs of a sitemap that is not listed in robots.txt but was linked; its URLs are links."""

    mime_types = ("text/xml", "application/xml")
    fields: ClassVar[dict[str, str]] = {"listing": "line", "listed": "whole"}
    kinds = ("sitemap", "sitemapindex")

    def _title(self, content: Content) -> dict[str, Any]:
        return {}


def _unescaped(text: str) -> str:
    import html

    return line(re.sub(r"<[^<>]*>", "", html.unescape(text)), 500)


class PlainText:
    """The text of a plain text, in its detected encoding."""

    mime_types = ("text/plain", "text/markdown")
    fields: ClassVar[dict[str, str]] = {"text": "text"}

    def process(self, content: Content) -> Mapping[str, Any]:
        return {"text": content.text}


class TagCounter:
    """The number of elements by name (the tag counter of Mercator) in a browser's tree, which adds elements such as
    ``tbody`` that a page leaves out.
    """

    mime_types = HTML
    fields: ClassVar[dict[str, str]] = {"tags": "counts"}

    def process(self, content: Content) -> Mapping[str, Any]:
        from selectolax.lexbor import LexborHTMLParser

        nodes = LexborHTMLParser(content.text).css("*")
        return {"tags": dict(Counter(node.tag for node in nodes).most_common())}
