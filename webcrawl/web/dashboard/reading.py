"""Reading of the crawl on few threads, and its state for any number of viewers."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from webcrawl.errors import CrawlError, StorageAway, StorageFull
from webcrawl.web.access import Denial
from webcrawl.web.fields import as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

THREADS = 4
WAITING_MAX = 32
"""Calls that may wait for a thread; further ones are refused."""
SECONDS_MAX = 30.0
"""Time after which a call is not waited for any more. It keeps its thread until it ends."""
STATE_SECONDS = 2.0
"""The state is read at most this often."""

Result = TypeVar("Result")


class ReaderThreads:
    """A few threads for calls that block."""

    def __init__(self, threads: int = THREADS, waiting_max: int = WAITING_MAX) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="reader")
        self._open = 0
        self._most = threads + waiting_max

    async def run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Return the result of a call on a thread.

        :raises Denial: too many calls wait, it takes too long, or the storage cannot be used now
        """
        if self._open >= self._most:
            raise Denial(503, "the dashboard is busy", 1.0)
        self._open += 1
        try:
            future = asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)
        except RuntimeError:
            self._open -= 1
            raise Denial(503, "the dashboard ends", 5.0) from None
        future.add_done_callback(self._ended)
        try:
            return await asyncio.wait_for(asyncio.shield(future), SECONDS_MAX)
        except TimeoutError:
            raise Denial(503, f"no answer within {SECONDS_MAX:g} seconds", 10.0) from None
        except StorageAway as error:
            raise Denial(503, f"the crawl's storage cannot be reached: {_line(error)}", 5.0) from error
        except StorageFull as error:
            raise Denial(503, f"the crawl's storage is full: {_line(error)}", 30.0) from error

    def _ended(self, future: asyncio.Future[Any]) -> None:
        self._open -= 1
        if not future.cancelled():
            # Nobody may wait for it any more.
            future.exception()

    def close(self) -> None:
        """Take no further calls; does not wait for those that run."""
        self._threads.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class StateSnapshot:
    """A state of the crawl, and its JSON, which all viewers share."""

    number: int
    at: float
    value: Mapping[str, Any]
    text: bytes


class SharedState:
    """The state of the crawl: read every two seconds while anybody wants it, however many these are."""

    def __init__(
        self,
        readers: ReaderThreads,
        read: Callable[[], Mapping[str, Any]],
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._readers = readers
        self._read = read
        self._seconds = STATE_SECONDS if seconds is None else seconds
        self._clock = clock
        self._last: StateSnapshot | None = None
        self._task: asyncio.Task[StateSnapshot] | None = None

    async def latest(self) -> StateSnapshot:
        """Return the state, at most two seconds old. :raises Denial: it cannot be read now"""
        last = self._last
        if last is not None and self._clock() - last.at < self._seconds:
            return last
        if self._task is None:
            self._task = asyncio.create_task(self._refresh())
            self._task.add_done_callback(self._refreshed)
        # A viewer who leaves does not end the reading of the others.
        return await asyncio.shield(self._task)

    async def next(self, last: StateSnapshot | None) -> StateSnapshot:
        """Return the first state after ``last``, when it is due. :raises Denial: it cannot be read now"""
        if last is not None:
            await asyncio.sleep(max(last.at + self._seconds - self._clock(), 0.0))
        return await self.latest()

    async def _refresh(self) -> StateSnapshot:
        try:
            value = await self._readers.run(self._read)
        except CrawlError as error:
            raise Denial(503, _line(error), 5.0) from error
        except OSError as error:
            raise Denial(503, f"the crawl cannot be read: {error.strerror or error}", 5.0) from error
        number = 1 if self._last is None else self._last.number + 1
        self._last = StateSnapshot(number, self._clock(), value, as_json(value))
        return self._last

    def _refreshed(self, task: asyncio.Task[StateSnapshot]) -> None:
        self._task = None
        if not task.cancelled():
            task.exception()


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
