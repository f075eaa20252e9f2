"""Wakes Scrapy's engine when the scheduler has requests, reports the requests that it releases, and limits new ones.

Between two answers of the scheduler the engine sleeps and wakes by itself only every five seconds.
``tests/crawl/test_engine_hooks.py`` is the canary for what is used of it beyond its documented interface.

The number of requests that begin in one turn of the event loop is limited. Requests that begin together are sent
together, and their results are processed together: the store of contents, the archive and the frontier's storage cost
less for several than one by one. But a request takes its first steps, up to the look-up of its host's name, in the
turn after it began, and all that begin in a turn block the loop one after the other. Their time differs tenfold
between a new host and one with an open connection, so it is measured.
"""

from __future__ import annotations

import asyncio
from time import thread_time
from typing import TYPE_CHECKING

from webcrawl.scrapy_private import engine_slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Request


class Waking:
    """Wakes the engine of a crawler, at once or at a given time. ``clock``: epoch seconds that never run
    backwards.
    """

    def __init__(self, crawler: Crawler, clock: Callable[[], float]) -> None:
        self._crawler = crawler
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def watch(self, let_go_of: Callable[[Request], None]) -> None:
        """Have ``let_go_of`` called with every request that the engine releases, whatever its outcome."""
        slot = engine_slot(self._crawler.engine)
        assert slot is not None
        let_go = slot.remove_request

        def remove_request(request: Request) -> None:
            let_go(request)
            let_go_of(request)

        slot.remove_request = remove_request  # type: ignore[method-assign]

    def wake(self) -> None:
        """Make the engine call the scheduler in the next turn of the loop."""
        slot = engine_slot(self._crawler.engine)
        if slot is not None:
            slot.nextcall.schedule()

    def wake_at(self, at: float | None) -> None:
        """Wake it at a moment; None changes nothing."""
        if at is None:
            return
        if self._timer is not None:
            if self._timer_at <= at and not self._timer.cancelled():
                return
            self._timer.cancel()
        self._timer_at = at
        self._timer = asyncio.get_running_loop().call_later(max(at - self._clock(), 0.0), self._rang)

    def stop(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _rang(self) -> None:
        self._timer = None
        self.wake()


LEAST, MOST = 16, 64
"""The least and the most requests in a turn, whatever their time."""
TURN_SECONDS = 0.015
"""CPU seconds that a turn in which requests begin should take at most, and the next one with their first steps."""


class Starts:
    """Allows as many requests as fit into ``TURN_SECONDS``, if they take as long as the last ones did."""

    def __init__(self, clock: Callable[[], float] = thread_time) -> None:
        """``clock``: CPU seconds of the loop's thread."""
        self._clock = clock
        self._allowed = LEAST
        self._left = 0
        self._began_at = 0.0
        self._is_cut = False
        """True if more requests would have begun in the last turn: the next comes at once, after the first steps of
        those that did.
        """

    def new_turn(self) -> None:
        """Begin a turn: the engine starts requests."""
        now = self._clock()
        if self._is_cut:
            took = max(now - self._began_at, 1e-6)
            fitting = int(self._allowed * TURN_SECONDS / took)
            self._allowed = max(min(fitting, 2 * self._allowed, MOST), LEAST)
        self._left, self._began_at, self._is_cut = self._allowed, now, False

    def take(self) -> bool:
        """Return True if one more may begin in this turn."""
        if self._left:
            self._left -= 1
            return True
        self._is_cut = True
        return False
