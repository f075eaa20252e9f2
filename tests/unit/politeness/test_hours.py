"""Hours of the day in a time zone: over midnight, and through the changes of summer time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows import each_row
from webcrawl.politeness.hours import FetchHours, Hours, HoursError, load_site_hours, read_hours

if TYPE_CHECKING:
    from pathlib import Path

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"


def at(text: str, zone: str = "UTC") -> float:
    """Epoch seconds of a time that the clocks of a zone show; a second ``+`` at its end: the second time."""
    moment = datetime.fromisoformat(text.rstrip("+")).replace(tzinfo=ZoneInfo(zone))
    return moment.replace(fold=text.endswith("+")).timestamp()


OPENINGS = [
    # hours, zone of the clocks, now, when requests may begin
    ("22-6", "UTC", "2026-11-28 21:59", "2026-11-28 22:00"),
    ("22-6", "UTC", "2026-11-28 22:00", None),
    ("22-6", "UTC", "2026-11-28 23:59:59", None),
    ("22-6", "UTC", "2026-11-29 00:00", None),
    ("22-6", "UTC", "2026-11-29 05:59:59", None),
    ("22-6", "UTC", "2026-11-29 06:00", "2026-11-29 22:00"),
    ("9-17", "UTC", "2026-11-28 03:00", "2026-11-28 09:00"),
    ("9-17", "UTC", "2026-11-28 17:00", "2026-11-29 09:00"),
    ("12:30-13,20-24", "UTC", "2026-11-28 12:00", "2026-11-28 12:30"),
    ("12:30-13,20-24", "UTC", "2026-11-28 13:00", "2026-11-28 20:00"),
    ("12:30-13,20-24", "UTC", "2026-11-28 23:59:59", None),
    ("12:30-13,20-24", "UTC", "2026-11-29 00:00", "2026-11-29 12:30"),
    ("0-24", "UTC", "2026-11-28 12:00", None),
    ("1:07-1:08", "UTC", "2026-11-28 12:00", "2026-11-29 01:07"),
    # In winter Berlin is an hour ahead, in summer two.
    ("22-6", BERLIN, "2026-11-28 21:00", "2026-11-28 22:00"),
    ("22-6", BERLIN, "2026-07-28 21:00", "2026-07-28 22:00"),
    # 29 March 2026: after 1:59:59 the clocks of Berlin show 3:00.
    ("2-3", BERLIN, "2026-03-29 01:59", "2026-03-30 02:00"),
    ("2:30-4", BERLIN, "2026-03-29 01:59", "2026-03-29 03:00"),
    ("22-6", BERLIN, "2026-03-28 12:00", "2026-03-28 22:00"),
    ("22-2:30", BERLIN, "2026-03-29 03:00", "2026-03-29 22:00"),
    ("22-2:30", BERLIN, "2026-03-29 01:59", None),
    # 25 October 2026: after 2:59:59 they show 2:00 again.
    ("2-3", BERLIN, "2026-10-25 01:00", "2026-10-25 02:00"),
    ("2-3", BERLIN, "2026-10-25 02:30", None),
    ("2-3", BERLIN, "2026-10-25 02:30+", None),
    ("2-3", BERLIN, "2026-10-25 03:00", "2026-10-26 02:00"),
    ("2:30-2:45", BERLIN, "2026-10-25 02:45", "2026-10-25 02:30+"),
    ("3-4", BERLIN, "2026-10-25 02:59+", "2026-10-25 03:00"),
    # 8 March and 1 November 2026.
    ("2-3", NEW_YORK, "2026-03-08 01:59", "2026-03-09 02:00"),
    ("1:30-4", NEW_YORK, "2026-03-08 03:00", None),
    ("2-4", NEW_YORK, "2026-03-08 01:00", "2026-03-08 03:00"),
    ("1-2", NEW_YORK, "2026-11-01 00:30", "2026-11-01 01:00"),
    ("1-2", NEW_YORK, "2026-11-01 01:59", None),
    ("1-2", NEW_YORK, "2026-11-01 01:00+", None),
    ("1-2", NEW_YORK, "2026-11-01 02:00", "2026-11-02 01:00"),
    ("20-4", NEW_YORK, "2026-11-01 03:59", None),
    ("20-4", NEW_YORK, "2026-11-01 04:00", "2026-11-01 20:00"),
    # By half an hour: 4 October 2026, after 1:59:59 comes 2:30.
    ("2-2:15", LORD_HOWE, "2026-10-04 01:00", "2026-10-05 02:00"),
    ("2:15-3", LORD_HOWE, "2026-10-04 01:00", "2026-10-04 02:30"),
]


@each_row(("hours", "zone", "now", "opens"), OPENINGS)
def test_requests_begin_within_the_hours_that_the_clocks_show(
    hours: str, zone: str, now: str, opens: str | None
) -> None:
    begun = at(now, zone)
    fetch_hours = FetchHours(read_hours(f"{hours}@{zone}"))
    assert fetch_hours.crawl_opens_at(begun) == (begun if opens is None else at(opens, zone))
    assert fetch_hours.opens_at("h.test", begun) == fetch_hours.crawl_opens_at(begun)


LENGTHS = [
    # A night of Berlin has eight hours, in spring seven and in autumn nine.
    ("22-6@Europe/Berlin", "2026-11-28 12:00", 8.0),
    ("22-6@Europe/Berlin", "2026-03-28 12:00", 7.0),
    ("22-6@Europe/Berlin", "2026-10-24 12:00", 9.0),
    ("22-6@America/New_York", "2026-03-07 12:00", 7.0),
    ("22-6@America/New_York", "2026-10-31 12:00", 9.0),
    ("22-6", "2026-10-24 12:00", 8.0),
]


@each_row(("text", "now", "length"), LENGTHS)
def test_a_night_is_as_long_as_the_clocks_make_it(text: str, now: str, length: float) -> None:
    hours = read_hours(text)
    opens = hours.changes_at(at(now, hours.zone))
    assert (hours.changes_at(opens) - opens) / 3600 == length


minutes = st.integers(0, 1440)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(minutes, minutes).filter(lambda span: span[0] != span[1]), min_size=1, max_size=3),
    st.sampled_from(["UTC", BERLIN, NEW_YORK, LORD_HOWE, "Asia/Kathmandu"]),
    st.integers(1_760_000_000, 1_800_000_000),
)
def test_between_two_changes_nothing_changes(spans: list[tuple[int, int]], zone: str, now: int) -> None:
    hours = Hours(tuple((start % 1440, end) for start, end in spans), zone)
    change = hours.changes_at(now)
    assert change > now
    begun = hours.is_open(now)
    assert all(hours.is_open(moment) == begun for moment in range(now, int(change), 61))
    if change - now < 2 * 86_400:
        assert hours.is_open(change) != begun


def test_hours_are_written_as_they_are_read() -> None:
    for text in ("22-6@Europe/Berlin", "12:30-13,20-24@America/New_York", "0-24@UTC"):
        assert str(read_hours(text)) == text
    assert str(read_hours(" 22 - 6 , 8:05-9 @ Europe/Berlin ")) == "22-6,8:05-9@Europe/Berlin"
    assert str(read_hours("24-6")) == "0-6@UTC"


WRONG = ["", "22", "22-", "22-6-8", "25-3", "3-25", "24:01-3", "2:60-3", "6-6", "0-0", "22-6@", "x" * 2000]
WRONG += [
    "22-6@Nowhere/City",
    "22-6@../../etc/passwd",
    "22-6@/etc/passwd",
    "22-6@Europe",
    "22\u20136",
    "\u0662-6",
]


@each_row("text", WRONG)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(HoursError, match="must be hours such as"):
        read_hours(text)


def test_hours_of_a_site_narrow_those_of_the_crawl_and_hold_for_all_below_it() -> None:
    night, late, morning = read_hours("22-6"), read_hours("0-4"), read_hours("8-9")
    hours = FetchHours(night, {"site.test": (late,), "never.test": (morning,)})
    now = at("2026-11-28 23:00")
    assert hours.opens_at("other.test", now) == now
    assert hours.opens_at("site.test", now) == hours.opens_at("a.b.site.test", now) == at("2026-11-29 00:00")
    assert hours.opens_at("mysite.test", now) == now
    assert hours.opens_at("site.test", at("2026-11-29 05:00")) == at("2026-11-30 00:00")
    assert hours.opens_at("never.test", now) > now + 30 * 86_400
    assert hours.in_words("www.site.test") == "22-6@UTC and 0-4@UTC"


def test_hours_are_equal_if_what_they_say_is() -> None:
    one, other = FetchHours(read_hours("1-2")), FetchHours(read_hours("1-2"))
    one.crawl_opens_at(0.0)
    assert one == other
    assert one != FetchHours(read_hours("1-3"))
    assert not FetchHours()


def test_a_file_has_the_hours_of_sites(tmp_path: Path) -> None:
    path = tmp_path / "hours"
    path.write_text("# by their owners' wish\n22-6@Europe/Berlin  Museum.example *.shop.example  # both\n")
    with path.open("a") as file:
        file.write("0-4 www.museum.example\n")
    night, late = read_hours("22-6@Europe/Berlin"), read_hours("0-4")
    assert load_site_hours(path, str) == {
        "museum.example": (night,),
        "shop.example": (night,),
        "www.museum.example": (late,),
    }
    by_domain = load_site_hours(path, lambda host: host.removeprefix("www."))
    assert by_domain["museum.example"] == (night, late)


def test_wrong_lines_of_a_file_are_all_named(tmp_path: Path) -> None:
    path = tmp_path / "hours"
    path.write_text("22-6@Nowhere/City a.test\n22-6\n22-6 a.test b/c\n22-6 good.test\n")
    with pytest.raises(HoursError) as caught:
        load_site_hours(path, str)
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert "no time zone Nowhere/City is known here" in lines[0]
    assert "one or more sites" in lines[1]
    assert "'b/c' is no domain" in lines[2]
    with pytest.raises(HoursError, match="cannot be read"):
        load_site_hours(tmp_path / "none", str)
