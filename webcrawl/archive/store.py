"""The archive of one worker: WARC files, fetch log and further sinks, changed together by groups."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.archive.cdxj import Index
from webcrawl.archive.disk import ArchiveError, Disk, translated
from webcrawl.archive.fetchlog import FetchLog
from webcrawl.archive.repair import WARC_FOLDER, RepairReport, repair
from webcrawl.archive.upload import Upload
from webcrawl.archive.warc import WarcWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from webcrawl.archive.capture import ArchiveEntry
    from webcrawl.archive.fetchlog import Compressor
    from webcrawl.archive.sinks import ArchiveSink


class ArchivePosition(NamedTuple):
    """The position of the archive: the current WARC file under its final name, its size, the size of the log."""

    warc_file: str | None
    warc_bytes: int
    log_bytes: int


class Archive:
    """Stores the results of fetches, a group of entries at a time, each group whole or not at all.

    After ``append`` has returned the group is durable: the frontier may commit it. After it has raised, the files are
    as they were before, and the same group can be appended again later. Any thread may call, one at a time.
    """

    def __init__(
        self,
        directory: Path,
        *,
        worker: str,
        warc: bool = True,
        roll_bytes: int = 1_000_000_000,
        level: int = 2,
        log_roll_bytes: int = 1_000_000_000,
        log_keep_days: float = 0.0,
        info: Mapping[str, str],
        clock: Callable[[], float] = time.time,
        disk: Disk | None = None,
        compressor: Compressor | None = None,
        metadata: bool = False,
        index: bool = False,
        upload: str | None = None,
        upload_keep: bool = True,
        sinks: Sequence[ArchiveSink] = (),
    ) -> None:
        """``directory`` is the crawl's. ``info`` goes into every warcinfo: software, operator, robots, ...

        ``level`` is isal's (0 to 3). Without ``warc`` only the log is written. Both sizes are checked before a group,
        so a file may exceed them by one group. ``metadata`` and ``index``: whether each page has a metadata record,
        and the WARC files an index. ``upload``: a URL to which closed files are copied; with ``upload_keep`` they
        also stay here. ``sinks`` come after the log, in their order.
        """
        self._directory = directory
        self._disk = disk = disk or Disk()
        folder = directory / WARC_FOLDER
        indexed = Index(directory, folder, disk) if warc and index else None
        writer = WarcWriter(
            folder,
            worker=worker,
            info=info,
            roll_bytes=roll_bytes,
            level=level,
            clock=clock,
            disk=disk,
            metadata=metadata,
            index=indexed,
        )
        self._warc = writer if warc else None
        self._log = FetchLog(
            directory,
            roll_bytes=log_roll_bytes,
            keep_days=log_keep_days,
            clock=clock,
            disk=disk,
            compressor=compressor,
        )
        copies = Upload(directory, folder, upload, keep=upload_keep) if warc and upload else None
        parts = (self._warc, indexed, self._log, *sinks, copies)
        self._parts = tuple(part for part in parts if part is not None)
        self.bytes_written = 0
        """Bytes of the groups kept since the archive was opened, over all parts."""

    @property
    def position(self) -> ArchivePosition:
        if self._warc is None:
            return ArchivePosition(None, 0, self._log.size)
        return ArchivePosition(self._warc.filename, self._warc.size, self._log.size)

    def open(self) -> RepairReport:
        """Create the folders and repair what a crash left. Raises ArchiveError."""
        folder = self._directory if self._warc is None else self._directory / WARC_FOLDER
        with translated(folder):
            folder.mkdir(parents=True, exist_ok=True)
        done = list(repair(self._directory, self._disk).sentences)
        for part in self._parts:
            done += part.open()
        return RepairReport(tuple(done))

    def append(self, entries: Sequence[ArchiveEntry]) -> None:
        """Write the group to all parts and make it durable: WARC records, then log lines, then the sinks.

        All or nothing. Raises DiskFull when there is no room, ArchiveError when a file cannot be written or a
        sink fails, ValueError for a record that is no valid line.
        """
        try:
            for part in self._parts:
                part.roll_if_full()
            before = sum(part.size for part in self._parts)
            for part in self._parts:
                part.write(entries)
            for part in self._parts:
                part.sync()
        except BaseException:
            for part in self._parts:
                part.rollback()
            raise
        _each([part.keep for part in self._parts])
        self.bytes_written += sum(part.size for part in self._parts) - before

    def close(self) -> None:
        """Close all parts, even if one fails. Raises the first ArchiveError; appended groups are durable in any
        case.
        """
        _each([part.close for part in self._parts])


def _each(steps: Sequence[Callable[[], None]]) -> None:
    """Run all steps, even if one fails. Raises the first ArchiveError."""
    failures: list[ArchiveError] = []
    for step in steps:
        try:
            step()
        except ArchiveError as error:
            failures.append(error)
    if failures:
        raise failures[0]
