"""What is said of clocks that a URL shares with others, from a storage or from a log."""

from __future__ import annotations

from webcrawl.explain.clocks import Facts, evaluate_clocks, shared_wait_reasons, uses_in_log
from webcrawl.politeness.delay import Politeness
from webcrawl.politeness.host_record import HostRecord, RobotsRecord
from webcrawl.politeness.shared_clocks import SharedClocks
from webcrawl.robots.answer import RobotsState
from webcrawl.storage.inspection import Use

NOW = 1_700_000_000.0
PAUSES = {"address 192.0.2.1": 1.0, "group campus": 20.0}
POLICY = SharedClocks(address_delay=1.0)


def test_the_last_use_of_each_clock_is_found_in_logs() -> None:
    lines = [
        {"end": NOW - 9, "clocks": {"group campus": 20.0}},
        {"end": NOW - 8, "clocks": PAUSES},
        {"end": NOW - 30, "clocks": PAUSES},
        {"end": NOW, "clocks": {"host elsewhere.test": 1.0}},
        {"end": NOW},
        {"end": "soon", "clocks": PAUSES},
        {"end": NOW, "clocks": [1]},
    ]
    assert uses_in_log(lines, PAUSES) == {
        "address 192.0.2.1": Use(NOW - 7),
        "group campus": Use(NOW + 12),
    }


def test_the_clock_that_opens_last_binds() -> None:
    uses = {"address 192.0.2.1": Use(NOW - 7), "group campus": Use(NOW + 12)}
    shared = tuple(shared_wait_reasons(POLICY, PAUSES, uses, "192.0.2.1", NOW))
    record = HostRecord("h.test", NOW + 2, 5.0, fetches=3)
    robots = RobotsRecord("http://h.test", RobotsState.ALLOWED_ALL, NOW - 10, NOW + 100)
    found = evaluate_clocks(Facts(NOW, record, robots, Politeness("fixed", 5.0, 60.0, 1.0, 300.0), shared))
    assert [clock.name for clock in found.clocks] == ["group campus", "politeness", "address 192.0.2.1"]
    assert found.binding is not None
    assert found.binding.because == "20 s after the last request that used it"
    assert found.earliest_at == NOW + 12


def test_a_clock_that_is_in_use_names_its_holder() -> None:
    clocks = list(
        shared_wait_reasons(POLICY, PAUSES, {"address 192.0.2.1": Use(NOW + 1, "w2")}, "192.0.2.1", NOW)
    )
    assert clocks[0].because == "w2 is using it; 1 s after that request it is free"
    assert clocks[1].because == "no request is known that used it"


def test_an_address_that_is_not_known_is_said_to_be_so() -> None:
    [clock] = shared_wait_reasons(POLICY, {}, {}, None, NOW)
    assert clock.name == "address"
    assert clock.until == NOW
    assert list(shared_wait_reasons(SharedClocks(host_delay=1.0), {}, {}, None, NOW)) == []
