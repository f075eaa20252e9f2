"""The processes that run modules: started when a page needs one, replaced when a page has ended one.

Each process gets one page at a time. A page that finds all of them busy waits and still counts as an open request, so
no more pages are held than CONCURRENT_REQUESTS. Pages that are likely to be slow wait in a queue of their own
(``WorkerQueue``): while they occupy all processes, quick pages get one more process.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from webcrawl.child_process import KEEPS_FREED, OUT_OF_MEMORY, frame, receive_from, start_on_socket
from webcrawl.processes import resident_bytes
from webcrawl.processing.contract import ModuleResult, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webcrawl.processing.contract import Row


SLOW_SECONDS = 0.5
"""A page that is likely to take more seconds is slow."""
LARGE_BYTES = 1 << 18
LARGE_SECONDS = 1.0
"""Seconds that pages larger than LARGE_BYTES are likely to take, as long as no page of their kind was measured; 0 for
smaller ones.
"""
KINDS_MAX = 4096
_WEIGHT = 0.3
"""The weight of the last page in the expected time of the next one of its kind."""

Kind = tuple[str, int, tuple[int, ...]]

_T = TypeVar("_T")
_Turn = tuple[int, "asyncio.Future[_T]"]
"""The number of a waiting page, and its future."""


class CostEstimates:
    """The expected times of pages by kind: about the same size, the same MIME type, the same modules."""

    def __init__(self) -> None:
        self._seconds: dict[Kind, float] = {}

    @staticmethod
    def kind(row: Row, numbers: Sequence[int]) -> Kind:
        """Return the kind of a page; sizes of a kind differ by less than a factor of two."""
        return row[2], len(row[5]).bit_length(), tuple(numbers)

    def is_slow(self, kind: Kind) -> bool:
        """Return True if a page of this kind is likely to be slow."""
        return self._expected(kind) > SLOW_SECONDS

    def took(self, kind: Kind, seconds: float) -> None:
        """Record the time of a page."""
        expected = self._expected(kind)
        if len(self._seconds) >= KINDS_MAX and kind not in self._seconds:
            self._seconds.clear()
        self._seconds[kind] = expected + _WEIGHT * (seconds - expected)

    def _expected(self, kind: Kind) -> float:
        known = self._seconds.get(kind)
        if known is not None:
            return known
        return LARGE_SECONDS if kind[1] > LARGE_BYTES.bit_length() else 0.0


class WorkerQueue(Generic[_T]):
    """Assigns a limited number of workers to pages in the order in which the pages came: up to ``at_once`` pages at a
    time, and one further quick page when all others are slow. Workers that were returned last are assigned first.
    """

    def __init__(self, new: Callable[[], _T], at_once: int) -> None:
        """``new`` creates an unused worker."""
        self._idle = [new() for _ in range(at_once + 1)]
        self._at_once = at_once
        self._given = [0, 0]
        """The numbers of quick and slow pages that have one."""
        self._waiting: tuple[deque[_Turn[_T]], deque[_Turn[_T]]] = deque(), deque()
        self._numbers = count()

    async def get(self, is_slow: bool) -> _T:
        """Wait for a worker. It must be returned by ``put``, with the same argument."""
        future: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._waiting[is_slow].append((next(self._numbers), future))
        self._hand_out()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.put(future.result(), is_slow)
            raise

    def put(self, thing: _T, is_slow: bool) -> None:
        """Return a worker."""
        self._given[is_slow] -= 1
        self._idle.append(thing)
        self._hand_out()

    def _hand_out(self) -> None:
        for line in self._waiting:
            while line and line[0][1].done():
                line.popleft()
        while (is_slow := self._next()) is not None:
            _, future = self._waiting[is_slow].popleft()
            if not future.done():
                self._given[is_slow] += 1
                future.set_result(self._idle.pop())

    def _next(self) -> bool | None:
        """Return whether a slow page is next; None if no page is."""
        quick, slow = self._waiting
        if sum(self._given) < self._at_once:
            if quick and slow:
                return slow[0][0] < quick[0][0]
            return None if not (quick or slow) else bool(slow)
        return False if quick and self._given == [0, self._at_once] else None


START_SECONDS = 60.0
"""Seconds that a process may take to import its modules."""

GRACE_SECONDS = 5.0
"""Seconds that the pool waits for a process after the process's own alarm: a stopped process does not react to it."""


GONE_SECONDS = 1.0
"""Seconds that a process may take from the close of its socket to its end."""


TOO_MUCH_MEMORY = "took too much memory"


class ProcessingBroken(Exception):  # noqa: N818 - states what happened, as the other errors of the crawl
    """The processes for modules cannot be started, for a reason unrelated to a page."""


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """The options that each process gets."""

    modules: tuple[str, ...]
    """Import paths of all modules; the pool refers to them by their numbers."""
    processes: int
    seconds: float
    """The time limit of one module for one page."""
    memory_bytes: int
    """The memory limit for one page, in addition to the memory of an idle process; 0 for no limit."""
    links_max: int
    resident_bytes: int = 0
    """The resident memory above which a process is replaced after a page; 0 for no limit."""


class Pool:
    """The processes of one event loop. None is started before the first page."""

    def __init__(self, options: PoolOptions) -> None:
        self._options = options
        self._line: WorkerQueue[_Worker | None] = WorkerQueue(_none_yet, options.processes)
        self._costs = CostEstimates()
        self._workers: set[_Worker] = set()
        self.replaced = 0
        """The number of processes that ended because of pages."""

    def number(self, path: str) -> int:
        """Return the number of the module with this import path, which is one of the options."""
        return self._options.modules.index(path)

    async def process(self, row: Row, numbers: Sequence[int]) -> list[ModuleResult]:
        """Return the results of these modules for a page, in their order; if a page ends its process the last result
        says so, and the modules after it have none.

        :raises ProcessingBroken: no process can be started
        """
        kind = self._costs.kind(row, numbers)
        worker = await self._line.get(is_slow := self._costs.is_slow(kind))
        try:
            if worker is None:
                worker = await self._started()
            started_at = monotonic()
            results = await worker.run(row, numbers, self._options.seconds + GRACE_SECONDS)
            if worker.lost == TOO_MUCH_MEMORY and worker.pages > 1:
                # What the pages before have left in the process had a part in it.
                self._workers.discard(worker)
                self.replaced += 1
                worker = await self._started()
                results = await worker.run(row, numbers, self._options.seconds + GRACE_SECONDS)
            self._costs.took(kind, monotonic() - started_at)
            if worker.lost is not None:
                results.append(ModuleResult({}, [], worker.lost))
                self.replaced += 1
            elif worker.is_larger_than(self._options.resident_bytes):
                worker.kill()
                worker.lost = "replaced"
        except BaseException:
            # Cancelled within a result: the start of the next result could not be found.
            if worker is not None:
                worker.kill()
                worker.lost = "cancelled"
            raise
        finally:
            if worker is not None and worker.lost is not None:
                self._workers.discard(worker)
                worker = None
            self._line.put(worker, is_slow)
        return results

    def close(self) -> None:
        """End all processes immediately."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    async def _started(self) -> _Worker:
        options = self._options
        settings = {
            "modules": list(options.modules),
            "seconds": options.seconds,
            "memory_bytes": options.memory_bytes,
            "links_max": options.links_max,
        }
        worker = await _Worker.start()
        self._workers.add(worker)
        try:
            async with asyncio.timeout(START_SECONDS):
                reply = await worker.exchange(settings)
        except (OSError, EOFError, TimeoutError) as error:
            reply = ("broken", f"{type(error).__name__}, {await worker.how_it_ended()}")
        if reply[0] != "ready":
            worker.kill()
            self._workers.discard(worker)
            raise ProcessingBroken(f"a process for PROCESSING_MODULES does not start: {reply[1]}")
        return worker


def _none_yet() -> _Worker | None:
    """Return the placeholder for a process that was not needed yet."""
    return None


class _Worker:
    """A process and the socket to it."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self.lost: str | None = None
        """The reason why the process has ended."""
        self.pages = 0
        """The number of pages that it has got."""

    @classmethod
    async def start(cls) -> _Worker:
        process, ours = await asyncio.to_thread(start_worker)
        reader, writer = await asyncio.open_connection(sock=ours)
        return cls(process, reader, writer)

    async def run(self, row: Row, numbers: Sequence[int], seconds: float) -> list[ModuleResult]:
        """Return the results of the modules, or of those that had finished when the process was ``lost``."""
        results: list[ModuleResult] = []
        self.pages += 1
        try:
            async with asyncio.timeout(seconds * len(numbers)):
                results.append(ModuleResult(*await self.exchange((list(numbers), row))))
                for _ in numbers[1:]:
                    results.append(ModuleResult(*await receive_from(self._reader)))  # noqa: PERF401 - those that came are kept
        except (OSError, EOFError, TimeoutError):
            self.lost = await self.how_it_ended()
        return results

    def is_larger_than(self, resident: int) -> bool:
        """Return True if it uses more memory; ``resident``: bytes, 0 for no limit."""
        # The file cannot be opened now: the next page is in time too.
        with suppress(OSError):
            return bool(resident) and (resident_bytes(self._process.pid) or 0) > resident
        return False

    async def exchange(self, value: Any) -> Any:
        """Send a value and wait for the next one."""
        self._writer.write(frame(value))
        await self._writer.drain()
        return await receive_from(self._reader)

    async def how_it_ended(self) -> str:
        """Make sure that the process has ended, and describe how."""
        with suppress(subprocess.TimeoutExpired):
            # It ends a moment after its socket is closed.
            await asyncio.to_thread(self._process.wait, GONE_SECONDS)
        hung = self._process.poll() is None
        status = self.kill()
        if hung or status == -signal.SIGALRM:
            return "took too long"
        return TOO_MUCH_MEMORY if status == OUT_OF_MEMORY else f"ended its process (status {status})"

    def kill(self) -> int:
        """Kill it now; return its exit status."""
        with suppress(OSError, RuntimeError):
            self._writer.close()
        if self._process.poll() is None:
            self._process.kill()
        return self._process.wait()


def start_worker() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start the child and return it with the socket to it. Raises OSError."""
    return start_on_socket(
        "webcrawl.processing.worker",
        # Each would start a thread per CPU, with memory for each, to multiply small matrices.
        {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **KEEPS_FREED},
        # The output of modules, such as warnings about pages, is discarded.
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
