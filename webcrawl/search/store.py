"""The archive sink of full-text search: it writes a journal with each group, and starts the process that indexes
it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, cast

from webcrawl.archive.disk import ArchiveError, translated
from webcrawl.archive.sinks import ArchiveSink
from webcrawl.child_process import frame, start_python
from webcrawl.search.document import index_change
from webcrawl.search.engine import load
from webcrawl.search.journal import Journal, JournalPosition, segments
from webcrawl.search.marking import Marking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from webcrawl.archive.capture import ArchiveEntry

FOLDER = "search"
"""The folder in the JOBDIR for the journal, and for the index of an embedded engine."""


class SearchIndex(ArchiveSink):
    """Makes pages searchable some seconds after they were fetched. See ``webcrawl.search``."""

    wants_fields = True
    fields_needed: ClassVar[tuple[str, ...]] = ("text",)
    settings = ("SEARCH_ENGINE", "SEARCH_URL", "SEARCH_STEMMER", "SEARCH_INTERVAL_SECONDS")

    def __init__(self, directory: Path, *, worker: str, settings: Mapping[str, Any]) -> None:
        self._folder = directory / FOLDER
        self._journal = Journal(self._folder)
        self._options = {
            "folder": str(self._folder),
            "engine": settings["SEARCH_ENGINE"],
            "url": settings["SEARCH_URL"] or "",
            "stemmer": settings["SEARCH_STEMMER"],
            "interval": settings["SEARCH_INTERVAL_SECONDS"],
        }
        self._indexer: _Indexer | None = None

    @property
    def size(self) -> int:
        return self._journal.size

    def open(self) -> list[str]:
        path, stemmer = self._options["engine"], self._options["stemmer"]
        left = len(segments(self._folder))
        done = self._journal.open()
        if not load(path).is_server:
            Marking(path, stemmer).claim(self._folder)
        if left:
            done.append(f"{FOLDER}: pages of the last run that were not yet indexed are indexed now.")
        self._indexer = _Indexer(self._folder, self._options)
        self._journal.keep()
        self._indexer.send_position(self._journal.position)
        return done

    def roll_if_full(self) -> None:
        if self._indexer is not None:
            self._indexer.check()
        self._journal.roll_if_full()

    def write(self, entries: Sequence[ArchiveEntry]) -> None:
        changes = (index_change(entry) for entry in entries)
        self._journal.write([change.line() for change in changes if change is not None])

    def sync(self) -> None:
        self._journal.sync()

    def keep(self) -> None:
        self._journal.keep()
        position = self._journal.position
        if self._indexer is not None:
            self._indexer.send_position(position)

    def rollback(self) -> None:
        self._journal.rollback()

    def close(self) -> None:
        indexer, self._indexer = self._indexer, None
        self._journal.close()
        if indexer is not None:
            indexer.end()


class _Indexer:
    """The process ``webcrawl.search.indexer``, which receives the position up to which it may read."""

    def __init__(self, folder: Path, options: Mapping[str, Any]) -> None:
        self._folder = folder
        with translated(folder):
            self._process = start_python("webcrawl.search.indexer")
            self._requests = cast("BinaryIO", self._process.stdin)
            self._output = cast("BinaryIO", self._process.stdout)
            self._handle = self._requests.fileno()
            os.write(self._handle, frame(dict(options)))
        os.set_blocking(self._handle, False)
        self._sent: JournalPosition | None = None
        self._message = ""

    def send_position(self, position: JournalPosition) -> None:
        """Send the kept position of the journal. Never blocks: if the pipe is full, a later position replaces this
        one.
        """
        if position == self._sent:
            return
        # ``check`` detects a process that has ended; kept changes are kept.
        with suppress(BlockingIOError, BrokenPipeError):
            os.write(self._handle, frame(tuple(position)))
            self._sent = position

    def check(self) -> None:
        """:raises ArchiveError: the process has ended"""
        if self._process.poll() is not None:
            raise self._failure()

    def end(self) -> None:
        """Wait until it has indexed the rest. :raises ArchiveError: it could not"""
        os.set_blocking(self._handle, True)
        with suppress(BrokenPipeError):
            os.write(self._handle, frame(None))
        self._requests.close()
        self._process.wait()
        failure = self._failure()
        self._output.close()
        if self._process.returncode != 0:
            raise failure

    def _failure(self) -> ArchiveError:
        """Return why it has ended: its own message, or its status."""
        self._message = self._message or self._output.read().decode(errors="replace").strip()
        ended = f"the process that indexes pages has ended with status {self._process.returncode}"
        return ArchiveError(self._folder, self._message or ended)
