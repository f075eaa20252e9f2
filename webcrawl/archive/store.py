"""The archive of one worker: WARC files and fetch log, changed together by groups."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from webcrawl.archive.disk import Disk
from webcrawl.archive.errors import translated
from webcrawl.archive.fetchlog import FetchLog, log_line
from webcrawl.archive.repair import WARC_FOLDER, RepairReport, repair
from webcrawl.archive.warc import WarcWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from webcrawl.archive.capture import Entry
    from webcrawl.archive.rotation import Compressor


class Position(NamedTuple):
    """Where the archive stands: the current WARC file under its final name, its size, the size of the log."""

    warc_file: str | None
    warc_bytes: int
    log_bytes: int


class Archive:
    """Keeps what fetches left behind, a group of entries at a time, each group whole or not at all.

    After ``append`` has returned the group is durable: the frontier may commit it. After it has raised, the
    files are as they were before, and the same group can be appended again later. One thread at a time may
    call; which one does not matter.
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
        info: Mapping[str, str],
        clock: Callable[[], float] = time.time,
        disk: Disk | None = None,
        compressor: Compressor | None = None,
    ) -> None:
        """``directory`` is the crawl's. ``info`` goes into every warcinfo: software, operator, robots, ...

        ``level`` is isal's (0 to 3). Without ``warc`` only the log is written. Both sizes are checked before
        a group, so a file may pass them by one group.
        """
        self._directory = directory
        self._disk = disk or Disk()
        self._warc: WarcWriter | None = None
        if warc:
            self._warc = WarcWriter(
                directory / WARC_FOLDER,
                worker=worker,
                info=info,
                roll_bytes=roll_bytes,
                level=level,
                clock=clock,
                disk=self._disk,
            )
        self._log = FetchLog(
            directory, roll_bytes=log_roll_bytes, clock=clock, disk=self._disk, compressor=compressor
        )
        self._parts: tuple[WarcWriter | FetchLog, ...] = (
            (self._log,) if self._warc is None else (self._warc, self._log)
        )
        self.bytes_written = 0
        """WARC and log bytes of the groups kept since the archive was opened."""

    @property
    def position(self) -> Position:
        if self._warc is None:
            return Position(None, 0, self._log.size)
        return Position(self._warc.filename, self._warc.size, self._log.size)

    def open(self) -> RepairReport:
        """Create the folders and repair what a crash left. Raises ArchiveError."""
        folder = self._directory if self._warc is None else self._directory / WARC_FOLDER
        with translated(folder):
            folder.mkdir(parents=True, exist_ok=True)
        report = repair(self._directory, self._disk)
        self._log.open()
        return report

    def append(self, entries: Sequence[Entry]) -> None:
        """Write and make durable: the records of all captures, then all log lines.

        All or nothing. Raises StorageFull when there is no room, ArchiveError when a file cannot be written,
        ValueError for a record that is no valid line.
        """
        lines = [log_line(entry.record) for entry in entries]
        try:
            for part in self._parts:
                part.roll_if_full()
            before = sum(part.size for part in self._parts)
            if self._warc is not None:
                for entry in entries:
                    if entry.capture is not None:
                        self._warc.write(entry.capture)
            self._log.write(lines)
            for part in self._parts:
                part.sync()
        except BaseException:
            for part in self._parts:
                part.rollback()
            raise
        for part in self._parts:
            part.keep()
        self.bytes_written += sum(part.size for part in self._parts) - before

    def close(self) -> None:
        """Close all files. Raises ArchiveError; what was appended is durable anyway."""
        try:
            if self._warc is not None:
                self._warc.close()
        finally:
            self._log.close()
