"""What holds the event loop is told with its place, its URL and its CPU time; a busy machine is not blamed on it."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
import uvloop

from webcrawl.engine.loop_watch import FRAMES_MAX, PLACES_MAX, Hold, Holds, LoopWatch, outwards

if TYPE_CHECKING:
    from collections.abc import Callable

THRESHOLD = 0.05


class Page:
    url = "http://held.example/page"


def busy(page: Page, seconds: float = 4 * THRESHOLD) -> None:
    """Take CPU time."""
    ends_at = time.thread_time() + seconds
    while time.thread_time() < ends_at:
        pass


def watched(*callbacks: Callable[[], object], threshold: float = THRESHOLD) -> list[Hold]:
    """What the watchdog tells of a loop that calls these, one after the other."""
    held: list[Hold] = []

    async def scenario() -> None:
        watch = LoopWatch(threshold, held.append)
        watch.begin()
        loop = asyncio.get_running_loop()
        for callback in callbacks:
            await asyncio.sleep(THRESHOLD)
            loop.call_soon(callback)
        await asyncio.sleep(2 * THRESHOLD)
        watch.end()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scenario())
    return held


def test_a_callback_that_takes_long_is_told_with_its_place_and_its_url() -> None:
    page = Page()
    (hold,) = watched(lambda: busy(page))

    assert 4 * THRESHOLD <= hold.cpu_seconds <= hold.wall_seconds
    assert "busy (test_loop_watch.py:" in hold.place
    assert hold.url == Page.url


def test_each_hold_is_told_once() -> None:
    page = Page()
    assert len(watched(lambda: busy(page), lambda: busy(page), lambda: None)) == 2


def test_a_loop_that_waits_for_the_machine_is_not_held() -> None:
    assert watched(lambda: time.sleep(4 * THRESHOLD)) == []


def test_short_callbacks_are_not_told() -> None:
    page = Page()
    assert watched(*[lambda: busy(page, THRESHOLD / 10)] * 5) == []


@pytest.mark.parametrize("depth", [0, 100])
def test_the_frames_of_a_stack_are_those_that_lead_outwards(depth: int) -> None:
    if depth:
        test_the_frames_of_a_stack_are_those_that_lead_outwards(depth - 1)
        return
    frame = sys._getframe()
    frames = outwards(frame)
    assert frames[0] is frame
    assert all(later is earlier.f_back for earlier, later in pairwise(frames))
    assert len(frames) == FRAMES_MAX or frames[-1].f_back is None


def test_collecting_garbage_is_told_as_such() -> None:
    kept = [[number] for number in range(500_000)]

    def collect() -> None:
        for _ in range(5):
            gc.collect()

    holds = watched(collect)
    assert [hold.place for hold in holds] == ["garbage collection of generation 2"]
    del kept


def hold(place: str, seconds: float) -> Hold:
    return Hold(seconds, seconds, place, None)


def test_a_place_has_one_line_in_a_while_and_it_says_what_came_between() -> None:
    holds = Holds(pause_seconds=60)

    assert holds.add(Hold(0.08, 0.09, "f (a.py:1)", "http://a.example/"), now=0) == (
        "The event loop was blocked 80 ms by f (a.py:1), at http://a.example/"
    )
    assert holds.add(hold("f (a.py:1)", 0.2), now=30) is None
    assert holds.add(hold("g (a.py:9)", 0.06), now=31) == "The event loop was blocked 60 ms by g (a.py:9)"
    assert holds.add(hold("f (a.py:1)", 0.1), now=60) == (
        "The event loop was blocked 100 ms by f (a.py:1); 2 times there since the last such line, 200 ms at most"
    )


def test_places_without_end_take_no_memory_without_end() -> None:
    holds = Holds(pause_seconds=60)
    lines = [holds.add(hold(f"f{number}", 0.1), now=number) for number in range(2 * PLACES_MAX)]
    assert sum(line is not None for line in lines) == PLACES_MAX


@pytest.mark.parametrize("loop_factory", [uvloop.new_event_loop, asyncio.new_event_loop])
def test_a_watch_that_has_ended_leaves_nothing_behind(
    loop_factory: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    before = list(gc.callbacks)

    async def scenario() -> None:
        watch = LoopWatch(THRESHOLD, lambda _: None)
        watch.end()
        watch.begin()
        await asyncio.sleep(0)
        watch.end()
        watch.end()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(scenario())
    assert gc.callbacks == before
