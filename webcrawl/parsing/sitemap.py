"""Sitemaps: the URLs that a site itself lists, in XML, in RSS or Atom, or one a line (sitemaps.org, protocol 0.9).

The document comes in pieces of any length, packed or not, and no more of it is kept than one element. Nothing that it
declares is read. What is broken gives what can be read of it. What its elements mean ``sitemap_elements`` knows.

What the elements of sitemaps and feeds list (sitemaps.org, protocol 0.9; RSS 0.9 to 2.0; RFC 4287).

An element is judged by its own name and its parent's, whatever the namespace and the root are, since many sitemaps
get those wrong: ``loc`` in ``url`` is a page, ``loc`` in ``sitemap`` another sitemap, so an ``image:loc`` is neither.
Of feeds each ``item`` or ``entry`` is one page: its ``link``, or where it has none what else identifies it by a URL
(``guid``, ``id``). What is said of a URL beside it goes with it (``listed``).

What a sitemap says of a URL that it lists: when it changed, how often it does, how much it counts on its site.

The words are those of sitemaps.org, protocol 0.9; of feeds the date of an item or entry stands for ``lastmod``. They
are a site's own claims, kept as they are for whoever plans a next visit. What cannot be true is left out.
"""

from __future__ import annotations

import codecs
import json
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from webcrawl.parsing.charset import codec_of
from webcrawl.parsing.findings import HREF_MAX
from webcrawl.parsing.markup import Markup, attributes_of, has_bare_ampersand, unescaped
from webcrawl.parsing.text import line, w3c_seconds
from webcrawl.urls.resolve import resolve

CHANGEFREQS = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
DATES = ("lastmod", "updated", "modified", "pubdate", "date", "published", "issued")
"""Elements that say when something changed; the first that can be read counts."""
ELEMENTS = frozenset({*DATES, "changefreq", "priority"})

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Listed(NamedTuple):
    """A URL as it stands in a sitemap."""

    url: str
    told: str | None = None
    """As an entry of the frontier carries it, see ``told``."""


def told(texts: Mapping[str, str]) -> str | None:
    """What is said by the texts of ``ELEMENTS``, by their names in lower case: JSON, None if nothing is.

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


def facts(told: str) -> dict[str, float | str]:
    """The same as the fetch log has it."""
    known: dict[str, float | str] = json.loads(told)
    return known


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


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


URLS_MAX = 50_000
"""URLs that the protocol allows in one file, and sitemaps in one index."""

MAX_BYTES = 50 * 1024 * 1024
"""Bytes that the protocol allows a file to have, uncompressed."""

_PIECE = 8_192
"""Bytes looked at in one step, some 1 ms."""
_HEAD = 4_096
"""Bytes by which encoding and form are told."""
_WHY_MAX = 200
_LAYERS = 2
"""Times that a body may be packed: ``sitemap.xml.gz`` is, and some servers pack it again."""
_MEMBERS_MAX = 1_000
"""Members of a gzip stream that are looked at."""
_CAREFUL_BYTES = 256
"""Bytes of a damaged stream that are unpacked at a time: what is packed beside the damage is lost."""

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
"""The beginning of XML, whatever stands before it."""


class SitemapReading:
    """Reads one sitemap, a step of a millisecond or so at a time. Nothing raises.

    Run ``steps(chunks)``, or ``feed(chunk)`` for each chunk that comes and ``finish()`` at last. Take what was found
    with ``take()``, in between too.

    ``error`` says what is wrong with it, or that it is no sitemap at all. ``found`` counts URLs, of pages and of
    sitemaps. ``dropped`` is whether there were more than ``urls_max``. ``is_over`` is whether it wants no more of the
    document.

    Args:
        url: the sitemap's own URL, by which a relative ``xml:base`` is resolved. What has no such base is given as it
            stands there.
        urls_max: URLs taken from it.
        bytes_max: bytes of it that are read, unpacked.
    """

    def __init__(self, url: str = "", *, urls_max: int = URLS_MAX, bytes_max: int = MAX_BYTES) -> None:
        self._urls_max = urls_max
        self._bytes_left = bytes_max
        self._bytes_max = bytes_max
        self._pages: list[Listed] = []
        self._sitemaps: list[Listed] = []
        self._waiting = bytearray()
        """Bytes that came and are fewer than a piece."""
        self._layers = [_Unpacking(self) for _ in range(_LAYERS)]
        self._head = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        """None while encoding and form are not known."""
        self._elements = SitemapElements(self, url)
        self._form: Markup | _Lines = Markup(self._elements)
        self._is_one = False
        self.found = 0
        self.dropped = False
        self.is_over = False
        self._is_stopped = False
        """Nothing more is taken in; ``is_over`` alone lets what came before be read to its end."""
        self.error: str | None = None

    def take(self) -> tuple[list[Listed], list[Listed]]:
        """What was found since the last call: pages and further sitemaps."""
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
        """The document has ended: read what is left of it, a step at a time."""
        piece = bytes(self._waiting)
        self._waiting.clear()
        yield from self._read(piece)
        # What is left in a layer is for the next one.
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
        """It is a sitemap, even if it lists nothing."""
        self._is_one = True

    def complain(self, why: str) -> None:
        """Note what is wrong with it; the first counts."""
        if self.error is None:
            self.error = line(why, _WHY_MAX) or "not well-formed"

    def stop(self, why: str) -> None:
        """Make do with what was found so far."""
        self.complain(why)
        self.is_over = self._is_stopped = True

    def end_early(self, why: str) -> None:
        """Read what came as if it were all."""
        self.complain(why)
        self.is_over = True

    def add(self, url: str, *, is_sitemap: bool = False, said: str | None = None) -> None:
        """Take in a URL and what is said of it."""
        if not url or len(url) > HREF_MAX or self._is_stopped:
            return
        if self.found >= self._urls_max:
            self.dropped = self.is_over = self._is_stopped = True
            return
        self.found += 1
        (self._sitemaps if is_sitemap else self._pages).append(Listed(url, said))

    def _read(self, data: bytes, layer: int = 0) -> Iterator[None]:
        """Unpack bytes and read them."""
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
        """Tell encoding and form by the beginning, and read it. Return what decodes the rest."""
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
        codec = codec_of(label)
        if codec is None:
            self.complain(f"unknown encoding {label}")
        # A declaration that can be read byte by byte is not in UTF-16.
        return "utf-8" if codec is None or codec.startswith("utf-16") else codec


class _Unpacking:
    """Takes gzip off a stream that has it, by its first bytes."""

    def __init__(self, reading: SitemapReading) -> None:
        self._reading = reading
        self._head: bytes | None = b""
        """The first bytes, as long as they are too few to tell."""
        self._is_packed = False
        self._stream = zlib.decompressobj(31)
        self._members = 0
        self._is_over = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Unpack bytes, a piece at a time."""
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
        """The stream has ended: what was too short to tell is not packed."""
        if self._is_packed and not self._stream.eof and not self._reading.is_over:
            self._reading.complain("gzip: ends early")
        return self._head or b""

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        while data and not self._is_over and not self._reading.is_over:
            if self._stream.eof:
                # Padding or garbage behind the last member is overlooked by every decoder.
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
        """What is before the damage."""
        for start in range(0, len(data), _CAREFUL_BYTES):
            try:
                yield stream.decompress(data[start : start + _CAREFUL_BYTES])
            except zlib.error:
                return


class _Lines:
    """A list of URLs, one a line."""

    def __init__(self, reading: SitemapReading) -> None:
        self._reading = reading
        self._rest = ""

    def feed(self, text: str) -> None:
        lines = (self._rest + text).splitlines(keepends=True)
        self._rest = lines.pop() if lines and lines[-1].splitlines()[0] == lines[-1] else ""
        # Of a line that is too long its length is enough.
        self._rest = self._rest[: 2 * HREF_MAX]
        for each in lines:
            self._take(each)

    def close(self) -> None:
        self._take(self._rest)

    def _take(self, text: str) -> None:
        url = absolute_url(written_url(text))
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
