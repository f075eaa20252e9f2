from __future__ import annotations

import pytest

from webcrawl.reports.text import moment, read_moment, second

AT = 1_772_368_496.7896


def test_moments_are_told_in_utc() -> None:
    assert moment(AT) == "2026-03-01 12:34:56.789"
    assert second(AT) == "2026-03-01 12:34:56"
    assert moment(0) == "1970-01-01 00:00:00.000"


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "1772368496", "1.3.2026"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_moment(text)
