"""The folder of a crawl: its lock, and the names of its files."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import sys
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from webcrawl.crawl.moved import refuse_moved
from webcrawl.errors import JobdirDamaged, JobdirLocked, JobdirUnusable
from webcrawl.reports.standing import CrawlState, folder_state

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webcrawl.reports.run_log import Run

SPIDER = "spider"
"""The file that names the spider of the crawl, or of the worker, in the folder."""
_FETCHED = ("fetch.jsonl", "warc")

OWNERS = 0o700
"""The mode of a folder that a crawl makes: requests, logs and the archive may hold what is nobody else's business."""
CRAWLS = Path("crawls")
"""The folder for crawls without a JOBDIR, relative to the working directory."""

WORKERS = "workers"
"""The folder in the JOBDIR of a crawl of several workers with a folder for each of them: ``1``, ``2`` and so on."""

AFTERMATH_SECONDS = 600.0
"""Time to wait for the lock of a folder whose crawl is gone: its archive process writes what it was given, which may
take minutes on a machine that is busy or has a slow disk.
"""
LOOK_AGAIN_SECONDS = 0.05
TELL_AFTER_SECONDS = 2.0
"""Time after which it is said that a start waits."""


def new_folder(name: str) -> Path:
    """Create a folder in ``crawls/`` for a crawl that begins now, and return it. Crawls that begin in the same second
    get different ones.

    :raises JobdirUnusable: it cannot be created
    """
    stem = CRAWLS / f"{name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    path, number = stem, 1
    while True:
        try:
            CRAWLS.mkdir(exist_ok=True)
            path.mkdir(mode=OWNERS)
        except OSError as error:
            if not path.exists():
                raise JobdirUnusable(f"JOBDIR {path} cannot be used: {error.strerror or error}") from error
            number += 1
            path = Path(f"{stem}-{number}")
        else:
            return path


def worker_folder(jobdir: Path, number: int) -> Path:
    """Return the folder of a worker: its fetch log, archive and other files."""
    return jobdir / WORKERS / str(number)


def worker_folders(jobdir: Path) -> list[Path]:
    """Return the folders of all workers in a JOBDIR, also of those that do not run now; none if it has no workers."""
    try:
        numbers = [int(path.name) for path in (jobdir / WORKERS).iterdir() if path.name.isdecimal()]
    except OSError:
        return []
    return [worker_folder(jobdir, number) for number in sorted(numbers)]


def folder_of_all(folder: Path) -> Path:
    """Return the JOBDIR of the crawl that has several workers in it, if ``folder`` is the folder of one; else
    ``folder``."""
    jobdir = folder.absolute().parent.parent
    return jobdir if folder.absolute().parent.name == WORKERS and worker_folders(jobdir) else folder


def folders_with_files(folders: Iterable[Path]) -> list[Path]:
    """Return the folders in which crawls keep what they fetched, each once: in place of the JOBDIR of a crawl of
    several workers those of its workers."""
    found = [one for folder in folders for one in (worker_folders(folder) or [folder])]
    return list({folder.resolve(): folder for folder in found}.values())


class Jobdir:
    """``JOBDIR``. Held by one process at a time; the system releases the lock however the process ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[str] | None = None

    def hold(self) -> None:
        """Create the folder and lock it. :raises JobdirLocked: :raises JobdirUnusable:"""
        try:
            self.path.mkdir(mode=OWNERS, parents=True, exist_ok=True)
            lock = (self.path / "lock").open("a+", encoding="utf-8")
        except OSError as error:
            raise JobdirUnusable(f"JOBDIR {self.path} cannot be used: {error.strerror or error}") from error
        try:
            _lock(lock)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "another process"
            lives = _holder_lives(lock)
            lock.close()
            raise JobdirLocked(
                f"JOBDIR {self.path} is in use by {holder}; stop that crawl first, or give another JOBDIR"
                if lives
                else f"JOBDIR {self.path} is still being written by a child of {holder}, which is gone; try again"
            ) from None
        except OSError as error:
            lock.close()
            raise JobdirUnusable(f"JOBDIR {self.path} cannot be locked: {error.strerror or error}") from error
        self._lock = lock
        shutil.rmtree(self.spool, ignore_errors=True)
        # The name of the holder helps a process that is refused; a full disk may prevent it.
        with suppress(OSError):
            os.ftruncate(lock.fileno(), 0)
            os.write(lock.fileno(), b"process %d\n" % os.getpid())

    def refuse_another(self, spider: str) -> None:
        """:raises JobdirUnusable: the folder belongs to another spider than ``spider``"""
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

    def refuse_moved(self) -> None:
        """:raises webcrawl.storage.move_mark.CrawlMoved: the crawl cannot go on here"""
        refuse_moved(self.path)

    def belongs_to(self, spider: str) -> None:
        """Store the spider of this folder, unless it is stored."""
        path = self.path / SPIDER
        # It is needed when the folder is used again: a full disk is no reason not to begin.
        with suppress(OSError):
            if not path.exists() or not path.stat().st_size:
                path.write_text(f"{spider}\n", encoding="utf-8")

    def refuse_remains(self, frontier_file: str) -> None:
        """Check the folder of a crawl whose frontier is kept here, in ``frontier_file``.

        :raises JobdirDamaged: fetched pages are here, and the state of URLs is gone
        """
        frontier = self.path / frontier_file
        try:
            gone = (
                "is missing" if not frontier.exists() else "is empty" if not frontier.stat().st_size else None
            )
            remains = [name for name in _FETCHED if gone and _has_content(self.path / name)]
        except OSError as error:
            raise JobdirUnusable(f"JOBDIR {self.path} cannot be read: {error.strerror or error}") from error
        if remains:
            raise JobdirDamaged(
                f"{frontier} {gone}, but fetched pages are beside it ({', '.join(remains)}): all of it "
                f"would be fetched again. Put {frontier_file} of a checkpoint there, or begin anew with another "
                "JOBDIR, or move these away"
            )

    def holder(self) -> str | None:
        """Return the process that holds it at this moment, in words; None if there is none, or it cannot be found
        out."""
        try:
            with (self.path / "lock").open(encoding="utf-8") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return lock.read().strip() or "another process"
        except OSError:
            return None
        return None

    def heartbeat_at(self) -> float | None:
        """Return the time of its holder's last heartbeat, in epoch seconds; None if it never had one."""
        try:
            return (self.path / "lock").stat().st_mtime
        except OSError:
            return None

    def state(self, last: Run | None) -> CrawlState:
        """Return the state of the crawl here, whose last run is ``last``."""
        held_at = (self.heartbeat_at() or time.time()) if self.holder() is not None else None
        return folder_state(last, held_at)

    def touch(self) -> None:
        """Show that the holder lives: set the time of the lock file. Does nothing if it is not held.

        :raises OSError: when the folder cannot be written
        """
        if self._lock is not None:
            os.utime(self.path / "lock")

    @property
    def spool(self) -> Path:
        """The folder of files that are needed only for a time; a crawl that begins finds it empty."""
        return self.path / "spool"

    def descriptors(self) -> tuple[int, ...]:
        """Return the file descriptor of the lock, to be passed to processes that work here too; empty if it is not
        held."""
        return () if self._lock is None else (self._lock.fileno(),)

    def leave(self) -> None:
        """Release the lock; does nothing if it is not held."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _lock(file: IO[str]) -> None:
    """Lock the file, or raise BlockingIOError. After a crawl was killed, its archive process needs some time to end:
    that is waited for, and not a crawl that lives."""
    for look in range(int(AFTERMATH_SECONDS / LOOK_AGAIN_SECONDS)):
        if look == int(TELL_AFTER_SECONDS / LOOK_AGAIN_SECONDS):
            sys.stderr.write(f"waiting for the archive process of a killed crawl, which holds {file.name}\n")
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
    """Return True if a file has a byte, or a folder a file that has one."""
    if path.is_dir():
        return any(_has_content(below) for below in path.iterdir())
    return path.exists() and path.stat().st_size > 0


def _holder_lives(file: IO[str]) -> bool:
    """Return True if the process that the file names exists, as far as that can be found out."""
    file.seek(0)
    match = re.fullmatch(r"process (\d+)", file.read().strip())
    if match is None:
        return True
    try:
        os.kill(int(match[1]), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return not _is_zombie(match[1])


def _is_zombie(pid: str) -> bool:
    """Return True if a process has ended and its parent has not yet asked how; False if that is not known."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[:1] == ["Z"]
