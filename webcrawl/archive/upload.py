"""The upload of closed WARC files and their indexes to an object storage, on a thread of its own.

A file is copied, read back and compared, and only then counts as uploaded; only then, if configured, it is deleted
here. A failed upload is tried again as long as the crawl runs, and by the next start: an unavailable storage costs
disk space, never a page, and never delays the crawl.
"""

from __future__ import annotations

import logging
import threading
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from webcrawl.archive.cdxj import INDEX_FOLDER, index_path
from webcrawl.archive.disk import ArchiveError
from webcrawl.archive.sinks import ArchiveSink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from webcrawl.archive.capture import ArchiveEntry

RESCAN_SECONDS = 5.0
"""Seconds between two looks of the thread for files that were closed."""
RETRY_SECONDS = (1.0, 300.0)
"""The first pause in seconds after a failure, and the longest; each is twice the one before."""
TRIES_AT_CLOSE = 3
"""The number of times that an upload is tried when the crawl ends; the next start uploads the files that are left."""
CHUNK_BYTES = 1 << 20

_log = logging.getLogger(__name__)


class Remote(Protocol):
    """The methods of an fsspec filesystem that are used."""

    def open(self, path: str, mode: str) -> Any: ...

    def size(self, path: str) -> int | None:
        """Return the size of a file. :raises FileNotFoundError: there is no such file"""
        ...

    def makedirs(self, path: str, exist_ok: bool) -> None: ...


def open_remote(url: str) -> tuple[Remote, str]:
    """Return the filesystem of a URL such as ``s3://bucket/folder``, and the path in it.

    :raises ImportError: fsspec or a package it needs for this kind of URL is not installed :raises ValueError: there
    is no such kind
    """
    import fsspec

    remote, path = fsspec.core.url_to_fs(url)
    return remote, path.rstrip("/")


class Upload(ArchiveSink):
    """Copies the closed files in ``warc/``, with their indexes, to ``url``; deletes them here unless ``keep``."""

    def __init__(
        self,
        directory: Path,
        warcs: Path,
        url: str,
        *,
        keep: bool,
        remote: Callable[[str], tuple[Remote, str]] = open_remote,
        wait: Callable[[threading.Event, float], object] = threading.Event.wait,
    ) -> None:
        """``wait`` is called for every pause; a test lets time pass with it."""
        self._indexes = directory / INDEX_FOLDER
        self._warcs = warcs
        self._url = url
        self._keep = keep
        self._remote_of = remote
        self._wait = wait
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="warc-upload", daemon=True)
        self._done: set[str] = set()

    def open(self) -> tuple[()]:
        """Start the thread. Raises ArchiveError if there is no filesystem for the URL; the storage is first contacted
        by the thread.
        """
        try:
            self._remote, self._path = self._remote_of(self._url)
        except (ImportError, ValueError, OSError) as error:
            raise ArchiveError(self._warcs, f"cannot be copied to {self._url}: {error}") from error
        self._thread.start()
        return ()

    def write(self, entries: Sequence[ArchiveEntry]) -> None:
        """Do nothing: only closed files are copied."""

    def sync(self) -> None:
        """Do nothing: files are copied later."""

    def keep(self) -> None:
        """Do nothing: files are copied later."""

    def rollback(self) -> None:
        """Do nothing: files are copied later."""

    def close(self) -> None:
        """Copy the files that are left, except those that the storage does not accept."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause = 0.0
        while not self._ending.is_set():
            failed = [path for path in self._due() if not self._copied(path)]
            pause = min(max(pause * 2, RETRY_SECONDS[0]), RETRY_SECONDS[1]) if failed else 0.0
            self._wait(self._ending, pause or RESCAN_SECONDS)
        for path in list(self._due()):
            if not any(self._copied(path) for _ in range(TRIES_AT_CLOSE)):
                _log.warning("%s stays here: the next start of the crawl copies it", path)

    def _due(self) -> Iterator[Path]:
        """Yield the files that are closed and whose index is closed too."""
        for path in sorted(self._warcs.glob("*.warc.gz")):
            index = index_path(self._indexes, path.name)
            if path.name not in self._done and (index.exists() or not self._indexes.exists()):
                yield path

    def _copied(self, path: Path) -> bool:
        """Copy a file and its index; return True if both are there now, the file's bytes compared."""
        index = index_path(self._indexes, path.name)
        try:
            self._remote.makedirs(self._path, exist_ok=True)
            for each in (index, path) if index.exists() else (path,):
                self._copy(each)
            if not self._keep:
                path.unlink()
        except Exception as error:  # whatever a storage's library raises: it is logged, and tried again
            _log.warning("%s could not be copied to %s yet: %s", path, self._url, error)
            return False
        self._done.add(path.name)
        return True

    def _copy(self, path: Path) -> None:
        target = f"{self._path}/{path.name}"
        # A file of an earlier run: if it stays here anyway, its bytes need no second comparison.
        if self._has_size(path, target) and (self._keep or self._has_bytes(path, target)):
            return
        with path.open("rb") as source, self._remote.open(target, "wb") as copy:
            while chunk := source.read(CHUNK_BYTES):
                copy.write(chunk)
        if not (self._has_size(path, target) and self._has_bytes(path, target)):
            raise OSError(f"{target} differs from the file that was sent")

    def _has_size(self, path: Path, target: str) -> bool:
        try:
            return self._remote.size(target) == path.stat().st_size
        except FileNotFoundError:
            return False

    def _has_bytes(self, path: Path, target: str) -> bool:
        with path.open("rb") as ours, self._remote.open(target, "rb") as theirs:
            return _sum(ours) == _sum(theirs)


def _sum(stream: BinaryIO) -> bytes:
    digest = sha256()
    while chunk := stream.read(CHUNK_BYTES):
        digest.update(chunk)
    return digest.digest()
