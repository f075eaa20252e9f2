"""How many requests begin in one turn of the event loop.

Requests that begin together are sent together, and what comes back is worked on together: on its way to the store of
contents, to the archive and to the frontier's storage it costs less than one by one. But a request takes its first
steps, up to the look-up of its host's name, in the turn after it began, and all that begin in a turn hold the loop
one after the other. What that takes differs tenfold between a host that is contacted first and one whose connection
stands, so it is measured.
"""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST, MOST = 16, 64
"""Requests in a turn, however long they take, and however little."""
TURN_SECONDS = 0.015
"""CPU time that a turn in which requests begin should take at most, and the next one with their first steps."""


class Starts:
    """Allows as many as take ``TURN_SECONDS``, if they take as long as the last ones did."""

    def __init__(self, clock: Callable[[], float] = thread_time) -> None:
        """``clock``: CPU seconds of the loop's thread."""
        self._clock = clock
        self._allowed = LEAST
        self._left = 0
        self._began_at = 0.0
        self._is_cut = False
        """More would have begun in the last turn: the next comes at once, behind first steps of those that did."""

    def new_turn(self) -> None:
        """The engine looks for requests to begin."""
        now = self._clock()
        if self._is_cut:
            took = max(now - self._began_at, 1e-6)
            fitting = int(self._allowed * TURN_SECONDS / took)
            self._allowed = max(min(fitting, 2 * self._allowed, MOST), LEAST)
        self._left, self._began_at, self._is_cut = self._allowed, now, False

    def take(self) -> bool:
        """Whether one more may begin in this turn."""
        if self._left:
            self._left -= 1
            return True
        self._is_cut = True
        return False
