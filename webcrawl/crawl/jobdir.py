"""The folder that is a crawl: its lock, and the names of what lies in it."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from webcrawl.errors import JobdirDamaged, JobdirLocked, JobdirUnusable

FRONTIER = "frontier.db"
SPIDER = "spider"
"""The file that names the spider whose crawl, or whose worker, the folder is."""
_FETCHED = ("fetch.jsonl", "warc")

AFTERMATH_SECONDS = 20.0
"""How long a folder is waited for whose crawl is gone, while it is still locked."""
LOOK_AGAIN_SECONDS = 0.05


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
            _lock(lock)
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
        shutil.rmtree(self.spool, ignore_errors=True)
        # The name of the holder is a kindness to whoever is refused: a full disk may keep it from them.
        with suppress(OSError):
            os.ftruncate(lock.fileno(), 0)
            os.write(lock.fileno(), b"process %d\n" % os.getpid())

    def refuse_another(self, spider: str) -> None:
        """:raises JobdirUnusable: what is kept here is another spider's than ``spider``"""
        try:
            whose = (self.path / SPIDER).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise JobdirUnusable(f"{self.path / SPIDER} cannot be read: {error}") from error
        if whose and whose != spider:
            raise JobdirUnusable(
                f"JOBDIR {self.path} is a crawl of the spider {whose}, and {spider} would mix its pages with those "
                "that are kept there; give another JOBDIR"
            )

    def belongs_to(self, spider: str) -> None:
        """Note whose crawl is kept here, unless that is known."""
        path = self.path / SPIDER
        # It is asked for when the folder is used again: a full disk is no reason not to begin.
        with suppress(OSError):
            if not path.exists() or not path.stat().st_size:
                path.write_text(f"{spider}\n", encoding="utf-8")

    def refuse_remains(self) -> None:
        """For a crawl whose frontier is kept here.

        :raises JobdirDamaged: what was fetched is here, and what was known of URLs is gone
        """
        frontier = self.path / FRONTIER
        try:
            gone = (
                "is missing" if not frontier.exists() else "is empty" if not frontier.stat().st_size else None
            )
            remains = [name for name in _FETCHED if gone and _has_content(self.path / name)]
        except OSError as error:
            raise JobdirUnusable(f"JOBDIR {self.path} cannot be read: {error.strerror or error}") from error
        if remains:
            raise JobdirDamaged(
                f"{frontier} {gone}, and beside it lies what a crawl has fetched ({', '.join(remains)}): all of it "
                f"would be fetched again. Put {FRONTIER} of a checkpoint there, or begin anew with another JOBDIR, "
                "or move these away"
            )

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

    @property
    def spool(self) -> Path:
        """The folder of what is read from files while it is needed; a crawl that begins finds it empty."""
        return self.path / "spool"

    def descriptors(self) -> tuple[int, ...]:
        """The file whose lock this is, to be handed to processes that work here too; nothing when it is not held."""
        return () if self._lock is None else (self._lock.fileno(),)

    def leave(self) -> None:
        """Give the lock back; nothing happens when it is not held."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _lock(file: IO[str]) -> None:
    """Lock the file, or raise BlockingIOError. Of a crawl that was killed, what kept its archive needs a moment."""
    for _ in range(int(AFTERMATH_SECONDS / LOOK_AGAIN_SECONDS)):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if _holder_lives(file):
                raise
            time.sleep(LOOK_AGAIN_SECONDS)
        else:
            return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _has_content(path: Path) -> bool:
    """Whether a file has a byte, or a folder a file that has one."""
    if path.is_dir():
        return any(_has_content(below) for below in path.iterdir())
    return path.exists() and path.stat().st_size > 0


def _holder_lives(file: IO[str]) -> bool:
    """Whether the process that the file names is there, as far as that can be told."""
    file.seek(0)
    found = re.fullmatch(r"process (\d+)", file.read().strip())
    if found is None:
        return True
    try:
        os.kill(int(found[1]), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
