"""Slow pages wait among themselves; each page has its turn."""

from __future__ import annotations

import asyncio

import pytest

from webcrawl.processing.pool import CostEstimates, WorkerQueue


def row(size, mime="text/html"):
    return ("http://a.invalid/", 200, mime, None, {}, b"x" * size, False)


class Play:
    """Pages in a line, with the order in which they had their turns. Those called s... are slow."""

    def __init__(self, at_once):
        self.line = WorkerQueue(object, at_once)
        self.served = []
        self.has = {}
        self.tasks = []

    async def come(self, *names):
        """Each page waits for its turn."""
        for name in names:
            self.tasks.append(asyncio.create_task(self._wait(name)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def _wait(self, name):
        self.has[name] = await self.line.get(name.startswith("s"))
        self.served.append(name)

    async def done(self, *names):
        for name in names:
            self.line.put(self.has.pop(name), name.startswith("s"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def played(test):
    async def whole():
        await test()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    asyncio.run(whole())


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_a_quick_page_does_not_wait_for_slow_ones(at_once):
    async def test():
        play = Play(at_once)
        slow = [f"s{number}" for number in range(at_once + 3)]
        await play.come(*slow)
        assert play.served == slow[:at_once]
        for name in ("q1", "q2", "q3"):
            await play.come(name)
            assert play.served[-1] == name
            await play.done(name)
        assert len(play.has) == at_once

    played(test)


def test_there_is_one_more_for_quick_pages_alone_and_only_then():
    async def test():
        play = Play(2)
        await play.come("q1", "q2", "q3")
        assert play.served == ["q1", "q2"]
        await play.done("q1")
        await play.come("s1", "s2")
        await play.done("q2", "q3")
        assert play.served[3:] == ["s1", "s2"]
        await play.come("q4", "q5", "s3")
        assert play.served[5:] == ["q4"]

    played(test)


def test_slow_pages_have_their_turn_in_the_order_in_which_all_came():
    async def test():
        play = Play(1)
        await play.come("q1", "q2", "s1", "q3")
        await play.done("q1")
        await play.done("q2")
        await play.done("s1")
        assert sorted(play.served[2:]) == ["q3", "s1"]
        assert play.served[:3] == ["q1", "q2", "s1"]

    played(test)


def test_who_stops_waiting_takes_nothing_along():
    async def test():
        play = Play(1)
        await play.come("q1", "q2", "q3")
        play.tasks[1].cancel()
        await play.done("q1")
        assert play.served == ["q1", "q3"]

    played(test)


def test_large_pages_count_as_slow_until_more_is_known():
    costs = CostEstimates()
    small, large = costs.kind(row(5000), [0]), costs.kind(row(2_000_000), [0])
    assert (costs.is_slow(small), costs.is_slow(large)) == (False, True)
    costs.took(small, 0.6)
    assert not costs.is_slow(small)
    costs.took(small, 3.0)
    assert costs.is_slow(small)
    assert not costs.is_slow(costs.kind(row(5000, "application/pdf"), [0]))
    for _ in range(10):
        costs.took(small, 0.01)
        costs.took(large, 0.01)
    assert (costs.is_slow(small), costs.is_slow(large)) == (False, False)
