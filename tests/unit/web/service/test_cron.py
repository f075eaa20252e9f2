"""The times of cron expressions, also where clocks change."""

from __future__ import annotations

import random
import re
from datetime import datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from tests.rows import each_row
from webcrawl.web.service.cron import CronTimes, zones

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
# In 2026 clocks change in Berlin on 29 March (02:00 becomes 03:00) and 25 October (03:00 becomes 02:00), in New York
# on 8 March (02:00 becomes 03:00) and 1 November (02:00 becomes 01:00).
TIMES = [
    ("0 5 * * *", "UTC", "2026-01-30T05:00", ["2026-01-31T05:00+00:00", "2026-02-01T05:00+00:00"]),
    ("*/20 9-10 * * *", "UTC", "2026-01-30T10:30", ["2026-01-30T10:40+00:00", "2026-01-31T09:00+00:00"]),
    ("0 0 1 */3 *", "UTC", "2026-02-01T00:00", ["2026-04-01T00:00+00:00", "2026-07-01T00:00+00:00"]),
    ("30 8 * * MON-FRI", "UTC", "2026-01-30T09:00", ["2026-02-02T08:30+00:00", "2026-02-03T08:30+00:00"]),
    ("0 12 13 * FRI", "UTC", "2026-02-07T00:00", ["2026-02-13T12:00+00:00", "2026-02-20T12:00+00:00"]),
    ("0 0 29 2 *", "UTC", "2026-01-01T00:00", ["2028-02-29T00:00+00:00", "2032-02-29T00:00+00:00"]),
    ("0 0 L * *", "UTC", "2026-02-01T00:00", ["2026-02-28T00:00+00:00", "2026-03-31T00:00+00:00"]),
    ("0 0 * * 7", "UTC", "2026-01-30T00:00", ["2026-02-01T00:00+00:00", "2026-02-08T00:00+00:00"]),
    # An hour that is missing.
    ("30 2 * * *", BERLIN, "2026-03-28T12:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]),
    ("0 2 * * *", BERLIN, "2026-03-28T12:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:00+02:00"]),
    ("*/30 2 * * *", BERLIN, "2026-03-28T12:00", ["2026-03-29T03:00+02:00", "2026-03-30T02:00+02:00"]),
    ("0 */2 * * *", BERLIN, "2026-03-29T00:30", ["2026-03-29T03:00+02:00", "2026-03-29T04:00+02:00"]),
    ("0,30 2,3 * * *", BERLIN, "2026-03-29T00:00", ["2026-03-29T03:00+02:00", "2026-03-29T03:30+02:00"]),
    ("0 * * * *", BERLIN, "2026-03-29T00:30", ["2026-03-29T01:00+01:00", "2026-03-29T03:00+02:00"]),
    ("*/30 * * * *", BERLIN, "2026-03-29T01:10", ["2026-03-29T01:30+01:00", "2026-03-29T03:00+02:00"]),
    ("0 5 * * *", BERLIN, "2026-03-28T12:00", ["2026-03-29T05:00+02:00", "2026-03-30T05:00+02:00"]),
    ("30 2 * * *", NEW_YORK, "2026-03-07T12:00", ["2026-03-08T03:00-04:00", "2026-03-09T02:30-04:00"]),
    ("*/15 2 * * SUN", NEW_YORK, "2026-03-07T12:00", ["2026-03-08T03:00-04:00", "2026-03-15T02:00-04:00"]),
    ("0 * * * *", NEW_YORK, "2026-03-08T01:00", ["2026-03-08T03:00-04:00", "2026-03-08T04:00-04:00"]),
    # An hour that occurs twice.
    ("30 2 * * *", BERLIN, "2026-10-24T12:00", ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
    ("*/30 2 * * *", BERLIN, "2026-10-25T02:10", ["2026-10-25T02:30+02:00", "2026-10-26T02:00+01:00"]),
    ("0 */2 * * *", BERLIN, "2026-10-25T01:00", ["2026-10-25T02:00+02:00", "2026-10-25T04:00+01:00"]),
    ("0 3 * * *", BERLIN, "2026-10-25T01:00", ["2026-10-25T03:00+01:00", "2026-10-26T03:00+01:00"]),
    ("0 * * * *", BERLIN, "2026-10-25T01:00", ["2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00"]),
    ("30 1 * * *", NEW_YORK, "2026-10-31T12:00", ["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"]),
    ("45 * * * *", NEW_YORK, "2026-11-01T01:00", ["2026-11-01T01:45-04:00", "2026-11-01T01:45-05:00"]),
    ("0 6 1 11 *", NEW_YORK, "2026-10-31T12:00", ["2026-11-01T06:00-05:00", "2027-11-01T06:00-04:00"]),
    # A midnight that is missing: 24 April 2026 begins at 01:00 in Cairo.
    ("0 0 * * *", "Africa/Cairo", "2026-04-23T12:00", ["2026-04-24T01:00+03:00", "2026-04-25T00:00+03:00"]),
    # Half an hour: Lord Howe puts its clocks back by it on 5 April 2026, at 02:00.
    (
        "45 1 * * *",
        "Australia/Lord_Howe",
        "2026-04-04T12:00",
        ["2026-04-05T01:45+11:00", "2026-04-06T01:45+10:30"],
    ),
]


@each_row(("expression", "zone", "after", "expected"), TIMES)
def test_the_next_times(expression, zone, after, expected):
    at = datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(zone)).timestamp()
    times = islice(CronTimes(expression, zone).after(at), len(expected))
    shown = [datetime.fromtimestamp(time, ZoneInfo(zone)).isoformat(timespec="minutes") for time in times]
    assert shown == expected


def test_from_the_second_of_two_equal_hours_no_time_is_taken_again():
    """45 2 was at the first 02:45, an hour before the second one."""
    second = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo(BERLIN), fold=1).timestamp()
    following = CronTimes("45 2 * * *", BERLIN).first_after(second)
    assert datetime.fromtimestamp(following, ZoneInfo(BERLIN)).isoformat() == "2026-10-26T02:45:00+01:00"


@each_row(
    ("expression", "zone"), [("*/7 1-3 * * *", BERLIN), ("*/20 * * * *", BERLIN), ("30 1,2 * * *", NEW_YORK)]
)
@each_row("day", ["2026-03-29", "2026-10-25", "2026-03-08", "2026-11-01"])
def test_the_times_are_the_same_from_wherever_they_are_asked(expression, zone, day):
    begin = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone)).timestamp() - 3600
    times = CronTimes(expression, zone)
    whole = list(islice(times.after(begin), 400))
    assert whole == sorted(set(whole))
    for at in range(int(begin), int(begin + 7 * 3600), 300):
        assert times.first_after(at) == next(time for time in whole if time > at)


@each_row(
    ("expression", "reason"),
    [
        ("* * * *", "must have five fields (minute, hour, day of the month, month, day of the week), not 4"),
        (
            "0 * * * * *",
            "must have five fields (minute, hour, day of the month, month, day of the week), not 6",
        ),
        ("@daily", "must have five fields (minute, hour, day of the month, month, day of the week), not 1"),
        ("60 * * * *", "has a wrong minute"),
        ("*/0 * * * *", "has a wrong minute"),
        ("* 24 * * *", "has a wrong hour"),
        ("0 0 30 2 *", "has a wrong day of the month"),
        ("0 0 * 13 *", "has a wrong month"),
        ("0 0 * * MON#6", "has a wrong day of the week"),
        ("٣ * * * *", "must have at most 100 characters, all of them ASCII"),
        (f"{'1,' * 60}1 * * * *", "must have at most 100 characters, all of them ASCII"),
    ],
)
def test_a_wrong_expression_has_a_reason(expression, reason):
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        CronTimes(expression, "UTC")


@each_row("zone", ["", "Europe", "../../etc/passwd", "/etc/localtime", "localtime", "europe/berlin"])
def test_a_wrong_zone_is_refused(zone):
    with pytest.raises(ValueError, match="is no time zone; give a name such as UTC or Europe/Berlin"):
        CronTimes("* * * * *", zone)
    assert {"UTC", BERLIN, NEW_YORK} <= zones()


def test_any_text_is_an_expression_or_a_reason():
    chance = random.Random(3)
    right = 0
    parts = ["*", "*", "*/2", "1", "5", "1-3", "1,2", "L", "LW", "MON", "5L", "MON#1", "/", "#", "-", "0"]

    def generated():
        return chance.choice(parts) if chance.random() < 0.9 else "".join(chance.choices(parts, k=2))

    for _ in range(2000):
        text = " ".join(generated() for _ in range(5))
        try:
            times = CronTimes(text, BERLIN)
        except ValueError:
            continue
        right += 1
        assert times.meaning
        assert times.first_after(0) is None or times.first_after(0) > 0
    assert right > 30
