"""Requests begin together, as many as hold the event loop for a few milliseconds."""

from __future__ import annotations

from tests.rows import each_row
from webcrawl.engine.waking import LEAST, MOST, TURN_SECONDS, Starts


class Loop:
    """Turns in which each start costs so many CPU seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self.starts = Starts(lambda: self.now)

    def turn(self, wanted: int, seconds: float) -> int:
        """How many of those that are wanted began."""
        self.starts.new_turn()
        began = 0
        while began < wanted and self.starts.take():
            began += 1
        self.now += began * seconds
        return began


@each_row(
    ("seconds", "begin"),
    [(0.0, MOST), (0.00001, MOST), (TURN_SECONDS / 40, 40), (0.001, LEAST), (1.0, LEAST)],
)
def test_as_many_begin_in_a_turn_as_fit_into_its_time(seconds: float, begin: int) -> None:
    loop = Loop()
    assert loop.turn(1000, seconds) == LEAST
    for _ in range(10):
        loop.turn(1000, seconds)
    assert loop.turn(1000, seconds) in (begin - 1, begin)


def test_when_they_become_dear_fewer_begin_in_the_next_turn_but_one() -> None:
    loop = Loop()
    for _ in range(10):
        loop.turn(1000, 0.00001)
    assert loop.turn(1000, 0.001) == MOST
    assert loop.turn(1000, 0.001) == LEAST


def test_a_pause_after_the_last_request_there_was_says_nothing_of_what_they_take() -> None:
    loop = Loop()
    for _ in range(10):
        loop.turn(1000, 0.00001)
    assert loop.turn(10, 0.00001) == 10
    loop.now += 60
    assert loop.turn(1000, 0.00001) == MOST
