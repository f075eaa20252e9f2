"""Look-ups that many pages share: each gets its answer, whatever happens to the others."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from webcrawl.errors import StorageFull, StorageLost
from webcrawl.features.batched_lookups import BatchedLookups

if TYPE_CHECKING:
    from collections.abc import Sequence


class Store:
    """Answers with the number of the query; fails when it is told to."""

    def __init__(self) -> None:
        self.queries: list[int] = []
        self.kept: list[int] = []
        self.fails: BaseException | None = None
        self.fails_to_keep: BaseException | None = None

    async def check_and_add(self, asked: Sequence[int]) -> list[int]:
        await asyncio.sleep(0)
        self.queries.append(len(asked))
        if self.fails is not None:
            raise self.fails
        return [each * 10 for each in asked]

    async def keep(self, asked: Sequence[int]) -> None:
        if self.fails_to_keep is not None:
            raise self.fails_to_keep
        self.kept += asked


def test_those_that_wait_are_looked_up_together() -> None:
    async def run() -> None:
        store = Store()
        lookups = BatchedLookups(store, -1, at_once=40)
        assert await asyncio.gather(*map(lookups.look_up, range(100))) == [n * 10 for n in range(100)]
        assert store.queries == [40, 40, 20]
        lookups.keep(7)
        await lookups.close()
        assert store.kept == [7]

    asyncio.run(run())


@pytest.mark.parametrize("error", [StorageLost("lost"), RuntimeError("a mistake")])
def test_after_an_error_the_next_page_is_looked_up(error: Exception) -> None:
    async def run() -> None:
        store = Store()
        lookups = BatchedLookups(store, -1)
        store.fails = error
        with pytest.raises(type(error)):
            await asyncio.wait_for(lookups.look_up(1), 10)
        store.fails = None
        assert await asyncio.wait_for(lookups.look_up(2), 10) == 20

    asyncio.run(run())


def test_a_full_storage_answers_that_nothing_is_known() -> None:
    async def run() -> None:
        store = Store()
        store.fails, store.fails_to_keep = StorageFull("full"), StorageFull("full")
        lookups = BatchedLookups(store, -1)
        lookups.keep(1)
        assert await asyncio.wait_for(lookups.look_up(1), 10) == -1
        await lookups.close()

    asyncio.run(run())


@pytest.mark.parametrize("error", [StorageLost("lost"), RuntimeError("a mistake")])
def test_what_cannot_be_recorded_holds_up_no_page(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        store = Store()
        store.fails_to_keep = error
        lookups = BatchedLookups(store, -1)
        lookups.keep(1)
        assert await asyncio.wait_for(lookups.look_up(1), 10) == 10
        lookups.keep(2)
        await asyncio.wait_for(lookups.close(), 10)
        store.fails_to_keep = None
        assert await asyncio.wait_for(lookups.look_up(3), 10) == 30

    asyncio.run(run())
    assert ("a mistake" in caplog.text) is isinstance(error, RuntimeError)


def test_a_cancelled_query_leaves_no_page_waiting() -> None:
    async def run() -> None:
        store = Store()
        store.fails = asyncio.CancelledError()
        lookups = BatchedLookups(store, -1)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(lookups.look_up(1), 10)
        store.fails = None
        assert await asyncio.wait_for(lookups.look_up(2), 10) == 20

    asyncio.run(run())
