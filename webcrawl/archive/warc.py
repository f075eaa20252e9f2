"""The WARC files of one worker: names, rolling, and one gzip member per record."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

from isal import isal_zlib

from webcrawl.archive.disk import AppendFile, ArchiveError, Disk, OneFile, translated
from webcrawl.archive.reading import GZIP_MEMBER, RecordLocation
from webcrawl.archive.records import RECORD_END, exchange, metadata_fields, warcinfo_record
from webcrawl.archive.sinks import ArchiveSink

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from webcrawl.archive.capture import ArchiveEntry, Capture, Revisit
    from webcrawl.archive.cdxj import Index
    from webcrawl.archive.records import ResponseRecord

OPEN = ".open"
"""The suffix of the name of a file while it is written."""

_SERIAL = re.compile(r"-\d{17}-(\d{5,})-")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9.]+")


def stamp(at: float) -> str:
    """Return epoch seconds as 17 digits, YYYYMMDDhhmmssmmm in UTC, which sort as text."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y%m%d%H%M%S%f")[:17]


class WarcWriter(OneFile, ArchiveSink):
    """Writes exchanges into ``<prefix>-<time>-<serial>-<worker>.warc.gz``.

    A file is created with the first exchange that goes into it and has ``.open`` at the end of its name until it is
    closed, at ``roll_bytes`` or at the end; its first record is a warcinfo. Exchanges come in groups as
    ``AppendFile`` defines them, a group always in one file. One thread at a time.
    """

    def __init__(
        self,
        folder: Path,
        *,
        worker: str,
        info: Mapping[str, str],
        roll_bytes: int = 1_000_000_000,
        level: int = 2,
        prefix: str = "webcrawl",
        clock: Callable[[], float] = time.time,
        disk: Disk | None = None,
        metadata: bool = False,
        index: Index | None = None,
    ) -> None:
        """``level`` is isal's, 0 to 3. With ``metadata`` each entry gets a metadata record with the facts of its log
        line. Every answer is added to ``index`` as well.
        """
        self._metadata = metadata
        self._index = index
        self._folder = folder
        self._worker = _NOT_IN_A_NAME.sub("_", worker)
        self._info = info
        self._roll_bytes = roll_bytes
        self._level = level
        self._prefix = prefix
        self._clock = clock
        self._disk = disk or Disk()
        self._file: AppendFile | None = None
        self._serial: int | None = None  # serial of the next file; None until the folder has been listed

    @property
    def filename(self) -> str | None:
        """The name that the current file will have once closed."""
        return None if self._file is None else self._file.path.name.removesuffix(OPEN)

    def write(self, entries: Sequence[ArchiveEntry]) -> None:
        """Add the exchanges of all entries that have one. Raises ArchiveError; the owner then calls ``rollback``."""
        for entry in entries:
            if entry.capture is not None:
                facts = metadata_fields(entry.record) if self._metadata else None
                self.add(entry.capture, entry.revisit, facts)

    def add(
        self, capture: Capture, revisit: Revisit | None = None, facts: Mapping[str, object] | None = None
    ) -> RecordLocation | None:
        """Add an exchange to the open group: its response (or ``revisit`` in its place), its request, and ``facts``.

        Return the location of the first one, or None for a capture without a response, which is not stored. Raises
        ArchiveError; the owner then calls ``rollback``.
        """
        if not capture.response_head and capture.resource_type is None:
            return None
        file = self._ready_file()
        start = file.size
        try:
            written = exchange(capture, revisit, facts)
            self._write_answer(file, written.answer)
        except FileNotFoundError as error:
            raise ArchiveError(
                file.path, f"a payload that was stored in a file is missing: {error}"
            ) from error
        location = RecordLocation(file.path.name.removesuffix(OPEN), start, file.size - start)
        for record in written.others:
            file.write(isal_zlib.compress(record, self._level, GZIP_MEMBER))
        if self._index is not None and capture.method == "GET":
            self._index.add(written.answer, location)
        return location

    def roll_if_full(self) -> None:
        """Close a file that has reached its size; between groups only.

        Raises ArchiveError; nothing is lost, and the next call tries again.
        """
        if self._file is not None and self._file.size >= self._roll_bytes:
            self._finish(self._file)

    def close(self) -> None:
        """Give the current file its final name. Raises ArchiveError; the next repair finishes the file then, whose
        records are whole.
        """
        if self._file is None:
            return
        try:
            self._finish(self._file)
        finally:
            if self._file is not None:
                file, self._file = self._file, None
                file.release()

    def _write_answer(self, file: AppendFile, answer: ResponseRecord) -> None:
        """Write one gzip member, a block at a time if the payload is in a file."""
        if answer.payload is None:
            file.write(isal_zlib.compress(answer.record, self._level, GZIP_MEMBER))
            return
        packer = isal_zlib.compressobj(self._level, isal_zlib.DEFLATED, GZIP_MEMBER)
        for block in chain((answer.record,), answer.payload, (RECORD_END,)):
            file.write(packer.compress(block))
        file.write(packer.flush())

    def _ready_file(self) -> AppendFile:
        """Return the file to write to; it has its warcinfo even after a rollback removed that."""
        file = self._file
        if file is None:
            file = self._file = self._create()
        if file.size == 0:
            name = file.path.name.removesuffix(OPEN)
            record = warcinfo_record(name, self._clock(), self._info)
            file.write(isal_zlib.compress(record, self._level, GZIP_MEMBER))
        return file

    def _create(self) -> AppendFile:
        if self._serial is None:
            self._serial = self._next_serial()
        name = f"{self._prefix}-{stamp(self._clock())}-{self._serial:05d}-{self._worker}.warc.gz"
        # Pages are not read again so soon that they should displace the frontier's data from the page cache.
        file = AppendFile(self._folder / (name + OPEN), self._disk, new=True, read_soon=False)
        self._serial += 1
        return file

    def _next_serial(self) -> int:
        """Return one more than the highest serial in the folder, so that names sort in the order of writing after a
        restart too.
        """
        with translated(self._folder):
            matches = [_SERIAL.search(path.name) for path in self._folder.iterdir()]
        return max((int(match[1]) for match in matches if match), default=-1) + 1

    def _finish(self, file: AppendFile) -> None:
        """Rename the file (or delete it when no group was kept in it) and close it."""
        file.settle()
        with translated(file.path):
            if file.kept == 0:
                self._disk.remove(file.path)
            else:
                self._disk.rename(file.path, file.path.with_name(file.path.name.removesuffix(OPEN)))
            self._file = None
            file.release()
            self._disk.sync_folder(self._folder)
