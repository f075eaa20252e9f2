"""Base class of an archive sink that adds lines to one file in the JOBDIR for every entry."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from webcrawl.archive.disk import AppendFile, Disk, OneFile, translated
from webcrawl.archive.repair import cut_lines
from webcrawl.archive.sinks import ArchiveSink

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from webcrawl.archive.capture import ArchiveEntry


class LineFile(OneFile, ArchiveSink):
    """A sink with one file. A subclass gives the file a ``name`` and says which ``lines`` an entry makes.

    A group is in the file whole or not at all. After a crash the file ends with a whole line; lines of requests that
    were in flight may be there twice.
    """

    name: ClassVar[str]
    """Name of the file, relative to the JOBDIR."""

    def __init__(self, directory: Path, *, worker: str, settings: Mapping[str, Any]) -> None:
        self.worker = worker
        self.given = settings
        self._path = directory / self.name
        self._disk = Disk()
        self._file: AppendFile | None = None

    @abstractmethod
    def lines(self, entry: ArchiveEntry) -> Iterable[bytes]:
        """Return the lines that the file gets for a finished request: any number of lines, without their ends."""

    def open(self) -> list[str]:
        with translated(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            done = cut_lines(self._path, self._disk)
        self._file = AppendFile(self._path, self._disk, new=False)
        return done

    def write(self, entries: Sequence[ArchiveEntry]) -> None:
        assert self._file is not None
        self._file.write(b"".join(line + b"\n" for entry in entries for line in self.lines(entry)))

    def close(self) -> None:
        self.let_go()
