"""The server's clock, as far as it can be known here: processes on machines with different clocks agree by it."""

from __future__ import annotations

import time
from collections import deque

from webcrawl.frontier.hold import uptime

_SAMPLES = 64
"""Readings that are considered: with one a second, the two clocks have no time to drift apart."""


class ServerClock:
    """Epoch seconds by the server's clock, never ahead of it and never backwards.

    An answer says what the server's clock showed at some moment before it arrived here. Taking it for the moment
    of arrival makes the estimate late by at most the round trip: what must not happen before a time does not.
    ``slack_seconds`` is how late it may be; a time that is written down for others is put later by so much.
    """

    def __init__(self) -> None:
        self._offset = time.time() - uptime()
        self._samples: deque[tuple[float, float]] = deque(maxlen=_SAMPLES)
        self._latest = 0.0
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
        self._samples.append((server_time - received_at, received_at - sent_at))
        self._offset, self.slack_seconds = max(self._samples)
