"""What an ending adds to the line of the fetch log, so that clocks can be recomputed from it."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from tests.unit.archive.samples import record
from webcrawl.downloadermiddlewares.outcome import _add_pauses
from webcrawl.frontier.lease import FetchEnd, Outcome, Result
from webcrawl.storage.contract import FOREVER, NO_RATE_LIMITS, LeaseValidity, RateLimitLease, uptime

if TYPE_CHECKING:
    from webcrawl.archive.capture import FetchRecord
    from webcrawl.crawl.running import InFlightRequest


def told(
    ending: FetchEnd, validity: LeaseValidity, line: FetchRecord, rate_limits: RateLimitLease = NO_RATE_LIMITS
) -> dict[str, object]:
    flight = SimpleNamespace(
        lease=SimpleNamespace(key_validity=validity, rate_limit_lease=rate_limits),
        outcome=Outcome(Result.FETCHED),
    )
    _add_pauses(line, cast("InFlightRequest", flight), ending)
    return dict(line.extra)


def test_what_is_owed_is_told_to_the_microsecond() -> None:
    ending = FetchEnd(1.0, 2.0, 200, delay_seconds=5.00000049, number=12)
    assert told(ending, FOREVER, record()) == {"delay": 5.0, "number": 12}


def test_clocks_that_were_shared_are_told_with_their_pauses() -> None:
    ending = FetchEnd(1.0, 2.0, 200, delay_seconds=5.0, number=12)
    claim = RateLimitLease(1, "a.test", "192.0.2.1", {"address 192.0.2.1": 2.0}, FOREVER)
    assert told(ending, FOREVER, record(), claim)["clocks"] == {"address 192.0.2.1": 2.0}


def test_of_a_key_that_was_lost_is_told_when() -> None:
    now = time.time()
    line = record(start=now - 20, end=now)
    found = told(FetchEnd(1.0, 2.0, 200), LeaseValidity(uptime() - 8), line)
    assert found == {"lost_at": pytest.approx(now - 8, abs=5)}


@pytest.mark.parametrize(
    ("validity", "at"), [(LeaseValidity(0.0), 0), (LeaseValidity(1e-3), -20), (FOREVER, 0)], ids=str
)
def test_it_was_lost_while_the_request_was_open(validity: LeaseValidity, at: float) -> None:
    """A hold that was ended at once does not say when; one that ended long ago ended before the request."""
    now = time.time()
    line = record(start=now - 20, end=now)
    assert told(FetchEnd(1.0, 2.0, 200), validity, line) == {"lost_at": round(now + at, 6)}
