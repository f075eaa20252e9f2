"""Log files that are rotated by day and size, compressed, and deleted after some days.

A file passes through the same steps as the fetch log: ``crawl.log``, ``crawl-<time>.log``, ``crawl-<time>.log.gz``.
Lines are written whole, each with one call, under a shared lock of the file: processes that write to one file never
mix their lines, and all of them go on in the new file when one has rotated it. A line that cannot be written is lost
silently: the figures have the same facts, and a full disk must not hurt the crawl.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from webcrawl.archive.disk import ArchiveError, Disk
from webcrawl.archive.fetchlog import compress
from webcrawl.archive.warc import stamp
from webcrawl.atomic_file import UNFINISHED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DAY = 86_400
MESSAGE_MAX = 100_000
"""Characters of a message that are written."""
AGAIN_SECONDS = 5.0
"""Seconds that a file that could not be rotated is continued."""
END_SECONDS = 10.0
"""Seconds that the end of the process waits for the compression; the next run does the rest."""

_STAMPED = r"-(\d{17,})"
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(9), *range(10, 32), *range(127, 160))}
"""Characters that control a terminal."""


class PlainLines(logging.Formatter):
    """``TIME [LOGGER] LEVEL: message``, with milliseconds. Further lines of a message are indented, so that a line
    that begins with a time always begins a message.
    """

    FORM = "%(asctime)s [%(name)s] %(levelname)s: %(message)s"

    def __init__(self, form: str = FORM) -> None:
        super().__init__(form)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802
        """Return the local time with its offset from UTC."""
        at = time.localtime(record.created)
        return f"{time.strftime('%Y-%m-%dT%H:%M:%S', at)}.{int(record.msecs):03d}{time.strftime('%z', at)}"

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record, without an end."""
        lines = _shortened(super().format(record)).splitlines()
        return "\n    ".join(line.translate(_CONTROLS) for line in lines)


class JsonLines(logging.Formatter):
    """One JSON object in a line: ``at`` (epoch seconds), ``level``, ``logger``, ``worker``, ``message``, and
    ``exception`` (the traceback).
    """

    def __init__(self, worker: str) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, without an end."""
        line = {
            "at": round(record.created, 3),
            "level": record.levelname,
            "logger": record.name,
            "worker": self._worker,
            "message": _shortened(record.getMessage()),
        }
        if record.exc_info and record.exc_info[0]:
            line["exception"] = _shortened(self.formatException(record.exc_info))
        return json.dumps(line)


class RotatedLog(logging.Handler):
    """A log file that is created with its first line, or by ``open``."""

    def __init__(
        self,
        path: Path,
        *,
        roll_bytes: int,
        keep_days: float = 0.0,
        is_daily: bool = True,
        level: int = logging.NOTSET,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``keep_days``: how long rotated files are kept; 0 keeps them all. ``is_daily``: rotate at midnight UTC,
        too.
        """
        super().__init__(level)
        self.setFormatter(PlainLines())
        self._path = path
        self._roll_bytes = roll_bytes
        self._keep_days = keep_days
        self._is_daily = is_daily
        self._clock = clock
        self._file: int | None = None
        self._size = 0
        self._day = 0
        self._is_torn = False
        """True if the file ends within a line."""
        self._rotate_after = 0.0
        self._housekeeping: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        try:
            self._write(f"{self.format(record)}\n".encode("utf-8", "backslashreplace"))
        except Exception:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Do nothing, in place of a traceback on standard error."""

    def open(self) -> None:
        """Open the file before the first line, which may say that the process can open no further file. If that
        fails, the first line tries it again."""
        with suppress(OSError), self.lock or threading.RLock():
            if self._file is None:
                self._open(self._clock())

    def close(self) -> None:
        """Close the file, and wait for the compression for a while."""
        with self.lock or threading.RLock():
            self._let_go()
        if self._housekeeping is not None:
            self._housekeeping.join(END_SECONDS)
        super().close()

    def _write(self, line: bytes) -> None:
        now = self._clock()
        file = self._locked(now)
        if self._is_due(len(line), now):
            self._rotate(now)
            file = self._locked(now)
        try:
            if self._is_torn:
                line = b"\n" + line
            written = os.write(file, line)
            self._is_torn = written < len(line)
        finally:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_UN)

    def _locked(self, now: float) -> int:
        """Return the current file, which no other process rotates before the lock is released."""
        while True:
            if (file := self._file) is None:
                file = self._open(now)
            # A frozen process may hold the lock to rotate the file: the line is written all the same.
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if self._is_current(file):
                return file
            self._let_go()

    def _is_current(self, file: int) -> bool:
        """Return False if another process has rotated the file, or somebody has removed it."""
        try:
            there, ours = self._path.stat(), os.fstat(file)
        except OSError:
            return False
        self._size = ours.st_size
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)

    def _open(self, now: float) -> int:
        file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._file = file
        status = os.fstat(file)
        self._size = status.st_size
        self._day = int((min(status.st_mtime, now) if status.st_size else now) // DAY)
        self._is_torn = bool(status.st_size) and os.pread(file, 1, status.st_size - 1) != b"\n"
        self._keep_house(now)
        return file

    def _is_due(self, more: int, now: float) -> bool:
        if not self._size or now < self._rotate_after:
            return False
        return self._size + more > self._roll_bytes or (self._is_daily and int(now // DAY) > self._day)

    def _rotate(self, now: float) -> None:
        """Rename the file and begin a new one; if that fails, continue this one for a while."""
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._is_current(self._file):
                self._path.rename(next_part(self._path, now))
        except BlockingIOError:
            # Another process writes at this moment; the next line tries it again.
            return
        except OSError:
            self._rotate_after = now + AGAIN_SECONDS
            return
        self._let_go()

    def _let_go(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _keep_house(self, now: float) -> None:
        """Compress rotated files and delete old ones, on a thread of its own."""
        if self._housekeeping is not None and self._housekeeping.is_alive():
            return
        if not parts(self._path):
            return
        before = now - self._keep_days * DAY if self._keep_days else None
        self._housekeeping = threading.Thread(
            target=keep_house, args=(self._path, before), name="log-compressor", daemon=True
        )
        self._housekeeping.start()


def parts(path: Path) -> list[Path]:
    """Return the rotated files of a log, compressed or not, in the order of writing. If both forms of one exist, the
    compressed one counts. Raises OSError.
    """
    form = re.compile(re.escape(path.stem) + _STAMPED + re.escape(path.suffix) + r"(\.gz)?")
    files: dict[int, Path] = {}
    for file in path.parent.iterdir():
        if match := form.fullmatch(file.name):
            number = int(match[1])
            if match[2] or number not in files:
                files[number] = file
    return [files[number] for number in sorted(files)]


def next_part(path: Path, now: float) -> Path:
    """Return the name for a file that is rotated now; it sorts behind all others even if the clock was set back."""
    number, earlier = int(stamp(now)), parts(path)
    if earlier:
        number = max(number, _number(path, earlier[-1]) + 1)
    return path.with_name(f"{path.stem}-{number}{path.suffix}")


def keep_house(path: Path, before: float | None) -> None:
    """Delete the rotated files of a log whose last line is from before an epoch second, and compress the others. What
    cannot be done now is done after the next rotation.
    """
    disk = Disk()
    oldest = 0 if before is None else int(stamp(before))
    with suppress(OSError, ArchiveError), _alone_in(path.parent):
        for leftover in path.parent.glob(f"{path.stem}-*{path.suffix}.gz{UNFINISHED}"):
            leftover.unlink(missing_ok=True)
        for part in parts(path):
            plain = part.with_name(part.name.removesuffix(".gz"))
            if int(str(_number(path, part))[:17]) < oldest:
                part.unlink(missing_ok=True)
                plain.unlink(missing_ok=True)
            elif part == plain:
                compress(plain, disk)
            else:
                # A crash came between the two steps of a compression.
                plain.unlink(missing_ok=True)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other thread or process keeps house in a folder."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _number(path: Path, part: Path) -> int:
    return int(part.name.removesuffix(".gz").removesuffix(path.suffix)[len(path.stem) + 1 :])


def _shortened(text: str) -> str:
    if len(text) <= MESSAGE_MAX:
        return text
    return f"{text[:MESSAGE_MAX]}... ({len(text) - MESSAGE_MAX} characters more)"
