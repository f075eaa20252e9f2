"""The delay models, Crawl-delay, and the clock of a politeness key."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.politeness.delay import REMEMBERED_DOWNLOADS, Politeness
from webcrawl.politeness.host_record import HostRecord

if TYPE_CHECKING:
    from webcrawl.politeness.delay import Model

NOW = 1_700_000_000.0

any_time = st.floats(allow_nan=True, allow_infinity=True)
sane_time = st.floats(min_value=0, max_value=4e9)


def politeness(model: Model = "mean", **changes: float) -> Politeness:
    values = {"min_delay": 5.0, "max_delay": 60.0, "factor": 10.0, "crawl_delay_max": 300.0} | changes
    return Politeness(model, **values)


def record(*downloads: float, crawl_delay: float | None = None) -> HostRecord:
    return HostRecord("example.com", download_seconds=list(downloads), crawl_delay_seconds=crawl_delay)


@each_row(
    ("model", "downloads", "expected"),
    [
        ("mean", (1.0, 2.0, 3.0), 20.0),
        ("mean", (9.0, 1.0, 1.0, 1.0, 1.0, 1.0), 10.0),
        ("mean", (0.1,), 5.0),
        ("mean", (100.0,), 60.0),
        ("mean", (), 5.0),
        ("last", (9.0, 1.0, 2.0), 20.0),
        ("last", (0.0,), 5.0),
        ("last", (), 5.0),
        ("fixed", (9.0,), 5.0),
    ],
)
def test_the_model_sets_the_delay_between_floor_and_ceiling(
    model: Model, downloads: tuple[float, ...], expected: float
) -> None:
    assert politeness(model).delay(record(*downloads)) == pytest.approx(expected)


def test_factor_zero_leaves_the_floor() -> None:
    assert politeness(factor=0.0).delay(record(30.0)) == 5.0
    assert politeness(factor=0.0, unknown_delay=60.0).delay(record()) == 5.0


@each_row(
    ("model", "unknown", "expected"),
    [
        ("mean", 30.0, 30.0),
        ("last", 30.0, 30.0),
        ("fixed", 30.0, 5.0),
        ("mean", 90.0, 60.0),
        ("mean", 1.0, 5.0),
    ],
)
def test_a_pause_of_its_own_is_owed_while_no_download_time_is_known(
    model: Model, unknown: float, expected: float
) -> None:
    assert politeness(model, unknown_delay=unknown).delay(record()) == expected
    assert politeness(model, unknown_delay=unknown).delay(record(0.1)) == 5.0


def test_the_time_of_a_robots_txt_is_not_remembered() -> None:
    host = record()
    politeness(unknown_delay=12.0).fetched(host, NOW, NOW + 0.5, is_robots=True)
    assert (host.download_seconds, host.fetches) == ([], 1)
    assert host.next_fetch_at == NOW + 0.5 + 12.0
    politeness(unknown_delay=12.0).fetched(host, NOW + 20.0, NOW + 21.0)
    politeness(unknown_delay=12.0).fetched(host, NOW + 40.0, NOW + 44.0, is_robots=True)
    assert host.download_seconds == [1.0]
    assert host.delay_seconds == 10.0


def test_a_robots_txt_that_took_long_is_followed_by_a_long_pause() -> None:
    for seconds, expected in ((2.0, 20.0), (9.0, 60.0), (0.1, 5.0)):
        host = record()
        politeness().fetched(host, NOW, NOW + seconds, is_robots=True)
        assert host.delay_seconds == expected
    host = record()
    politeness("fixed").fetched(host, NOW, NOW + 9.0, is_robots=True)
    assert host.delay_seconds == 5.0


def test_the_floor_wins_over_a_lower_ceiling() -> None:
    assert politeness(min_delay=70.0, max_delay=60.0).delay(record(1.0)) == 70.0


@each_row(("asked", "expected"), [(2.0, 5.0), (7.5, 7.5), (120.0, 120.0), (300.0, 300.0)])
def test_crawl_delay_is_obeyed_in_full_beyond_the_ceiling(asked: float, expected: float) -> None:
    assert politeness().delay(record(0.1, crawl_delay=asked)) == expected
    assert not politeness().skips(record(crawl_delay=asked))


def test_crawl_delay_does_not_shorten_what_the_model_owes() -> None:
    assert politeness().delay(record(4.0, crawl_delay=6.0)) == 40.0


@pytest.mark.parametrize("asked", [300.1, 1e9, math.inf])
def test_a_host_that_asks_for_too_long_a_crawl_delay_is_skipped(asked: float) -> None:
    assert politeness().skips(record(crawl_delay=asked))
    assert politeness().delay(record(crawl_delay=asked)) == 300.0


def test_a_host_without_crawl_delay_is_not_skipped() -> None:
    assert not politeness().skips(record())


def test_the_clock_starts_when_the_response_has_ended() -> None:
    host = record()
    politeness().fetched(host, NOW, NOW + 2.0)
    assert host.next_fetch_at == NOW + 2.0 + 20.0
    assert host.delay_seconds == 20.0
    assert host.download_seconds == [2.0]
    assert host.fetches == 1


def test_the_clock_never_moves_back() -> None:
    host = record()
    host.next_fetch_at = NOW + 3600
    politeness().fetched(host, NOW, NOW + 1)
    assert host.next_fetch_at == NOW + 3600
    politeness().rest(host, NOW)
    assert host.next_fetch_at == NOW + 3600


def test_only_the_last_downloads_are_remembered() -> None:
    host = record()
    for n in range(9):
        politeness().fetched(host, NOW, NOW + n)
    assert host.download_seconds == [4.0, 5.0, 6.0, 7.0, 8.0]
    assert len(host.download_seconds) == REMEMBERED_DOWNLOADS
    assert host.fetches == 9


def test_after_a_crash_a_key_rests_as_long_as_it_was_owed() -> None:
    host = record()
    host.delay_seconds = 40.0
    politeness().rest(host, NOW)
    assert host.next_fetch_at == NOW + 40.0


def test_after_a_crash_a_key_rests_at_least_for_a_delay_that_has_grown() -> None:
    host = record(crawl_delay=90.0)
    host.delay_seconds = 5.0
    politeness().rest(host, NOW)
    assert host.next_fetch_at == NOW + 90.0


def test_a_download_that_ends_before_it_starts_is_not_remembered() -> None:
    host = record(2.0)
    politeness().fetched(host, NOW, NOW - 30.0)
    assert host.download_seconds == [2.0]
    assert host.fetches == 1
    assert host.next_fetch_at == NOW - 30.0 + 20.0


@settings(deadline=None)
@given(
    st.sampled_from(["mean", "last", "fixed"]),
    st.lists(any_time, max_size=REMEMBERED_DOWNLOADS),
    st.none() | any_time,
    any_time,
    any_time,
    any_time,
    st.booleans(),
)
def test_no_time_however_wrong_leads_outside_the_bounds(
    model: Model,
    downloads: list[float],
    asked: float | None,
    started_at: float,
    ended_at: float,
    now: float,
    robots: bool,
) -> None:
    policy = politeness(model)
    host = record(*downloads, crawl_delay=asked)
    host.next_fetch_at = NOW
    assert 5.0 <= policy.delay(host) <= 300.0
    policy.fetched(host, started_at, ended_at, is_robots=robots)
    policy.rest(host, now)
    assert 5.0 <= host.delay_seconds <= 300.0
    assert math.isfinite(host.next_fetch_at)
    assert host.next_fetch_at >= NOW
    assert len(host.download_seconds) <= REMEMBERED_DOWNLOADS


@settings(deadline=None)
@given(st.lists(st.tuples(sane_time, st.floats(min_value=0, max_value=600)), max_size=8))
def test_the_next_fetch_is_never_earlier_than_the_floor_after_the_end(
    fetches: list[tuple[float, float]],
) -> None:
    policy = politeness()
    host = record()
    for started_at, seconds in fetches:
        policy.fetched(host, started_at, started_at + seconds)
        assert host.next_fetch_at >= started_at + seconds + 5.0
    assert host.fetches == len(fetches)
