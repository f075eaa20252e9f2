"""File operations of the archive, files that grow by whole groups, and the errors of the archive.

These exceptions replace those of the operating system::

    ArchiveError            a file of the archive could not be changed; nothing of the group was kept
        DiskFull              because the disk is full: worth another try once there is room
"""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from webcrawl import errors
from webcrawl.atomic_file import sync_folder, unfinished_path

if TYPE_CHECKING:
    from collections.abc import Iterator


NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


class ArchiveError(errors.StorageLost):
    """A file of the archive could not be written, closed or repaired. Names the file and the reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class DiskFull(ArchiveError, errors.StorageFull):  # noqa: N818 - a state of the disk, not a mistake
    """There is no room for the group, on the disk or in the quota. Groups that were kept before are whole."""


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into an ArchiveError about the file it names, or else ``path``."""
    try:
        yield
    except OSError as error:
        kind = DiskFull if error.errno in NO_ROOM else ArchiveError
        named = error.filename
        raise kind(Path(named) if isinstance(named, str) else path, error.strerror or str(error)) from error


FLUSH_BYTES = 1 << 20
"""A group is handed to the operating system in pieces of about this size, so that its memory stays bounded.
"""

_sync_data = getattr(os, "fdatasync", os.fsync)


class Disk:
    """The system calls that change files, one method each. A test replaces it to let any of them fail."""

    def open(self, path: Path, *, new: bool) -> int:
        """Open for appending; with ``new`` the file must not exist yet."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        return os.open(path, flags | (os.O_EXCL if new else 0), 0o644)

    @contextmanager
    def opened(self, path: Path) -> Iterator[int]:
        """Open a new file for the length of a block."""
        handle = self.open(path, new=True)
        try:
            yield handle
        finally:
            os.close(handle)

    def write(self, handle: int, data: memoryview) -> int:
        """Write the beginning of ``data``, as much as the system takes. Return the number of bytes written."""
        return os.write(handle, data)

    def write_whole(self, handle: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self.write(handle, rest) :]

    def sync(self, handle: int) -> None:
        """Make content and size durable (not the times)."""
        _sync_data(handle)

    def forget(self, handle: int, start: int, length: int) -> None:
        """Tell the system that a durable part of the file need not stay in the page cache."""
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):  # it is only advice
                os.posix_fadvise(handle, start, length, os.POSIX_FADV_DONTNEED)

    def truncate(self, handle: int, length: int) -> None:
        os.ftruncate(handle, length)

    def rename(self, source: Path, target: Path) -> None:
        source.rename(target)

    def remove(self, path: Path) -> None:
        path.unlink()

    def sync_folder(self, folder: Path) -> None:
        """Make creations, renames and removals in ``folder`` durable."""
        sync_folder(folder)

    @contextmanager
    def replacing(self, path: Path, *, durable: bool) -> Iterator[int]:
        """A new file that takes the place of ``path`` when the block ends, as ``atomic_file.replacing`` does it.

        ``durable``: its content is on the disk before, and its name afterwards. A rest that a crash left is removed.
        """
        unfinished = unfinished_path(path)
        unfinished.unlink(missing_ok=True)
        try:
            with self.opened(unfinished) as handle:
                yield handle
                if durable:
                    self.sync(handle)
            self.rename(unfinished, path)
        except Exception:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise
        if durable:
            self.sync_folder(path.parent)


class AppendFile:
    """A file that grows by groups; a group is kept whole or not at all.

    The life of a group: ``write`` any number of times, then ``sync`` and ``keep``, or ``rollback``. ``kept``
    bytes are durable and stay; ``size`` also counts what the open group has written. Between groups both are
    equal and the file ends there, unless a rollback itself failed: then the next group cuts the file back
    first, or fails again.
    """

    def __init__(self, path: Path, disk: Disk, *, new: bool, read_soon: bool = True) -> None:
        """``read_soon``: whether the written bytes should stay in the system's page cache."""
        self.path = path
        self._read_soon = read_soon
        self._disk = disk
        with translated(path):
            self._handle = disk.open(path, new=new)
            self.size = self.kept = os.fstat(self._handle).st_size
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._overhang = False  # the file may be longer than `kept`
        self._torn = False  # a rollback could not cut the overhang off
        self._folder_synced = False

    def write(self, data: bytes) -> None:
        """Add to the open group. Raises ArchiveError; the owner then rolls back."""
        self._pending.append(data)
        self._pending_bytes += len(data)
        self.size += len(data)
        if self._pending_bytes >= FLUSH_BYTES:
            self._flush()

    def sync(self) -> None:
        """Make the open group durable. ``rollback`` can still undo it."""
        if self.size == self.kept:
            return
        self._flush()
        with translated(self.path):
            self._disk.sync(self._handle)
            if not self._folder_synced:
                self._disk.sync_folder(self.path.parent)
                self._folder_synced = True
        if not self._read_soon:
            self._disk.forget(self._handle, self.kept, self.size - self.kept)

    def keep(self) -> None:
        """Keep the open group. Never fails; call it when every file of the group has been synced."""
        self.kept = self.size
        self._overhang = False

    def rollback(self) -> None:
        """Discard the open group. Never raises: a file that cannot be truncated now is truncated before the next
        group.
        """
        self._pending.clear()
        self._pending_bytes = 0
        self.size = self.kept
        if self._overhang:
            try:
                self._cut()
            except ArchiveError:
                self._torn = True

    def settle(self) -> None:
        """Make sure that the file ends at ``kept``. Raises ArchiveError when it cannot."""
        self.rollback()
        if self._torn:
            self._cut()

    def release(self) -> None:
        """Close the handle; the file stays as it is."""
        with translated(self.path):
            os.close(self._handle)

    def _flush(self) -> None:
        if self._torn:
            self._cut()
        self._overhang = True
        with translated(self.path):
            self._disk.write_whole(self._handle, b"".join(self._pending))
        self._pending.clear()
        self._pending_bytes = 0

    def _cut(self) -> None:
        with translated(self.path):
            self._disk.truncate(self._handle, self.kept)
        self._overhang = self._torn = False


class OneFile:
    """The group operations of a part that writes at most one file at a time."""

    _file: AppendFile | None = None

    @property
    def size(self) -> int:
        """Bytes in the current file, the open group included."""
        return 0 if self._file is None else self._file.size

    def sync(self) -> None:
        """Make the open group durable. Raises ArchiveError."""
        if self._file is not None:
            self._file.sync()

    def keep(self) -> None:
        """Keep the open group."""
        if self._file is not None:
            self._file.keep()

    def rollback(self) -> None:
        """Discard the open group. Never raises."""
        if self._file is not None:
            self._file.rollback()

    def let_go(self) -> None:
        """Close the file after the last kept group. Raises ArchiveError; kept groups are durable."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.settle()
            finally:
                file.release()


def disk_usage(path: Path) -> int:
    """Return the bytes on the disk of all files. A running crawl creates and deletes some meanwhile."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                total += (Path(folder) / name).lstat().st_blocks * 512
    return total
