"""The index of a segment, grown with it: which pages and which targets are in which member.

It is a file of blocks, one for each member, in their order (numbers little-endian)::

    "LIX1"  CRC-32 of all that follows   pages   targets   start, end of the member in the segment
    fingerprints of the pages            8 bytes each
    when each was fetched                8 bytes each, epoch seconds as a double
    marks of the targets, each once      4 bytes each, the lower half of their fingerprints

It can be made anew from the segment, so it is never waited for: what it does not cover is read in the segment itself.
Four bytes lead to a member in vain once in some hundred questions to a million pages; the member tells.
"""

from __future__ import annotations

import struct
import sys
import zlib
from array import array
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webcrawl.linklog.line import Written

_MAGIC = b"LIX1"
_HEAD = struct.Struct("<4sI")
_COUNTS = struct.Struct("<IIQQ")
_HEAD_BYTES = _HEAD.size + _COUNTS.size
_PAGE, _TIME, _TARGET = 8, 8, 4
_Number = TypeVar("_Number", int, float)
LOWER = 0xFFFFFFFF
"""The half of a fingerprint by which a target is known."""
_LOWER_HALF = 0 if sys.byteorder == "little" else 1


class Block(NamedTuple):
    """What is known of one member. Positions are those of the parts in the index."""

    start: int
    end: int
    pages_at: int
    pages: int
    targets_at: int
    targets: int

    def marks(self, data: bytes) -> array[int]:
        """The fingerprints of its pages."""
        return _filled(array("q"), data, self.pages_at, self.pages * _PAGE)

    def times(self, data: bytes) -> array[float]:
        return _filled(array("d"), data, self.pages_at + self.pages * _PAGE, self.pages * _TIME)

    def target_marks(self, data: bytes) -> array[int]:
        """The lower halves of the fingerprints of its targets."""
        return _filled(array("I"), data, self.targets_at, self.targets * _TARGET)

    @property
    def behind(self) -> int:
        """Where the next block begins."""
        return self.targets_at + self.targets * _TARGET

    def has_page(self, data: bytes, sought: bytes) -> bool:
        return _has(data, sought, self.pages_at, self.pages * _PAGE)

    def has_target(self, data: bytes, sought: bytes) -> bool:
        return _has(data, sought, self.targets_at, self.targets * _TARGET)


def page_bytes(mark: int) -> bytes:
    """A page as it stands in an index."""
    return struct.pack("<q", mark)


def target_bytes(mark: int) -> bytes:
    """A target likewise."""
    return struct.pack("<I", mark & LOWER)


def block(start: int, end: int, lines: Sequence[Written]) -> bytes:
    """The block of the member from ``start`` to ``end`` of the segment."""
    distinct = set().union(*[each.targets for each in lines])
    # By way of a list: an array that knows its length is made in half the time.
    targets = array("I", array("Q", list(distinct)).tobytes())[_LOWER_HALF::2]
    said = b"".join(
        (
            _COUNTS.pack(len(lines), len(targets), start, end),
            _bytes(array("q", [each.mark for each in lines])),
            _bytes(array("d", [each.at for each in lines])),
            _bytes(targets),
        )
    )
    return _HEAD.pack(_MAGIC, zlib.crc32(said)) + said


def blocks(data: bytes, size: int, *, check: bool = False) -> Iterator[Block]:
    """The blocks of an index from its beginning, as far as they are whole, follow one another, and lie within the
    ``size`` bytes of the segment; with ``check`` as far as nothing in them has changed.
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
    """How many bytes of an index are to be trusted, after a crash."""
    behind = 0
    for each in blocks(data, size, check=True):
        behind = each.behind
    return behind


def _filled(made: array[_Number], data: bytes, at: int, length: int) -> array[_Number]:
    made.frombytes(data[at : at + length])
    if sys.byteorder == "big":
        made.byteswap()
    return made


def _bytes(values: array[int] | array[float]) -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def _has(data: bytes, sought: bytes, at: int, length: int) -> bool:
    found = data.find(sought, at, at + length)
    while found >= 0:
        if (found - at) % len(sought) == 0:
            return True
        found = data.find(sought, found + 1, at + length)
    return False
