"""Keys that wait for a robots.txt: idle until it is answered or until their patience ends, whichever comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.contract.samples import NOW, found, pages
from webcrawl.politeness.host_record import HostRecord

if TYPE_CHECKING:
    from tests.contract.driven import Driven

LATER = NOW + 3600


def block(backend: Driven, key: str, next_fetch_at: float = NOW + 1) -> HostRecord:
    """Give ``key`` URLs and release it as the frontier does while its robots.txt is awaited."""
    backend.commit(found(*pages(key, 2)))
    record = backend.activate_one().record
    record.next_fetch_at, record.blocked_until, record.parked = next_fetch_at, LATER, True
    backend.release_keys(record)
    return record


def wake(backend: Driven, *keys: str) -> None:
    backend.run(backend.backend.end_robots_wait(keys))


def test_a_key_that_waits_is_not_active_before_its_time(backend: Driven) -> None:
    block(backend, "a")

    assert backend.active_keys(now=LATER - 1) == []
    assert backend.read_idle_times().parked_at == LATER
    assert backend.active_keys(now=LATER) == ["a"]


def test_a_key_that_is_woken_is_due_by_its_own_clock(backend: Driven) -> None:
    block(backend, "a")
    block(backend, "b", NOW + 60)
    wake(backend, "a", "b", "unknown")

    assert backend.read_idle_times().parked_at == NOW + 1
    assert backend.active_keys(now=NOW) == []
    assert backend.active_keys(now=NOW + 1) == ["a"]
    assert backend.active_keys(now=NOW + 60) == ["b"]


def test_only_the_keys_that_are_named_are_woken(backend: Driven) -> None:
    block(backend, "a")
    block(backend, "b")
    wake(backend, "b")

    assert backend.active_keys(now=NOW + 1) == ["b"]


def test_a_key_that_is_parked_for_another_reason_sleeps_on(backend: Driven) -> None:
    backend.commit(found(*pages("a", 2)))
    record = backend.activate_one().record
    record.next_fetch_at, record.parked = LATER, True
    backend.release_keys(record)
    wake(backend, "a")

    assert backend.active_keys(now=LATER - 1) == []


def test_a_key_that_became_active_waits_for_nothing(backend: Driven) -> None:
    block(backend, "a")
    [active] = backend.activate_keys(now=LATER)

    assert active.record.blocked_until == 0
    wake(backend, "a")
    assert backend.active_keys(now=LATER) == []


def test_after_a_restart_every_key_asks_again(backend: Driven) -> None:
    block(backend, "a")
    backend.crash(NOW)

    assert backend.active_keys(now=NOW + 1) == ["a"]


def test_a_key_that_waited_to_the_end_has_its_own_clock_still(backend: Driven) -> None:
    block(backend, "a")
    [active] = backend.activate_keys(now=LATER + 10)

    assert active.record.next_fetch_at == NOW + 1
