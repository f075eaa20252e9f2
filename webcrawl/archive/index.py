"""The CDXJ index, kept while WARC files are written.

::

    lines of kept groups -> x.open-0.cdxj, x.open-1.cdxj, ... (sorted, the small ones merged) -> x.cdxj
                            while x.warc.gz.open is written                       when it is closed

All of them lie in ``JOBDIR/index`` and each is sorted, so a replay tool that is given the folder finds every page,
some seconds after it was fetched. Nothing in here is needed to recover the archive: an index that a crash left
unfinished is made again from its WARC file, at the start or by ``scrapy archive index``.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from webcrawl.archive.cdxj import line_of
from webcrawl.archive.errors import translated
from webcrawl.archive.part import Part
from webcrawl.archive.reading import Damaged, Record, records
from webcrawl.archive.sortedlines import Sorter, merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from webcrawl.archive.capture import Entry
    from webcrawl.archive.disk import Disk
    from webcrawl.archive.members import Place
    from webcrawl.archive.records import Answer

INDEX_FOLDER = "index"
SUFFIX = ".cdxj"
LINES_MAX = 4096
"""Lines that wait in memory, about a megabyte."""
SECONDS_MAX = 10.0
"""How long a line waits there at most, as long as anything is fetched."""

_WARC, _OPEN, _PART = ".warc.gz", ".open", ".part"
_RUN = re.compile(r"(.+)\.open-\d+\.cdxj")
_FLUSH_LINES = 4096


class Index(Part):
    """The index of one worker's WARC files; follows their groups and their names."""

    def __init__(
        self, directory: Path, warcs: Path, disk: Disk, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder = directory / INDEX_FOLDER
        self._warcs = warcs
        self._disk = disk
        self._clock = clock
        self._name: str | None = None  # of the WARC file that the kept lines are about, once it is closed
        self._pending: list[tuple[str, bytes]] = []
        self._kept: list[bytes] = []
        self._runs: list[tuple[Path, int]] = []  # each with the number of its lines, the long ones first
        self._serial = 0
        self._written_at = clock()

    def open(self) -> list[str]:
        """Make what a crash left unfinished from the WARC files. Those of an archive that never had an index are left
        to ``scrapy archive index``: it may be very many.
        """
        with translated(self._folder):
            is_new = not self._folder.exists()
            self._folder.mkdir(parents=True, exist_ok=True)
            done = [] if is_new else [self._mended(path) for path in unindexed(self._warcs, self._folder)]
            for path in self._folder.iterdir():
                if path.name.endswith(_PART) or _RUN.fullmatch(path.name):
                    self._disk.remove(path)
        return done

    def add(self, answer: Answer, place: Place) -> None:
        """Take down an answer of the open group, and where its record lies."""
        name = place.filename
        line = line_of(answer.fields, answer.message_head, name + _OPEN, place.offset, place.length)
        if line is not None:
            self._pending.append((name, line))

    def write(self, entries: Sequence[Entry]) -> None:
        """The WARC files say what is added."""

    def roll_if_full(self) -> None:
        """Write what waits, if it is time; finish the index of a WARC file that was closed."""
        with translated(self._folder):
            if self._name is not None and not (self._warcs / (self._name + _OPEN)).exists():
                self._finish(self._name)
            elif len(self._kept) >= LINES_MAX or (
                self._kept and self._clock() - self._written_at >= SECONDS_MAX
            ):
                self._write_run()

    def sync(self) -> None:
        """Nothing: what is lost is made again."""

    def keep(self) -> None:
        if self._pending:
            self._name = self._pending[0][0]  # a group is in one file
            self._kept += [line for _, line in self._pending]
            self._pending.clear()

    def rollback(self) -> None:
        self._pending.clear()

    def close(self) -> None:
        if self._name is not None:
            with translated(self._folder):
                self._finish(self._name)

    def _write_run(self) -> None:
        """A file of what waits, together with the runs that are not longer: there are few, and a line is written
        again only when its run has doubled.
        """
        lines = len(self._kept)
        joined = 0
        while joined < len(self._runs) and self._runs[-1 - joined][1] <= lines:
            joined += 1
            lines += self._runs[-joined][1]
        old = [path for path, _ in self._runs[len(self._runs) - joined :]]
        assert self._name is not None
        path = self._folder / f"{self._name.removesuffix(_WARC)}.open-{self._serial}{SUFFIX}"
        self._kept.sort()
        with merged(old, self._kept) as found:
            write_lines(path, found, self._disk)
        self._serial += 1
        self._runs[len(self._runs) - joined :] = [(path, lines)]
        self._kept = []
        self._written_at = self._clock()
        self._forget(old)

    def _finish(self, name: str) -> None:
        self._kept.sort()
        old = [path for path, _ in self._runs]
        with merged(old, self._kept) as found:
            write_lines(index_path(self._folder, name), map(_closed, found), self._disk, durable=True)
        self._name, self._kept, self._runs = None, [], []
        self._forget(old)

    def _forget(self, paths: Iterable[Path]) -> None:
        for path in paths:
            with suppress(FileNotFoundError):
                self._disk.remove(path)

    def _mended(self, warc: Path) -> str:
        try:
            number = build(warc, index_path(self._folder, warc.name), self._disk)
        except Damaged as damage:
            return f"{warc.name} has no index: {damage}."
        return f"{index_path(self._folder, warc.name).name}: made again, {number} lines."


def index_path(folder: Path, warc_name: str) -> Path:
    """The index of a WARC file with this final name."""
    return folder / (warc_name.removesuffix(_WARC) + SUFFIX)


def unindexed(warcs: Path, folder: Path) -> list[Path]:
    """The closed WARC files that have no index. Raises OSError."""
    return [path for path in sorted(warcs.glob(f"*{_WARC}")) if not index_path(folder, path.name).exists()]


def build(warc: Path, target: Path, disk: Disk) -> int:
    """Write the index of a WARC file and make it durable, in bounded memory. Returns the number of its lines.

    :raises Damaged: the file is not whole; there is no index then
    """
    number = 0
    with Sorter() as sorter:
        for line in lines_of(warc, warc.name):
            sorter.add(line)
            number += 1
        write_lines(target, sorter.sorted(), disk, durable=True)
    return number


class Lines:
    """Makes the lines for the records of one WARC file, which it is told in their order. Whether an answer has a line
    is known when its request has come, or something else in its place.
    """

    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._waiting: bytes | None = None

    def of(self, record: Record) -> bytes | None:
        """The line that is certain now, if there is one."""
        line = self._waiting
        if record.type == "request":
            self._waiting = None
            return line if record.message_head.startswith(b"GET ") else None
        self._waiting = line_of(
            record.fields, record.message_head, self._filename, record.start, record.length
        )
        return line

    def last(self) -> bytes | None:
        """The line that is certain at the end of the file."""
        return self._waiting


def lines_of(warc: Path, filename: str) -> Iterator[bytes]:
    """The lines for a WARC file, in the order of its records. :raises Damaged: behind the last whole record"""
    lines = Lines(filename)
    with warc.open("rb") as stream:
        for record in records(stream):
            if line := lines.of(record):
                yield line
        if line := lines.last():
            yield line


def write_lines(path: Path, lines: Iterable[bytes], disk: Disk, *, durable: bool = False) -> None:
    """Put a file with these lines in the place of ``path``; it is there whole or as it was. Raises OSError."""
    unfinished = path.with_name(path.name + _PART)
    if unfinished.exists():
        disk.remove(unfinished)
    with disk.opened(unfinished) as handle:
        waiting: list[bytes] = []
        for line in lines:
            waiting.append(line)
            if len(waiting) >= _FLUSH_LINES:
                disk.write_whole(handle, b"".join(waiting))
                waiting.clear()
        disk.write_whole(handle, b"".join(waiting))
        if durable:
            disk.sync(handle)
    disk.rename(unfinished, path)
    if durable:
        disk.sync_folder(path.parent)


def _closed(line: bytes) -> bytes:
    """The line once the file it names is closed."""
    return line[: -len(_OPEN) - 3] + line[-3:] if line.endswith(b'.open"}\n') else line
