"""Closed WARC files and their indexes on their way to an object storage, by a thread of their own.

A file is copied, read back and compared, and only then counts as there; only then, if that is wanted, it is removed
here. What fails is tried again, for as long as the crawl goes on, and by the next start: a storage that is away costs
disk, never a page, and never holds the crawl up.
"""

from __future__ import annotations

import logging
import threading
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from webcrawl.archive.cdxj import INDEX_FOLDER, index_path
from webcrawl.archive.disk import ArchiveError
from webcrawl.archive.sinks import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from webcrawl.archive.capture import Entry

LOOK_SECONDS = 5.0
"""How often a thread looks for files that were closed."""
RETRY_SECONDS = (1.0, 300.0)
"""The first pause after a failure, and the longest; each is twice the one before."""
TRIES_AT_CLOSE = 3
"""How often a file is tried when the crawl ends; then it stays, and the next start takes it up."""
CHUNK_BYTES = 1 << 20

_log = logging.getLogger(__name__)


class Remote(Protocol):
    """What is used of an fsspec filesystem."""

    def open(self, path: str, mode: str) -> Any: ...

    def size(self, path: str) -> int | None:
        """:raises FileNotFoundError: there is nothing"""
        ...

    def makedirs(self, path: str, exist_ok: bool) -> None: ...


def remote_of(url: str) -> tuple[Remote, str]:
    """The filesystem of a URL such as ``s3://bucket/folder``, and the path in it.

    :raises ImportError: fsspec or what it needs for this kind of URL is not installed
    :raises ValueError: there is no such kind
    """
    import fsspec

    remote, path = fsspec.core.url_to_fs(url)
    return remote, path.rstrip("/")


class Upload(Part):
    """Copies what is closed in ``warc/``, with its index, to ``url``; removes it there unless ``keep``."""

    def __init__(
        self,
        directory: Path,
        warcs: Path,
        url: str,
        *,
        keep: bool,
        remote: Callable[[str], tuple[Remote, str]] = remote_of,
        wait: Callable[[threading.Event, float], object] = threading.Event.wait,
    ) -> None:
        """``wait`` is called for every pause; a test passes time by it."""
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
        """Raises ArchiveError when there is no way to reach such a URL; whether it answers is seen later."""
        try:
            self._remote, self._path = self._remote_of(self._url)
        except (ImportError, ValueError, OSError) as error:
            raise ArchiveError(self._warcs, f"cannot be copied to {self._url}: {error}") from error
        self._thread.start()
        return ()

    def write(self, entries: Sequence[Entry]) -> None:
        """Only closed files are copied."""

    def sync(self) -> None:
        """Copies come later."""

    def keep(self) -> None:
        """Copies come later."""

    def rollback(self) -> None:
        """Copies come later."""

    def close(self) -> None:
        """Copy what is left, but for what the storage does not take."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause = 0.0
        while not self._ending.is_set():
            failed = [path for path in self._due() if not self._copied(path)]
            pause = min(max(pause * 2, RETRY_SECONDS[0]), RETRY_SECONDS[1]) if failed else 0.0
            self._wait(self._ending, pause or LOOK_SECONDS)
        for path in list(self._due()):
            if not any(self._copied(path) for _ in range(TRIES_AT_CLOSE)):
                _log.warning("%s stays here: the next start of the crawl copies it", path)

    def _due(self) -> Iterator[Path]:
        """Files that are closed and whose index is too."""
        for path in sorted(self._warcs.glob("*.warc.gz")):
            index = index_path(self._indexes, path.name)
            if path.name not in self._done and (index.exists() or not self._indexes.exists()):
                yield path

    def _copied(self, path: Path) -> bool:
        """Whether a file and its index are there now, the file's bytes compared."""
        index = index_path(self._indexes, path.name)
        try:
            self._remote.makedirs(self._path, exist_ok=True)
            for each in (index, path) if index.exists() else (path,):
                self._copy(each)
            if not self._keep:
                path.unlink()
        except Exception as error:  # whatever a storage's library raises: it is told, and tried again
            _log.warning("%s could not be copied to %s yet: %s", path, self._url, error)
            return False
        self._done.add(path.name)
        return True

    def _copy(self, path: Path) -> None:
        target = f"{self._path}/{path.name}"
        # Of an earlier run: what stays here anyway needs no second look at its bytes.
        if self._has_size(path, target) and (self._keep or self._has_bytes(path, target)):
            return
        with path.open("rb") as source, self._remote.open(target, "wb") as copy:
            while chunk := source.read(CHUNK_BYTES):
                copy.write(chunk)
        if not (self._has_size(path, target) and self._has_bytes(path, target)):
            raise OSError(f"{target} is not what was sent")

    def _has_size(self, path: Path, target: str) -> bool:
        try:
            return self._remote.size(target) == path.stat().st_size
        except FileNotFoundError:
            return False

    def _has_bytes(self, path: Path, target: str) -> bool:
        with path.open("rb") as ours, self._remote.open(target, "rb") as theirs:
            return _sum(ours) == _sum(theirs)


def _sum(stream: BinaryIO) -> bytes:
    found = sha256()
    while chunk := stream.read(CHUNK_BYTES):
        found.update(chunk)
    return found.digest()
