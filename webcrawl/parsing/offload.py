"""Extraction on an event loop in turns of a few milliseconds, so that it does not block the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

from webcrawl.parsing.html import Extraction, PageInput, ParsedPage

TURN_SECONDS = 0.005
"""Seconds that an extraction runs before the loop gets a turn; the current step is finished first."""

SECONDS_MAX = 5.0
"""The longest time in seconds for one page. Most hostile pages of 1 MiB take 0.2 s, the worst known would take 17."""


class Extractor:
    """Extracts pages for the coroutines of one event loop.

    A page that takes less than a turn, as nearly every page does, is processed at once. Of the others only one at a
    time is processed, so that the loop waits for one turn and not for as many as there are pages.
    """

    def __init__(
        self,
        *,
        turn_seconds: float = TURN_SECONDS,
        seconds_max: float = SECONDS_MAX,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._turn_seconds = turn_seconds
        self._turns_max = max(1, round(seconds_max / turn_seconds))
        self._clock = clock
        self._long_work = asyncio.Lock()

    async def extract(self, page: PageInput) -> ParsedPage:
        """Return the result of ``html.extract``, or ``error`` and less when the page takes ``seconds_max``, or when
        more than ``stream.OPEN_MAX`` elements are open.
        """
        ends_at = self._clock() + self._turn_seconds
        extraction = Extraction(page, on_a_loop=True)
        steps = extraction.steps()
        for _ in steps:
            if self._clock() >= ends_at:
                break
        else:
            return extraction.document
        async with self._long_work:
            turns = 1
            for _ in steps:
                if self._clock() < ends_at:
                    continue
                if turns == self._turns_max:
                    extraction.stop_reading(f"not read to its end in {turns * self._turn_seconds:g} s")
                turns += 1
                await asyncio.sleep(0)
                ends_at = self._clock() + self._turn_seconds
        return extraction.document

    def close(self) -> None:
        """Release resources; there are none at present."""
