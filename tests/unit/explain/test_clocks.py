"""What a fetch waits for: each reason, the one that binds, and the earliest moment."""

from __future__ import annotations

from typing import Any

import pytest

from webcrawl.explain.clocks import Facts, WaitReasons, evaluate_clocks
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.robots.answer import RobotsState

NOW = 1_700_000_000.0
POLITE = Politeness("fixed", 5.0, 60.0, 1.0, 300.0)


def answer(state: RobotsState, expires_at: float = NOW + 100) -> RobotsRecord:
    return RobotsRecord("http://h.test", state, NOW - 10, expires_at)


KNOWN = answer(RobotsState.RULES)


def waiting(robots: RobotsRecord | None = KNOWN, **fields: Any) -> WaitReasons:
    return evaluate_clocks(Facts(NOW, HostRecord("h.test", **fields), robots, POLITE))


def test_a_key_that_was_never_asked_binds_nothing() -> None:
    found = waiting()
    assert (found.clocks, found.binding, found.earliest_at) == ((), None, NOW)


def test_the_delay_of_the_key_binds_until_it_is_over() -> None:
    found = waiting(fetches=3, delay_seconds=5.0, next_fetch_at=NOW + 2)
    assert found.binding is not None
    assert (found.binding.name, found.earliest_at) == ("politeness", NOW + 2)
    assert found.binding.because == "5 s after the last request to the key"
    over = waiting(fetches=3, delay_seconds=5.0, next_fetch_at=NOW - 2)
    assert (over.binding, over.earliest_at) == (None, NOW)
    assert [clock.until for clock in over.clocks] == [NOW - 2]


def test_a_back_off_says_what_failed() -> None:
    found = waiting(fetches=3, failures=1, last_error="timeout", next_fetch_at=NOW + 60)
    assert found.binding is not None
    assert found.binding.because == "1 failure in a row, the last: timeout"


@pytest.mark.parametrize(
    ("record", "until"),
    [
        (None, NOW + 2 + 5),
        (answer(RobotsState.RULES, NOW - 1), NOW + 2 + 5),
        (answer(RobotsState.UNREACHABLE), NOW + 100 + 5),
        (answer(RobotsState.PENDING), NOW + 100 + 5),
        (answer(RobotsState.ALLOWED_ALL), NOW + 2),
        (answer(RobotsState.RULES), NOW + 2),
    ],
)
def test_a_robots_txt_that_is_not_known_takes_the_turn_and_a_delay_follows_it(
    record: RobotsRecord | None, until: float
) -> None:
    assert waiting(record, fetches=1, next_fetch_at=NOW + 2).earliest_at == until


def test_the_latest_of_all_clocks_binds() -> None:
    found = waiting(None, fetches=1, next_fetch_at=NOW + 2, parked=True, blocked_until=NOW + 50)
    assert [clock.name for clock in found.clocks] == ["park", "robots", "politeness"]
    assert found.binding is found.clocks[0]
    assert found.earliest_at == NOW + 50


def test_what_is_given_up_is_never_fetched_by_waiting() -> None:
    found = waiting(fetches=9, failures=9, given_up=True, last_error="dns", next_fetch_at=NOW + 2)
    assert found.binding is not None
    assert (found.binding.name, found.earliest_at) == ("given-up", None)
