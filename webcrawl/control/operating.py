"""Commands of operators to a running crawl: they are written to its store, and its processes answer there.

A process publishes the number of the last command that it has read, and for each command what came of it, see
``features/steering/store.py``.
"""

from __future__ import annotations

import getpass
import os
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from webcrawl.errors import CrawlError
from webcrawl.features.steering.store import Command, Numbers, SteeringStore, WorkerState
from webcrawl.reports import text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
"""Time after which a process that has not read a command is left alone. One that has is waited for."""

_Result = TypeVar("_Result")
_Store = TypeVar("_Store")

Tell = Callable[[str], None]


class NotObeyed(CrawlError):  # noqa: N818 - states what happened
    """The command was given, and a process could not carry it out, or has not obeyed within the time."""


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
    arguments: Mapping[str, Any] | None = None,
    wait: bool = True,
    version: str | None = None,
    begun_at: float | None = None,
    clock: Clock = CLOCK,
) -> None:
    """Give a command to a crawl, and wait until the processes that run have carried it out. ``tell`` gets sentences.

    ``version`` and ``begun_at`` are of the last run, as its log of runs has them.

    :raises NotObeyed: a process does not obey, or could not carry it out
    """
    workers = crawl.running_workers()
    before = crawl.read_store(SteeringStore, lambda store: store.numbers())
    if not workers and command in (Command.STOP, Command.SAVE):
        nothing = "there is nothing to stop" if command is Command.STOP else "all that it has is stored"
        tell(f"{crawl.name} is not running: {nothing}")
        return
    number = crawl.change_store(SteeringStore, lambda store, now: store.request(command, by, now, arguments))
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
        self._number = str(number)
        self._waited = {worker.name for worker in workers}
        """The names of those that have not answered, or for a stop have not ended."""
        self._obeyed: dict[str, str] = {}
        """What carrying it out gave, by the names of the processes."""
        self._refused: dict[str, str] = {}
        """Why it was not carried out."""
        self._gone: set[str] = set()
        """Those that ended, or became silent, without an answer."""
        self._processes: dict[str, int] = {}
        """The numbers of the processes that run on this machine."""
        self._tell = tell
        self._version = version
        self._begun_at = begun_at
        self._clock = clock

    def run(self) -> None:
        """:raises NotObeyed: a process does not obey, or could not carry it out"""
        began_at = told_at = self._clock.now()
        while True:
            running = {worker.name: worker for worker in self._crawl.running_workers()}
            states = {name: state for name in self._waited if (state := self._state_of(name)) is not None}
            self._look(running, states)
            if not self._waited:
                break
            self._give_up(self._clock.now() - began_at, running, states)
            if self._clock.now() - told_at >= TELL_SECONDS:
                told_at = self._clock.now()
                self._tell(f"after {text.duration(told_at - began_at)}: {self._situation(running)}")
            self._clock.sleep(LOOK_SECONDS)
        self._conclude()

    def _look(self, running: Mapping[str, Worker], states: Mapping[str, WorkerState]) -> None:
        """Sort out those that have answered or ended."""
        for name in sorted(self._waited):
            state = states.get(name)
            if state is not None and is_here(state):
                self._processes[name] = state.process
            why = None if state is None else state.answers.get(self._number)
            if why:
                self._refused[name] = why
            elif self._command is Command.STOP:
                # The storage is left some moments before the process has ended.
                if name in running or is_alive(self._processes.get(name)):
                    continue
                self._obeyed[name] = ""
            elif why is not None and state is not None:
                self._obeyed[name] = state.results.get(self._number, "")
            elif name not in running:
                self._gone.add(name)
            else:
                continue
            self._waited.discard(name)

    def _state_of(self, name: str) -> WorkerState | None:
        states = self._crawl.read_store(SteeringStore, lambda store: store.workers())
        mine = [one for one in states if name in (one.worker, f"process {one.process}")]
        return max(mine, key=lambda one: one.at, default=None)

    def _give_up(
        self, passed: float, running: Mapping[str, Worker], states: Mapping[str, WorkerState]
    ) -> None:
        """:raises NotObeyed: a process will not obey, or not soon"""
        for name in sorted(self._waited & running.keys()):
            state = states.get(name)
            age = self._clock.epoch() - running[name].heartbeat_at
            if passed >= UNKNOWN_SECONDS and age > SILENT_SECONDS:
                raise NotObeyed(
                    f"{name} had its last heartbeat {text.duration(age)} ago: a callback blocks its event "
                    "loop, or its disk hangs. It obeys when it goes on"
                )
            if state is not None and state.command >= int(self._number):
                # It is at it, however long that takes.
                continue
            if passed >= UNKNOWN_SECONDS and (state is None or self._is_earlier(state)):
                version = f" (version {self._version})" if self._version else ""
                raise NotObeyed(
                    f"{name} does not answer: the webcrawl that runs it{version} knows no commands of operators. "
                    "SIGTERM stops it"
                )
            if passed >= OBEY_SECONDS:
                raise NotObeyed(f"{name} has not obeyed within {text.duration(passed)}; it does when it can")

    def _is_earlier(self, state: WorkerState) -> bool:
        """Return True if the state is that of an earlier run."""
        return self._begun_at is not None and state.at < self._begun_at - 1.0

    def _situation(self, running: Mapping[str, Worker]) -> str:
        opened = sum(int(running[name].figures.get("open", 0)) for name in self._waited & running.keys())
        requests = f", {text.things(opened, 'request')} open" if opened else ""
        has = "has" if len(self._waited) == 1 else "have"
        what = "not ended yet" if self._command is Command.STOP else "not obeyed yet"
        return f"{', '.join(sorted(self._waited))} {has} {what}{requests}"

    def _conclude(self) -> None:
        """Tell what came of it. :raises NotObeyed: not all that answered have obeyed, or none"""
        if self._refused:
            raise NotObeyed("; ".join(f"{name}: {why}" for name, why in sorted(self._refused.items())))
        gone = ", ".join(sorted(self._gone))
        if gone and not self._obeyed:
            raise NotObeyed(f"{gone} has ended meanwhile")
        results = ", ".join(sorted(filter(None, self._obeyed.values())))
        self._tell(f"{_OBEYED[self._command]}{f': {results}' if results else ''}")
        if gone:
            self._tell(f"ended or silent, and not waited for: {gone}")


def is_here(state: WorkerState) -> bool:
    """Return True if the process of a state seems to be one of this machine."""
    return state.host == socket.gethostname() and is_alive(state.process)


def is_alive(process: int | None) -> bool:
    """Return True if a process of this machine exists, and is not only waiting to be collected by its parent."""
    if not process:
        return False
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        pass
    if Path("/proc/self/stat").exists():
        return False
    with suppress(OSError):
        os.kill(process, 0)
        return True
    return False


def _said(command: Command, before: Numbers, workers: Sequence[Worker]) -> str:
    running = (
        f"{', '.join(sorted(worker.name for worker in workers))} runs" if workers else "it is not running"
    )
    match command:
        case Command.PAUSE if workers:
            what = "Open requests are finished, and none begins until scrapy resume."
            return f"{'was paused already' if before.is_paused else 'is asked to pause'}: {running}. {what}"
        case Command.PAUSE if before.is_paused:
            return f"was paused already: {running}"
        case Command.PAUSE:
            return f"is paused: {running}, and fetches nothing when it is started, until scrapy resume"
        case Command.RESUME if not before.is_paused:
            return f"was not paused: {running}"
        case Command.RESUME:
            return f"is asked to go on: {running}" if workers else f"will go on: {running}; start it"
        case Command.STOP:
            return f"is asked to stop: {running}. Open requests are finished; the command that began it resumes it."
        case Command.SAVE:
            return f"is asked to save: {running}. It goes on meanwhile."


_OBEYED = {
    Command.PAUSE: "it has paused, nothing is open",
    Command.RESUME: "it goes on",
    Command.STOP: "it has ended",
    Command.SAVE: "it is saved",
}
