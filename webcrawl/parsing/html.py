"""Extraction of title and links from the bytes of an HTML page, and of the URLs in a style sheet.

Two parsers: docs/decisions/0003-html-parser.md. Listings of FTP and menus of Gopher are read here too: a long one
blocks the event loop no more than a long page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, MutableSequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from webcrawl.parsing import listing, menu, stream, tree
from webcrawl.parsing.charset import detect_encoding
from webcrawl.parsing.css import css_urls, is_style_sheet
from webcrawl.parsing.findings import SPELLINGS, Found, PageFindings, merged
from webcrawl.parsing.links import FOLLOWED, IN_STYLES, TEXT_MAX, Link
from webcrawl.parsing.mime import FTP_LISTING, GOPHER_MENU, mime_type
from webcrawl.parsing.text import line
from webcrawl.urls.resolve import resolve, resolve_all, resolve_other_scheme

TITLE_MAX = 500
"""The number of characters of a title that are kept."""

# In XHTML an element may be self-closing whose content HTML takes for text up to an end tag: the rest of the page.
_CLOSES_ITSELF = re.compile(r"<(title|script|style|textarea|iframe)([\s/][^<>]*+)(?<=/)>")

_ABSOLUTE = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*:")

# The number of links resolved between two pauses.
_BATCH = 100


@lru_cache(maxsize=8192)
def _known_line(text: str) -> str:
    """Return a text of at most ``TEXT_MAX`` characters in one line, cached: most links of a page repeat the texts of
    other pages.
    """
    return line(text, TEXT_MAX)


class PageInput(NamedTuple):
    """A page to extract from, and what to extract."""

    body: bytes
    url: str
    content_type: str | None
    """The whole value of the header."""
    links_max: int
    """The number of different links that are taken, see ``ParsedPage.links``."""
    types: frozenset[str] = FOLLOWED
    """The types of links that are found (names of ``links.TYPES``). Each type beyond ``FOLLOWED`` costs time."""
    agents: tuple[str, ...] = ()
    """The product tokens by which a meta element may address this crawler alone."""
    surroundings: bool = False
    """Find the words directly before and behind links too; this costs time."""


@dataclass(slots=True)
class ParsedPage:
    """The findings of one page.

    ``title`` is one line of at most ``TITLE_MAX`` characters. ``base`` is the URL that the links were resolved
    against. ``encoding`` is the Python codec that the bytes were decoded with. ``links`` are in the order of the
    page, each pair of URL and type once: with the first text that is not empty, and with a word of ``links.NOFOLLOW``
    in ``rel`` only when all links of the pair have one. ``other_links`` are those of other schemes than http and
    https (``mailto:``, ``javascript:``), plain tuples like a ``Link``. ``links_dropped`` counts links that were too
    long, and those to further targets than ``links_max``. ``robots`` has the meta elements for all robots or for this
    crawler, as input of ``page_directives.of_meta``. ``metas``, ``language``, ``canonical`` and ``translations`` are
    those of ``findings.PageFindings``: as written, not resolved, not cleaned. ``beside`` has the words directly
    before or behind links, by URL, if they were requested and the page was read by ``tree``. ``error`` says why the
    page was not read to its end.
    """

    title: str
    base: str
    encoding: str
    links_dropped: int = 0
    robots: list[str] = field(default_factory=list)
    metas: list[tuple[str, str]] = field(default_factory=list)
    language: str | None = None
    canonical: str | None = None
    translations: list[tuple[str, str]] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    other_links: list[tuple[str, str, str, str]] = field(default_factory=list)
    links: MutableSequence[Link] = field(default_factory=list)


def extract(page: PageInput) -> ParsedPage:
    """Return the title and the links of a page. Never raises.

    On an event loop use an ``Extractor``, which interrupts itself and ends a page that takes too long.
    """
    extraction = Extraction(page)
    for _ in extraction.steps():
        pass
    return extraction.document


class Extraction:
    """One ``extract`` in steps of a few milliseconds: run ``steps()`` to its end, then take ``document``."""

    def __init__(self, page: PageInput, *, on_a_loop: bool = False) -> None:
        """``on_a_loop``: no step holds it long. Reading stops with the error ``stream.TOO_DEEP`` when more than
        ``stream.OPEN_MAX`` elements are open."""
        self._page = page
        self._limits = tree.ON_A_LOOP if on_a_loop else tree.APART
        self._open_max = stream.OPEN_MAX if on_a_loop else None
        self._beside: dict[str, str] | None = {} if page.surroundings else None
        self._links: dict[tuple[str, str], Link] = {}
        self._other_links: dict[tuple[str, str], Link] = {}
        self.document = ParsedPage(
            title="", base=page.url, encoding=detect_encoding(page.body, page.content_type)
        )

    def steps(self) -> Iterator[None]:
        """Do the work, a step at a time."""
        page, document = self._page, self.document
        mime = mime_type(page.content_type)
        if mime in (FTP_LISTING, GOPHER_MENU):
            yield from self._directory(mime)
            return
        text = _decoded(page.body, document.encoding)
        if is_style_sheet(mime_type(page.content_type)):
            yield from self._style_sheet(text)
            return
        text = readable_as_html(text, mime_type(page.content_type))
        findings = PageFindings(
            page.types, page.links_max, frozenset(map(str.lower, page.agents)), beside=self._beside
        )
        if tree.is_harmless(text, self._limits):
            tree.read(text, findings)
        else:
            for _ in stream.steps(text, findings, self._open_max):
                yield
                if document.error is not None:
                    break
            document.error = document.error or findings.unread
        document.title = line(findings.title or "", TITLE_MAX)
        if findings.base_is_too_long:
            # A URL relative to it would be too long itself, and without the base the link has no target.
            findings.dropped += len(findings.found)
            findings.found = [item for item in findings.found if _ABSOLUTE.match(item[0])]
            findings.dropped -= len(findings.found)
        else:
            document.base = resolve(findings.base or "", page.url) or page.url
        document.links_dropped = findings.dropped
        document.robots = findings.robots
        document.metas, document.translations = findings.metas, findings.translations
        document.language, document.canonical = findings.language, findings.canonical
        yield from self._resolve_all(findings.found)

    def _style_sheet(self, text: str) -> Iterator[None]:
        findings = PageFindings(self._page.types, self._page.links_max)
        for number, url in enumerate(css_urls(text), start=1):
            findings.add(url, IN_STYLES)
            if number % _BATCH == 0:
                yield
        self.document.links_dropped = findings.dropped
        yield from self._resolve_all(findings.found)

    def _resolve_all(self, items: list[Found]) -> Iterator[None]:
        document = self.document
        for start in range(0, len(items), _BATCH):
            self._resolve(items[start : start + _BATCH])
            yield
        document.links = list(self._links.values())
        document.other_links = [(*link,) for link in self._other_links.values()]

    def _directory(self, mime: str) -> Iterator[None]:
        """Take the links of a listing or a menu."""
        page, document = self._page, self.document
        kind = listing.TYPE if mime == FTP_LISTING else menu.TYPE
        links: Iterator[listing.DirectoryItem | menu.MenuItem] = (
            listing.items(page.body) if mime == FTP_LISTING else menu.items(page.body)
        )
        taken = 0
        while batch := list(islice(links, _BATCH)):
            if document.error is not None:
                break
            room = SPELLINGS * page.links_max - taken
            taken_items = [(item.href, kind, item.text, "") for item in batch[:room]]
            taken += len(taken_items)
            document.links_dropped += len(batch) - len(taken_items)
            self._resolve(taken_items)
            yield
        document.links = list(self._links.values())
        document.other_links = [(*link,) for link in self._other_links.values()]

    def stop_reading(self, why: str) -> None:
        """Keep the findings so far and stop; ``why`` becomes the document's error."""
        self.document.error = why

    def _resolve(self, items: list[Found]) -> None:
        links, links_max = self._links, self._page.links_max
        urls = resolve_all([href for href, _, _, _ in items], self.document.base, self.document.encoding)
        for url, (href, kind, written, rel) in zip(urls, items, strict=True):
            if url is None:
                self._resolve_other(href, kind, written, rel)
                continue
            text = _known_line(written) if len(written) <= TEXT_MAX else line(written, TEXT_MAX)
            # Made by the tuple: the constructor of a NamedTuple takes twice as long, a hundred times per page.
            link = tuple.__new__(Link, (url, kind, text, rel))
            known = links.setdefault((url, kind), link)
            if known is link:
                if len(links) + len(self._other_links) > links_max:
                    del links[url, kind]
                    self.document.links_dropped += 1
            # A second link adds nothing to one that has a text and no word of NOFOLLOW.
            elif known[3] or not known[2]:
                links[url, kind] = Link(*merged(known, text, rel))
        if self._beside:
            for url, (href, _, _, _) in zip(urls, items, strict=True):
                if url is not None and (words := self._beside.get(href)):
                    self.document.beside.setdefault(url, words)

    def _resolve_other(self, href: str, kind: str, written: str, rel: str) -> None:
        """Add a link that cannot be requested over HTTP, if it is valid at all."""
        url = resolve_other_scheme(href, self.document.base, self.document.encoding)
        if url is None:
            return
        text = line(written, TEXT_MAX)
        known = self._other_links.get((url, kind))
        if known is None and len(self._links) + len(self._other_links) >= self._page.links_max:
            self.document.links_dropped += 1
            return
        self._other_links[url, kind] = Link(
            *((url, kind, text, rel) if known is None else merged(known, text, rel))
        )


def found_links(
    images: Iterable[tuple[str, str]], base: str
) -> tuple[list[Link], list[tuple[str, str, str, str]]]:
    """Return links that a download handler found as references with texts: those over HTTP, and those of other
    schemes.
    """
    links: dict[str, Link] = {}
    others: dict[str, Link] = {}
    for href, text in images:
        url = resolve(href, base)
        if url is not None:
            links.setdefault(url, Link(url, "a", line(text, TEXT_MAX), ""))
        elif (other := resolve_other_scheme(href, base)) is not None:
            others.setdefault(other, Link(other, "a", line(text, TEXT_MAX), ""))
    return list(links.values()), [(*link,) for link in others.values()]


def readable_as_html(text: str, mime: str | None) -> str:
    """Return a page in a form that an HTML parser can read; a page that is not XHTML stays as it is."""
    return _CLOSES_ITSELF.sub(r"<\1\2></\1>", text) if mime == "application/xhtml+xml" else text


def _decoded(body: bytes, encoding: str) -> str:
    text = body.decode(encoding, "replace")
    if text.startswith("\ufeff"):
        text = text[1:]
    return text.replace("\0", "\ufffd") if b"\0" in body else text
