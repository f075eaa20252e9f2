"""The supervisor: decides which crawls have a process, as a state machine without input and output of its own.

::

              create, start                    room
    (none) ----------------> waiting --------------------> running ----> ended      it has ended by itself
                               ^  ^                         |  |  |----> stopped    somebody stopped it in a shell
                               |  |    pause is over        |  |-------> failed     refused, or crashed too often
                               |  +------ restarting <------+  crashed
                               |                            |
                               |  start                     v stop
                               +------- stopped <------- stopping

A crawl that waits, runs or is restarting when the service ends goes on when it begins again. A process that outlived
the service is adopted. Each change is stored before it has an effect on the outside, so that a service that is killed
knows what was wanted.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from webcrawl.errors import CrawlError
from webcrawl.web.service.records import LIVE, WANTED, CrawlOrder, CrawlRecord, OrderState

if TYPE_CHECKING:
    from collections.abc import Iterable

logger = logging.getLogger(__name__)

PAUSES = (5.0, 15.0, 60.0, 180.0, 600.0)
"""Seconds before the first, second, ... restart after crashes in a row; the last one for all further."""
STEADY_SECONDS = 900.0
"""A crawl that ran for longer begins a new row of crashes."""
STOP_SECONDS = 150.0
"""Seconds that a crawl may take to stop by itself: open requests take DOWNLOAD_TIMEOUT. Then it is forced."""
FORCE_SECONDS = 10.0
"""Seconds that a crawl that is forced may take until it is killed."""
KNOWN_MAX = 1_000
"""Crawls that the service keeps."""
WRONG = 2
"""The exit status of a crawl that was refused."""
STOPS = ("shutdown", "stopped", "forced")
"""Close reasons of crawls that somebody stopped."""
BEFORE = "stopped before it began"
"""The reason of a crawl that was stopped before its spider was open."""


class ServiceError(CrawlError):
    """A command that cannot be carried out. ``is_missing``: there is no such crawl."""

    def __init__(self, message: str, *, is_missing: bool = False) -> None:
        super().__init__(message)
        self.is_missing = is_missing


@dataclass(frozen=True, slots=True)
class Exit:
    """The way in which a process has ended."""

    status: int | None
    """The exit status, negative for a signal; None if it was not a child of this process."""
    close_reason: str | None
    """Scrapy's close reason, if its end is on record."""
    last_line: str = ""
    """The last line that it wrote."""

    @property
    def is_crash(self) -> bool:
        return self.close_reason is None if self.status is None else self.status != 0

    @property
    def is_stopped(self) -> bool:
        """True if somebody stopped it, maybe before it had begun."""
        return self.close_reason in STOPS or (self.close_reason is None and self.last_line == BEFORE)

    @property
    def sentence(self) -> str:
        """Return the reason of the crash, as a sentence."""
        if self.status is None:
            return "its process was killed"
        how = f"killed by signal {-self.status}" if self.status < 0 else f"status {self.status}"
        return f"{how}: {self.last_line}" if self.last_line else how


class Process(Protocol):
    """The process of a crawl."""

    pid: int

    def poll(self) -> Exit | None:
        """Return how it has ended; None while it runs."""
        ...

    def stop(self) -> None:
        """Ask it to stop; a second call forces it."""
        ...

    def kill(self) -> None: ...


class Launcher(Protocol):
    """Starts processes and looks at folders."""

    def start(self, order: CrawlOrder) -> Process:
        """Start a crawl, which may have begun before. :raises OSError: :raises CrawlError:"""
        ...

    def adopt(self, order: CrawlOrder) -> Process | None:
        """Return the process that works in the crawl's folder; None if there is none."""
        ...

    def last_exit(self, order: CrawlOrder, started_at: float) -> Exit | None:
        """Return how the run that began at ``started_at`` or later has ended; None if it was killed."""
        ...

    def is_there(self, order: CrawlOrder) -> bool:
        """Return whether the crawl's folder exists."""
        ...

    def trim(self, order: CrawlOrder) -> None:
        """Bound the length of the crawl's output."""
        ...

    def remove(self, order: CrawlOrder) -> None:
        """Delete the crawl's folder. :raises CrawlError: it cannot be deleted"""
        ...


class RecordStore(Protocol):
    """Keeps records."""

    def put(self, record: CrawlRecord) -> None:
        """Store a record durably. :raises OSError:"""
        ...

    def delete(self, name: str) -> None:
        """:raises OSError:"""
        ...


class Supervisor:
    """All crawls of a service. The methods are called by one thread at a time, with the time in epoch seconds."""

    def __init__(
        self,
        launcher: Launcher,
        store: RecordStore,
        running_max: int,
        restarts_max: int,
    ) -> None:
        """``restarts_max``: crashes in a row after which a crawl is given up."""
        self._launcher = launcher
        self._store = store
        self._running_max = running_max
        self._restarts_max = restarts_max
        self._records: dict[str, CrawlRecord] = {}
        self._processes: dict[str, Process] = {}
        self._is_ending = False
        self._tickets = 0

    # -- looking -------------------------------------------------------------------------------------------

    def records(self) -> list[CrawlRecord]:
        """Return copies of all records, in the order in which they were made."""
        return [replace(record) for record in self._records.values()]

    def record(self, name: str) -> CrawlRecord:
        """Return a copy of a record. :raises ServiceError: there is no such crawl"""
        return replace(self._found(name))

    def find(self, name: str) -> CrawlRecord | None:
        """Return a copy of a record; None if there is no such crawl."""
        record = self._records.get(name)
        return None if record is None else replace(record)

    def pid(self, name: str) -> int | None:
        """Return the process of a crawl; None if it has none."""
        process = self._processes.get(name)
        return None if process is None else process.pid

    def live(self) -> list[str]:
        """Return the names of the crawls that have a process."""
        return list(self._processes)

    def queue(self) -> list[str]:
        """Return the crawls that wait, in their order."""
        waiting = (one for one in self._records.values() if one.state is OrderState.WAITING)
        return [one.order.name for one in sorted(waiting, key=lambda one: one.ticket)]

    @property
    def is_ending(self) -> bool:
        """True if the service ends, and starts nothing any more."""
        return self._is_ending

    @property
    def is_over(self) -> bool:
        """True if the service ends and no crawl runs any more."""
        return self._is_ending and not self._processes

    # -- beginning and ending ------------------------------------------------------------------------------

    def load(self, records: Iterable[CrawlRecord], now: float) -> None:
        """Take the records of an earlier service: adopt processes that run, and queue crawls that were running."""
        for record in sorted(records, key=lambda one: (one.order.at, one.order.name)):
            self._records[record.order.name] = record
            self._tickets = max(self._tickets, record.ticket)
            if record.state in LIVE or record.state in WANTED:
                self._recall(record, now)

    def _recall(self, record: CrawlRecord, now: float) -> None:
        process = self._launcher.adopt(record.order)
        if process is not None:
            self._processes[record.order.name] = process
            record.has_begun = True
            if record.state is not OrderState.STOPPING:
                logger.info("%s: its process %d is adopted", record.order.name, process.pid)
                self._turn(record, OrderState.RUNNING, now)
            return
        if record.state is OrderState.STOPPING:
            self._turn(record, OrderState.STOPPED, now)
            return
        ended = None
        if record.state is OrderState.RUNNING and record.started_at is not None:
            ended = self._launcher.last_exit(record.order, record.started_at)
        if ended is not None and ended.close_reason not in (None, *STOPS):
            self._turn(record, OrderState.ENDED, now, ended.close_reason or "")
        else:
            # Neither a reboot nor the end of the service is the crawl's fault.
            self._turn(record, OrderState.WAITING, now)

    def end(self, now: float) -> None:
        """Stop all crawls; they go on when the service begins again."""
        if self._is_ending:
            for process in self._processes.values():
                process.stop()
            return
        self._is_ending = True
        for name, process in self._processes.items():
            if self._records[name].state is not OrderState.STOPPING:
                self._records[name].due_at = now + STOP_SECONDS
                process.stop()

    # -- commands ------------------------------------------------------------------------------------------

    def create(self, order: CrawlOrder, now: float, *, start: bool = True) -> CrawlRecord:
        """Add a crawl. :raises ServiceError: :raises OSError: it cannot be stored"""
        name = order.name
        if name in self._records:
            raise ServiceError(f"there is a crawl {name} already")
        if len(self._records) >= KNOWN_MAX:
            raise ServiceError(f"there are {KNOWN_MAX} crawls already; remove one first")
        if self._launcher.is_there(order):
            raise ServiceError(f"there is a folder {name} already that is no crawl of this service")
        state = OrderState.WAITING if start else OrderState.STOPPED
        record = CrawlRecord(order=order, state=state, since=now, ticket=self._ticket())
        self._store.put(record)
        self._records[name] = record
        return replace(record)

    def start(self, name: str, now: float) -> CrawlRecord:
        """Have a crawl run, or go on. :raises ServiceError: :raises OSError:"""
        record = self._found(name)
        if record.state is OrderState.STOPPING:
            raise ServiceError(f"{name} is stopping; start it when it has stopped")
        if record.state in WANTED and record.state is not OrderState.RESTARTING:
            return replace(record)
        self._refuse_missing(record)
        before = replace(record)
        record.ticket, record.crashes = self._ticket(), 0
        self._change(record, before, OrderState.WAITING, now)
        return replace(record)

    def stop(self, name: str, now: float) -> CrawlRecord:
        """Stop a crawl: its open requests are finished. It stays stopped. :raises ServiceError: :raises OSError:"""
        record = self._found(name)
        before = replace(record)
        process = self._processes.get(name)
        if process is None and record.state in WANTED:
            self._change(record, before, OrderState.STOPPED, now)
        elif process is not None and record.state is not OrderState.STOPPING:
            record.due_at = now + STOP_SECONDS
            self._change(record, before, OrderState.STOPPING, now)
            process.stop()
        return replace(record)

    def remove(self, name: str) -> None:
        """Delete a crawl with everything that it has fetched. :raises ServiceError: it is running, or cannot be
        deleted :raises OSError:"""
        record = self._found(name)
        if name in self._processes:
            raise ServiceError(f"{name} is {record.state}; stop it first")
        if self._launcher.is_there(record.order):
            self._launcher.remove(record.order)
        self._store.delete(name)
        del self._records[name]

    # -- time ----------------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        """Look at the processes, and start what may start. Called every second or so."""
        for name, process in list(self._processes.items()):
            record = self._records[name]
            ended = process.poll()
            if ended is not None:
                del self._processes[name]
                self._ended(record, ended, now)
            elif record.due_at is not None and now >= record.due_at:
                self._force(record, process, now)
            else:
                self._launcher.trim(record.order)
        if self._is_ending:
            return
        for record in self._records.values():
            if record.state is OrderState.RESTARTING and record.due_at is not None and now >= record.due_at:
                self._turn(record, OrderState.WAITING, now, record.reason)
        for name in self.queue()[: max(0, self._running_max - len(self._processes))]:
            self._launch(self._records[name], now)

    def _launch(self, record: CrawlRecord, now: float) -> None:
        order = record.order
        if record.has_begun and not self._launcher.is_there(order):
            self._turn(record, OrderState.FAILED, now, _GONE)
            return
        try:
            # Somebody may have started the same crawl in a shell: a second process would be refused.
            process = self._launcher.adopt(order) or self._launcher.start(order)
        except (OSError, CrawlError) as error:
            self._crashed(record, f"it could not be started: {_line(error)}", now)
            return
        self._processes[order.name] = process
        record.has_begun, record.started_at = True, now
        self._turn(record, OrderState.RUNNING, now)
        logger.info("%s: started as process %d", order.name, process.pid)

    def _force(self, record: CrawlRecord, process: Process, now: float) -> None:
        """Force a crawl that takes too long to stop, and kill it if that does not help."""
        if record.reason == _FORCED:
            logger.warning("%s: killed, since it did not stop", record.order.name)
            process.kill()
            return
        logger.warning("%s: forced to stop after %g s", record.order.name, STOP_SECONDS)
        record.reason, record.due_at = _FORCED, now + FORCE_SECONDS
        process.stop()

    def _ended(self, record: CrawlRecord, ended: Exit, now: float) -> None:
        name = record.order.name
        if self._is_ending and record.state is not OrderState.STOPPING:
            if ended.close_reason in (None, *STOPS):
                self._turn(record, OrderState.WAITING, now)
                return
        elif record.state is OrderState.STOPPING:
            self._turn(record, OrderState.STOPPED, now)
            logger.info("%s: stopped", name)
            return
        if ended.status == WRONG and (other := self._launcher.adopt(record.order)) is not None:
            # It was refused, since the process of an earlier service holds the folder.
            self._processes[name] = other
            self._turn(record, OrderState.RUNNING, now)
        elif ended.status == WRONG:
            self._turn(record, OrderState.FAILED, now, ended.last_line or "it was refused")
            logger.warning("%s: refused: %s", name, record.reason)
        elif ended.is_crash:
            self._crashed(record, ended.sentence, now)
        elif ended.is_stopped:
            self._turn(record, OrderState.STOPPED, now, "it was stopped from outside of the service")
            logger.info("%s: stopped from outside of the service", name)
        else:
            self._turn(record, OrderState.ENDED, now, ended.close_reason or "")
            logger.info("%s: ended (%s)", name, record.reason)

    def _crashed(self, record: CrawlRecord, why: str, now: float) -> None:
        if record.started_at is not None and now - record.started_at > STEADY_SECONDS:
            record.crashes = 0
        record.crashes += 1
        name, crashes = record.order.name, record.crashes
        if record.has_begun and not self._launcher.is_there(record.order):
            self._turn(record, OrderState.FAILED, now, _GONE)
        elif crashes > self._restarts_max:
            row = "its first crash" if crashes == 1 else f"{crashes} crashes in a row, the last one"
            self._turn(record, OrderState.FAILED, now, f"given up after {row}: {why}")
        else:
            pause = PAUSES[min(crashes, len(PAUSES)) - 1]
            self._turn(record, OrderState.RESTARTING, now, why)
            record.due_at = now + pause
        logger.warning("%s: %s (%s)", name, record.state, record.reason)

    # -- records -------------------------------------------------------------------------------------------

    def _found(self, name: str) -> CrawlRecord:
        record = self._records.get(name)
        if record is None:
            raise ServiceError(f"there is no crawl {name[:80]!r}", is_missing=True)
        return record

    def _refuse_missing(self, record: CrawlRecord) -> None:
        if record.has_begun and not self._launcher.is_there(record.order):
            raise ServiceError(f"{record.order.name}: {_GONE}; remove the crawl, or put its folder back")

    def _ticket(self) -> int:
        self._tickets += 1
        return self._tickets

    def _change(self, record: CrawlRecord, before: CrawlRecord, state: OrderState, now: float) -> None:
        """Change a record for a command; if it cannot be stored, it stays as it was. :raises OSError:"""
        record.state, record.since, record.reason = state, now, ""
        try:
            self._store.put(record)
        except OSError:
            self._records[record.order.name] = before
            raise

    def _turn(self, record: CrawlRecord, state: OrderState, now: float, reason: str = "") -> None:
        """Change a record for something that has happened. If it cannot be stored, it is in memory at least."""
        record.state, record.since, record.reason, record.due_at = state, now, reason, None
        try:
            self._store.put(record)
        except OSError as error:
            logger.warning("The state of %s cannot be stored: %s", record.order.name, error)


_GONE = "its folder was removed"
_FORCED = "it is forced to stop"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
