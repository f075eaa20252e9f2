"""Sitemaps: the URLs that a site itself lists, in XML, in RSS or Atom, or one a line (sitemaps.org, protocol 0.9).

An element is judged by its own name and its parent's, whatever the namespace and the root are, since many sitemaps
get those wrong: ``loc`` in ``url`` is a page, ``loc`` in ``sitemap`` another sitemap, so an ``image:loc`` is neither.
Of feeds the ``link`` of an ``item`` or ``entry`` counts. What is said of a URL beside it goes with it (``listed``).

No tree is built, and a document that declares entities is not read, so memory is that of the body and of what was
found since it was last taken. What is broken gives what can be read of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

from lxml import etree

from webcrawl.documents.decoding import decode
from webcrawl.documents.findings import HREF_MAX
from webcrawl.documents.listed import ELEMENTS, Listed, told
from webcrawl.documents.text import line

URLS_MAX = 50_000
"""URLs that the protocol allows in one file, and sitemaps in one index."""

MAX_BYTES = 50 * 1024 * 1024
"""Bytes that the protocol allows a file to have, uncompressed."""

_PIECE = 16_384
"""Bytes of XML parsed in one step, some 1 ms."""
_WHY_MAX = 200
_LINES = 500
"""Lines of text looked at in one step."""
_LAYERS = 2
"""Times that a body may be packed: ``sitemap.xml.gz`` is, and some servers pack it again."""

_GZIP_MAGIC = b"\x1f\x8b"
_BLANK = b" \t\r\n"
_MARK = b"\xef\xbb\xbf"
_ENTITIES = tuple("<!ENTITY".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))
_DEPTH_MAX = 64
_ROOTS = frozenset({"urlset", "sitemapindex", "rss", "rdf", "feed"})
_LISTING = frozenset({"url", "sitemap", "item", "entry"})
"""Elements that list something."""
_IN = {("url", "loc"), ("sitemap", "loc"), ("item", "link"), ("entry", "link")}


def unpacked(body: bytes, limit: int) -> tuple[bytes, str | None]:
    """Return a body without the gzip it may be packed in, cut at ``limit`` bytes, and what is wrong with that."""
    error = None
    for _ in range(_LAYERS):
        if not body.startswith(_GZIP_MAGIC):
            break
        decoded = decode(body, "gzip", limit)
        body, error = decoded.body, decoded.error or error
    return body, error


class SitemapReading:
    """Reads one sitemap in steps: run ``steps()`` and take what was found with ``take``, in between too.

    ``error`` says what is wrong with it, or that it is no sitemap at all. ``found`` counts URLs, of pages and of
    sitemaps; ``dropped`` is whether there were more than ``urls_max``.
    """

    def __init__(self, body: bytes, urls_max: int = URLS_MAX) -> None:
        self._body = body
        self._urls_max = urls_max
        self._pages: list[Listed] = []
        self._sitemaps: list[Listed] = []
        self._open: list[tuple[str, bool]] = []
        """URLs of the element that is being read, and whether each is a sitemap's."""
        self._told: dict[str, str] = {}
        """What that element says of them."""
        self._is_one = False
        self.found = 0
        self.dropped = False
        self.error: str | None = None

    def take(self) -> tuple[list[Listed], list[Listed]]:
        """What was found since the last call: pages and further sitemaps, with URLs as they stand there."""
        taken = self._pages, self._sitemaps
        self._pages, self._sitemaps = [], []
        return taken

    def steps(self) -> Iterator[None]:
        """Do the work, a millisecond or so at a time. Never raises."""
        body, self._body = self._body.removeprefix(_MARK).lstrip(_BLANK), b""
        is_xml = body.startswith((b"<", b"\xff\xfe", b"\xfe\xff"))
        yield from self._xml(body) if is_xml else self._text(body)
        self.settle()
        if not self.found and not self._is_one and self.error is None:
            self.error = "no sitemap"

    def stop(self, why: str) -> None:
        """Make do with what was found so far."""
        self.error = line(why, _WHY_MAX) or "not well-formed"

    def root(self, name: str) -> None:
        """The document's first element."""
        self._is_one = name in _ROOTS

    def add(self, url: str, is_sitemap: bool = False) -> None:
        """Take in a URL."""
        if not url or len(url) > HREF_MAX or self.error is not None:
            return
        if self.found >= self._urls_max:
            self.dropped = True
            return
        self.found += 1
        self._open.append((url, is_sitemap))

    def tell(self, name: str, text: str) -> None:
        """Take in what the element that is being read says of its URLs; the first word counts."""
        self._told.setdefault(name, text)

    def settle(self) -> None:
        """The element that lists something has ended: no more is said of its URLs."""
        if self._open:
            said = told(self._told) if self._told else None
            for url, is_sitemap in self._open:
                (self._sitemaps if is_sitemap else self._pages).append(Listed(url, said))
            self._open.clear()
        self._told.clear()

    def _xml(self, body: bytes) -> Iterator[None]:
        if any(word in body for word in _ENTITIES):
            self.stop("declares entities")
            return
        target = _Target(self)
        # Of the methods that the stub asks for lxml calls those that are there.
        parser: Any = etree.XMLParser(
            target=target,  # type: ignore[arg-type]
            recover=True,
            no_network=True,
            load_dtd=False,
        )
        view = memoryview(body)
        try:
            for start in range(0, len(view), _PIECE):
                parser.feed(bytes(view[start : start + _PIECE]))
                yield
                if self.dropped or self.error is not None:
                    return
            parser.close()
            if fatal := parser.feed_error_log.filter_from_fatals():
                self.stop(fatal[0].message)
        except (etree.LxmlError, LookupError, ValueError) as error:
            self.stop(str(error))

    def _text(self, body: bytes) -> Iterator[None]:
        lines = BytesIO(body.replace(b"\r", b"\n") if b"\r" in body else body)
        for number, listed in enumerate(lines, 1):
            if listed[:8].lower().startswith((b"http://", b"https://")):
                self._is_one = True
                self.add(listed[: HREF_MAX + 1].decode("utf-8", "replace").strip())
                self.settle()
            if number % _LINES == 0:
                yield
                if self.dropped:
                    return


class _Target:
    """What lxml calls: keeps the names of the open elements and the text of the one that holds a URL."""

    def __init__(self, reading: SitemapReading) -> None:
        self._reading = reading
        self._open: list[str] = []
        self._text: list[str] | None = None
        self._length = 0

    def start(self, tag: str, values: dict[str, str]) -> None:
        name = tag.rpartition("}")[2].lower()
        parent = self._open[-1] if self._open else ""
        if not self._open:
            self._reading.root(name)
        elif len(self._open) >= _DEPTH_MAX:
            self._reading.stop("nested too deep")
        self._open.append(name)
        self._text = None
        if name in _LISTING:
            self._reading.settle()
        if (parent, name) not in _IN:
            if parent in _LISTING and name in ELEMENTS:
                self._text, self._length = [], 0
            return
        href = values.get("href")
        if href is None:
            self._text, self._length = [], 0
        elif values.get("rel", "alternate").lower() == "alternate":
            self._reading.add(href.strip())

    def end(self, tag: str) -> None:
        name = self._open.pop() if self._open else ""
        if self._text is not None:
            text, self._text = "".join(self._text).strip(), None
            if name in ELEMENTS:
                self._reading.tell(name, text)
            else:
                self._reading.add(text, bool(self._open) and self._open[-1] == "sitemap")
        elif name in _LISTING:
            self._reading.settle()

    def data(self, data: str) -> None:
        if self._text is not None and self._length <= HREF_MAX:
            self._text.append(data)
            self._length += len(data)

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        # RSS 0.91 has one, which is not fetched. In all others it could only declare what we do not want to know.
        if name.lower() != "rss":
            self._reading.stop("has a DTD")

    def close(self) -> None:
        pass
