"""What the elements of sitemaps and feeds list (sitemaps.org, protocol 0.9; RSS 0.9 to 2.0; RFC 4287).

An element is judged by its own name and its parent's, whatever the namespace and the root are, since many sitemaps
get those wrong: ``loc`` in ``url`` is a page, ``loc`` in ``sitemap`` another sitemap, so an ``image:loc`` is neither.
Of feeds each ``item`` or ``entry`` is one page: its ``link``, or where it has none what else identifies it by a URL
(``guid``, ``id``). What is said of a URL beside it goes with it (``listed``).
"""

from __future__ import annotations

import re
from typing import Protocol

from webcrawl.documents.findings import HREF_MAX
from webcrawl.documents.listed import ELEMENTS, told
from webcrawl.documents.markup import attributes_of, has_bare_ampersand, unescaped
from webcrawl.urls.resolve import resolve

_DEPTH_MAX = 64
_NAMESPACES_MAX = 64

_BLANK = "\ufeff\u200b\0"
"""Characters that nobody sees, beside whitespace."""
_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)
_NO_SCHEME = re.compile(r"www\.[^\s/.@]+\.[^\s@]+", re.IGNORECASE)
_NAMESPACE = re.compile(r"""\bxmlns(?::([\w.-]{1,40}))?\s*=\s*["']([^"']{0,300})["']""")

_LISTS = frozenset({"urlset", "sitemapindex"})
_FEEDS = frozenset({"rss", "rdf", "feed"})
_IN_FEEDS = frozenset({"item", "entry"})
_LISTING = frozenset({"url", "sitemap", *_IN_FEEDS})
"""Elements that list something; in a feed ``url`` does not."""
_LOC = "loc"
_ALTERNATE = "alternate"


class Listing(Protocol):
    """Receives what a sitemap lists."""

    def recognize(self) -> None:
        """It is a sitemap, even if it lists nothing."""

    def complain(self, why: str) -> None:
        """Something is wrong with it."""

    def stop(self, why: str) -> None:
        """No more of it is to be taken in."""

    def add(self, url: str, *, is_sitemap: bool = False, said: str | None = None) -> None:
        """It lists a URL; ``said`` is what it says of it, as ``listed.told`` writes it."""


def written_url(text: str) -> str:
    """A URL without the blanks around it."""
    return text.strip().strip(_BLANK).strip()


def absolute_url(url: str) -> str | None:
    """The URL if it is one of HTTP with its host; one that begins with ``www.`` gets the scheme of its sitemap."""
    if _ABSOLUTE.match(url):
        return url
    return f"//{url}" if _NO_SCHEME.fullmatch(url) else None


class SitemapElements:
    """Receives the elements of a document from ``Markup`` and tells a ``Listing`` what they list."""

    def __init__(self, reading: Listing, url: str) -> None:
        self._reading = reading
        self._url = url
        self._open: list[tuple[str, str, str | None]] = []
        """Of each open element name, prefix, and the base of its URLs where xml:base names one."""
        self._namespaces: dict[str, str] = {}
        self._is_feed = False
        self._listing = -1
        """Where in ``_open`` the element is that lists something; -1 while there is none."""
        self._field: str | None = None
        """The element that is being read, the last one of ``_open``."""
        self._inner = 0
        """Elements in it that are passed over."""
        self._text: list[str] = []
        self._length = 0
        self._own = ""
        """Text that is directly in the listing element."""
        self._told: dict[str, str] = {}
        """What that element says of its URL."""
        self._url_found: tuple[int, str] | None = None
        """The best URL so far and its rank, the least of which is the best."""

    def start(self, name: str, attributes: str, *, is_empty: bool) -> None:
        prefix, _, name = name.rpartition(":")
        if self._field is not None:
            if self._passes_over(name, prefix, is_empty=is_empty):
                return
            self._leave_field()
        if self._listing >= 0 and self._lists(name):
            # The one before it was not ended.
            self._pop(self._listing)
        if not self._open and name == "html":
            self._reading.stop("no sitemap")
        if len(self._open) >= _DEPTH_MAX:
            self._reading.stop("nested too deep")
            return
        parent, parent_prefix, base = self._open[-1] if self._open else ("", "", None)
        if "xml" in attributes:
            base = self._scoped(attributes, base)
        self._open.append((name, prefix, base))
        if self._listing == len(self._open) - 2 and self._listing >= 0:
            self._begin_field(name, prefix, parent_prefix, attributes)
        elif self._listing < 0:
            self._begin(name, parent, attributes)
        if is_empty:
            self._pop(len(self._open) - 1)

    def end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        if self._inner and name in _LISTING:
            self._inner -= 1
            return
        at = len(self._open) - 1
        while at >= 0 and self._open[at][0] != name:
            at -= 1
        if at < len(self._open) - 1:
            self._reading.complain("end tags do not match")
        if at >= 0:
            self._pop(at)

    def data(self, text: str) -> None:
        if self._field is not None:
            if self._length <= HREF_MAX and (self._text or not text.isspace()):
                self._text.append(text)
                self._length += len(text)
        elif self._listing >= 0 and self._listing == len(self._open) - 1 and not text.isspace():
            self._own = (self._own + text)[: HREF_MAX + 1]

    def entity_declared(self) -> None:
        self._reading.stop("declares entities")

    def close(self, *, ends_in_tag: bool) -> None:
        """The document has ended, in order if no element is open."""
        if not self._open:
            return
        self._reading.complain(f"ends within {self._open[-1][0]}")
        if not ends_in_tag:
            # Text may be cut anywhere.
            self._field = None
            self._own = ""
        self._pop(0)

    def _lists(self, name: str) -> bool:
        return name in _LISTING and (name in _IN_FEEDS or not self._is_feed)

    def _begin(self, name: str, parent: str, attributes: str) -> None:
        """An element begins outside of those that list something."""
        if self._lists(name):
            self._listing = len(self._open) - 1
            if name == "item" and "about" in attributes:
                self._propose(3, attributes_of(attributes).get("rdf:about", ""), is_absolute=True)
        elif name == _LOC and parent in _LISTS:
            self._field = name
        elif name in _LISTS or name in _FEEDS:
            self._is_feed = self._is_feed or name in _FEEDS
            self._reading.recognize()

    def _scoped(self, attributes: str, base: str | None) -> str | None:
        """Note the namespaces that a tag declares; return the base of URLs in it."""
        for prefix, name in _NAMESPACE.findall(attributes):
            if len(self._namespaces) < _NAMESPACES_MAX:
                self._namespaces[prefix] = name
        if "xml:base" not in attributes:
            return base
        return resolve(attributes_of(attributes).get("xml:base", ""), base or self._url) or base

    def _passes_over(self, name: str, prefix: str, *, is_empty: bool) -> bool:
        """Whether an element in a ``loc`` is a ``url`` again, which some write around the text."""
        if self._field != _LOC or name not in _LISTING or self._text or prefix != self._open[-1][1]:
            return False
        self._inner += not is_empty
        return True

    def _leave_field(self) -> None:
        """An element begins where none can be. If there was text, the end tag is missing."""
        if self._text:
            self._reading.complain(f"{self._field} is not ended")
            self._pop(len(self._open) - 1)
        else:
            self._field = None

    def _is_same_namespace(self, prefix: str, other: str) -> bool:
        if prefix == other:
            return True
        return self._namespaces.get(prefix, prefix) == self._namespaces.get(other, other)

    def _begin_field(self, name: str, prefix: str, parent: str, attributes: str) -> None:
        """An element begins directly within one that lists something."""
        if name in ELEMENTS:
            self._field = name
        elif self._open[self._listing][0] not in _IN_FEEDS:
            if name == _LOC and self._is_same_namespace(prefix, parent):
                self._field = name
        elif name == "link":
            self._begin_link(attributes)
        elif name in {"guid", "id"} and self._is_same_namespace(prefix, parent):
            self._field = name

    def _begin_link(self, attributes: str) -> None:
        known = attributes_of(attributes) if "=" in attributes else {}
        href = known.get("href")
        if href is None:
            self._field = "link"
            return
        relations = known.get("rel", _ALTERNATE).lower().split()
        if any(relation.rpartition("/")[2] == _ALTERNATE for relation in relations):
            is_page = known.get("type", "text/html").lower() in {"text/html", "application/xhtml+xml"}
            self._propose(0 if is_page else 1, href)

    def _propose(self, rank: int, url: str, *, is_absolute: bool = False) -> None:
        """A URL for what the element lists: of those with the least rank the first counts."""
        if is_absolute and not _ABSOLUTE.match(written_url(url)):
            return
        url = _with_host(url)
        if url and (self._url_found is None or rank < self._url_found[0]):
            self._url_found = rank, self._based(url)

    def _based(self, url: str) -> str:
        base = self._open[-1][2]
        return url if base is None else resolve(url, base) or url

    def _pop(self, at: int) -> None:
        """The element at that place of ``_open`` has ended, and with it all within it."""
        if self._field is not None:
            self._end_field()
        if self._listing >= at:
            self._settle(self._open[self._listing][0])
            self._listing = -1
        del self._open[at:]

    def _end_field(self) -> None:
        name, self._field, self._inner = self._field, None, 0
        written = "".join(self._text)
        self._text, self._length = [], 0
        text = unescaped(written)
        if name in ELEMENTS:
            self._told.setdefault(name, text.strip())
            return
        if has_bare_ampersand(written):
            self._reading.complain("a URL holds a bare &")
        if name == "link":
            self._propose(0, text)
        elif name in {"guid", "id"}:
            self._propose(2, text, is_absolute=True)
        elif self._listing < 0:
            self._reading.add(_with_host(text), is_sitemap=self._open[-2][0] == "sitemapindex")
        else:
            if self._url_found is not None:
                # Two in one element: what was said so far belongs to the first.
                self._settle(self._open[self._listing][0])
            self._propose(0, text)

    def _settle(self, name: str) -> None:
        """The element ``name`` has ended: no more is said of its URL."""
        if self._url_found is None and self._own and name not in _IN_FEEDS:
            self._propose(0, unescaped(self._own), is_absolute=True)
        if self._url_found is not None:
            said = told(self._told) if self._told else None
            self._reading.add(self._url_found[1], is_sitemap=name == "sitemap", said=said)
        self._url_found = None
        self._told.clear()
        self._own = ""


def _with_host(text: str) -> str:
    url = written_url(text)
    return absolute_url(url) or url
