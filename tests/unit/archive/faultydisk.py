"""A disk that refuses: the n-th change, or every change from then on, fails."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from webcrawl.archive.disk import Disk

if TYPE_CHECKING:
    from pathlib import Path


class Killed(BaseException):
    """The process has ended here; no code of it runs any more."""


NEVER = 1_000_000


class FaultyDisk(Disk):
    """Counts the changes (``made`` has their names) and lets some of them fail.

    ``fails_at`` is the number of the first that fails, counted from 0; ``fails_for`` how many in a row do. A
    write that fails has written half of its bytes, as on a disk that fills. With ``kills`` the failure is the
    end of the process. Nothing is really synced, which makes it a fast disk too.
    """

    def __init__(
        self, fails_at: int = NEVER, fails_for: int = 1, code: int = errno.ENOSPC, *, kills: bool = False
    ) -> None:
        self.calls = 0
        self.made: list[str] = []
        self.failed: list[str] = []
        self._failing = range(fails_at, fails_at + fails_for)
        self._code = code
        self._kills = kills

    def open(self, path: Path, *, new: bool) -> int:
        self._change("open")
        return super().open(path, new=new)

    def write(self, handle: int, data: memoryview) -> int:
        if self.calls in self._failing:
            super().write(handle, data[: len(data) // 2])
        self._change("write")
        return super().write(handle, data)

    def sync(self, handle: int) -> None:
        self._change("sync")

    def truncate(self, handle: int, length: int) -> None:
        self._change("truncate")
        super().truncate(handle, length)

    def rename(self, source: Path, target: Path) -> None:
        self._change("rename")
        super().rename(source, target)

    def remove(self, path: Path) -> None:
        self._change("remove")
        super().remove(path)

    def sync_folder(self, folder: Path) -> None:
        self._change("sync_folder")

    def _change(self, name: str) -> None:
        number, self.calls = self.calls, self.calls + 1
        self.made.append(name)
        if number in self._failing:
            self.failed.append(name)
            if self._kills:
                raise Killed(name)
            raise OSError(self._code, os.strerror(self._code))
