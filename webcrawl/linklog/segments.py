"""The files of the link log: their names, the members they are made of, and what a crash leaves.

A segment is ``JOBDIR/links/links-<time>.jsonl.gz``, with ``.open`` behind it while it is written; its index ends in
``.idx`` instead. It is a row of gzip members, each of whole lines, which every reader of gzip takes for one file.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from isal import igzip_lib, isal_zlib

from webcrawl.archive.errors import translated
from webcrawl.archive.members import GZIP_MEMBER
from webcrawl.archive.warc import OPEN
from webcrawl.linklog import index

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from webcrawl.archive.disk import Disk

FOLDER = "links"
ENDING = ".jsonl.gz"
INDEX_ENDING = ".idx"
CHUNK_BYTES = 1 << 16
"""What is read at once. Small, since the rest of a chunk is copied for every member that ends in it."""

_SEGMENT = re.compile(r"links-(\d{17,})\.jsonl\.gz(\.open)?")


class Member(NamedTuple):
    """Some whole lines, and where they are in the segment."""

    start: int
    end: int
    data: bytes


def times(directory: Path) -> list[str]:
    """The times in the names of the segments of a crawl, in the order of writing."""
    folder = directory / FOLDER
    if not folder.is_dir():
        return []
    with translated(folder):
        found = {match[1] for path in folder.iterdir() if (match := _SEGMENT.fullmatch(path.name))}
    return sorted(found, key=int)


def path_of(directory: Path, time: str) -> Path:
    """The name of a segment that is closed."""
    return directory / FOLDER / f"links-{time}{ENDING}"


def open_name(path: Path) -> Path:
    """Its name while it is written."""
    return path.with_name(path.name + OPEN)


def index_of(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(ENDING) + INDEX_ENDING)


def opened(path: Path) -> BinaryIO:
    """A segment, whether it is still written or not. :raises FileNotFoundError:"""
    try:
        return open_name(path).open("rb")
    except FileNotFoundError:
        return path.open("rb")  # closed between the two looks, or long ago


def members(stream: BinaryIO, start: int, size: int) -> Iterator[Member]:
    """The members from ``start`` up to the first that is not whole within ``size`` bytes."""
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
    """The one that lies there. :raises ValueError: it does not"""
    stream.seek(start)
    try:
        return Member(start, end, isal_zlib.decompress(stream.read(end - start), GZIP_MEMBER))
    except igzip_lib.IsalError as error:  # type: ignore[misc]
        raise ValueError(str(error)) from error


def repair(directory: Path, disk: Disk) -> list[str]:
    """Close what a crash left open, cut behind its last whole member; a sentence about each. Raises ArchiveError."""
    done = []
    for time in times(directory):
        path = path_of(directory, time)
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
    beside = index_of(path)
    if end == 0:
        beside.unlink(missing_ok=True)
        disk.remove(torn)
        return f"{torn.name}: removed, it held no line{notes}."
    if beside.exists():
        with beside.open("r+b") as file:
            disk.truncate(file.fileno(), index.whole(file.read(), end))
    disk.rename(torn, path)
    disk.sync_folder(path.parent)
    return f"{path.name}: closed{notes}."
