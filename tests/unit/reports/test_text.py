"""Numbers and moments as people read them."""

from __future__ import annotations

import pytest

from tests.rows import each_row
from webcrawl.reports import text as units
from webcrawl.reports.text import moment, read_moment, second

AT = 1_772_368_496.7896


@each_row(
    ("number", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (23_400_000, "23.4 MB"),
        (99_940, "99.9 kB"),
        (123_456, "123 kB"),
        (999_600, "1.0 MB"),
        (5e18, "5,000.0 PB"),
    ],
)
def test_sizes_have_three_figures_and_a_unit(number: float, text: str) -> None:
    assert units.size(number) == text


@each_row(
    ("seconds", "text"),
    [
        (-1, "0.0 s"),
        (8.24, "8.2 s"),
        (59.96, "1 min 00 s"),
        (185, "3 min 05 s"),
        (3600, "1 h 00 min"),
        (7799, "2 h 09 min"),
        (356_400, "4 d 03 h"),
    ],
)
def test_durations_have_their_two_largest_units(seconds: float, text: str) -> None:
    assert units.duration(seconds) == text


@each_row(("per_second", "text"), [(0, "0/s"), (1234.5, "1,234/s"), (9.9, "9.9/s"), (0.05, "3.0/min")])
def test_rates_of_slow_crawls_are_by_the_minute(per_second: float, text: str) -> None:
    assert units.rate(per_second) == text


def test_counts_are_grouped() -> None:
    assert units.count(1_234_567) == "1,234,567"


@pytest.mark.parametrize(("number", "text"), [(0, "0 workers"), (1, "1 worker"), (1234, "1,234 workers")])
def test_of_one_thing_there_is_one(number: int, text: str) -> None:
    assert units.things(number, "worker") == text


def test_moments_are_told_in_utc() -> None:
    assert moment(AT) == "2026-03-01 12:34:56.789"
    assert second(AT) == "2026-03-01 12:34:56"
    assert moment(0) == "1970-01-01 00:00:00.000"


@each_row(
    ("text", "ends", "told"),
    [
        ("2026-03-01", False, "2026-03-01 00:00:00"),
        ("2026-03-01", True, "2026-03-02 00:00:00"),
        ("20260301", True, "2026-03-02 00:00:00"),
        ("2026-03-01T12:30", True, "2026-03-01 12:30:00"),
        ("2026-03-01 12:30:05", False, "2026-03-01 12:30:05"),
        ("2026-03-01T12:30:00+02:00", False, "2026-03-01 10:30:00"),
        ("2026-03-01T12:30:00Z", False, "2026-03-01 12:30:00"),
    ],
)
def test_a_date_is_a_day_and_a_time_is_utc(text: str, ends: bool, told: str) -> None:
    assert second(read_moment(text, ends=ends)) == told


@each_row("text", ["", "yesterday", "2026-13-01", "1772368496", "1.3.2026"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_moment(text)
