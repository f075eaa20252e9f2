"""Files of segments: a line that describes the file, then a line for each URL, compressed.

The same queue gives the same bytes. Keys are sorted by name, the URLs of a key in the order of its queue. The line of
a URL is a JSON object without the fields that have their default value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import fields
from itertools import groupby
from operator import attrgetter
from typing import IO, TYPE_CHECKING, Any, cast

from isal import igzip, igzip_lib

from webcrawl.atomic_file import replacing
from webcrawl.errors import CrawlError
from webcrawl.external_sort import Gathered
from webcrawl.frontier.records import CARRIED, Kind, UrlEntry
from webcrawl.urls.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path


Key = tuple[str, int]
"""Politeness key and fingerprint of a URL."""

_OWN = ("url", "key", "fingerprint", "position")
"""Fields without a default. The position is the line's, or is assigned anew."""
_USUAL = {item.name: item.default for item in fields(UrlEntry) if item.name not in _OWN}
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("fingerprint", "level", "depth", "redirects", "attempts"), (int,)),
    **{name: (str, type(None)) for name in ("via", *CARRIED.values())},
    **dict.fromkeys(("url", "key", "kind"), (str,)),
    "repeat": (bool,),
}
_NOT_NEGATIVE = ("depth", "redirects", "attempts")
_LARGEST = 1 << 63
Row = tuple[Any, ...]
row_of: Callable[[UrlEntry], Row] = attrgetter(*(item.name for item in fields(UrlEntry)))
"""Return the values from which an equal ``UrlEntry`` can be built: plain values, for another process."""
_encode = json.JSONEncoder(separators=(",", ":")).encode


class LineError(ValueError):
    """A line that is not a valid line of a segment; the message gives the reason."""


def entry_to_line(entry: UrlEntry) -> str:
    """Return the line of an entry, without its line end. ASCII."""
    values: dict[str, Any] = {"url": entry.url, "key": entry.key, "fingerprint": entry.fingerprint}
    for name, usual in _USUAL.items():
        value = getattr(entry, name)
        if value != usual:
            values[CARRIED.get(name, name)] = str(value) if name == "kind" else value
    return _encode(values)


def line_to_entry(line: str | bytes, complete: Callable[[str], Key]) -> UrlEntry:
    """Return the entry of a line. ``complete`` returns key and fingerprint of a URL, if a line lacks one of them.

    :raises LineError: the line is invalid
    """
    try:
        values = json.loads(line)
    except ValueError as error:
        raise LineError("is no JSON") from error
    if not isinstance(values, dict) or not isinstance(values.get("url"), str):
        raise LineError("is no object with a url")
    for name, value in values.items():
        if name not in _TYPES:
            raise LineError(f"has a field {name!r}, which is none of a segment")
        if not isinstance(value, _TYPES[name]) or (isinstance(value, bool) and name != "repeat"):
            raise LineError(f"has a {name} of a wrong type")
        if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            raise LineError(f"has a {name} that is too large")
        if isinstance(value, int) and name in _NOT_NEGATIVE and value < 0:
            raise LineError(f"has a {name} less than 0")
    if values.get("kind", Kind.PAGE) not in (Kind.PAGE, Kind.SITEMAP):
        raise LineError(f"has a kind {values['kind']!r}; there are {Kind.PAGE} and {Kind.SITEMAP}")
    values["url"] = _resolve_url(values["url"])
    if "key" not in values or "fingerprint" not in values:
        key, fingerprint = complete(values["url"])
        values = {"key": key, "fingerprint": fingerprint, **values}
    for name, line_name in CARRIED.items():
        if line_name in values:
            values[name] = values.pop(line_name)
    return UrlEntry(**values)


def _resolve_url(url: str) -> str:
    if not url[:8].lower().startswith(("http://", "https://")):
        raise LineError("has a url that does not begin with http:// or https://")
    resolved = resolve(url, url)
    if resolved is None:
        raise LineError("has a url that no browser takes for one")
    return resolved


VERSION = 1
NAME = re.compile(r"segment-\d{5,}\.jsonl\.gz")
LEVEL = 2
"""Compression level of isal."""
_BETWEEN = "\0"
_LINE_BYTES = 1 << 22
"""A longer line is invalid: a payload is at most a megabyte."""


class SegmentError(CrawlError):
    """A segment that cannot be read or written; the message names the file and the reason."""


class SortedEntries:
    """The entries of a queue, sorted by key, and their number. Uses bounded memory, see ``Gathered``."""

    def __init__(self, entries: Iterable[UrlEntry]) -> None:
        self._lines: Gathered[str] = Gathered(lambda first, _: first)
        self.urls = 0
        for entry in entries:
            line = entry_to_line(entry)
            # The number keeps the entries of a key in the order of their queue.
            self._lines.add(f"{entry.key}{_BETWEEN}{self.urls:016d}", line, len(line))
            self.urls += 1

    def by_key(self) -> Iterator[tuple[str, Iterator[str]]]:
        """Yield each key with its lines."""
        for key, group in groupby(self._lines, key=lambda line: line[0].partition(_BETWEEN)[0]):
            yield key, (line for _, line in group)


def write(
    folder: Path, queue: SortedEntries, identity: Mapping[str, str], urls_each: int
) -> list[tuple[Path, int]]:
    """Write ``queue`` into segments in ``folder``; return each file with its number of URLs.

    A segment ends after the first key with which it has at least ``urls_each`` URLs. ``identity``: settings that
    crawls that read the segment must share.

    :raises SegmentError: the folder already has segments, or cannot be written
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if there := sorted(path.name for path in folder.iterdir() if NAME.fullmatch(path.name)):
            raise SegmentError(f"{folder} holds {there[0]} already; give a new folder")
        return list(_written(folder, queue, identity, urls_each))
    except OSError as error:
        raise SegmentError(f"{folder} cannot be written: {error.strerror or error}") from error


def _written(
    folder: Path, queue: SortedEntries, identity: Mapping[str, str], urls_each: int
) -> Iterator[tuple[Path, int]]:
    keys = queue.by_key()
    number, entry = 1, next(keys, None)
    while entry is not None:
        path, urls = folder / f"segment-{number:05d}.jsonl.gz", 0
        with _compressed(path) as file:
            file.write(_head(identity))
            while entry is not None and urls < urls_each:
                for line in entry[1]:
                    file.write(line.encode("ascii") + b"\n")
                    urls += 1
                entry = next(keys, None)
        yield path, urls
        number += 1


@contextmanager
def _compressed(path: Path) -> Iterator[IO[bytes]]:
    """Open a compressed file that gets its name when it is complete; it contains no time of creation."""
    with replacing(path) as plain:
        packed = igzip.IGzipFile("", "wb", LEVEL, plain, 0)  # type: ignore[no-untyped-call]
        with cast(IO[bytes], packed) as file:
            yield file


def _head(identity: Mapping[str, str]) -> bytes:
    return json.dumps({"segment": VERSION, "identity": dict(sorted(identity.items()))}).encode() + b"\n"


def read(path: Path, complete: Callable[[str], Key], identity: Mapping[str, str]) -> Iterator[UrlEntry]:
    """Yield the entries of a file, compressed or not. A file without the first line that ``write`` writes is read as
    it is.

    ``complete``: as for ``line_to_entry``. :raises SegmentError: it cannot be read, is no segment, or was made with
    settings other than ``identity``; raised at the line where that is found
    """
    try:
        with _opened(path) as file:
            for number, line in enumerate(iter(lambda: file.readline(_LINE_BYTES), b""), start=1):
                if number == 1 and _is_head(path, line, identity):
                    continue
                if not line.strip():
                    continue
                try:
                    yield line_to_entry(line, complete)
                except LineError as error:
                    raise SegmentError(f"{path}: line {number} {error}") from error
    except (OSError, EOFError, igzip_lib.IsalError) as error:  # type: ignore[misc] # declared as an instance
        raise SegmentError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _opened(path: Path) -> IO[bytes]:
    plain = path.open("rb")
    if plain.read(2) != b"\x1f\x8b":
        plain.seek(0)
        return plain
    plain.close()
    return cast(IO[bytes], igzip.IGzipFile(path, "rb"))  # type: ignore[no-untyped-call]


def _is_head(path: Path, line: bytes, identity: Mapping[str, str]) -> bool:
    """Return whether a line is the first line of ``write``. :raises SegmentError: the file cannot be used"""
    try:
        head = json.loads(line)
    except ValueError:
        return False
    if not isinstance(head, dict) or "segment" not in head:
        return False
    if head["segment"] != VERSION:
        raise SegmentError(f"{path} has version {head['segment']}, this is {VERSION}")
    written_with = head.get("identity")
    for name, value in identity.items():
        if isinstance(written_with, dict) and written_with.get(name, value) != value:
            raise SegmentError(
                f"{path} was made with {name}={written_with[name]}, and this crawl has {name}={value}"
            )
    return True
