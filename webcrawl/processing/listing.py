"""Documents that list others: RSS, Atom and sitemaps, come upon as ordinary pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.documents.sitemap import SitemapReading
from webcrawl.documents.text import line

if TYPE_CHECKING:
    from webcrawl.processing.content import Content

_ROOT = re.compile(rb"<(?:[\w.-]+:)?(rss|feed|rdf|urlset|sitemapindex)[\s>]", re.IGNORECASE)
_KINDS = {"rss": "rss", "feed": "atom", "rdf": "rss", "urlset": "sitemap", "sitemapindex": "sitemapindex"}
_TITLE = re.compile(r"<title[^>]{0,200}>\s*(?:<!\[CDATA\[)?(.{0,2000}?)(?:\]\]>)?\s*</title>", re.DOTALL)
_XML = ("text/xml", "application/xml", "application/rss+xml", "application/atom+xml", "application/rdf+xml")
_LOOKED_AT = 8_192
"""Bytes in which the root element and the title of a feed are looked for."""


class Feed:
    """Kind, title and number of entries of RSS and Atom; the entries' URLs are links. For feeds that a server calls
    ``application/rss+xml`` or the like MIME_TYPES_WANTED must name that type.
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
        found: dict[str, Any] = {"listing": kind, "listed": reading.found}
        found["links"] = [each.url for each in (*pages, *sitemaps)]
        return found | self._title(content)

    def _title(self, content: Content) -> dict[str, Any]:
        title = _TITLE.search(content.text[:_LOOKED_AT])
        return {"title": _unescaped(title[1])} if title else {}


class Sitemap(Feed):
    """Kind and number of URLs of a sitemap that is no sitemap of robots.txt but was linked; its URLs are links."""

    mime_types = ("text/xml", "application/xml")
    fields: ClassVar[dict[str, str]] = {"listing": "line", "listed": "whole"}
    kinds = ("sitemap", "sitemapindex")

    def _title(self, content: Content) -> dict[str, Any]:
        return {}


def _unescaped(text: str) -> str:
    import html

    return line(re.sub(r"<[^<>]*>", "", html.unescape(text)), 500)
