"""The processes of a crawl of several workers: the workers, and the keeper of their server."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from webcrawl.child_process import start_python
from webcrawl.reports import run_log
from webcrawl.workers import figures
from webcrawl.workers.policy import Restarts, WorkerExit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

WORKER = "webcrawl.workers.worker"


class PipeLines:
    """The lines that a child writes into a pipe, which is read without waiting."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self._rest = b""
        self.is_closed = False
        os.set_blocking(pipe, False)

    def read(self) -> Iterator[str]:
        """Yield the whole lines that are there; at the end also the rest."""
        while not self.is_closed:
            try:
                data = os.read(self.pipe, 1 << 16)
            except BlockingIOError:
                return
            if not data:
                self.is_closed = True
                if self._rest:
                    yield self._rest.decode(errors="replace")
                return
            *whole, self._rest = (self._rest + data).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace")


class Pipes:
    """The two pipes by which processes notice the end of others.

    The workers read ``life`` and only the parent can write to it. The keeper reads ``need``, and the parent and all
    workers can write to it: it is closed when the last of them has ended.
    """

    def __init__(self) -> None:
        self.life, self._life_end = os.pipe()
        self.need, self.need_end = os.pipe()

    def close(self) -> None:
        """Close the ends of the parent; the keeper then ends as soon as all workers have."""
        for descriptor in (self.life, self._life_end, self.need, self.need_end):
            os.close(descriptor)


class WorkerProcess:
    """A worker, which may have several processes one after another."""

    def __init__(self, name: str, folder: Path, words: Sequence[str]) -> None:
        self.name = name
        self.folder = folder
        self._words = words
        self._process: subprocess.Popen[bytes] | None = None
        self.lines: PipeLines | None = None
        self._started_at = 0.0
        self._runs_before = 0
        self.restarts = Restarts()
        self.due_at: float | None = 0.0
        """When it is to be started, on the monotonic clock; None while it runs, and when it is over."""
        self.ended: WorkerExit | None = None
        """How its last process has ended."""
        self.figure_files: list[Path] = []
        """The files with the figures of its processes in this run of the crawl."""

    @property
    def pid(self) -> int | None:
        """The process; None if it has none."""
        return None if self._process is None else self._process.pid

    @property
    def is_over(self) -> bool:
        """True if it has no process and gets none."""
        return self._process is None and self.due_at is None

    @property
    def lived_seconds(self) -> float:
        return time.monotonic() - self._started_at

    def start(self, jobdir: Path, pipes: Pipes) -> None:
        """Start a process. :raises OSError:"""
        with suppress(OSError):
            self._runs_before = len(run_log.read(self.folder))
        self.due_at, self.ended = None, None
        self._started_at = time.monotonic()
        self._process = start_python(
            WORKER,
            str(jobdir),
            str(pipes.life),
            str(pipes.need_end),
            *self._words,
            stdin=subprocess.DEVNULL,
            stdout=None,
            stderr=subprocess.PIPE,
            pass_fds=(pipes.life, pipes.need_end),
        )
        assert self._process.stderr is not None
        self.lines = PipeLines(self._process.stderr.fileno())
        self.figure_files.append(figures.path_of(self.folder, self._process.pid))

    def poll(self) -> WorkerExit | None:
        """Return how its process has ended, once; None while it runs, and if it has none."""
        if self._process is None or (status := self._process.poll()) is None:
            return None
        runs: list[run_log.Run] = []
        with suppress(OSError):
            runs = run_log.read(self.folder)
        reason = runs[-1].reason if len(runs) > self._runs_before else None
        self.ended = WorkerExit(status, reason, is_restart=len(self.figure_files) > 1)
        return self.ended

    def let_go(self) -> None:
        """Close what is left of a process that has ended, when its last lines were read."""
        if self._process is not None and self._process.stderr is not None:
            self._process.stderr.close()
        self._process, self.lines = None, None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its process, if it has one."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)


class KeeperProcess:
    """The keeper of the server of the storage."""

    def __init__(self, module: str, jobdir: Path, pipes: Pipes, lock: Sequence[int]) -> None:
        """``lock``: the descriptors of the lock of the JOBDIR, which the keeper holds on as long as it lives."""
        self._module = module
        self._jobdir = jobdir
        self._pipes = pipes
        self._lock = lock
        self._process: subprocess.Popen[bytes] | None = None
        self.lines: PipeLines | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it. :raises OSError:"""
        self.let_go()
        self._process = start_python(
            self._module,
            str(self._jobdir),
            stdin=self._pipes.need,
            stdout=subprocess.PIPE,
            pass_fds=self._lock,
        )
        assert self._process.stdout is not None
        self.lines = PipeLines(self._process.stdout.fileno())

    def poll(self) -> int | None:
        """Return its exit status; None while it runs."""
        return None if self._process is None else self._process.poll()

    def wait(self, seconds: float) -> None:
        """Wait for its end, and kill it if that takes too long: its server then ends by itself."""
        if self._process is None:
            return
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def let_go(self) -> None:
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()
        self._process, self.lines = None, None
