"""Commands of operators to a running crawl: they are written to its store, and its processes answer there.

What a process answers is the number of the last command that it has obeyed, see ``features/steering/store.py``.
"""

from __future__ import annotations

import getpass
import os
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from webcrawl.errors import CrawlError
from webcrawl.features.steering.store import Command, Numbers, SteeringStore, WorkerState
from webcrawl.reports import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webcrawl.storage.inspection import Worker
    from webcrawl.storage.tables import Tables

LOOK_SECONDS = 0.3
"""Interval at which the answers are read."""
TELL_SECONDS = 10.0
"""Interval at which it is said what is still waited for."""
UNKNOWN_SECONDS = 10.0
"""A process that has not said within this time that it obeys operators is of a version that does not."""
SILENT_SECONDS = 15.0
"""A process whose heartbeat is older than this hangs, or its disk does."""
OBEY_SECONDS = 120.0
"""Time after which a process that has not obeyed is left alone: longer than a request may be open."""

_Result = TypeVar("_Result")
_Store = TypeVar("_Store")

Tell = Callable[[str], None]


class NotObeyed(CrawlError):  # noqa: N818 - states what happened
    """The command was given, and a process has not obeyed within the time. It obeys when it can."""


class Operable(Protocol):
    """A crawl with a store, and processes that work on it."""

    @property
    def name(self) -> str: ...

    def read_store(
        self, store: Callable[[Tables], _Store], read: Callable[[_Store], Awaitable[_Result]]
    ) -> _Result: ...

    def change_store(
        self, store: Callable[[Tables], _Store], change: Callable[[_Store, float], Awaitable[_Result]]
    ) -> _Result: ...

    def running_workers(self) -> list[Worker]: ...


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock and the patience of a caller that waits; tests have their own."""

    now: Callable[[], float] = time.monotonic
    epoch: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


CLOCK = Clock()


def this_operator() -> str:
    """Return who gives a command from this process, for the journal: ``alice@host 4711``."""
    name = "operator"
    with suppress(OSError, KeyError):
        name = getpass.getuser()
    return f"{name}@{socket.gethostname()} {os.getpid()}"


def operate(
    crawl: Operable,
    command: Command,
    by: str,
    tell: Tell,
    *,
    wait: bool = True,
    version: str | None = None,
    begun_at: float | None = None,
    clock: Clock = CLOCK,
) -> None:
    """Give a command to a crawl, and wait until the processes that run have obeyed. ``tell`` gets sentences.

    ``version`` and ``begun_at`` are of the last run, as its log of runs has them.

    :raises NotObeyed: a process does not obey
    """
    workers = crawl.running_workers()
    before = crawl.read_store(SteeringStore, lambda store: store.numbers())
    if not workers and command in (Command.STOP, Command.SAVE):
        nothing = "there is nothing to stop" if command is Command.STOP else "all that it has is on the disk"
        tell(f"{crawl.name} is not running: {nothing}")
        return
    number = crawl.change_store(SteeringStore, lambda store, now: store.request(command, by, now))
    tell(f"{crawl.name} {_said(command, before, workers)}")
    if wait and workers:
        _Waiting(crawl, command, number, workers, tell, version, begun_at, clock).run()


class _Waiting:
    """Waits for the processes that ran when a command was given."""

    def __init__(
        self,
        crawl: Operable,
        command: Command,
        number: int,
        workers: Sequence[Worker],
        tell: Tell,
        version: str | None,
        begun_at: float | None,
        clock: Clock,
    ) -> None:
        self._crawl = crawl
        self._command = command
        self._number = number
        self._asked = {worker.name for worker in workers}
        self._tell = tell
        self._version = version
        self._begun_at = begun_at
        self._clock = clock

    def run(self) -> None:
        """:raises NotObeyed: a process does not obey"""
        began_at = told_at = self._clock.now()
        while not self._is_done():
            passed = self._clock.now() - began_at
            if passed >= UNKNOWN_SECONDS and (why := self._unknown()) is not None:
                raise NotObeyed(why)
            if passed >= OBEY_SECONDS and self._command is not Command.STOP:
                raise NotObeyed(
                    f"{self._left()} has not obeyed within {text.duration(passed)}; it does when it can"
                )
            if self._clock.now() - told_at >= TELL_SECONDS:
                told_at = self._clock.now()
                self._tell(f"after {text.duration(passed)}: {self._state()}")
            self._clock.sleep(LOOK_SECONDS)
        self._tell(_OBEYED[self._command])

    def _is_done(self) -> bool:
        running = {worker.name for worker in self._crawl.running_workers()}
        left = self._asked & running
        if self._command is Command.STOP:
            self._asked = left
            return not left
        if not left:
            raise NotObeyed(f"{', '.join(sorted(self._asked))} has ended meanwhile")
        return sum(state.command >= self._number for state in self._answers()) >= len(left)

    def _answers(self) -> list[WorkerState]:
        return self._crawl.read_store(SteeringStore, lambda store: store.workers())

    def _unknown(self) -> str | None:
        """Return why the processes will not obey; None if they may yet."""
        workers = [one for one in self._crawl.running_workers() if one.name in self._asked]
        for worker in workers:
            if (age := self._clock.epoch() - worker.heartbeat_at) > SILENT_SECONDS:
                return (
                    f"{worker.name} had its last heartbeat {text.duration(age)} ago: a callback blocks its event "
                    "loop, or its disk hangs. It obeys when it goes on"
                )
        answers = self._answers()
        if self._begun_at is not None:
            answers = [state for state in answers if state.at >= self._begun_at - 1.0]
        if answers:
            return None
        version = f" (version {self._version})" if self._version else ""
        return (
            f"{self._left()} does not answer: the webcrawl that runs it{version} knows no commands of operators. "
            "SIGTERM stops it"
        )

    def _left(self) -> str:
        return ", ".join(sorted(self._asked))

    def _state(self) -> str:
        workers = [one for one in self._crawl.running_workers() if one.name in self._asked]
        opened = sum(int(one.figures.get("open", 0)) for one in workers)
        requests = f", {text.things(opened, 'request')} open" if opened else ""
        what = "has not ended yet" if self._command is Command.STOP else "has not obeyed yet"
        return f"{self._left()} {what}{requests}"


def _said(command: Command, before: Numbers, workers: Sequence[Worker]) -> str:
    running = (
        f"{', '.join(sorted(worker.name for worker in workers))} runs" if workers else "it is not running"
    )
    match command:
        case Command.PAUSE if workers:
            what = "Open requests are finished, and none begins until scrapy resume."
            return f"{'was paused already' if before.is_paused else 'is paused'}: {running}. {what}"
        case Command.PAUSE if before.is_paused:
            return f"was paused already: {running}"
        case Command.PAUSE:
            return f"is paused: {running}, and fetches nothing when it is started, until scrapy resume"
        case Command.RESUME if not before.is_paused:
            return f"was not paused: {running}"
        case Command.RESUME:
            return f"goes on: {running}" if workers else f"will go on: {running}; start it"
        case Command.STOP:
            return f"is stopped: {running}. Open requests are finished; the command that began it resumes it."
        case Command.SAVE:
            return f"is saved: {running}. It goes on meanwhile."


_OBEYED = {
    Command.PAUSE: "it has paused, nothing is open",
    Command.RESUME: "it goes on",
    Command.STOP: "it has ended",
    Command.SAVE: "it is saved",
}
