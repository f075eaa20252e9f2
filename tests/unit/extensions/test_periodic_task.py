"""A step again and again, until the end."""

import asyncio
import errno

import pytest

from webcrawl.errors import StorageAway
from webcrawl.extensions.periodic_task import PeriodicTask


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
        ticking = PeriodicTask(0, steps.step, at_once=at_once)
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
        ticking = PeriodicTask(1000, steps.step, at_once=at_once)
        ticking.begin()
        for _ in range(3):
            await asyncio.sleep(0)
        ticking.end()
        return steps.taken

    assert asyncio.run(run()) == taken


class Failing(Steps):
    """Raises in every step what is next in its list; after these it succeeds."""

    def __init__(self, *errors):
        super().__init__(len(errors) + 2)
        self._errors = list(errors)

    async def step(self):
        await super().step()
        if self._errors:
            raise self._errors.pop(0)


@pytest.mark.parametrize("at_once", [True, False])
def test_a_step_that_raises_is_followed_by_the_next_one(at_once):
    async def run():
        steps = Failing(RuntimeError("a mistake"))
        ticking = PeriodicTask(0, steps.step, at_once=at_once)
        ticking.begin()
        await asyncio.wait_for(steps.done.wait(), 30)
        ticking.end()
        return steps.taken

    assert asyncio.run(run()) >= 3


def test_each_kind_of_failure_is_told_once(caplog):
    no_files = [OSError(errno.EMFILE, "Too many open files", f"/proc/{number}") for number in range(3)]
    full = OSError(errno.ENOSPC, "No space left on device")
    steps = Failing(*no_files, RuntimeError("a mistake"), full, StorageAway("gone"), *no_files)

    async def run():
        ticking = PeriodicTask(0, steps.step)
        ticking.begin()
        await asyncio.wait_for(steps.done.wait(), 30)
        ticking.end()

    asyncio.run(run())
    assert [(record.getMessage().partition(": ")[2], bool(record.exc_info)) for record in caplog.records] == [
        (str(no_files[0]), False),
        ("a mistake", True),
        (str(full), False),
        ("gone", False),
    ]
    assert "Failing.step failed and is called again, every 0 s: " in caplog.text
