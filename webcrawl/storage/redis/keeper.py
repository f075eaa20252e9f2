"""The process that keeps the Redis of one crawl running: it starts the server again if it dies, and ends it when all
processes that need it are gone.

``python -m webcrawl.storage.redis.keeper JOBDIR [--look [--until-idle]]``. Its standard input is a pipe that the
processes of the crawl hold open, and that nobody writes to: the last of them to end closes it, however it ends. It
writes lines to standard output: ``ready`` when the server listens, and a sentence for each event or for why there is
no server.

One keeper at a time works in a JOBDIR: it and its server hold a lock. With ``--look`` it serves a command that reads
a crawl that does not run; a keeper of the crawl itself makes it end. With ``--until-idle`` it also ends when nobody
has been connected to the server for ``IDLE_SECONDS``.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from webcrawl.errors import StartRefused
from webcrawl.storage.redis.private import (
    FOLDER,
    IN_USE,
    LOCK,
    READY,
    answers,
    connections,
    find_program,
    prepare,
)

if TYPE_CHECKING:
    from types import FrameType

PAUSES = (0.0, 1.0, 5.0, 15.0, 30.0)
"""Seconds before each new start of a server that died; after the last one there is none."""
LIVED_SECONDS = 60.0
"""A server that lived for this long died for another reason than the one before."""
LOCK_SECONDS = 120.0
"""Seconds that the keeper of a crawl waits for an earlier server to end."""
END_SECONDS = 60.0
"""Seconds that a server may take to write its file at its end."""
POLL_SECONDS = 0.05
IDLE_SECONDS = 10.0
"""Seconds without a connection after which a server is not needed any more by who only looks."""
_LOOKS = 1.0
"""Seconds between two looks at who is connected."""

_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux."""


class Keeper:
    """Runs the server of one JOBDIR."""

    def __init__(self, jobdir: Path, lock: IO[str], *, until_idle: bool = False) -> None:
        self._jobdir = jobdir
        self._lock = lock
        self._until_idle = until_idle
        self._server: subprocess.Popen[bytes] | None = None
        self._is_ending = False

    def run(self) -> int:
        """Keep a server until standard input is closed or SIGTERM comes; return the exit status."""
        signal.signal(signal.SIGTERM, self._end)
        pauses, started_at = list(PAUSES), 0.0
        while not self._is_ending:
            if started_at and time.monotonic() - started_at > LIVED_SECONDS:
                pauses = list(PAUSES)
            if not pauses:
                say("its Redis dies again and again")
                return 1
            if self._waits(pauses.pop(0)):
                break
            started_at = time.monotonic()
            self._start()
            if self._until_it_listens():
                say(READY)
            self._watch()
        self._stop()
        return 0

    def _start(self) -> None:
        """Start the server. It gets the lock, and ends if this process is killed, where the system can do that."""
        configuration = prepare(self._jobdir)
        self._server = subprocess.Popen(
            [find_program(), str(configuration)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(self._lock.fileno(),),
            preexec_fn=_end_with_parent,
        )
        note(self._lock, self._server.pid)

    def _until_it_listens(self) -> bool:
        assert self._server is not None
        while not self._is_ending and self._server.poll() is None:
            if answers(self._jobdir):
                return True
            self._waits(POLL_SECONDS)
        return False

    def _watch(self) -> None:
        """Return when the server has died, or is no longer needed."""
        assert self._server is not None
        in_use_at = looked_at = time.monotonic()
        while not self._is_ending:
            if self._until_idle and time.monotonic() - looked_at >= _LOOKS:
                looked_at = time.monotonic()
                in_use_at = looked_at if self._is_in_use() else in_use_at
                # A signal may have ended it meanwhile.
                self._is_ending |= looked_at - in_use_at >= IDLE_SECONDS
            if (status := self._server.poll()) is not None:
                how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
                say(f"its Redis {how}, and is started again")
                return
            self._waits(POLL_SECONDS * 4)

    def _is_in_use(self) -> bool:
        """Return True if somebody is connected to the server, or it does not say so."""
        try:
            return connections(self._jobdir) > 0
        except (OSError, StartRefused):
            return True

    def _waits(self, seconds: float) -> bool:
        """Wait, or until standard input is closed; return True if the end has come."""
        readable, _, _ = select.select([0], [], [], seconds)
        if readable and not os.read(0, 1):
            self._is_ending = True
        return self._is_ending

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._is_ending = True

    def _stop(self) -> None:
        """End the server: it writes the rest of its file first."""
        if self._server is None:
            return
        with suppress(ProcessLookupError):
            self._server.terminate()
        try:
            self._server.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGTERM)


def say(sentence: str) -> None:
    """Write a line for the process that has started this one; it may be gone."""
    with suppress(OSError):
        os.write(1, f"{sentence}\n".encode())


def note(lock: IO[str], server: int) -> None:
    """Write into the lock file who holds it."""
    with suppress(OSError):
        os.ftruncate(lock.fileno(), 0)
        os.pwrite(lock.fileno(), f"keeper {os.getpid()} server {server}\n".encode(), 0)


def take_lock(lock: IO[str], *, is_looking: bool) -> bool:
    """Lock the file. The keeper of a crawl ends the holder, which serves a command, or whose crawl is gone."""
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if is_looking or time.monotonic() > deadline:
                return False
            _end_holder(lock)
            time.sleep(POLL_SECONDS)
        else:
            return True


def _end_holder(lock: IO[str]) -> None:
    """Ask the process to end that holds the lock: the keeper, or its server if it is gone."""
    lock.seek(0)
    found = re.fullmatch(r"keeper (\d+) server (\d+)", lock.read().strip())
    for pid in map(int, found.groups()) if found else ():
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)
            return


def main(arguments: list[str]) -> int:
    jobdir, is_looking = Path(arguments[0]), "--look" in arguments
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folder = jobdir / FOLDER
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        with (folder / LOCK).open("a+", encoding="utf-8") as lock:
            if not take_lock(lock, is_looking=is_looking):
                say(f"{folder} {IN_USE}")
                return 1
            note(lock, os.getpid())
            return Keeper(jobdir, lock, until_idle="--until-idle" in arguments).run()
    except Exception as error:
        # It is the child of a command, which tells the user.
        say(" ".join(str(error).split()) or type(error).__name__)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
