"""The signals that end the crawls of this process: SIGINT (Ctrl-C) and SIGTERM.

The first one stops gracefully, as Scrapy's handler does it, which this one calls. From then on a thread says every
few seconds what the crawls still wait for. The second one ends the process within ``FORCE_SECONDS``: results that are
known are stored, hosts are released, and the rest is as after ``kill -9``, from which a crawl resumes without a loss.
A third one ends it at once.

Python calls a signal handler on the main thread, which a callback may hold for minutes; so the end within the time
does not depend on the event loop. A thread ends the process, and if a library keeps the interpreter from running
threads, the watchdog of ``faulthandler``, which needs none of Python.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NoReturn, Protocol
from weakref import WeakSet

from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.log import get_scrapy_root_handler
from scrapy.utils.ossignal import install_shutdown_handlers
from scrapy.utils.reactor import is_reactor_installed

from webcrawl.engine.loop_watch import describe_place, outwards
from webcrawl.scrapy_private import Shutdown, find_shutdown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from scrapy.utils.ossignal import SignalHandlerT

logger = logging.getLogger(__name__)

FORCE_SECONDS = 2.0
"""The time after the second signal within which the process ends."""
LAST_WORDS_SECONDS = 0.3
"""The part of it that is left for the figures of a crawl whose event loop does not end by itself."""
RELEASE_SECONDS = 1.0
"""The part of it in which known results are stored and hosts are released."""
REPORT_SECONDS = 3.0
"""The interval at which it is said what a crawl waits for."""
ANSWER_SECONDS = 1.0
"""The time for an answer of the event loop; without one, a callback holds it."""
POLL_SECONDS = 0.01
FIRST_SIGNAL = "Stopping: a second signal ends the crawl within 2 seconds"
"""The line that answers the first signal."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stoppable(Protocol):
    """A crawl, as the signals see it. All methods but ``told_by_force`` are called on the event loop."""

    def is_between(self) -> bool:
        """Return True if it has opened its spider and its engine does not run yet: it cannot be closed now."""

    def waits(self) -> str | None:
        """Return what it waits for; None if it has ended."""

    def stopping_since(self) -> float | None:
        """Return when it began to be closed, on the monotonic clock; None if it runs on."""

    async def release(self) -> None:
        """Store the known results, and give back the hosts that have no open request."""

    def has_ended(self) -> bool:
        """Return True if it was closed in order."""

    def told_by_force(self) -> None:
        """Print the known figures: the process ends now. Called on a thread while the event loop is blocked."""


class ShutdownSignals:
    """Handles the signals of a process whose crawls are ``add``\\ ed, where Scrapy's CrawlerProcess would."""

    def __init__(self) -> None:
        self._crawls: WeakSet[Stoppable] = WeakSet()
        self._graceful: Callable[[int, FrameType | None], object] | None = None
        self._number = 0
        """The number of signals so far."""
        self._is_command = False
        """True if the process runs a command, and does nothing after the crawl."""
        self._thread: threading.Thread | None = None
        # Its ``put`` is reentrant, as a signal handler needs it.
        self._events: SimpleQueue[str] = SimpleQueue()
        self._begun_at = 0.0
        self._stopping_since = 0.0
        """The time at which the first crawl that is being closed began to, by the last answer of the event loop."""

    def add(self, crawl: Stoppable) -> None:
        """Handle the signals of a crawl, unless a script has handlers of its own."""
        self._crawls.add(crawl)
        if not self._take_over() and is_reactor_installed():
            # Scrapy's process installs its handlers when the reactor starts.
            _reactor().callLater(0, self._take_over)

    def closing(self) -> None:
        """Report from now on what the crawls wait for: one of them is being closed. Called on the event loop."""
        self._start_thread()
        self._events.put("closing")

    def ended(self) -> None:
        """Let the process take its time to end if all crawls were closed in order: the watchdog has status 1."""
        if all(crawl.has_ended() for crawl in self._crawls):
            faulthandler.cancel_dump_traceback_later()

    # -- handlers --------------------------------------------------------------------------------------------

    def _take_over(self) -> bool:
        if self._graceful is not None:
            return True
        if threading.current_thread() is not threading.main_thread():
            return False
        handler = signal.getsignal(signal.SIGTERM)
        kind = find_shutdown(handler)
        if kind is Shutdown.FORCED:
            # One came before the crawl could be told.
            self._number = 1
            self._graceful = _nothing
            self._start_thread()
            self._events.put("signal")
            install_shutdown_handlers(self._further)
        elif kind is Shutdown.GRACEFUL:
            assert callable(handler)
            self._graceful = handler
            self._start_thread()
            install_shutdown_handlers(self._first)
        return kind is not None

    def _first(self, number: int, frame: FrameType | None) -> None:
        self._number = 1
        self._begun_at = time.monotonic()
        self._is_command = _runs_command(frame)
        install_shutdown_handlers(self._further)
        self._events.put("signal")
        _reactor().callFromThread(self._stop, number)

    def _further(self, number: int, frame: FrameType | None) -> None:
        self._number += 1
        if self._number == 2:
            self._is_command = self._is_command or _runs_command(frame)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            faulthandler.dump_traceback_later(FORCE_SECONDS, exit=True, file=nowhere)
            self._events.put("force")
            _reactor().callFromThread(self._force)
        elif not all(crawl.has_ended() for crawl in self._crawls):
            os._exit(1)

    # -- on the event loop -----------------------------------------------------------------------------------

    def _stop(self, number: int) -> None:
        deferred_from_coro(self._stop_soon(number))

    async def _stop_soon(self, number: int) -> None:
        while any(crawl.is_between() for crawl in self._crawls):  # noqa: ASYNC110 - Scrapy has no event for it
            await asyncio.sleep(POLL_SECONDS)
        assert self._graceful is not None
        # Scrapy's handler installs its own one for the next signal, which must not come in between.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            self._graceful(number, None)
            install_shutdown_handlers(self._further)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _force(self) -> None:
        deferred_from_coro(self._force_soon())

    async def _force_soon(self) -> None:
        logger.info("Received a second signal, forcing the end")
        steps = [asyncio.ensure_future(crawl.release()) for crawl in self._crawls]
        if steps:
            await asyncio.wait(steps, timeout=RELEASE_SECONDS)
        _reactor().addSystemEventTrigger("after", "shutdown", self._stopped)
        # Raised if it is stopped already.
        with suppress(RuntimeError):
            _reactor().stop()

    def _stopped(self) -> None:
        """Let a script go on, as it may do with Scrapy; a command has nothing left to do but to end its threads."""
        if not self._is_command:
            faulthandler.cancel_dump_traceback_later()
            self._events.put("over")

    # -- on the thread ---------------------------------------------------------------------------------------

    def _start_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="shutdown", daemon=True)
            self._thread.start()

    def _watch(self) -> None:
        forced_at: float | None = None
        while True:
            now = time.monotonic()
            wait = None if not self._begun_at else REPORT_SECONDS
            if forced_at is not None:
                wait = max(forced_at - now, 0.0)
            try:
                event = self._events.get(timeout=wait)
            except Empty:
                if forced_at is not None:
                    self._end()
                elif not self._report():
                    self._begun_at = 0.0
                continue
            if event == "over":
                return
            if event == "force":
                forced_at = now + FORCE_SECONDS - LAST_WORDS_SECONDS
            else:
                self._begun_at = self._begun_at or now
                if event == "signal":
                    _say(FIRST_SIGNAL, log=False)

    def _report(self) -> bool:
        """Log the reason for waiting; return False if there is nothing more."""
        waits = self._ask()
        if waits is None:
            return False
        seconds = time.monotonic() - (self._begun_at if self._number else self._stopping_since)
        _say(f"Stopping for {seconds:.0f} s, waits for {waits}")
        return True

    def _ask(self) -> str | None:
        """Return what the crawls wait for, as the event loop knows it; None if all have ended."""
        answers: SimpleQueue[str | None] = SimpleQueue()
        _reactor().callFromThread(lambda: answers.put(self._waits()))
        try:
            return answers.get(timeout=ANSWER_SECONDS)
        except Empty:
            pass
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        place = "" if frame is None else f" by {describe_place(outwards(frame))}"
        return f"the event loop, which is held{place}"

    def _waits(self) -> str | None:
        return "; ".join(self._found()) or None

    def _found(self) -> Iterator[str]:
        self._stopping_since = time.monotonic()
        for crawl in self._crawls:
            since = crawl.stopping_since()
            if since is None and not self._number:
                # Another crawl of the process has ended; this one runs on.
                continue
            try:
                reason = crawl.waits()
            except Exception:
                logger.exception("What the crawl waits for is not known")
                continue
            if reason is not None:
                self._stopping_since = min(self._stopping_since, since or self._stopping_since)
                yield reason

    def _end(self) -> None:
        """End the process, which did not end by itself."""
        status = 0 if all(crawl.has_ended() for crawl in self._crawls) else 1
        try:
            for crawl in self._crawls:
                crawl.told_by_force()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


def _say(sentence: str, *, log: bool = True) -> None:
    """Log a sentence, and write it to standard error if the log is not shown there."""
    if log:
        logger.info("%s", sentence)
    handler = get_scrapy_root_handler()
    if log and type(handler) is logging.StreamHandler and handler.level <= logging.INFO:
        return
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{sentence}\n")
        sys.stderr.flush()


def _reactor() -> Any:
    """Return the reactor. It is installed when the first crawl exists."""
    from twisted.internet import reactor

    return reactor


def _runs_command(frame: FrameType | None) -> bool:
    """Return True if the code that a signal interrupted was called by Scrapy's command line."""
    cmdline = sys.modules.get("scrapy.cmdline")
    while cmdline is not None and frame is not None:
        if frame.f_code is cmdline.execute.__code__:
            return True
        frame = frame.f_back
    return False


def _nothing(number: int, frame: FrameType | None) -> None:
    """Handle a signal whose work is done already."""


_of_process = ShutdownSignals()


def signals_of_process() -> ShutdownSignals:
    """Return the one object that handles the signals of this process."""
    return _of_process


def end_process(status: int) -> NoReturn:
    """End the process without waiting for its threads."""
    sys.stdout.flush()
    sys.stderr.flush()
    logging.shutdown()
    os._exit(status)


def stopped_before_start(say: str) -> SignalHandlerT:
    """Return a handler for the time before a crawl exists: it writes a line and ends the process with status 0."""

    def end(number: int, frame: FrameType | None) -> None:
        # The interrupted code may be writing to the same stream.
        os.write(2, f"{say}\n".encode())
        os._exit(0)

    return end
