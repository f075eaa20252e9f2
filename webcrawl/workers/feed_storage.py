"""A feed file of lines that several workers write together: each appends whole lines, under a lock of the file."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from w3lib.url import file_uri_to_path

from webcrawl.feeds import end_of_lines

if TYPE_CHECKING:
    from typing import BinaryIO

    from scrapy import Spider

AT_ONCE_BYTES = 1 << 16


class SharedLineFile:
    """A file open for appending lines. What is written is kept until ``flush``, or until it is long."""

    def __init__(self, path: Path) -> None:
        """:raises OSError:"""
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._kept = bytearray()
        self.closed = False

    def write(self, data: bytes) -> int:
        self._kept += data
        if len(self._kept) >= AT_ONCE_BYTES:
            self.flush()
        return len(data)

    def flush(self) -> None:
        """Append the whole lines that are kept. If that fails they are kept on, and the file is as before.

        :raises OSError:
        """
        length = self._kept.rfind(b"\n") + 1
        if not length:
            return
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            end = self._mended()
            try:
                self._append(self._kept[:length])
            except OSError:
                os.ftruncate(self._file, end)
                raise
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        del self._kept[:length]

    def _append(self, data: bytearray) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._file, view) :]

    def _mended(self) -> int:
        """Cut off the part of a line that a killed process has left; return the length of the file."""
        end = os.lseek(self._file, 0, os.SEEK_END)
        if end and os.pread(self._file, 1, end - 1) != b"\n":
            with os.fdopen(os.dup(self._file), "rb", buffering=0) as file:
                end = end_of_lines(cast("BinaryIO", file))
            os.ftruncate(self._file, end)
        return end

    def tell(self) -> int:
        """Return the length of the file."""
        return os.fstat(self._file).st_size

    def close(self) -> None:
        """:raises OSError: the last lines cannot be written"""
        if not self.closed:
            try:
                self.flush()
            finally:
                self.closed = True
                os.close(self._file)


class SharedFeedStorage:
    """Scrapy's storage of feeds in files, for a worker. A file is never overwritten: the parent has emptied it."""

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None) -> None:
        self.path = Path(file_uri_to_path(uri) if uri.startswith("file:") else uri)

    def open(self, spider: Spider) -> SharedLineFile:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return SharedLineFile(self.path)

    def store(self, file: SharedLineFile) -> None:
        file.close()
