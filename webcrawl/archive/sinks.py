"""The parts of the archive, which are changed together for each group of entries, and the sinks of ``ARCHIVE_SINKS``.

::

    group of entries -> roll_if_full of all -> write to all -> sync of all -> keep by all -> the frontier commits
                                 any of them raises -> rollback by all -> the same entries come again later

The WARC files come first, then the fetch log, then the sinks of the setting ``ARCHIVE_SINKS`` in its order. Sinks are
loaded from their import paths; their exceptions become ArchiveErrors.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from webcrawl.archive.disk import ArchiveError, translated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from webcrawl.archive.capture import ArchiveEntry


OPERATIONS = ("open", "roll_if_full", "write", "sync", "keep", "rollback", "close")
"""The operations of every part."""


class ArchiveSink(Protocol):
    """One sink of the archive. A sink derives from it and implements the five methods without a body.

    A sink is built as ``Sink(directory, worker=..., settings=...)`` in the process that keeps the archive, without
    an event loop and without scrapy: ``directory`` is the JOBDIR, ``worker`` the name of this worker, and
    ``settings`` a dict of the settings named by the class. All calls come from one thread, and each may block.

    After ``rollback`` the same entries come again, perhaps in another group, and after a crash too: if a sink cannot
    undo a write it must accept the entry twice. If a sink raises an exception the group is not kept: after
    DiskFull the crawl waits for room, after any other exception it ends, and in neither case is a URL marked as
    done.
    """

    wants_links: ClassVar[bool] = False
    """True if the sink needs ``ArchiveEntry.links``, ``other_links`` and ``listed``. They are empty if no sink wants
    them.
    """
    wants_fields: ClassVar[bool] = False
    """True if the sink needs ``ArchiveEntry.fields``. It is empty if no sink wants it."""
    fields_needed: ClassVar[tuple[str, ...]] = ()
    """Fields that the sink requires: a crawl whose processing does not produce them refuses to start."""
    settings: ClassVar[tuple[str, ...]] = ()
    """Names of the settings whose values are passed to the sink; they must be plain values."""

    @property
    def size(self) -> int:
        """Bytes in the file that is being written, the open group included; 0 if that has no meaning."""
        return 0

    def open(self) -> Iterable[str]:
        """Prepare the part and repair what a crash left; return a sentence for each repair."""
        return ()

    def roll_if_full(self) -> None:
        """Begin a new file if the current one has reached its size; called between groups only."""
        return

    @abstractmethod
    def write(self, entries: Sequence[ArchiveEntry]) -> None:
        """Add entries to the open group, in the order in which their requests ended."""

    @abstractmethod
    def sync(self) -> None:
        """Make the open group durable, so that it survives a power failure."""

    @abstractmethod
    def keep(self) -> None:
        """Keep the open group: every part has synced it. Must not fail."""

    @abstractmethod
    def rollback(self) -> None:
        """Discard the open group, as far as possible. Must not fail."""

    @abstractmethod
    def close(self) -> None:
        """Close the part. Kept groups are durable without it."""


Named = tuple[str, dict[str, Any]]
"""The import path of a sink and its settings."""


def load(path: str) -> type[ArchiveSink]:
    """Return the class with this import path. Raises ImportError if there is none, TypeError if it is not a sink."""
    module, _, name = path.rpartition(".")
    try:
        sink = getattr(import_module(module), name)
    except (AttributeError, ValueError) as error:
        raise ImportError(str(error)) from error
    missing = [each for each in OPERATIONS if not callable(getattr(sink, each, None))]
    if not isinstance(sink, type) or missing:
        raise TypeError(f"{path} is no class with the methods {', '.join(missing or OPERATIONS)}")
    if unmade := sorted(getattr(sink, "__abstractmethods__", ())):
        raise TypeError(f"{path} lacks {', '.join(unmade)}")
    return sink


class Guarded(ArchiveSink):
    """A sink whose exceptions are turned into ArchiveErrors that name it. If an operation that must not fail raises,
    the next group fails: nothing that the sink may have lost is acknowledged after it.
    """

    def __init__(self, path: str, directory: Path, worker: str, settings: Mapping[str, Any]) -> None:
        """:raises ArchiveError: the sink cannot be built"""
        self._path = path
        self._directory = directory
        self._failure: ArchiveError | None = None
        with self._errors():
            self._sink: ArchiveSink = load(path)(directory, worker=worker, settings=settings)  # type: ignore[call-arg]

    @property
    def size(self) -> int:
        return self._sink.size

    def open(self) -> Sequence[str]:
        with self._errors():
            return [str(sentence) for sentence in self._sink.open()]

    def roll_if_full(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        with self._errors():
            self._sink.roll_if_full()

    def write(self, entries: Sequence[ArchiveEntry]) -> None:
        with self._errors():
            self._sink.write(entries)

    def sync(self) -> None:
        with self._errors():
            self._sink.sync()

    def keep(self) -> None:
        with self._errors():
            self._sink.keep()

    def rollback(self) -> None:
        try:
            with self._errors():
                self._sink.rollback()
        except ArchiveError as error:
            self._failure = error

    def close(self) -> None:
        with self._errors():
            self._sink.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with translated(self._directory):
                yield
        except ArchiveError:
            raise
        except Exception as error:
            raise ArchiveError(self._directory, f"{self._path}: {type(error).__name__}: {error}") from error
