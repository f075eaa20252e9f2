"""The files of the link log: their names, their members, their indexes, and their repair after a crash.

A segment is ``JOBDIR/links/links-<time>.jsonl.gz``, with ``.open`` at the end while it is being written; its index
ends in ``.idx`` instead. It is a sequence of gzip members, each of whole lines, which every reader of gzip reads as
one file.

The index of a segment grows with it and tells which pages and which targets are in which member. It is a file of
blocks, one for each member, in their order (numbers little-endian)::

    "LIX1"  CRC-32 of all that follows   pages   targets   start, end of the member in the segment
    fingerprints of the pages            8 bytes each
    when each was fetched                8 bytes each, epoch seconds as a double
    marks of the targets, each once      4 bytes each, the lower half of their fingerprints

It can be rebuilt from the segment, so no operation waits for it: lines that it does not cover are searched in the
segment itself. Four bytes match a wrong member once in some hundred queries for a million pages; the member is then
read and shows it.
"""

from __future__ import annotations

import os
import re
import struct
import sys
import zlib
from array import array
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, TypeVar

from isal import igzip_lib, isal_zlib

from webcrawl.archive.disk import translated
from webcrawl.archive.reading import GZIP_MEMBER
from webcrawl.archive.warc import OPEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from webcrawl.archive.disk import Disk
    from webcrawl.links.line import Written


_MAGIC = b"LIX1"
_HEAD = struct.Struct("<4sI")
_COUNTS = struct.Struct("<IIQQ")
_HEAD_BYTES = _HEAD.size + _COUNTS.size
_PAGE, _TIME, _TARGET = 8, 8, 4
_Number = TypeVar("_Number", int, float)
LOWER = 0xFFFFFFFF
"""The half of a fingerprint that identifies a target."""
_LOWER_HALF = 0 if sys.byteorder == "little" else 1


class Block(NamedTuple):
    """The block of one member. Positions are those of the parts in the index."""

    start: int
    end: int
    pages_at: int
    pages: int
    targets_at: int
    targets: int

    def marks(self, data: bytes) -> array[int]:
        """Return the fingerprints of its pages."""
        return _fill(array("q"), data, self.pages_at, self.pages * _PAGE)

    def times(self, data: bytes) -> array[float]:
        return _fill(array("d"), data, self.pages_at + self.pages * _PAGE, self.pages * _TIME)

    def target_marks(self, data: bytes) -> array[int]:
        """Return the lower halves of the fingerprints of its targets."""
        return _fill(array("I"), data, self.targets_at, self.targets * _TARGET)

    @property
    def behind(self) -> int:
        """The position of the next block."""
        return self.targets_at + self.targets * _TARGET

    def has_page(self, data: bytes, sought: bytes) -> bool:
        return _has(data, sought, self.pages_at, self.pages * _PAGE)

    def has_target(self, data: bytes, sought: bytes) -> bool:
        return _has(data, sought, self.targets_at, self.targets * _TARGET)


def page_bytes(mark: int) -> bytes:
    """Return the bytes of a page in an index."""
    return struct.pack("<q", mark)


def target_bytes(mark: int) -> bytes:
    """Return the bytes of a target in an index."""
    return struct.pack("<I", mark & LOWER)


def block(start: int, end: int, lines: Sequence[Written]) -> bytes:
    """Return the block of the member from ``start`` to ``end`` of the segment."""
    distinct = set().union(*[each.targets for each in lines])
    # Made from a list: an array that knows its length is made in half the time.
    targets = array("I", array("Q", list(distinct)).tobytes())[_LOWER_HALF::2]
    content = b"".join(
        (
            _COUNTS.pack(len(lines), len(targets), start, end),
            _bytes(array("q", [each.mark for each in lines])),
            _bytes(array("d", [each.at for each in lines])),
            _bytes(targets),
        )
    )
    return _HEAD.pack(_MAGIC, zlib.crc32(content)) + content


def blocks(data: bytes, size: int, *, check: bool = False) -> Iterator[Block]:
    """Yield the blocks of an index from its beginning, as far as they are whole, follow one another, and are within
    the ``size`` bytes of the segment; with ``check`` as far as their checksums are right.
    """
    at, reached = 0, 0
    while at + _HEAD_BYTES <= len(data):
        magic, checksum = _HEAD.unpack_from(data, at)
        pages, targets, start, end = _COUNTS.unpack_from(data, at + _HEAD.size)
        pages_at = at + _HEAD_BYTES
        targets_at = pages_at + pages * (_PAGE + _TIME)
        behind = targets_at + targets * _TARGET
        if magic != _MAGIC or start != reached or not start < end <= size or behind > len(data):
            return
        if check and zlib.crc32(data[at + _HEAD.size : behind]) != checksum:
            return
        yield Block(start, end, pages_at, pages, targets_at, targets)
        at, reached = behind, end


def whole(data: bytes, size: int) -> int:
    """Return how many bytes of an index are valid after a crash."""
    behind = 0
    for each in blocks(data, size, check=True):
        behind = each.behind
    return behind


def _fill(values: array[_Number], data: bytes, at: int, length: int) -> array[_Number]:
    values.frombytes(data[at : at + length])
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _bytes(values: array[int] | array[float]) -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def _has(data: bytes, sought: bytes, at: int, length: int) -> bool:
    position = data.find(sought, at, at + length)
    while position >= 0:
        if (position - at) % len(sought) == 0:
            return True
        position = data.find(sought, position + 1, at + length)
    return False


FOLDER = "links"
ENDING = ".jsonl.gz"
INDEX_ENDING = ".idx"
CHUNK_BYTES = 1 << 16
"""Bytes that are read at once. Small, since the rest of a chunk is copied for every member that ends in it."""

_SEGMENT = re.compile(r"links-(\d{17,})\.jsonl\.gz(\.open)?")


class Member(NamedTuple):
    """A member of a segment: whole lines, and their place in the segment."""

    start: int
    end: int
    data: bytes


def times(directory: Path) -> list[str]:
    """Return the times in the names of the segments of a crawl, in the order of writing."""
    folder = directory / FOLDER
    if not folder.is_dir():
        return []
    with translated(folder):
        times = {match[1] for path in folder.iterdir() if (match := _SEGMENT.fullmatch(path.name))}
    return sorted(times, key=int)


def segment_path(directory: Path, time: str) -> Path:
    """Return the path of a closed segment."""
    return directory / FOLDER / f"links-{time}{ENDING}"


def open_name(path: Path) -> Path:
    """Return its path while it is being written."""
    return path.with_name(path.name + OPEN)


def index_path(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(ENDING) + INDEX_ENDING)


def opened(path: Path) -> BinaryIO:
    """Open a segment, whether it is still being written or not. :raises FileNotFoundError:"""
    try:
        return open_name(path).open("rb")
    except FileNotFoundError:
        return path.open("rb")  # it was closed between the two attempts, or long ago


def members(stream: BinaryIO, start: int, size: int) -> Iterator[Member]:
    """Yield the members from ``start`` up to the first that is not whole within ``size`` bytes."""
    stream.seek(start)
    data = b""
    while True:
        unpacker = isal_zlib.decompressobj(GZIP_MEMBER)
        parts, end = [], start
        while not unpacker.eof:
            data = data or stream.read(CHUNK_BYTES)
            if not data:
                return
            before = len(data)
            try:
                parts.append(unpacker.decompress(data))
            except igzip_lib.IsalError:  # type: ignore[misc]  # the stub calls it an instance
                return
            data = unpacker.unused_data
            end += before - len(data)
        if end > size:
            return
        yield Member(start, end, b"".join(parts))
        start = end


def member(stream: BinaryIO, start: int, end: int) -> Member:
    """Return the member at this place. :raises ValueError: there is none"""
    stream.seek(start)
    try:
        return Member(start, end, isal_zlib.decompress(stream.read(end - start), GZIP_MEMBER))
    except igzip_lib.IsalError as error:  # type: ignore[misc]
        raise ValueError(str(error)) from error


def repair(directory: Path, disk: Disk) -> list[str]:
    """Close the segments that a crash left open, cut behind their last whole member; return a sentence about each.
    Raises ArchiveError.
    """
    done = []
    for time in times(directory):
        path = segment_path(directory, time)
        torn = open_name(path)
        if not torn.exists():
            continue
        with translated(torn):
            done.append(_close(torn, path, disk))
    return done


def _close(torn: Path, path: Path, disk: Disk) -> str:
    with torn.open("r+b") as file:
        end, size = 0, file.seek(0, os.SEEK_END)
        for each in members(file, 0, size):
            end = each.end
        cut = size - end
        if cut:
            disk.truncate(file.fileno(), end)
        disk.sync(file.fileno())
    notes = f", {cut} bytes of unfinished lines cut off" if cut else ""
    beside = index_path(path)
    if end == 0:
        beside.unlink(missing_ok=True)
        disk.remove(torn)
        return f"{torn.name}: removed, it held no line{notes}."
    if beside.exists():
        with beside.open("r+b") as file:
            disk.truncate(file.fileno(), whole(file.read(), end))
    disk.rename(torn, path)
    disk.sync_folder(path.parent)
    return f"{path.name}: closed{notes}."
