"""Scrapy's engine from the scheduler's side: woken when there is something to give, and heard when it lets go of a
request.

Between two answers of the scheduler the engine sleeps and wakes by itself only every five seconds.
``tests/crawl/test_engine_hooks.py`` is the canary for what is used of it beyond its documented interface.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Request


class Waking:
    """Wakes the engine of a crawler, at once or in time. ``clock``: epoch seconds that never run backwards."""

    def __init__(self, crawler: Crawler, clock: Callable[[], float]) -> None:
        self._crawler = crawler
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def watch(self, let_go_of: Callable[[Request], None]) -> None:
        """Have ``let_go_of`` called with every request that the engine lets go of, whichever way it went."""
        slot = self._crawler.engine._slot
        assert slot is not None
        let_go = slot.remove_request

        def remove_request(request: Request) -> None:
            let_go(request)
            let_go_of(request)

        slot.remove_request = remove_request  # type: ignore[method-assign]

    def wake(self) -> None:
        """Let the engine ask again in the next turn of the loop."""
        slot = self._crawler.engine._slot
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
        """It is not to be woken in time any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _rang(self) -> None:
        self._timer = None
        self.wake()
