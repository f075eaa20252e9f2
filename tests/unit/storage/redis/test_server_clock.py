"""The server's clock as told here: never ahead of it, and never in a hurry."""

from __future__ import annotations

import pytest

from webcrawl.storage.redis import leases as module
from webcrawl.storage.redis.leases import FIRST_READINGS, SLEW, ServerClock

AHEAD = 1_000_000.0
"""How far the server's clock is ahead of the uptime here."""


class Here:
    """The uptime of this machine, and a server on the other end of a slow line."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now

    def read(self, clock: ServerClock, there: float = 0.0, back: float = 0.0) -> None:
        """Ask the server; ``there`` and ``back`` are the seconds that question and answer take."""
        sent = self.now
        told = sent + there + AHEAD
        self.now += there + back
        clock.update(told, sent, self.now)


@pytest.fixture
def here(monkeypatch):
    here = Here()
    monkeypatch.setattr(module, "uptime", here)
    return here


@pytest.fixture
def clock(here):
    return ServerClock()


def test_it_is_late_by_no_more_than_its_slack_and_never_ahead(here, clock):
    for there, back in ((0.3, 0.2), (0.001, 0.05), (0.02, 0.001)):
        here.read(clock, there, back)
        late = here.now + AHEAD - clock()
        assert 0 <= late <= clock.slack_seconds + 1e-6


def test_a_first_reading_replaces_the_guess_even_backwards(here, clock):
    before = clock()
    here.read(clock)
    assert clock() == pytest.approx(here.now + AHEAD)
    assert clock() < before


def test_it_never_runs_backwards(here, clock):
    here.read(clock)
    told = clock()
    for _ in range(100):
        here.now += 0.001
        here.read(clock, back=0.5)
        assert clock() >= told
        told = clock()


def test_a_better_reading_does_not_shorten_what_is_waited_for(here, clock):
    for _ in range(FIRST_READINGS):
        here.read(clock, back=0.1)
    began, told = here.now, clock()
    for _ in range(20):
        here.now += 1
        here.read(clock)
        assert clock() - told <= (here.now - began) * (1 + SLEW) + 1e-6
        assert 0 <= here.now + AHEAD - clock() <= clock.slack_seconds + 1e-6
    for _ in range(300):
        here.now += 1
        here.read(clock)
    assert clock() == pytest.approx(here.now + AHEAD)
    assert clock.slack_seconds == pytest.approx(0.0, abs=1e-6)
