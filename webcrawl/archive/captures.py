"""The captures of a URL in the archive of a crawl, running or not: found by its indexes, read from its WARC files.

Records that no index has yet are found in the files themselves: those behind the last line of the index of a file
that is being written, and all of a file without an index.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.archive.cdxj import INDEX_FOLDER, SUFFIX, Lines, index_key, index_path, timestamp
from webcrawl.archive.disk import ArchiveError, translated
from webcrawl.archive.reading import Damaged, records, whole_record
from webcrawl.archive.repair import WARC_FOLDER
from webcrawl.archive.warc import OPEN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

REVISIT = "warc/revisit"
"""The MIME type that an index has for a revisit record."""
TRIES = 5
"""The number of times that a folder is read again because the crawl renamed its files meanwhile."""

_RUN = re.compile(r"(.+)\.open-\d+\.cdxj")
_HEAD_END = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True, slots=True)
class StoredCapture:
    """An answer to a URL in a WARC file, as the index has it."""

    url: str
    timestamp: str
    """Time of the request as 14 digits, UTC."""
    mime: str
    """``REVISIT`` for a revisit record."""
    status: str | None
    digest: str | None
    folder: Path
    """The JOBDIR."""
    filename: str
    """The name that the file has once it is closed."""
    offset: int


class NoCdxj(ValueError):  # noqa: N818 - a state of a file
    """A line of an index is not in its format."""


class CaptureContent(NamedTuple):
    """The content of a capture."""

    fields: dict[str, str]
    """The WARC fields of its record, names in lower case."""
    head: bytes
    """The head of the HTTP response, without the empty line; empty for a resource record."""
    payload: bytes
    """The body without transfer coding, with content coding."""
    original: StoredCapture | None
    """The capture whose record has the payload, if this one is a revisit of it."""


def find_captures(url: str, folders: Sequence[Path]) -> list[StoredCapture]:
    """Return the captures of all URLs with the index key of ``url``, by their times. These may differ in scheme,
    ``www.``, the slash at the end, case, and the order of the query.

    :raises ArchiveError: a file cannot be read
    """
    captures = {}
    for folder in folders:
        for capture in _in_folder(folder, index_key(url).encode() + b" "):
            captures[capture.folder, capture.filename, capture.offset] = capture
    return sorted(
        captures.values(), key=lambda capture: (capture.timestamp, capture.filename, capture.offset)
    )


def read_capture(
    capture: StoredCapture, folders: Sequence[Path], *, bytes_max: int | None = None
) -> CaptureContent:
    """Read a capture; that of a revisit has the payload of the record that it refers to, in one of ``folders``.

    :raises ArchiveError: a file cannot be read, is damaged, or was moved away, or a record is longer than
        ``bytes_max``
    """
    fields, head, payload = _record(capture, bytes_max)
    if fields.get("warc-type") != "revisit":
        return CaptureContent(fields, head, payload, None)
    target, at = fields.get("warc-refers-to-target-uri", ""), fields.get("warc-refers-to-date", "")
    digest = fields.get("warc-payload-digest", "").removeprefix("sha1:")
    candidates = [
        capture
        for capture in find_captures(target, folders)
        if capture.url == target and capture.mime != REVISIT
    ]
    same_time = [capture for capture in candidates if capture.timestamp == timestamp(at)]
    same_bytes = [capture for capture in candidates if digest and capture.digest == digest]
    for original in (*same_time, *same_bytes):
        return CaptureContent(fields, head, _record(original, bytes_max)[2], original)
    path = capture.folder / WARC_FOLDER / capture.filename
    raise ArchiveError(
        path, f"the capture has the same body as {target} of {at}, which is not in these folders"
    )


def _record(capture: StoredCapture, bytes_max: int | None = None) -> tuple[dict[str, str], bytes, bytes]:
    """Return the WARC fields, the head of the response and the payload."""
    path = capture.folder / WARC_FOLDER / capture.filename
    with translated(path):
        for name in (path, path.with_name(path.name + OPEN), path):
            try:
                stream = name.open("rb")
            except FileNotFoundError:
                continue
            with stream:
                try:
                    fields, block = whole_record(stream, capture.offset, bytes_max)
                except Damaged as damage:
                    raise ArchiveError(path, f"{damage}; see scrapy archive check") from damage
            if not fields.get("content-type", "").startswith("application/http"):
                return fields, b"", block
            end = _HEAD_END.search(block)
            return (fields, block, b"") if end is None else (fields, block[: end.start()], block[end.end() :])
    raise ArchiveError(path, "is not there: the file was moved away, only its index is left")


def _in_folder(folder: Path, prefix: bytes) -> list[StoredCapture]:
    for left in reversed(range(TRIES)):
        try:
            with translated(folder):
                return [_capture(line, folder) for line in _lines(folder, prefix)]
        except NoCdxj as error:
            raise ArchiveError(folder / INDEX_FOLDER, str(error)) from error
        except ArchiveError as error:
            # The crawl merges indexes, and renames the file that it closes.
            if not left or not isinstance(error.__cause__, FileNotFoundError):
                raise
    raise AssertionError


def _lines(folder: Path, prefix: bytes) -> Iterator[bytes]:
    """Yield the index lines with a prefix, those that are not written yet too. Raises OSError."""
    indexes, warcs = folder / INDEX_FOLDER, folder / WARC_FOLDER
    runs: dict[str, list[Path]] = {}
    for path in sorted(indexes.glob(f"*{SUFFIX}")):
        if run := _RUN.fullmatch(path.name):
            runs.setdefault(run[1], []).append(path)
        with path.open("rb") as stream:
            yield from _lines_with(stream, prefix)
    for path in sorted(warcs.glob("*.warc.gz*")):
        name = path.name.removesuffix(OPEN)
        if index_path(indexes, name).exists():
            continue
        start = max((_end(run) for run in runs.get(name.removesuffix(".warc.gz"), [])), default=0)
        yield from (line for line in _unindexed(path, name, start) if line.startswith(prefix))


def _lines_with(stream: BinaryIO, prefix: bytes) -> Iterator[bytes]:
    """Yield the lines of a sorted file that begin with ``prefix``, by binary search."""
    low, high = 0, os.fstat(stream.fileno()).st_size
    while low < high:
        middle = (low + high) // 2
        stream.seek(middle)
        if middle:
            stream.readline()  # the rest of a line
        line = stream.readline()
        if line and line < prefix:
            low = middle + 1
        else:
            high = middle
    stream.seek(low)
    if low:
        stream.seek(low - 1)
        stream.readline()
    yield from takewhile(lambda line: line.startswith(prefix), _from(stream, prefix))


def _from(stream: BinaryIO, prefix: bytes) -> Iterator[bytes]:
    for line in stream:
        if line >= prefix:
            yield line
            break
    yield from stream


def _end(run: Path) -> int:
    """Return the end of the last record of which an index of a file that is being written has a line."""
    with run.open("rb") as stream:
        return max((int(about["offset"]) + int(about["length"]) for about in map(_about, stream)), default=0)


def _unindexed(path: Path, name: str, start: int) -> Iterator[bytes]:
    """Yield the lines of the records from ``start`` up to the first that is not whole."""
    lines = Lines(name)
    with path.open("rb") as stream:
        try:
            for record in records(stream, start):
                if line := lines.of(record):
                    yield line
        except Damaged:
            pass  # a file that is being written may end within a record
    if line := lines.last():
        yield line


def _about(line: bytes) -> dict[str, str]:
    """Return the JSON block of a line. :raises NoCdxj: it has none, or not what a capture needs"""
    try:
        about: dict[str, str] = json.loads(line.split(b" ", 2)[2])
        if {"url", "filename", "offset", "length"} <= about.keys():
            int(about["offset"]), int(about["length"])
            return about
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError):
        pass
    raise NoCdxj(f"a line of an index is no CDXJ: {line[:80]!a}")


def _capture(line: bytes, folder: Path) -> StoredCapture:
    about = _about(line)
    return StoredCapture(
        about["url"],
        line.split(b" ", 2)[1].decode(),
        about.get("mime", "unk"),
        about.get("status"),
        about.get("digest"),
        folder,
        about["filename"].removesuffix(OPEN),
        int(about["offset"]),
    )
