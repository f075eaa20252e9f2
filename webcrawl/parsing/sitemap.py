"""A parser of sitemaps in XML, RSS or Atom, or with one URL per line (sitemaps.org, protocol 0.9; RFC 4287).

The document comes in pieces of any length, compressed or not, and no more of it than one element is in memory. Its
DTD is not read. A broken document yields the part that can be read.

An element is classified by its own name and its parent's, whatever the namespace and the root are, since many
sitemaps get those wrong: ``loc`` in ``url`` is a page, ``loc`` in ``sitemap`` another sitemap, so an ``image:loc`` is
neither. Each ``item`` or ``entry`` of a feed is one page: its ``link``, or without one another element that
identifies it by a URL (``guid``, ``id``).

The hints that a sitemap gives for a URL (``lastmod``, ``changefreq``, ``priority``) are passed on with it as claims
of the site for the planning of the next visit; in feeds the date of an item or entry takes the place of ``lastmod``.
Impossible values are left out.
"""

from __future__ import annotations

import codecs
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from webcrawl.parsing.charset import find_codec
from webcrawl.parsing.findings import HREF_MAX
from webcrawl.parsing.markup import Markup, has_bare_ampersand, parse_attributes, unescaped
from webcrawl.parsing.sitemap_limits import MAX_BYTES, URLS_MAX
from webcrawl.parsing.text import line, w3c_seconds
from webcrawl.urls.resolve import resolve

CHANGEFREQS = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
DATES = ("lastmod", "updated", "modified", "pubdate", "date", "published", "issued")
"""Elements with the date of a change; the first that can be parsed counts."""
ELEMENTS = frozenset({*DATES, "changefreq", "priority"})

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Listed(NamedTuple):
    """A URL as it is written in a sitemap."""

    url: str
    hints: str | None = None
    """The hints in the form of a frontier entry, see ``encoded_hints``."""


def encoded_hints(texts: Mapping[str, str]) -> str | None:
    """Return the hints in the texts of ``ELEMENTS``, by their names in lower case, as JSON; None if there are none.

    ``lastmod``: epoch seconds; ``changefreq``: a word of ``CHANGEFREQS``; ``priority``: 0 to 1. Never raises.
    """
    facts: dict[str, float | str] = {}
    for name in DATES:
        at = w3c_seconds(texts[name]) if name in texts else None
        if at is not None:
            facts["lastmod"] = int(at) if at.is_integer() else at
            break
    often = texts.get("changefreq", "").strip().lower()
    if often in CHANGEFREQS:
        facts["changefreq"] = often
    priority = _number(texts.get("priority", ""))
    if 0.0 <= priority <= 1.0:
        facts["priority"] = priority
    return _encode(facts) if facts else None


def facts(hints: str) -> dict[str, float | str]:
    """Return the hints as the fetch log has them."""
    known: dict[str, float | str] = json.loads(hints)
    return known


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


_DEPTH_MAX = 64
_NAMESPACES_MAX = 64

_BLANK = "\ufeff\u200b\0"
"""Invisible characters besides whitespace."""
_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)
_NO_SCHEME = re.compile(r"www\.[^\s/.@]+\.[^\s@]+", re.IGNORECASE)
_NO_PERMALINK = re.compile(r"""\bisPermaLink\s*=\s*["']\s*false\s*["']""", re.IGNORECASE)
_NAMESPACE = re.compile(r"""\bxmlns(?::([\w.-]{1,40}))?\s*=\s*["']([^"']{0,300})["']""")

_LISTS = frozenset({"urlset", "sitemapindex"})
_FEEDS = frozenset({"rss", "rdf", "feed"})
_IN_FEEDS = frozenset({"item", "entry"})
_LISTING = frozenset({"url", "sitemap", *_IN_FEEDS})
"""Elements that list something; in a feed ``url`` does not."""
_LOC = "loc"
_ALTERNATE = "alternate"


class Listing(Protocol):
    """Receives the content of a sitemap."""

    def recognize(self) -> None:
        """Note that the document is a sitemap, even if it lists nothing."""

    def complain(self, why: str) -> None:
        """Note an error in it."""

    def stop(self, why: str) -> None:
        """Take no more of it."""

    def add(self, url: str, *, is_sitemap: bool = False, hints: str | None = None) -> None:
        """Take a URL; ``hints`` are in the form of ``encoded_hints``."""


def written_url(text: str) -> str:
    """Return a URL without surrounding blanks."""
    return text.strip().strip(_BLANK).strip()


def absolute_url(url: str) -> str | None:
    """Return the URL if it is an HTTP one with its host; one that begins with ``www.`` gets the scheme of its
    sitemap.
    """
    if _ABSOLUTE.match(url):
        return url
    return f"//{url}" if _NO_SCHEME.fullmatch(url) else None


class SitemapElements:
    """Receives the elements of a document from ``Markup`` and passes their URLs to a ``Listing``."""

    def __init__(self, reading: Listing, url: str) -> None:
        self._reading = reading
        self._url = url
        self._open: list[tuple[str, str, str | None]] = []
        """The name and prefix of each open element, and the base of its URLs if xml:base sets one."""
        self._namespaces: dict[str, str] = {}
        self._is_feed = False
        self._listing = -1
        """The index in ``_open`` of the element that lists something; -1 if there is none."""
        self._field: str | None = None
        """The element that is being read, the last one of ``_open``."""
        self._inner = 0
        """The number of open elements in it that are ignored."""
        self._text: list[str] = []
        self._length = 0
        self._own = ""
        """Text directly in the listing element."""
        self._hints: dict[str, str] = {}
        """The hints of that element for its URL."""
        self._url_found: tuple[int, str] | None = None
        """The best URL so far and its rank; the smallest rank is the best."""

    def start(self, name: str, attributes: str, *, is_empty: bool) -> None:
        prefix, _, name = name.rpartition(":")
        if self._field is not None:
            if self._passes_over(name, prefix, is_empty=is_empty):
                return
            self._leave_field()
        if self._listing >= 0 and self._lists(name):
            # The end tag of the one before it is missing.
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
        """End the document, which is well-formed if no element is open."""
        if not self._open:
            return
        self._reading.complain(f"ends within {self._open[-1][0]}")
        if not ends_in_tag:
            # The text may be cut anywhere.
            self._field = None
            self._own = ""
        self._pop(0)

    def _lists(self, name: str) -> bool:
        return name in _LISTING and (name in _IN_FEEDS or not self._is_feed)

    def _begin(self, name: str, parent: str, attributes: str) -> None:
        """Take the start of an element outside of those that list something."""
        if self._lists(name):
            self._listing = len(self._open) - 1
            if name == "item" and "about" in attributes:
                self._propose(3, parse_attributes(attributes).get("rdf:about", ""), is_absolute=True)
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
        return resolve(parse_attributes(attributes).get("xml:base", ""), base or self._url) or base

    def _passes_over(self, name: str, prefix: str, *, is_empty: bool) -> bool:
        """Return True for a ``url`` within a ``loc``, which some sitemaps write around the text."""
        if self._field != _LOC or name not in _LISTING or self._text or prefix != self._open[-1][1]:
            return False
        self._inner += not is_empty
        return True

    def _leave_field(self) -> None:
        """End the current field, since an element begins where none is allowed: if there was text, the end tag is
        missing.
        """
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
        """Take the start of an element directly within one that lists something."""
        if name in ELEMENTS:
            self._field = name
        elif self._open[self._listing][0] not in _IN_FEEDS:
            if name == _LOC and self._is_same_namespace(prefix, parent):
                self._field = name
        elif name == "link":
            self._begin_link(attributes)
        elif name in {"guid", "id"} and self._is_same_namespace(prefix, parent):
            self._field = None if name == "guid" and _NO_PERMALINK.search(attributes) else name

    def _begin_link(self, attributes: str) -> None:
        known = parse_attributes(attributes) if "=" in attributes else {}
        href = known.get("href")
        if href is None:
            self._field = "link"
            return
        relations = known.get("rel", _ALTERNATE).lower().split()
        if any(relation.rpartition("/")[2] == _ALTERNATE for relation in relations):
            is_page = known.get("type", "text/html").lower() in {"text/html", "application/xhtml+xml"}
            self._propose(0 if is_page else 1, href)

    def _propose(self, rank: int, url: str, *, is_absolute: bool = False) -> None:
        """Propose a URL for the listing element: the first one with the smallest rank counts."""
        if is_absolute and not _ABSOLUTE.match(written_url(url)):
            return
        url = _with_host(url)
        if url and (self._url_found is None or rank < self._url_found[0]):
            self._url_found = rank, self._based(url)

    def _based(self, url: str) -> str:
        base = self._open[-1][2]
        return url if base is None else resolve(url, base) or url

    def _pop(self, at: int) -> None:
        """Close the element at that index of ``_open``, and all elements within it."""
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
            self._hints.setdefault(name, text.strip())
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
                # Two in one element: the hints so far belong to the first.
                self._settle(self._open[self._listing][0])
            self._propose(0, text)

    def _settle(self, name: str) -> None:
        """End the element ``name``: no more hints for its URL follow."""
        if self._url_found is None and self._own and name not in _IN_FEEDS:
            self._propose(0, unescaped(self._own), is_absolute=True)
        if self._url_found is not None:
            hints = encoded_hints(self._hints) if self._hints else None
            self._reading.add(self._url_found[1], is_sitemap=name == "sitemap", hints=hints)
        self._url_found = None
        self._hints.clear()
        self._own = ""


def _with_host(text: str) -> str:
    url = written_url(text)
    return absolute_url(url) or url


_PIECE = 8_192
"""Bytes processed in one step, some 1 ms."""
_HEAD = 4_096
"""Bytes by which encoding and form are detected."""
_WHY_MAX = 200
_LAYERS = 2
"""The number of times that a body may be compressed: ``sitemap.xml.gz`` is, and some servers compress it again."""
_MEMBERS_MAX = 1_000
"""The number of members of a gzip stream that are decompressed."""
_CAREFUL_BYTES = 256
"""Bytes of a damaged stream that are decompressed at a time: the data next to the damage is lost."""

_GZIP_MAGIC = b"\x1f\x8b"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ENCODING = re.compile(rb"""<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([^"'>]{1,100})["']""")
_BEGINNING = re.compile(
    r"\A[\s\ufeff\u200b\0]*+<|<\?xml\s|<(?:[\w.-]{1,40}:)?(?:urlset|sitemapindex|rss|feed|rdf)[\s>]",
    re.IGNORECASE,
)
"""The beginning of XML, after any other text."""


class SitemapReading:
    """Reads one sitemap, a step of a millisecond or so at a time. Never raises.

    Run ``steps(chunks)``, or ``feed(chunk)`` for each chunk that comes and ``finish()`` at the end. Take the findings
    with ``take()``, at any time.

    ``error`` says what is wrong with it, or that it is no sitemap at all. ``found`` counts URLs, of pages and of
    sitemaps. ``dropped`` is True if there were more than ``urls_max``. ``is_over`` is True if it needs no more of the
    document.

    Args:
        url: the sitemap's own URL, by which a relative ``xml:base`` is resolved. URLs without such a base stay as
            written.
        urls_max: the most URLs taken from it.
        bytes_max: the most bytes that are read, uncompressed.

    """

    def __init__(self, url: str = "", *, urls_max: int = URLS_MAX, bytes_max: int = MAX_BYTES) -> None:
        self._urls_max = urls_max
        self._bytes_left = bytes_max
        self._bytes_max = bytes_max
        self._pages: list[Listed] = []
        self._sitemaps: list[Listed] = []
        self._waiting = bytearray()
        """Received bytes that are fewer than a piece."""
        self._layers = [_Unpacking(self) for _ in range(_LAYERS)]
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        """None until encoding and form are known."""
        self._elements = SitemapElements(self, url)
        self._form: Markup | _Lines = Markup(self._elements)
        self._is_one = False
        self.found = 0
        self.dropped = False
        self.is_over = False
        self._is_stopped = False
        """True if no more bytes are accepted; with ``is_over`` alone the bytes that came before are still read."""
        self.error: str | None = None

    def take(self) -> tuple[list[Listed], list[Listed]]:
        """Return the findings since the last call: pages and further sitemaps."""
        taken = self._pages, self._sitemaps
        self._pages, self._sitemaps = [], []
        return taken

    def steps(self, chunks: Iterable[bytes]) -> Iterator[None]:
        """Read a whole document, a step at a time."""
        for chunk in chunks:
            if self.is_over:
                break
            yield from self.feed(chunk)
        yield from self.finish()

    def feed(self, chunk: bytes | memoryview) -> Iterator[None]:
        """Read the next bytes, a step at a time. Run it to its end before the next call."""
        view = memoryview(chunk)
        for start in range(0, len(view), _PIECE):
            self._waiting += view[start : start + _PIECE]
            if self.is_over:
                return
            if len(self._waiting) >= _PIECE:
                piece = bytes(self._waiting)
                self._waiting.clear()
                yield from self._read(piece)

    def finish(self) -> Iterator[None]:
        """End the document: read the rest of it, a step at a time."""
        piece = bytes(self._waiting)
        self._waiting.clear()
        yield from self._read(piece)
        # The rest in a layer is input of the next one.
        for number, layer in enumerate(self._layers):
            yield from self._read(layer.finish(), number + 1)
        if not self._is_stopped:
            decoder = self._decoder or self._begin()
            self._form.feed(decoder.decode(b"", True))
            if isinstance(self._form, _Lines):
                self._form.close()
            else:
                self._elements.close(ends_in_tag=self._form.ends_in_tag)
        self.is_over = True
        if not self.found and not self._is_one and self.error is None:
            self.error = "no sitemap"

    def recognize(self) -> None:
        """Note that the document is a sitemap, even if it lists nothing."""
        self._is_one = True

    def complain(self, why: str) -> None:
        """Note an error in it; the first counts."""
        if self.error is None:
            self.error = line(why, _WHY_MAX) or "not well-formed"

    def stop(self, why: str) -> None:
        """Stop with the findings so far."""
        self.complain(why)
        self.is_over = self._is_stopped = True

    def end_early(self, why: str) -> None:
        """Read the bytes so far as if they were the whole document."""
        self.complain(why)
        self.is_over = True

    def add(self, url: str, *, is_sitemap: bool = False, hints: str | None = None) -> None:
        """Add a URL with its hints."""
        if not url or len(url) > HREF_MAX or self._is_stopped:
            return
        if self.found >= self._urls_max:
            self.dropped = self.is_over = self._is_stopped = True
            return
        self.found += 1
        (self._sitemaps if is_sitemap else self._pages).append(Listed(url, hints))

    def _read(self, data: bytes, layer: int = 0) -> Iterator[None]:
        """Decompress bytes and read them."""
        if self.is_over or not data:
            return
        if layer < _LAYERS:
            for unpacked in self._layers[layer].feed(data):
                yield from self._read(unpacked, layer + 1)
            return
        if len(data) > self._bytes_left:
            data = data[: self._bytes_left]
            self.end_early(f"more than {self._bytes_max} bytes")
        self._bytes_left -= len(data)
        if self._decoder is not None:
            self._form.feed(self._decoder.decode(data))
        else:
            self._head += data
            if len(self._head) >= _HEAD:
                self._begin()
        yield

    def _begin(self) -> codecs.IncrementalDecoder:
        """Detect encoding and form by the beginning, and read it. Return the decoder for the rest."""
        head, self._head = self._head, b""
        encoding = self._encoding(head)
        for mark, _ in _MARKS:
            if head.startswith(mark):
                head = head[len(mark) :]
                break
        self._decoder = codecs.getincrementaldecoder(encoding)(_errors(encoding))
        text = self._decoder.decode(head)
        if not _BEGINNING.search(text):
            self._form = _Lines(self)
        self._form.feed(text)
        return self._decoder

    def _encoding(self, head: bytes) -> str:
        for mark, name in _MARKS:
            if head.startswith(mark):
                return name
        if len(head) > 1 and (head[0] == 0) != (head[1] == 0):
            return "utf-16-be" if head[0] == 0 else "utf-16-le"
        declared = _ENCODING.search(head)
        if declared is None:
            return "utf-8"
        label = declared[1].decode("latin-1")
        codec = find_codec(label)
        if codec is None:
            self.complain(f"unknown encoding {label}")
        # A declaration that can be read byte by byte is not in UTF-16.
        return "utf-8" if codec is None or codec.startswith("utf-16") else codec


class _Unpacking:
    """Decompresses a stream if its first bytes are those of gzip."""

    def __init__(self, reading: SitemapReading) -> None:
        self._reading = reading
        self._head: bytes | None = b""
        """The first bytes, as long as they are too few for the detection."""
        self._is_packed = False
        self._stream = zlib.decompressobj(31)
        self._members = 0
        self._is_over = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decompress bytes, a piece at a time."""
        if self._head is not None:
            data, self._head = self._head + data, None
            if len(data) < len(_GZIP_MAGIC):
                self._head = data
                return
            self._is_packed = data.startswith(_GZIP_MAGIC)
        if self._is_packed:
            yield from self._unpacked(data)
        else:
            yield data

    def finish(self) -> bytes:
        """End the stream: bytes too few for the detection are not compressed."""
        if self._is_packed and not self._stream.eof and not self._reading.is_over:
            self._reading.complain("gzip: ends early")
        return self._head or b""

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        while data and not self._is_over and not self._reading.is_over:
            if self._stream.eof:
                # Padding or garbage after the last member is ignored by every decoder.
                self._is_over = not data.startswith(_GZIP_MAGIC[: len(data)])
                self._members += 1
                if self._members >= _MEMBERS_MAX:
                    self._reading.end_early(f"gzip: more than {_MEMBERS_MAX} members")
                if self._is_over or self._reading.is_over:
                    return
                self._stream = zlib.decompressobj(31)
            saved = self._stream.copy()
            try:
                piece = self._stream.decompress(data, _PIECE)
            except zlib.error as error:
                yield from self._rescued(saved, data)
                self._reading.end_early(f"gzip: {error}")
                return
            if piece:
                yield piece
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail

    @staticmethod
    def _rescued(stream: zlib._Decompress, data: bytes) -> Iterator[bytes]:
        """Yield the data before the damage."""
        for start in range(0, len(data), _CAREFUL_BYTES):
            try:
                yield stream.decompress(data[start : start + _CAREFUL_BYTES])
            except zlib.error:
                return


class _Lines:
    """A list of URLs, one per line."""

    def __init__(self, reading: SitemapReading) -> None:
        self._reading = reading
        self._rest = ""

    def feed(self, text: str) -> None:
        lines = (self._rest + text).splitlines(keepends=True)
        self._rest = lines.pop() if lines and lines[-1].splitlines()[0] == lines[-1] else ""
        # Only the length of a line that is too long matters.
        self._rest = self._rest[: 2 * HREF_MAX]
        for each in lines:
            self._take(each)

    def close(self) -> None:
        self._take(self._rest)

    def _take(self, text: str) -> None:
        # Some programs write the date of the last change behind the URL, which cannot hold a blank.
        url = absolute_url((written_url(text).split(maxsplit=1) or [""])[0])
        if url is not None:
            self._reading.recognize()
            self._reading.add(url)


def _errors(encoding: str) -> str:
    return _AS_WINDOWS_1252 if encoding == "utf-8" else "replace"


def _as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


_AS_WINDOWS_1252 = "webcrawl.parsing.windows-1252"
codecs.register_error(_AS_WINDOWS_1252, _as_windows_1252)
