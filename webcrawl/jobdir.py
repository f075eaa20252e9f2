"""The folder that is a crawl: its lock, and the names of what lies in it."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

from webcrawl.errors import JobdirLocked, JobdirUnusable


class Jobdir:
    """``JOBDIR``. Held by one process at a time; the system gives the lock back however the process ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[str] | None = None

    def hold(self) -> None:
        """Create the folder and lock it. :raises JobdirLocked: :raises JobdirUnusable:"""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / "lock").open("a+", encoding="utf-8")
        except OSError as error:
            raise JobdirUnusable(f"JOBDIR {self.path} cannot be used: {error.strerror or error}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "another process"
            lock.close()
            raise JobdirLocked(
                f"JOBDIR {self.path} is in use by {holder}; stop that crawl first, or give another JOBDIR"
            ) from None
        except OSError as error:
            lock.close()
            raise JobdirUnusable(f"JOBDIR {self.path} cannot be locked: {error.strerror or error}") from error
        self._lock = lock
        # The name of the holder is a kindness to whoever is refused: a full disk may keep it from them.
        with suppress(OSError):
            os.ftruncate(lock.fileno(), 0)
            os.write(lock.fileno(), b"process %d\n" % os.getpid())

    def holder(self) -> str | None:
        """Who works on it at this moment, in words; None for nobody, or where that cannot be told."""
        try:
            with (self.path / "lock").open(encoding="utf-8") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return lock.read().strip() or "another process"
        except OSError:
            return None
        return None

    def heard_at(self) -> float | None:
        """When its holder last gave a sign of life, in epoch seconds; None when it never had one."""
        try:
            return (self.path / "lock").stat().st_mtime
        except OSError:
            return None

    def touch(self) -> None:
        """Show that the holder lives: the lock file is as old as the last call. Nothing happens when it is not held.

        :raises OSError: when the folder cannot be written
        """
        if self._lock is not None:
            os.utime(self.path / "lock")

    def leave(self) -> None:
        """Give the lock back; nothing happens when it is not held."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None
