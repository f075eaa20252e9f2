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

from webcrawl.errors import CrawlError, StartRefused, StorageAway, StorageLost
from webcrawl.features.steering.store import LASTING, ChangeNumbers, Operation, SteeringStore, WorkerState
from webcrawl.reports import text
from webcrawl.reports.standing import HANGING_SECONDS
from webcrawl.storage.inspection import Demand

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from webcrawl.storage.inspection import Worker
    from webcrawl.storage.tables import Tables

ANSWER_POLL_SECONDS = 0.3
"""Interval at which the answers are read."""
TELL_SECONDS = 10.0
"""Interval at which it is said what is still waited for."""
UNKNOWN_SECONDS = 10.0
"""A process that has not said within this time that it obeys operators is of a version that does not."""
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

    @property
    def is_shared(self) -> bool: ...

    def read_store(
        self, store: Callable[[Tables], _Store], read: Callable[[_Store], Awaitable[_Result]]
    ) -> _Result: ...

    def change_store(
        self, store: Callable[[Tables], _Store], change: Callable[[_Store, float], Awaitable[_Result]]
    ) -> _Result: ...

    def running_workers(self) -> list[Worker]: ...

    def silent_workers(self) -> list[Worker]: ...


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


def find_state(worker: Worker, states: Iterable[WorkerState]) -> WorkerState | None:
    """Return what a process that runs has published; None if nothing."""
    mine = [state for state in states if _belongs_to(state, worker)]
    return max(mine, key=lambda state: state.at, default=None)


def _belongs_to(state: WorkerState, worker: Worker) -> bool:
    if worker.host:
        return (state.worker, state.host, state.process) == (worker.name, worker.host, worker.process)
    # A process that could not write its number into its folder is the last one that published.
    return state.process == worker.process or not worker.process


def get_demand(numbers: ChangeNumbers) -> Demand:
    """Return what operators want of the crawl."""
    return Demand.STOP if numbers.is_stopped else Demand.PAUSE if numbers.is_paused else Demand.RUN


def operate(
    crawl: Operable,
    command: Operation,
    by: str,
    tell: Tell,
    *,
    arguments: Mapping[str, Any] | None = None,
    seconds: float | None = None,
    run: tuple[str | None, float] | None = None,
    clock: Clock = CLOCK,
) -> bool:
    """Give a command to a crawl, and wait until the processes that run have carried it out. ``tell`` gets sentences.
    Return False if they have not within ``seconds``; None waits for as long as it takes.

    ``run``: the version and the start of the last run of a crawl of one process, as its log of runs has them.

    :raises NotObeyed: a process does not obey, or could not carry it out
    """
    workers, silent = crawl.running_workers(), crawl.silent_workers()
    before = crawl.read_store(SteeringStore, lambda store: store.numbers())
    if not workers and not silent and command in (Operation.STOP, Operation.SAVE):
        nothing = "there is nothing to stop" if command is Operation.STOP else "all that it has is stored"
        tell(f"{crawl.name} is not running: {nothing}")
        return True
    number = crawl.change_store(SteeringStore, lambda store, now: store.request(command, by, now, arguments))
    tell(f"{crawl.name} {_effect(command, get_demand(before), workers, is_shared=crawl.is_shared)}")
    if workers and not _Waiting(crawl, command, number, workers, tell, run, clock).wait(seconds):
        return False
    try:
        silent = crawl.silent_workers()
    except (StartRefused, StorageAway, StorageLost):
        # The server of a crawl of several workers on one machine ends with them.
        if command is not Operation.STOP:
            raise
    if names := ", ".join(sorted({worker.name for worker in silent})):
        tell(f"without a heartbeat for its lease time, and not waited for: {names}")
    return True


_Name = tuple[str, str, int]
"""The name of a process, its machine, and its number there."""


def _worker_name(worker: Worker) -> _Name:
    return worker.name, worker.host, worker.process


class _Waiting:
    """Waits for the processes that ran when a command was given."""

    def __init__(
        self,
        crawl: Operable,
        command: Operation,
        number: int,
        workers: Sequence[Worker],
        tell: Tell,
        run: tuple[str | None, float] | None,
        clock: Clock,
    ) -> None:
        self._crawl = crawl
        self._command = command
        self._number = str(number)
        self._waited = {_worker_name(worker): worker for worker in workers}
        """The workers that have not answered, or for a stop have not ended."""
        self._obeyed: dict[_Name, str] = {}
        """The results of commands that were carried out."""
        self._refused: dict[_Name, str] = {}
        """The reasons why commands were not carried out."""
        self._gone: set[_Name] = set()
        """The workers that ended, or became silent, without an answer."""
        self._processes: dict[_Name, int] = {}
        """The numbers of the processes that run on this machine."""
        self._tell = tell
        self._version = None if run is None else run[0]
        self._begun_at = None if run is None else run[1]
        self._clock = clock

    def wait(self, seconds: float | None) -> bool:
        """Return True when all have carried it out, and False if they have not within ``seconds``.

        :raises NotObeyed: a process does not obey, or could not carry it out
        """
        began_at = told_at = self._clock.now()
        while True:
            running = {_worker_name(worker): worker for worker in self._crawl.running_workers()}
            published = self._crawl.read_store(SteeringStore, lambda store: store.workers())
            states = {
                name: state
                for name, worker in self._waited.items()
                if (state := find_state(worker, published)) is not None
            }
            self._look(running, states)
            if not self._waited:
                self._conclude()
                return True
            passed = self._clock.now() - began_at
            if seconds is not None and passed >= seconds:
                return False
            self._give_up(passed, running, states)
            if self._clock.now() - told_at >= TELL_SECONDS:
                told_at = self._clock.now()
                self._tell(f"after {text.duration(told_at - began_at)}: {self._situation(running)}")
            self._clock.sleep(ANSWER_POLL_SECONDS)

    def _look(self, running: Mapping[_Name, Worker], states: Mapping[_Name, WorkerState]) -> None:
        """Sort out those that have answered or ended."""
        for name in sorted(self._waited):
            state = states.get(name)
            if state is not None and is_here(state):
                self._processes[name] = state.process
            why = None if state is None else state.answers.get(self._number)
            if why:
                self._refused[name] = why
            elif self._command is Operation.STOP:
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
            del self._waited[name]

    def _give_up(
        self, passed: float, running: Mapping[_Name, Worker], states: Mapping[_Name, WorkerState]
    ) -> None:
        """:raises NotObeyed: a process will not obey, or not soon"""
        for name in sorted(self._waited.keys() & running.keys()):
            state, worker = states.get(name), running[name]
            age = self._clock.epoch() - worker.heartbeat_at
            if passed >= UNKNOWN_SECONDS and age > HANGING_SECONDS and not self._crawl.is_shared:
                raise NotObeyed(
                    f"{worker.name} had its last heartbeat {text.duration(age)} ago: a callback blocks its event "
                    "loop, or its disk hangs. It obeys when it goes on"
                )
            if state is not None and state.command >= int(self._number):
                # It is at it, however long that takes.
                continue
            if passed >= UNKNOWN_SECONDS and not self._crawl.is_shared and self._is_unknown(state):
                version = f" (version {self._version})" if self._version else ""
                raise NotObeyed(
                    f"{worker.name} does not answer: the webcrawl that runs it{version} knows no commands of "
                    "operators. SIGTERM stops it"
                )
            if passed >= OBEY_SECONDS:
                raise NotObeyed(
                    f"{worker.name} has not obeyed within {text.duration(passed)}; it does when it can"
                )

    def _is_unknown(self, state: WorkerState | None) -> bool:
        """Return True if nothing was published in this run."""
        return state is None or (self._begun_at is not None and state.at < self._begun_at - 1.0)

    def _situation(self, running: Mapping[_Name, Worker]) -> str:
        left = self._waited.keys() & running.keys()
        opened = sum(int(running[name].figures.get("open", 0)) for name in left)
        requests = f", {text.things(opened, 'request')} open" if opened else ""
        have = "has" if len(self._waited) == 1 else "have"
        if self._command is Operation.STOP:
            return f"{_names(self._waited)} {have} not ended yet{requests}"
        return f"{_names(self._waited)} {have} not obeyed yet{requests}"

    def _conclude(self) -> None:
        """Report the result. :raises NotObeyed: a process has refused, or none has obeyed"""
        if self._refused:
            raise NotObeyed("; ".join(f"{name}: {why}" for (name, *_), why in sorted(self._refused.items())))
        if self._gone and not self._obeyed:
            raise NotObeyed(f"{_names(self._gone)} has ended meanwhile")
        results = ", ".join(sorted(filter(None, self._obeyed.values())))
        if self._command in LASTING and not results:
            results = "nothing"
        outcome = (_ALL_OBEYED if self._crawl.is_shared else _OBEYED)[self._command]
        self._tell(f"{outcome}: {results}" if results else outcome)


def _names(names: Iterable[_Name]) -> str:
    return ", ".join(sorted(name for name, *_ in names))


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


def _effect(command: Operation, before: Demand, workers: Sequence[Worker], *, is_shared: bool) -> str:
    """Describe the effect of a command on the processes that run, and on those that are started later."""
    names = ", ".join(sorted(worker.name for worker in workers))
    if is_shared:
        running = (
            f"{text.things(len(workers), 'worker')} running ({names})" if workers else "no worker is running"
        )
    else:
        running = f"{names} runs" if workers else "it is not running"
    match command:
        case Operation.PAUSE:
            return _effect_of_pause(before, running, is_running=bool(workers))
        case Operation.RESUME if before is Demand.RUN and is_shared:
            return f"was neither paused nor stopped: {running}"
        case Operation.RESUME:
            return _effect_of_resume(before, running, is_running=bool(workers))
        case Operation.STOP:
            return f"is asked to stop: {running}. Open requests are finished; the command that began it resumes it."
        case Operation.SAVE:
            return f"is asked to save: {running}. It goes on meanwhile."
        case Operation.UNPARK if workers:
            return f"is asked to contact hosts again: {running}"
        case Operation.UNPARK:
            return f"will contact hosts again when it runs again: {running}"
        case Operation.RETRY if workers:
            return f"is asked to fetch failed URLs again: {running}"
        case Operation.RETRY:
            return f"will fetch failed URLs again when it runs again: {running}"


def _effect_of_pause(before: Demand, running: str, *, is_running: bool) -> str:
    if is_running:
        begun = "was paused already" if before is Demand.PAUSE else "is asked to pause"
        return f"{begun}: {running}. Open requests are finished, and none begins until scrapy resume."
    if before is Demand.PAUSE:
        return f"was paused already: {running}"
    return f"is paused: {running}, and fetches nothing when it is started, until scrapy resume"


def _effect_of_resume(before: Demand, running: str, *, is_running: bool) -> str:
    if before is Demand.RUN:
        return f"was not paused: {running}"
    if before is Demand.STOP and is_running:
        return f"is no longer stopped: {running}. Processes that have received the stop still end."
    return f"is asked to go on: {running}" if is_running else f"will go on: {running}; start it"


_OBEYED = {
    Operation.PAUSE: "it has paused, nothing is open",
    Operation.RESUME: "it goes on",
    Operation.STOP: "it has ended",
    Operation.SAVE: "it is saved",
    Operation.UNPARK: "contacted again",
    Operation.RETRY: "queued again",
}
_ALL_OBEYED = {
    Operation.PAUSE: "all have paused, nothing is open",
    Operation.RESUME: "all go on",
    Operation.STOP: "all have ended",
    Operation.SAVE: "all have stored what they had, in Redis: there are no checkpoints of a crawl on Redis",
    Operation.UNPARK: "contacted again",
    Operation.RETRY: "queued again",
}
