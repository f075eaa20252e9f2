"""What the archive is made of: parts that change together, a group of entries at a time.

::

    group of entries -> roll_if_full of all -> write to all -> sync of all -> keep by all -> the frontier commits
                                 any of them raises -> rollback by all -> the same entries come again later

The WARC files come first, then the fetch log, then the stores of the setting ``STORES`` in its order.

The stores of the setting ``STORES``: found by their import paths, built, and kept from doing harm.
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

    from webcrawl.archive.capture import Entry


OPERATIONS = ("open", "roll_if_full", "write", "sync", "keep", "rollback", "close")
"""What every part can do."""


class Part(Protocol):
    """One of the things that are kept of a fetch. A store derives from it and has the five methods without a body.

    A store is built as ``Store(directory, worker=..., settings=...)`` in the process that keeps the archive, where
    there is no event loop and no scrapy: ``directory`` is the JOBDIR, ``worker`` the name of this worker, and
    ``settings`` a dict of those named by the class. All calls come from one thread, each may wait.

    After ``rollback`` the same entries come again, perhaps in another group, and after a crash too: what a store
    cannot take back it must be able to take twice. An exception of a store is a group that was not kept: with a
    StorageFull the crawl waits for room, with any other it ends, and in neither case is a URL done.
    """

    wants_links: ClassVar[bool] = False
    """Whether ``Entry.links``, ``other_links`` and ``listed`` are needed. They are empty where nobody wants them."""
    wants_fields: ClassVar[bool] = False
    """Whether ``Entry.fields`` is needed. It is empty where nobody wants it."""
    fields_needed: ClassVar[tuple[str, ...]] = ()
    """Fields without which the store is of no use: a crawl that finds no such fields does not begin."""
    settings: ClassVar[tuple[str, ...]] = ()
    """Names of the settings whose values the store is given; they must be plain values."""

    @property
    def size(self) -> int:
        """Bytes in what is written at present, the open group included; 0 where that means nothing."""
        return 0

    def open(self) -> Iterable[str]:
        """Get ready, and repair what a crash left: a sentence for each thing that was done."""
        return ()

    def roll_if_full(self) -> None:
        """Begin a new file where one has reached its size; called between groups only."""
        return

    @abstractmethod
    def write(self, entries: Sequence[Entry]) -> None:
        """Add entries to the open group, in the order in which their requests ended."""

    @abstractmethod
    def sync(self) -> None:
        """Bring the open group to the disk, so that it outlives a power cut."""

    @abstractmethod
    def keep(self) -> None:
        """The open group stays: every part has synced it. Must not fail."""

    @abstractmethod
    def rollback(self) -> None:
        """Forget the open group, as far as it can be taken back. Must not fail."""

    @abstractmethod
    def close(self) -> None:
        """Nothing more will come. What was kept is durable anyway."""


Named = tuple[str, dict[str, Any]]
"""The import path of a store and the settings it is given."""


def load(path: str) -> type[Part]:
    """The class with this import path. Raises ImportError when there is none, TypeError when it is no store."""
    module, _, name = path.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (AttributeError, ValueError) as error:
        raise ImportError(str(error)) from error
    missing = [each for each in OPERATIONS if not callable(getattr(found, each, None))]
    if not isinstance(found, type) or missing:
        raise TypeError(f"{path} is no class with the methods {', '.join(missing or OPERATIONS)}")
    if unmade := sorted(getattr(found, "__abstractmethods__", ())):
        raise TypeError(f"{path} lacks {', '.join(unmade)}")
    return found


class Guarded(Part):
    """A store whose every exception is an ArchiveError that names it. What must not fail and does, fails the next
    group: nothing that the store may have lost is acknowledged after it.
    """

    def __init__(self, path: str, directory: Path, worker: str, settings: Mapping[str, Any]) -> None:
        """:raises ArchiveError: the store cannot be built."""
        self._path = path
        self._directory = directory
        self._failure: ArchiveError | None = None
        with self._errors():
            self._store: Part = load(path)(directory, worker=worker, settings=settings)  # type: ignore[call-arg]

    @property
    def size(self) -> int:
        return self._store.size

    def open(self) -> Sequence[str]:
        with self._errors():
            return [str(sentence) for sentence in self._store.open()]

    def roll_if_full(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        with self._errors():
            self._store.roll_if_full()

    def write(self, entries: Sequence[Entry]) -> None:
        with self._errors():
            self._store.write(entries)

    def sync(self) -> None:
        with self._errors():
            self._store.sync()

    def keep(self) -> None:
        with self._errors():
            self._store.keep()

    def rollback(self) -> None:
        try:
            with self._errors():
                self._store.rollback()
        except ArchiveError as error:
            self._failure = error

    def close(self) -> None:
        with self._errors():
            self._store.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with translated(self._directory):
                yield
        except ArchiveError:
            raise
        except Exception as error:
            raise ArchiveError(self._directory, f"{self._path}: {type(error).__name__}: {error}") from error
