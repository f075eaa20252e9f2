"""The parent of several workers: starts them, starts those again that are killed, and ends them.

It runs no event loop: it waits for lines of its children, for signals, and for time.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from webcrawl.engine.shutdown import FIRST_SIGNAL, SIGNALS
from webcrawl.errors import StartRefused
from webcrawl.workers.policy import WorkerExit, close_reason, exit_status
from webcrawl.workers.processes import KeeperProcess, Pipes, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import FrameType

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.25
KEEPER_PAUSES = (0.0, 1.0, 5.0, 15.0)
"""Seconds before each new start of a keeper that was killed; after the last one the crawl ends."""
KEEPER_END_SECONDS = 90.0
"""Seconds that the server of the storage may take to write its file at the end."""
KILL_SECONDS = 10.0
"""Seconds after a second signal, or without a server, until workers are killed."""
REFUSAL = "scrapy crawl: "
READY = "ready"
STOPPED = "stopped"
"""The close reason of workers that an operator has stopped: all of them."""
_HIDDEN = (FIRST_SIGNAL,)
"""Lines of workers that the parent writes itself."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a crawl of several workers."""

    status: int
    reason: str
    is_forced: bool = False


class WorkerSupervisor:
    """Runs the workers of one crawl to their end."""

    def __init__(
        self,
        jobdir: Path,
        keeper_module: str,
        lock: Sequence[int],
        workers: Sequence[WorkerProcess],
        write: Callable[[str], None],
        tick: Callable[[], None],
    ) -> None:
        """``lock``: the descriptors of the lock of the JOBDIR. ``write`` gets each line of a worker, ``tick`` is
        called a few times a second."""
        self._jobdir = jobdir
        self._workers = workers
        self._write = write
        self._tick = tick
        self._pipes = Pipes()
        self._keeper = KeeperProcess(keeper_module, jobdir, self._pipes, lock)
        self._keeper_pauses = list(KEEPER_PAUSES)
        self._is_served = False
        self._refusals: set[str] = set()
        self._signals = 0
        self._answered = 0
        self._is_stopping = False
        self._trouble: str | None = None
        self._kill_at: float | None = None
        self._selector = selectors.DefaultSelector()

    @property
    def running(self) -> list[WorkerProcess]:
        """The workers that have a process."""
        return [worker for worker in self._workers if worker.pid is not None]

    @property
    def is_stopping(self) -> bool:
        return self._is_stopping

    def run(self) -> Ending:
        """Run the crawl to its end. :raises StartRefused: it cannot begin :raises OSError:"""
        before = {number: signal.getsignal(number) for number in SIGNALS}
        ours, theirs = socket.socketpair()
        for end in (ours, theirs):
            end.setblocking(False)
        self._selector.register(ours, selectors.EVENT_READ, lambda: _drain(ours))
        wakeup = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, self._on_signal)
        try:
            self._serve()
            while not self._is_over():
                self._step()
            return self._ending()
        finally:
            self._pipes.close()
            self._keeper.wait(KEEPER_END_SECONDS)
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            self._selector.close()
            ours.close()
            theirs.close()

    # -- the server ------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Start the keeper, and return when its server listens. :raises StartRefused:"""
        self._keeper.start()
        said = ""
        while not self._is_served and not self._signals:
            assert self._keeper.lines is not None
            for line in self._keeper.lines.read():
                self._is_served = self._is_served or line == READY
                said = line
            if not self._is_served and self._keeper.poll() is not None:
                raise StartRefused(f"the server of the workers cannot be started: {said or 'it was killed'}")
            time.sleep(TICK_SECONDS / 10)

    def _keep_server(self) -> None:
        """Report what the keeper says, and start it again if it has died."""
        if self._keeper.lines is not None:
            for line in self._keeper.lines.read():
                if line != READY:
                    logger.warning("The server of the workers: %s", line)
        if self._keeper.poll() is None or self._trouble is not None:
            return
        if not self._keeper_pauses:
            self._trouble = "the server of the workers cannot be kept running"
            logger.critical("%s: the crawl ends", self._trouble)
            self._stop()
            self._kill_at = time.monotonic() + KILL_SECONDS
            return
        time.sleep(self._keeper_pauses.pop(0))
        logger.warning("The process that keeps the server of the workers has died, and is started again")
        self._keeper.start()

    # -- the workers -----------------------------------------------------------------------------------------

    def _is_over(self) -> bool:
        return all(worker.is_over for worker in self._workers)

    def _step(self) -> None:
        self._answer_signals()
        now = time.monotonic()
        for worker in self._workers:
            if worker.due_at is not None and now >= worker.due_at:
                self._start(worker)
        for key, _ in self._selector.select(TICK_SECONDS):
            key.data()
        for worker in self.running:
            if worker.poll() is not None:
                self._ended(worker)
        if self._kill_at is not None and now >= self._kill_at:
            for worker in self.running:
                worker.signal(signal.SIGKILL)
        self._keep_server()
        self._tick()

    def _start(self, worker: WorkerProcess) -> None:
        if self._is_stopping:
            worker.due_at = None
            return
        worker.start(self._jobdir, self._pipes)
        assert worker.lines is not None
        self._selector.register(worker.lines.pipe, selectors.EVENT_READ, lambda: self._read(worker))

    def _read(self, worker: WorkerProcess) -> None:
        if worker.lines is None:
            return
        for line in worker.lines.read():
            if line.startswith(REFUSAL):
                # All workers are refused for the same reason: it is told once.
                if line in self._refusals:
                    continue
                self._refusals.add(line)
            if not line.startswith(_HIDDEN):
                self._write(line)
        if worker.lines.is_closed:
            with suppress(KeyError):
                self._selector.unregister(worker.lines.pipe)

    def _ended(self, worker: WorkerProcess) -> None:
        """Note the end of a worker's process, and start another one if it was killed."""
        ended, lived = worker.ended, worker.lived_seconds
        assert ended is not None
        self._read(worker)
        assert worker.lines is not None
        with suppress(KeyError):
            self._selector.unregister(worker.lines.pipe)
        worker.let_go()
        if ended.is_killed and not self._is_stopping:
            how = f"by signal {-ended.status}" if ended.status < 0 else f"with status {ended.status}"
            pause = worker.restarts.pause(lived)
            if pause is not None:
                logger.warning("%s was ended %s, and is started again in %g s", worker.name, how, pause)
                worker.due_at = time.monotonic() + pause
                return
            logger.error("%s was ended %s again and again: it is given up", worker.name, how)
        elif ended.ends_crawl and not self._is_stopping:
            if ended.reason != STOPPED and any(not other.is_over for other in self._workers):
                logger.info(
                    "%s has ended (%s): the others are stopped", worker.name, ended.reason or ended.status
                )
            self._stop()

    # -- the end ---------------------------------------------------------------------------------------------

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1

    def _answer_signals(self) -> None:
        while self._answered < self._signals:
            self._answered += 1
            if self._answered == 1:
                self._write(f"{FIRST_SIGNAL}")
                self._stop()
            elif self._answered == 2:
                for worker in self.running:
                    worker.signal(signal.SIGTERM)
                self._kill_at = time.monotonic() + KILL_SECONDS
            else:
                self._kill_at = time.monotonic()

    def _stop(self) -> None:
        """Stop all workers; none is started any more."""
        self._is_stopping = True
        for worker in self._workers:
            worker.due_at = None
            worker.signal(signal.SIGTERM)

    def _ending(self) -> Ending:
        ends = [worker.ended or WorkerExit(0, None) for worker in self._workers]
        is_forced = self._answered > 1 and any(end.status for end in ends)
        status = exit_status(ends)
        if self._trouble is not None:
            status = max(status, 1)
        return Ending(status, close_reason(ends), is_forced)


def _drain(wakeup: socket.socket) -> None:
    with suppress(BlockingIOError):
        while wakeup.recv(64):
            pass


def write_line(line: str) -> None:
    """Write a line of a worker to standard error, which may be gone."""
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{line}{os.linesep}")
        sys.stderr.flush()
