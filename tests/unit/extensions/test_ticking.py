"""A step again and again, until the end or the first that raises."""

import asyncio

import pytest

from webcrawl.extensions.ticking import Ticking


class Steps:
    """Counts them, and lets somebody wait for the last."""

    def __init__(self, last):
        self.taken = 0
        self.done = asyncio.Event()
        self._last = last

    async def step(self):
        self.taken += 1
        if self.taken == self._last:
            self.done.set()


@pytest.mark.parametrize("at_once", [True, False])
def test_steps_are_taken_until_the_end(at_once):
    async def run():
        steps = Steps(3)
        ticking = Ticking(0, steps.step, at_once=at_once)
        assert not ticking.is_on
        ticking.begin()
        assert ticking.is_on
        await steps.done.wait()
        ticking.end()
        taken = steps.taken
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return ticking.is_on, taken, steps.taken

    assert asyncio.run(run()) == (False, 3, 3)


@pytest.mark.parametrize(("at_once", "taken"), [(True, 1), (False, 0)])
def test_the_first_step_may_wait(at_once, taken):
    async def run():
        steps = Steps(1)
        ticking = Ticking(1000, steps.step, at_once=at_once)
        ticking.begin()
        for _ in range(3):
            await asyncio.sleep(0)
        ticking.end()
        return steps.taken

    assert asyncio.run(run()) == taken


def test_a_step_that_raises_is_told_and_is_the_last(caplog):
    async def broken():
        raise RuntimeError("a mistake")

    async def run():
        ticking = Ticking(0, broken, at_once=True)
        ticking.begin()
        for _ in range(3):
            await asyncio.sleep(0)

    asyncio.run(run())
    [record] = caplog.records
    assert "broken is called no more: a mistake" in record.getMessage()
