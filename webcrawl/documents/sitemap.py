"""Sitemaps: the URLs that a site itself lists, in XML, in RSS or Atom, or one a line (sitemaps.org, protocol 0.9).

The document comes in pieces of any length, packed or not, and no more of it is kept than one element. Nothing that it
declares is read. What is broken gives what can be read of it. What its elements mean ``sitemap_elements`` knows.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterable, Iterator

from webcrawl.documents.charset import codec_of
from webcrawl.documents.findings import HREF_MAX
from webcrawl.documents.listed import Listed
from webcrawl.documents.markup import Markup
from webcrawl.documents.sitemap_elements import SitemapElements, absolute_url, written_url
from webcrawl.documents.text import line

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


_AS_WINDOWS_1252 = "webcrawl.documents.windows-1252"
codecs.register_error(_AS_WINDOWS_1252, _as_windows_1252)
