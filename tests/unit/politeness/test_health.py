"""Failures in a row, parks, giving up, Retry-After."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.politeness.health import (
    FAILURES,
    HOST_FAILURES,
    JITTER,
    Health,
    backoff_seconds,
    retry_after_seconds,
)
from webcrawl.politeness.host_record import HostRecord

NOW = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT
DAY = 86_400.0


def host(*, answered: bool = True) -> HostRecord:
    return HostRecord("example.com", answered=answered)


def wait_of(record: HostRecord, now: float = NOW) -> float:
    return record.next_fetch_at - now


def fail(record: HostRecord, times: int, health: Health | None = None, error: str = "timeout") -> list[float]:
    """Let requests fail one after another, each when the key may be fetched again; return the waits."""
    waits = []
    now = NOW
    for _ in range(times):
        (health or Health()).failed(record, error, now)
        waits.append(wait_of(record, now))
        now = record.next_fetch_at
    return waits


def within_jitter(seconds: float) -> object:
    return pytest.approx(seconds * (1 + JITTER / 2), rel=JITTER / 2)


def test_a_few_failures_do_not_park_a_host() -> None:
    record = host()
    assert fail(record, 4) == [0, 0, 0, 0]
    assert (record.failures, record.parks, record.last_error) == (4, 0, "timeout")


def test_the_fifth_failure_in_a_row_parks_it() -> None:
    record = host()
    assert fail(record, 5)[-1] == within_jitter(60)
    assert (record.failures, record.parks, record.given_up) == (5, 1, False)


def test_after_a_park_each_further_failure_parks_it_for_twice_as_long() -> None:
    waits = fail(host(), 10, Health(parks_to_give_up=99))[4:]
    assert waits[0] == within_jitter(60)
    for shorter, longer in itertools.pairwise(waits):
        assert longer == pytest.approx(2 * shorter)


def test_a_park_has_a_longest_time() -> None:
    waits = fail(host(), 40, Health(parks_to_give_up=99))
    assert waits[-1] == within_jitter(DAY)
    assert waits[-1] == pytest.approx(waits[-2])


def test_a_host_is_given_up_when_it_was_parked_too_often() -> None:
    record = host()
    fail(record, 9)
    assert (record.parks, record.given_up) == (5, False)
    fail(record, 1)
    assert (record.parks, record.given_up) == (6, True)


def test_a_host_that_never_answered_is_given_up_when_the_try_after_its_first_park_fails() -> None:
    record = host(answered=False)
    fail(record, 5)
    assert not record.given_up
    fail(record, 1)
    assert record.given_up


@pytest.mark.parametrize("answered", [True, False])
def test_with_no_limit_no_host_is_given_up(answered: bool) -> None:
    record = host(answered=answered)
    fail(record, 40, Health(parks_to_give_up=0))
    assert (record.parks, record.given_up) == (36, False)


def test_one_success_forgives_all_failures() -> None:
    record = host(answered=False)
    fail(record, 6)
    Health().succeeded(record)
    assert record == HostRecord("example.com", answered=True, next_fetch_at=record.next_fetch_at)


def test_a_host_that_an_operator_unparks_is_contacted_after_its_delay_and_may_fail_as_often_as_a_new_one() -> (
    None
):
    record = host()
    record.delay_seconds = 7.0
    fail(record, 10)
    assert (record.given_up, record.next_fetch_at > NOW + 7) == (True, True)
    Health().unpark(record, NOW)
    assert (record.given_up, record.parks, record.failures, record.next_fetch_at) == (False, 0, 0, NOW + 7)
    fail(record, 4)
    assert (record.parks, record.next_fetch_at) == (0, NOW + 7)


def test_a_pause_whose_length_a_host_has_named_is_kept_when_it_is_unparked() -> None:
    named, unnamed = host(), host()
    Health().busy(named, NOW, 3600.0)
    for _ in range(6):
        Health().busy(unnamed, NOW, None)
    assert min(named.next_fetch_at, unnamed.next_fetch_at) > NOW + 60
    for record in (named, unnamed):
        Health().unpark(record, NOW)
    assert (named.next_fetch_at, unnamed.next_fetch_at) == (NOW + 3600, NOW)


@each_row("error", sorted(FAILURES))
def test_only_failures_of_the_host_count_against_it(error: str) -> None:
    record = host()
    fail(record, 20, error=error)
    assert record.given_up is (error in HOST_FAILURES)
    assert record.last_error == error


def test_the_failures_that_are_not_the_hosts() -> None:
    assert set(FAILURES) - HOST_FAILURES == {"private", "unsupported", "cancelled"}


def test_an_unknown_failure_counts_against_the_host() -> None:
    assert fail(host(), 5, error="???")[-1] > 0


@each_row("asked", [0.0, 1.0, 30.0, 3600.0, DAY])
def test_retry_after_blocks_the_key_for_as_long_as_it_says(asked: float) -> None:
    record = host()
    Health().busy(record, NOW, asked)
    assert wait_of(record) == asked
    assert (record.failures, record.answered) == (1, True)


@pytest.mark.parametrize("asked", [DAY + 1, 1e9, math.inf])
def test_retry_after_is_obeyed_for_a_day_at_most(asked: float) -> None:
    record = host()
    Health().busy(record, NOW, asked)
    assert wait_of(record) == DAY


FIRST_BUSY = 60.0 / 32
"""The first pause of a busy host that names none: with the fifth in a row it has doubled to half of a park."""


def test_a_busy_host_without_retry_after_is_left_alone_for_doubling_times() -> None:
    record, health = host(), Health(parks_to_give_up=99)
    waits = []
    for _ in range(17):
        now = record.next_fetch_at
        health.busy(record, now, None)
        waits.append(wait_of(record, now))
    assert waits[0] == within_jitter(FIRST_BUSY)
    assert waits[3] == pytest.approx(8 * waits[0])
    assert waits[4] == within_jitter(60)
    assert waits == sorted(waits)
    assert waits[-1] == within_jitter(DAY)


def test_a_url_that_fails_again_neither_doubles_the_pause_nor_parks_its_host() -> None:
    record, health, waits = host(), Health(), []
    for attempts in (0, 0, 1, 1, 2, 2):
        now = record.next_fetch_at
        health.busy(record, now, None, again=attempts > 0)
        waits.append(round(wait_of(record, now) / backoff_seconds(record.key, FIRST_BUSY, 0, DAY)))
    assert waits == [1, 2, 2, 2, 2, 2]
    assert (record.failures, record.parks) == (2, 0)


def test_a_parked_host_that_is_busy_again_is_parked_for_longer() -> None:
    record, health = host(), Health()
    for _ in range(5):
        health.busy(record, NOW, None)
    health.busy(record, record.next_fetch_at, None, again=True)
    assert record.parks == 2


def busy_waits(record: HostRecord, *quiet: float) -> list[float]:
    """Let it ask for a pause, again and again, each time ``quiet`` seconds after the pause is over."""
    waits, now = [], NOW
    for seconds in quiet:
        Health(parks_to_give_up=99).busy(record, now, None)
        waits.append(round(wait_of(record, now) / backoff_seconds(record.key, FIRST_BUSY, 0, DAY)))
        Health().succeeded(record)
        now = record.next_fetch_at + seconds
    return waits


def test_a_back_off_is_forgiven_after_as_much_quiet_and_not_by_an_answer_in_between() -> None:
    assert busy_waits(host(), 0.1, 0.1, 0.1, 0.1) == [1, 2, 4, 8]
    assert busy_waits(host(), 1.8, 1.8, 0.1) == [1, 2, 4]
    assert busy_waits(host(), 2.1, 2.1, 2.1, 0.1) == [1, 1, 1, 1]
    assert busy_waits(host(), 0.1, 0.1, 8.5, 0.1) == [1, 2, 4, 1]


@pytest.mark.parametrize(("status", "longest"), [(503, 1), (429, 16)])
def test_pages_that_are_unavailable_among_others_cost_a_short_pause_each(status: int, longest: int) -> None:
    """Five of a site with twenty, each tried three times: the first round with pages in between, then one by one."""
    record, health, now, waits = host(), Health(), NOW, []
    for attempts in range(3):
        for _ in range(5):
            health.busy(record, now, None, status=status, again=attempts > 0)
            waits.append(round(wait_of(record, now) / backoff_seconds(record.key, FIRST_BUSY, 0, DAY)))
            now = record.next_fetch_at
            if attempts == 0:
                health.succeeded(record)
    assert waits == ([1] * 15 if status == 503 else [1, 2, 4, 8, *[longest] * 11])


def test_a_host_that_is_unavailable_as_a_whole_is_left_alone_for_doubling_times() -> None:
    record, health, waits = host(), Health(), []
    for _ in range(6):
        now = record.next_fetch_at
        health.busy(record, now, None, status=503)
        waits.append(round(wait_of(record, now) / backoff_seconds(record.key, FIRST_BUSY, 0, DAY)))
    assert waits == [1, 2, 4, 8, 32, 64]
    health.succeeded(record)
    health.busy(record, record.next_fetch_at, None, status=503)
    assert record.failures == 1


def test_a_pause_of_known_length_is_no_quiet() -> None:
    record = host()
    Health().busy(record, NOW, None)
    Health().busy(record, NOW + 66, 3600.0)
    Health().busy(record, NOW + 66 + 3600, None)
    assert wait_of(record, NOW + 66 + 3600) == within_jitter(2 * FIRST_BUSY)


def test_a_busy_answer_counts_as_a_failure_in_a_row() -> None:
    record = host(answered=False)
    for _ in range(5):
        Health().busy(record, NOW, 1.0)
    assert (record.failures, record.parks) == (5, 1)
    assert wait_of(record) == within_jitter(60)


def test_a_park_never_shortens_a_longer_wait() -> None:
    record = host()
    Health().busy(record, NOW, 7200.0)
    for _ in range(4):
        Health().failed(record, "reset", NOW)
    assert wait_of(record) == 7200.0


def test_back_off_is_the_same_each_time_and_differs_from_key_to_key() -> None:
    waits = {backoff_seconds(f"host{n}.example", 60.0, 0, DAY) for n in range(100)}
    assert len(waits) == 100
    assert min(waits) >= 60.0
    assert max(waits) <= 66.0
    assert backoff_seconds("a", 60.0, 3, DAY) == backoff_seconds("a", 60.0, 3, DAY)


@settings(deadline=None)
@given(st.text(), st.integers(-5, 5000))
def test_back_off_grows_with_each_time_up_to_the_ceiling(key: str, times: int) -> None:
    shorter, longer = backoff_seconds(key, 60.0, times, DAY), backoff_seconds(key, 60.0, times + 1, DAY)
    assert 60.0 <= shorter <= longer <= DAY * (1 + JITTER)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["ok", "busy", "busy30", *sorted(FAILURES)]) | st.floats(allow_nan=True), max_size=40
    )
)
def test_whatever_happens_waits_only_grow_until_a_success(events: list[str | float]) -> None:
    health, record, now = Health(), host(answered=False), NOW
    for event in events:
        before = record.next_fetch_at
        match event:
            case "ok":
                health.succeeded(record)
                assert (record.failures, record.parks, record.given_up) == (0, 0, False)
            case "busy":
                health.busy(record, now, None)
                assert record.next_fetch_at >= now + FIRST_BUSY
            case "busy30":
                health.busy(record, now, 30.0)
                assert record.next_fetch_at >= now + 30
            case str():
                health.failed(record, event, now)
            case _:
                health.busy(record, event, event)
        assert record.next_fetch_at >= before
        assert math.isfinite(record.next_fetch_at)
        assert (record.parks > 0) == (record.failures >= health.failures_to_park)
        now = max(now, record.next_fetch_at) if abs(record.next_fetch_at) < 1e12 else now


@each_row(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (b"120", 120.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("9" * 400, 1e9),
        ("Sun, 06 Nov 1994 08:50:37 GMT", 60.0),
        (b"Sun, 06 Nov 1994 08:50:37 GMT", 60.0),
        ("Sunday, 06-Nov-94 08:50:37 GMT", 60.0),
        ("Sun Nov  6 08:50:37 1994", 60.0),
        ("Sun, 06 Nov 1994 08:49:00 GMT", 0.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("1e3", None),
        ("٣", None),
        ("Sun, 99 Nov 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 99999 08:49:37 GMT", None),
        (b"\xff\xfe", None),
    ],
)
def test_retry_after_is_read_in_both_forms(value: str | bytes | None, seconds: float | None) -> None:
    assert retry_after_seconds(value, NOW) == seconds


@settings(deadline=None)
@given(st.binary() | st.text(), st.floats(min_value=0, max_value=4e9))
def test_retry_after_of_any_content_is_a_time_or_nothing(value: str | bytes, now: float) -> None:
    seconds = retry_after_seconds(value, now)
    assert seconds is None or seconds >= 0
