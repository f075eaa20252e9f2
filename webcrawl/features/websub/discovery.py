"""Discovery of the hubs of a page or feed: in Link headers first, then in elements of the document (section 4, RFC
8288)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser

from webcrawl.parsing.charset import detect_encoding
from webcrawl.parsing.markup import Markup, parse_attributes
from webcrawl.parsing.tree import is_harmless
from webcrawl.urls.resolve import resolve

URL_MAX = 2_048
"""Maximum length of the URL of a hub or a topic, in characters."""
HEAD_MAX = 1 << 16
"""Number of bytes of an HTML page that are searched for its head."""
HUBS_MAX = 4
"""Maximum number of hubs used per document."""
_PIECE = 1 << 14

# A quoted string without an end includes the rest of the header: searching for its end again after each quotation
# mark would take quadratic time.
_QUOTED = r'"((?:[^"\\]|\\.?)*+)(?:"|\Z)'
_LINK = re.compile(rf'<([^<>]*+)>((?:[^,"<]|{_QUOTED})*+)', re.DOTALL)
_PARAMETER = re.compile(rf';\s*+([\w!#$%&*+.^`|~-]++)\s*+=\s*+(?:{_QUOTED}|([^\s;,"]*+))', re.DOTALL)
_HUB = re.compile(rb"\bhub\b")
_IN_REL = re.compile(rb"""rel\s*+=\s*+["']?[^"'<>]*+\Z""")
REL_MAX = 100
"""Number of bytes before the word ``hub`` that are searched for its ``rel``."""
LOOKED_AT_MAX = 1_000
"""Maximum number of occurrences of ``hub`` in a document that are examined."""
_XML = re.compile(rb"\s*<(?:\?xml|(?:[\w.-]+:)?(?:rss|feed|rdf)\b)", re.IGNORECASE)
_ENTITIES = tuple("<!ENTITY".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))
_CHANNELS = frozenset({"feed", "channel"})
DEPTH_MAX = 100
"""Number of elements of a feed that are inside each other; the rest of a deeper document is not read."""


class Advertised(NamedTuple):
    """Topic and hubs of a document, as resolved URLs."""

    topic: str
    """URL under which the document is subscribed to (``rel=self``)."""
    hubs: tuple[str, ...]
    """The hubs of the topic; at least one."""


class Related(NamedTuple):
    """The hub and self links of a document, as they are written there."""

    hubs: list[str]
    selves: list[str]

    @classmethod
    def of(cls, links: Iterable[tuple[str, str]]) -> Related:
        """Collect hub and self links. ``links``: pairs of ``rel`` and URL."""
        related = cls([], [])
        for rel, url in links:
            words = rel.lower().split()
            if "hub" in words:
                related.hubs.append(url.strip())
            if "self" in words:
                related.selves.append(url.strip())
        return related


def advertised(headers: Iterable[str], body: bytes, content_type: str | None, url: str) -> Advertised | None:
    """Return topic and hubs of the document at ``url``; None if it names no hub or no topic. Never raises.

    ``headers``: the values of its Link headers; ``content_type``: the whole value of that header. ``body`` is
    searched for what the Link headers lack.
    """
    hubs, selves = Related.of(_in_headers(headers))
    if not hubs or not selves:
        inside = _inside(body, content_type)
        hubs, selves = hubs or inside.hubs, selves or inside.selves
    topics, hub_urls = list(_resolve_urls(selves, url)), list(_resolve_urls(hubs, url))
    return Advertised(topics[0], tuple(hub_urls[:HUBS_MAX])) if topics and hub_urls else None


def _resolve_urls(urls: Iterable[str], base: str) -> Iterator[str]:
    for url in dict.fromkeys(urls):
        resolved = resolve(url, base) if url and len(url) <= URL_MAX else None
        if resolved is not None and len(resolved) <= URL_MAX:
            yield resolved


def _in_headers(values: Iterable[str]) -> Iterator[tuple[str, str]]:
    for value in values:
        for link in _LINK.finditer(value):
            parameters: dict[str, str] = {}
            for name, quoted, plain in _PARAMETER.findall(link[2]):
                # The first parameter of a name counts (RFC 8288, section 3).
                parameters.setdefault(name.lower(), quoted or plain)
            if "anchor" not in parameters:  # otherwise it is a link of another document
                yield parameters.get("rel", ""), link[1]


def _inside(body: bytes, content_type: str | None) -> Related:
    if _is_xml(body):
        return Related.of(_in_feed(body) if is_feed_with_hub(body) else ())
    # If the tag is spelled differently, the head is cut later than needed, and the parser finds its end.
    ends = body.find(b"<body", 0, HEAD_MAX)
    ends = HEAD_MAX if ends < 0 else ends
    lowered = body[:ends].lower()
    # Nearly all pages return here, after microseconds.
    if b"hub" not in lowered or not _names_hub(lowered):
        return Related.of(())
    return Related.of(_in_head(body[:ends].decode(detect_encoding(body[:ends], content_type), "replace")))


def _is_xml(body: bytes) -> bool:
    return _XML.match(body[:_PIECE].removeprefix(b"\xef\xbb\xbf")) is not None


def is_feed_with_hub(body: bytes) -> bool:
    """Return whether a document has to be parsed as a whole, which takes some 7 ms for 100 KB."""
    return may_be_feed_with_hub(body) and _names_hub(body.lower())


def may_be_feed_with_hub(body: bytes) -> bool:
    """Return a less exact answer to the same question, in a millisecond for megabytes."""
    return b"hub" in body and _is_xml(body)


def _names_hub(lowered: bytes) -> bool:
    """Return whether a document in lower case names a hub. Searches backwards from the word: most pages have none, or
    few."""
    candidates = islice(_HUB.finditer(lowered), LOOKED_AT_MAX)
    return any(_IN_REL.search(lowered[max(0, hub.start() - REL_MAX) : hub.start()]) for hub in candidates)


def _in_head(text: str) -> Iterator[tuple[str, str]]:
    """Yield links of the head only: the body of a page may contain text of other people (section 8.1)."""
    if is_harmless(text):
        for node in LexborHTMLParser(text).css("head > link[rel][href]"):
            yield node.attributes.get("rel") or "", node.attributes.get("href") or ""


class _FeedLinks:
    """The handler of a feed's markup: collects the links of the feed itself, not those of its entries."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []
        self.is_over = False
        """True if what follows is no feed."""
        self._open: list[str] = []

    def start(self, name: str, attributes: str, *, is_empty: bool) -> None:
        local = name.rpartition(":")[2]
        if local == "link" and self._open and self._open[-1] in _CHANNELS:
            values = parse_attributes(attributes)
            self.found.append((values.get("rel", ""), values.get("href", "")))
        if not is_empty:
            self._open.append(local)
            self.is_over = len(self._open) > DEPTH_MAX

    def end(self, name: str) -> None:
        local = name.rpartition(":")[2]
        while local in self._open and self._open.pop() != local:
            pass

    def data(self, text: str) -> None:
        pass

    def entity_declared(self) -> None:
        self.is_over = True


def _in_feed(body: bytes) -> Iterator[tuple[str, str]]:
    """Yield links of the feed itself. The project's own tokenizer reads it: lxml would keep the names of all elements
    of all feeds in memory, for as long as the crawl runs."""
    if any(word in body for word in _ENTITIES):
        return
    links = _FeedLinks()
    markup = Markup(links)
    text = body.decode(detect_encoding(body[:HEAD_MAX], None), "replace")
    for start in range(0, len(text), _PIECE):
        if links.is_over:
            break
        markup.feed(text[start : start + _PIECE])
    yield from links.found
