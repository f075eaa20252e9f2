"""What a fetch waits for: each reason, the one that binds, and the earliest moment."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rows import each_row
from webcrawl.explain.clocks import Facts, WaitReasons, evaluate_clocks
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.politeness.hours import FetchHours, read_hours
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


@pytest.mark.parametrize("next_fetch_at", [NOW - 2, NOW + 2, NOW + 35_200])
def test_hours_that_have_not_begun_bind(next_fetch_at: float) -> None:
    """NOW is 22:13:20; a key that waits for them in the storage has their time as its own."""
    record = HostRecord("h.test", fetches=3, delay_seconds=5.0, next_fetch_at=next_fetch_at)
    closed = FetchHours(read_hours("8-12"), {"h.test": (read_hours("6-10"),)})
    found = evaluate_clocks(Facts(NOW, record, KNOWN, POLITE, hours=closed))
    assert found.binding is not None
    assert (found.binding.name, found.earliest_at) == ("hours", NOW + 35_200)
    assert found.binding.because == "requests may begin within 8-12@UTC and 6-10@UTC"
    assert len(found.clocks) == (1 if next_fetch_at == found.earliest_at else 2)
    opened = evaluate_clocks(Facts(NOW, record, KNOWN, POLITE, hours=FetchHours(read_hours("20-24"))))
    assert "hours" not in [clock.name for clock in opened.clocks]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"rate_limit_seconds": 8.0, "rate_limit_until": NOW + 9},
            "; RateLimit of the host: a request each 8 s",
        ),
        ({"rate_limit_seconds": 8.0, "rate_limit_until": NOW - 9}, "8 s after the last request to the key"),
        ({"asked_until": NOW + 60}, "the host allows no request until then, by Retry-After or RateLimit"),
    ],
)
def test_a_limit_that_the_host_names_is_said_to_be_the_cause(fields: dict[str, float], words: str) -> None:
    found = waiting(fetches=3, delay_seconds=8.0, next_fetch_at=NOW + 60, **fields)
    assert found.binding is not None
    assert found.binding.because.endswith(words)


def test_a_back_off_says_what_failed() -> None:
    found = waiting(fetches=3, failures=1, last_error="timeout", next_fetch_at=NOW + 60)
    assert found.binding is not None
    assert found.binding.because == "1 failure in a row, the last: timeout"


@each_row(
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
