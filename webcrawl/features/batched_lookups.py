"""Look-ups in a store that many pages share: those that wait are made together, in one query at a time."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from webcrawl.errors import StorageFull, StorageLost

if TYPE_CHECKING:
    from collections.abc import Sequence

logger = logging.getLogger(__name__)

AT_ONCE = 256
"""Maximum number of look-ups per query of the store."""
PER_TURN = 8
"""Maximum number of pages that go on in one turn of the event loop. Their next steps read and parse them: 92 answers
in one turn blocked the loop for 270 ms.
"""

Asked = TypeVar("Asked")
Found = TypeVar("Found")
_Asked = TypeVar("_Asked", contravariant=True)
_Found = TypeVar("_Found", covariant=True)


class LookupStore(Protocol[_Asked, _Found]):
    """A store in which many things are looked up at once."""

    async def check_and_add(self, asked: Sequence[_Asked], /) -> Sequence[_Found]:
        """Return what is known of each, in order; new ones are stored."""
        ...

    async def keep(self, asked: Sequence[_Asked], /) -> None:
        """Record that the archive has these, which were the first."""
        ...


class BatchedLookups(Generic[Asked, Found]):
    """Queries a store for many pages at once. If the store is full, each page gets ``unknown``: processing a page
    twice does no harm."""

    def __init__(self, store: LookupStore[Asked, Found], unknown: Found, at_once: int = AT_ONCE) -> None:
        self._store = store
        self._unknown = unknown
        self._at_once = at_once
        self._waiting: list[tuple[Asked, asyncio.Future[Found]]] = []
        self._kept: list[Asked] = []
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def look_up(self, asked: Asked) -> asyncio.Future[Found]:
        """Return the answer to come."""
        result: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, result))
        self._go_on()
        return result

    def keep(self, asked: Asked) -> None:
        """Record that the archive has it, which was the first. What is recorded too late is archived once more."""
        if not self._closed:
            self._kept.append(asked)
            self._go_on()

    async def close(self) -> None:
        """Wait until everything is recorded."""
        self._closed = True
        if self._task is not None:
            await self._task

    def _go_on(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._serve())

    async def _serve(self) -> None:
        try:
            while self._waiting or self._kept:
                await self._record()
                await self._query()
        finally:
            # However it ends, the next page starts it again.
            self._task = None

    async def _record(self) -> None:
        kept, self._kept = self._kept, []
        if not kept:
            return
        try:
            await self._store.keep(kept)
        except (StorageFull, StorageLost):
            # What is not recorded is archived once more; the next query reports a lost store.
            return
        except Exception:  # whatever it is, the pages that wait get their answers
            logger.exception("What was archived could not be recorded; it may be archived once more")

    async def _query(self) -> None:
        if not self._waiting:
            return
        group, self._waiting = self._waiting[: self._at_once], self._waiting[self._at_once :]
        try:
            found = await self._store.check_and_add([asked for asked, _ in group])
        except StorageFull:
            found = [self._unknown] * len(group)
        except Exception as error:  # all waiting callers get the error
            for _, result in group:
                if not result.done():
                    result.set_exception(error)
            return
        except BaseException:
            for _, result in group:
                result.cancel()
            raise
        for number, ((_, result), each) in enumerate(zip(group, found, strict=True), 1):
            if not result.done():
                result.set_result(each)
            if number % PER_TURN == 0:
                await asyncio.sleep(0)
