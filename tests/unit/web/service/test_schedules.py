"""The rules by which a schedule starts."""

from __future__ import annotations

import json
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from tests.rows import each_row
from webcrawl.web.service.schedules import (
    RUNS_MAX,
    Overlap,
    Repetition,
    RunOutcome,
    Schedule,
    ScheduledOrder,
    ScheduledRun,
    add_run,
    as_text,
    decide,
    due_starts,
    read,
    schedule_problems,
)

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
MIDNIGHT = 1_790_000_000 // DAY * DAY
"""Of a day in UTC."""


def schedule(**values):
    given = {"name": "news", "order": ScheduledOrder("broad"), "cron": "0 * * * *", "zone": "UTC", **values}
    return Schedule(**given)


@each_row(
    ("cron", "window", "next_at", "now", "planned_at", "missed", "then"),
    [
        # Nothing is due.
        ("0 * * * *", HOUR, HOUR, HOUR - 0.1, None, None, None),
        # In time, and a moment late.
        ("0 * * * *", HOUR, HOUR, HOUR, HOUR, (), 2 * HOUR),
        ("0 * * * *", MINUTE, HOUR, HOUR + 59.9, HOUR, (), 2 * HOUR),
        # Late by the whole window, and by more.
        ("0 5 * * *", HOUR, 5 * HOUR, 6 * HOUR, 5 * HOUR, (), DAY + 5 * HOUR),
        ("0 5 * * *", HOUR, 5 * HOUR, 6 * HOUR + 1, None, (5 * HOUR,), DAY + 5 * HOUR),
        # Several were missed: the last one is made up for, the others are not.
        ("*/15 * * * *", HOUR, 0.0, 50 * MINUTE, 45 * MINUTE, (0.0, 15 * MINUTE, 30 * MINUTE), HOUR),
        ("*/30 * * * *", MINUTE, 0.0, 50 * MINUTE, None, (0.0, 30 * MINUTE), HOUR),
    ],
)
def test_what_is_due(cron, window, next_at, now, planned_at, missed, then):
    tested = schedule(cron=cron, window_seconds=int(window), next_at=MIDNIGHT + next_at)
    due = due_starts(tested, MIDNIGHT + now)
    if missed is None:
        assert due is None
        return
    assert due.planned_at == (None if planned_at is None else MIDNIGHT + planned_at)
    assert due.missed == tuple(MIDNIGHT + at for at in missed)
    assert due.next_at == MIDNIGHT + then


@pytest.mark.parametrize("window", [MINUTE, DAY])
def test_after_years_without_a_service_the_last_start_is_made_up_for(window):
    tested = schedule(cron="* * * * *", window_seconds=int(window), next_at=MIDNIGHT)
    now = MIDNIGHT + 900 * DAY + 30
    due = due_starts(tested, now)
    assert (due.planned_at, due.next_at) == (now - 30, now + 30)
    assert 10_000 <= len(due.missed) <= 12_000


def test_a_missing_hour_and_an_hour_that_occurs_twice_start_once():
    berlin = ZoneInfo("Europe/Berlin")
    for day in ("2026-03-28", "2026-10-24"):
        now = datetime.fromisoformat(f"{day}T12:00").replace(tzinfo=berlin).timestamp()
        tested = schedule(cron="30 2 * * *", zone="Europe/Berlin")
        tested.plan(now)
        starts = []
        for second in range(0, 30 * 3600, 30):
            if (due := due_starts(tested, now + second)) is not None:
                starts.append(datetime.fromtimestamp(due.planned_at, berlin))
                tested.next_at = due.next_at
        assert len(starts) == 1


def test_a_paused_schedule_starts_nothing():
    tested = schedule(is_enabled=False)
    tested.plan(MIDNIGHT)
    assert tested.next_at is None
    assert due_starts(tested, MIDNIGHT + 900 * DAY) is None


@each_row(
    ("overlap", "going", "waits", "outcome"),
    [
        (Overlap.SKIP, None, False, RunOutcome.STARTING),
        (Overlap.QUEUE, None, False, RunOutcome.STARTING),
        (Overlap.SKIP, "news-1", False, RunOutcome.SKIPPED),
        (Overlap.QUEUE, "news-1", False, RunOutcome.QUEUED),
        (Overlap.QUEUE, "news-1", True, RunOutcome.SKIPPED),
    ],
)
def test_what_a_start_does_while_the_last_crawl_is_going(overlap, going, waits, outcome):
    runs = [ScheduledRun(MIDNIGHT, MIDNIGHT, RunOutcome.QUEUED)] if waits else []
    assert decide(schedule(overlap=overlap, runs=runs), going)[0] is outcome


def test_skipped_starts_in_a_row_are_one_line():
    tested = schedule()
    for minute in range(5):
        at = MIDNIGHT + minute * 60
        add_run(tested, ScheduledRun(at, at + 1, RunOutcome.SKIPPED, "news-1 was still going"))
    [run] = tested.runs
    assert (run.planned_at, run.last_at, run.count) == (MIDNIGHT, MIDNIGHT + 240, 5)
    add_run(tested, ScheduledRun(MIDNIGHT, MIDNIGHT, RunOutcome.SKIPPED, "news-2 was still going"))
    add_run(tested, ScheduledRun(MIDNIGHT, MIDNIGHT, RunOutcome.STARTED))
    add_run(tested, ScheduledRun(MIDNIGHT, MIDNIGHT, RunOutcome.STARTED))
    assert len(tested.runs) == 4


def test_old_runs_are_forgotten_but_not_those_that_are_not_over():
    tested = schedule()
    add_run(tested, ScheduledRun(0.0, 0.0, RunOutcome.STARTED, crawl="first"))
    for number in range(200):
        add_run(tested, ScheduledRun(number, number, RunOutcome.ENDED, crawl=f"c{number}"))
    assert len(tested.runs) == RUNS_MAX
    assert tested.runs[0].crawl == "first"
    assert tested.runs[-1].crawl == "c199"


def test_the_crawls_of_a_schedule_have_the_time_in_their_names():
    at = datetime.fromisoformat("2026-10-25T02:30:00+02:00").timestamp()
    assert schedule().crawl_name(at) == "news-20261025T003000Z"
    assert schedule(repetition=Repetition.RESUME).crawl_name(at) == "news"
    longest = schedule(name="a" * 46)
    assert schedule_problems(longest) == []
    assert len(longest.crawl_name(at)) == 63


def test_a_schedule_is_read_as_it_was_written():
    tested = schedule(
        order=ScheduledOrder("broad", ("http://a.test/",), {"stay": "host"}, {"DEPTH_LIMIT": "3"}),
        repetition=Repetition.RESUME,
        overlap=Overlap.QUEUE,
        next_at=MIDNIGHT,
        runs=[ScheduledRun(MIDNIGHT, MIDNIGHT, RunOutcome.ENDED, "finished", "news", ended_at=MIDNIGHT + 5)],
    )
    assert read(as_text(tested)) == tested
    copy = tested.copy()
    copy.runs[0].outcome = RunOutcome.FAILED
    assert tested.runs[0].outcome is RunOutcome.ENDED


@each_row(
    "change",
    [{"cron": "x"}, {"zone": "Mars"}, {"name": ".a"}, {"overlap": "x"}, {"runs": [{"a": 1}]}, {"order": {}}],
)
def test_something_else_is_refused(change):
    values = json.loads(as_text(schedule())) | change
    with pytest.raises(ValueError, match=r".+"):
        read(json.dumps(values).encode())


def test_all_problems_are_named_at_once():
    names = [
        problem.name for problem in schedule_problems(schedule(name="a" * 47, cron="* *", zone="Berlin"))
    ]
    assert names == ["name", "zone", "cron"]
