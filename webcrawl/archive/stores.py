"""The stores of the setting ``STORES``: found by their import paths, built, and kept from doing harm."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from webcrawl.archive.errors import ArchiveError, translated
from webcrawl.archive.part import OPERATIONS, Part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from webcrawl.archive.capture import Entry

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
