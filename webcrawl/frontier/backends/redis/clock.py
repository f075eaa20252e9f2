"""The server's clock, as far as it can be known here: processes on machines with different clocks agree by it."""

from __future__ import annotations

import time
from collections import deque

from webcrawl.frontier.hold import uptime

_SAMPLES = 64
"""Readings that are considered: with one a second, the two clocks have no time to drift apart."""

FIRST_READINGS = 5
"""Readings that are believed at once, while no time depends on this clock yet."""

SLEW = 0.0005
"""How fast the clock is put right afterwards, in seconds a second: a delay of 5 s may be 2.5 ms short by it."""


class ServerClock:
    """Epoch seconds by the server's clock, never ahead of it and never backwards.

    An answer says what the server's clock showed at some moment before it arrived here. Taking it for the moment
    of arrival makes the estimate late by at most the round trip: what must not happen before a time does not.
    ``slack_seconds`` is how late it may be; a time that is written down for others is put later by so much. A better
    reading moves it forward only slowly: a jump would cut short what is being waited for.
    """

    def __init__(self) -> None:
        self._offset = time.time() - uptime()
        self._samples: deque[tuple[float, float]] = deque(maxlen=_SAMPLES)
        self._latest = 0.0
        self._readings = 0
        self._read_at = 0.0
        self.slack_seconds = 0.0

    def __call__(self) -> float:
        self._latest = max(self._latest, self._offset + uptime())
        return self._latest

    @property
    def given(self) -> float | None:
        """The time by which scripts go instead of the server's clock; for tests."""
        return None

    def heard(self, server_time: float, sent_at: float, received_at: float) -> None:
        """An answer came: ``server_time`` in epoch seconds, the others as told by ``uptime``."""
        if not self._samples:
            # What was told before was a guess.
            self._latest = 0.0
        self._readings += 1
        self._samples.append((server_time - received_at, received_at - sent_at))
        best, round_trip = max(self._samples)
        if self._readings > FIRST_READINGS:
            best_now = min(best, self._offset + SLEW * (received_at - self._read_at))
        else:
            best_now = best
        self._offset, self._read_at = best_now, received_at
        self.slack_seconds = round_trip + best - best_now
