"""Values that no setting may take while a crawl runs."""

from __future__ import annotations

import math

from tests.rows import each_row
from webcrawl.features.steering.live_settings import LIVE

NUMBERS = ("CLOSESPIDER_ITEMCOUNT", "CLOSESPIDER_ERRORCOUNT", "CLOSESPIDER_PAGECOUNT", "CLOSESPIDER_TIMEOUT")
HOSTILE = ("", " ", "-1", "nan", "inf", "-inf", "1e400", "9" * 400, "words", "²", "١", "\x00", "[1, 2]", "{}")


@each_row("name", ["LOG_LEVEL", *NUMBERS])
@each_row("value", HOSTILE)
def test_a_hostile_value_is_refused_with_what_is_allowed(name: str, value: str) -> None:
    item = LIVE[name]
    if (why := item.reader.problem(value)) is None:
        # Digits of other scripts are numbers for Python.
        assert value == "١"
        assert name != "LOG_LEVEL"
    else:
        assert item.reader.allowed in why


@each_row("name", list(LIVE))
@each_row("value", HOSTILE)
def test_no_number_that_is_taken_is_negative_or_endless(name: str, value: str) -> None:
    reader = LIVE[name].reader
    if reader.problem(value) is None and isinstance(read := reader.read(value), int | float):
        assert math.isfinite(read)
        assert read >= 0


@each_row("value", ["INFO", "DEBUG", "30", "100"])
def test_levels_are_taken(value: str) -> None:
    assert LIVE["LOG_LEVEL"].reader.problem(value) is None
