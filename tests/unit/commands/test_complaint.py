"""The letter to a site owner: periods and pauses as people read them."""

from __future__ import annotations

from tests.unit.reports.log_lines import DAY, T0, request
from webcrawl.audit.complaint import Complaint
from webcrawl.commands.complaint import ComplaintFacts, as_lines


def told(*starts: float) -> str:
    complaint = Complaint("a.test", T0, T0 + 30 * DAY, 10)
    for start in starts:
        complaint.take(request(start))
    return "\n".join(as_lines(complaint, ComplaintFacts("bot/1", T0, T0 + 30 * DAY)))


def test_a_short_pause_is_told_to_the_millisecond_and_a_long_one_in_days() -> None:
    short, long = told(0, 5.75), told(0, 2 * DAY + 0.5)
    assert "rate    at most 2 in a minute (from 2026-09-21 14:13:20), one every 5.75 s on average" in short
    assert "pause   5.250 s at least" in short
    assert ", one every 2 d 00 h on average" in long
    assert "pause   2 d 00 h at least" in long


def test_the_period_says_until_when() -> None:
    first = told(0).splitlines()[0]
    assert first.startswith(
        "Requests to a.test and its subdomains, from 2026-09-21 14:13:20 until 2026-10-21 14:13:20. "
    )
