"""The end of a feature's task."""

from __future__ import annotations

import asyncio

from webcrawl.crawl.feature import stop


def test_a_task_that_swallows_a_cancellation_is_cancelled_again() -> None:
    swallowed = 0

    async def work() -> None:
        nonlocal swallowed
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                swallowed += 1
                if swallowed == 2:
                    raise

    async def test() -> bool:
        task = asyncio.get_running_loop().create_task(work())
        await asyncio.sleep(0)
        await stop(task)
        return task.cancelled()

    assert asyncio.run(test())
    assert swallowed == 2


def test_a_task_that_has_ended_is_not_waited_for() -> None:
    async def test() -> None:
        await stop(None)
        task = asyncio.get_running_loop().create_task(asyncio.sleep(0))
        await task
        await stop(task)

    asyncio.run(test())
