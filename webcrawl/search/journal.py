"""The journal of changes for an index: files of lines in ``JOBDIR/search``, durable with their group, deleted once
indexed.

::

    journal-00000007.jsonl      read by the index; goes when it is indexed whole
    journal-00000008.jsonl      written by the archive's process; read as far as it is kept

A line is a change in the form of ``document.IndexChange``. A search index and its journal can be copied while both
are being written.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.archive.disk import AppendFile, Disk, OneFile, translated
from webcrawl.archive.repair import cut_lines
from webcrawl.search import marking
from webcrawl.search.document import IndexChange

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


SEGMENT_BYTES = 8_000_000
"""A segment is closed at this size in bytes: at least so much is indexed again after a crash."""

_SEGMENT = re.compile(r"journal-(\d{8,})\.jsonl")


class JournalPosition(NamedTuple):
    """The position up to which a journal may be read: all segments before this one, and so many bytes of it."""

    segment: int
    size: int


def segments(folder: Path) -> list[int]:
    """Return the numbers of the segments in a folder, in order; none if there is no folder."""
    if not folder.is_dir():
        return []
    return sorted(int(match[1]) for path in folder.iterdir() if (match := _SEGMENT.fullmatch(path.name)))


def segment_path(folder: Path, segment: int) -> Path:
    return folder / f"journal-{segment:08}.jsonl"


class Journal(OneFile):
    """The writer. One thread; a group of lines is kept whole or not at all, as in ``AppendFile``."""

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self._folder = folder
        self._disk = disk or Disk()
        self._file: AppendFile | None = None
        self._number = 0

    def open(self) -> list[str]:
        """Repair what a crash left and begin a new segment. Return sentences about what was done."""
        done: list[str] = []
        with translated(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            left = segments(self._folder)
            for number in left[-1:]:
                done += cut_lines(segment_path(self._folder, number), self._disk)
        self._begin(left[-1] + 1 if left else 1)
        return done

    def roll_if_full(self) -> None:
        """Begin the next segment if this one has reached its size; between groups only."""
        if self._file is not None and self._file.kept >= SEGMENT_BYTES:
            self._file.settle()
            full = self._file
            self._begin(self._number + 1)
            full.release()

    def write(self, lines: Sequence[bytes]) -> None:
        """Add lines to the open group."""
        assert self._file is not None
        if lines:
            self._file.write(b"".join(line + b"\n" for line in lines))

    @property
    def position(self) -> JournalPosition:
        """Return the position up to which it may be read: the end of the kept groups."""
        assert self._file is not None
        return JournalPosition(self._number, self._file.kept)

    def close(self) -> None:
        self.let_go()

    def _begin(self, number: int) -> None:
        self._file = AppendFile(segment_path(self._folder, number), self._disk, new=True)
        self._number = number


class JournalReader:
    """The reader, which begins at the first existing segment. One thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._at = JournalPosition(0, 0)
        self.damaged = 0
        """Lines that are no changes."""

    def read(self, until: JournalPosition, bytes_max: int) -> list[IndexChange]:
        """Return the next changes, about ``bytes_max`` of them; empty when all before ``until`` were read."""
        changes: list[IndexChange] = []
        for number in segments(self._folder):
            if number < self._at.segment or number > until.segment:
                continue
            if number > self._at.segment:
                self._at = JournalPosition(number, 0)
            path = segment_path(self._folder, number)
            end = until.size if number == until.segment else path.stat().st_size
            while self._at.size < end and bytes_max > 0:
                bytes_max -= self._read(path, min(end - self._at.size, bytes_max), changes)
            if bytes_max <= 0:
                break
        return changes

    def discard(self, *, whole: bool = False) -> None:
        """Delete the segments that were read to their end and are not being written any more; with ``whole`` all that
        were read.
        """
        for number in segments(self._folder):
            if number < self._at.segment or (whole and number == self._at.segment):
                segment_path(self._folder, number).unlink()

    def _read(self, path: Path, bytes_max: int, changes: list[IndexChange]) -> int:
        """Read lines from the current position, at least one. Return their bytes."""
        with path.open("rb") as stream:
            stream.seek(self._at.size)
            data = stream.read(bytes_max)
            data += b"" if data.endswith(b"\n") else stream.readline()
        for line in data.splitlines():
            try:
                changes.append(IndexChange.of_line(line))
            except (ValueError, TypeError):
                self.damaged += 1
        self._at = JournalPosition(self._at.segment, self._at.size + max(len(data), 1))
        return max(len(data), 1)


INDEX, META = "index", "meta.json"
_TRIES = 20


def copy(source: Path, target: Path) -> list[Path]:
    """Copy the folder of full text; return its files in ``target``, none if ``source`` has no index.

    The journal is copied first: changes that are deleted from it meanwhile are in the index, which is copied after
    it. Changes that are in both are applied again, as after a crash. Files that never change are hard links if
    possible.

    :raises OSError: the disk refuses, or the index changes too fast
    """
    if not (source / marking.NAME).is_file():
        return []
    target.mkdir(parents=True)
    shutil.copyfile(source / marking.NAME, target / marking.NAME)
    for number in segments(source):
        with suppress(FileNotFoundError):
            shutil.copyfile(segment_path(source, number), segment_path(target, number))
    for _ in range(_TRIES):
        if not (source / INDEX / META).is_file() or _index(source / INDEX, target / INDEX):
            return [path for path in target.rglob("*") if path.is_file()]
    raise OSError(f"{source / INDEX} changes too fast to be copied")


def _index(source: Path, target: Path) -> bool:
    """Copy an index as its list of segments has it. Return False if the list changed meanwhile."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    before = (source / META).read_bytes()
    for path in source.iterdir():
        if path.name == META or path.suffix == ".lock":
            continue
        with suppress(FileNotFoundError):  # not of this list, or the list has changed by now
            _share(path, target / path.name)
    (target / META).write_bytes(before)
    return (source / META).read_bytes() == before


def _share(source: Path, target: Path) -> None:
    if source.suffix == ".json":
        shutil.copyfile(source, target)
        return
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)
