"""A page's history is short, loses nothing between visits, and takes each visit once."""

from __future__ import annotations

import random

import pytest

from tests.rows import each_row
from webcrawl.features.revisits.estimate import DATED_FROM_SECONDS, MEMORY_VISITS, History
from webcrawl.features.revisits.page import modified_at

T0 = 1_790_000_000.0
DAY = 86_400.0
HTTP_T0 = "Mon, 21 Sep 2026 14:13:20 GMT"


def visited(*visits: tuple[float, bool], first: float = 0.0) -> History:
    """Visits at days after T0, each with whether a change was found."""
    history = History.first(T0 + first)
    for day, changed in visits:
        history = history.visited(T0 + day * DAY, changed)
    return history


def test_visits_and_changes_are_counted() -> None:
    history = visited((1, False), (3, True), (4, False))
    assert (history.visits, history.changes, history.first_at, history.last_at) == (4, 1, T0, T0 + 4 * DAY)
    assert history.changed_at == T0 + 3 * DAY
    assert history.interval_seconds == DAY
    assert history.quiet_seconds == 2 * DAY
    assert sum(history.changed_within.values()) == pytest.approx(1)
    assert not history.has_just_changed
    assert visited((1, True)).has_just_changed


def test_an_interval_between_two_powers_is_divided_among_them() -> None:
    history = History.first(T0).visited(T0 + 2.0**16.25, True)
    assert history.changed_within == {16: 0.75, 17: 0.25}
    assert History.first(T0).visited(T0 + 0.5, True).changed_within == {4: 1.0}
    assert History.first(T0).visited(T0 + 2.0**31, True).changed_within == {30: 1.0}


def test_a_visit_that_is_told_twice_counts_once() -> None:
    history = visited((1, True))
    assert history.visited(T0 + DAY, True) is history
    assert history.visited(T0, True) is history


@each_row("seed", range(20))
def test_the_text_is_short_and_has_everything(seed: int) -> None:
    draw = random.Random(seed)
    history = History.first(T0 + draw.random(), draw.choice([None, T0 - DAY * draw.random() * 900]))
    for _ in range(300):
        at = history.last_at + 2 ** draw.uniform(2, 29)
        history = history.visited(at, draw.random() < 0.5, draw.choice([None, at - draw.random() * 1e6]))
        assert History.of(history.text()) == history, f"seed {seed}"
    assert len(history.text()) <= 500, f"seed {seed}"


@each_row(
    "text",
    [
        "",
        "{}",
        "[]",
        "[1,2]",
        '["a",1,1,1,1,1,1,1,1,1,[]]',
        "[1,1,1,1,1,1,1,1,1,1,[1]]",
        "[1,1,1,1,1,1,1,1,1,1,[3,1]]",
        "[1,1,null,1,1,1,1,1,1,1,[]]",
        "[1,1,1,1,1,1,1,1,1,1,1]",
    ],
)
def test_what_is_no_history_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # json's own is one too
        History.of(text)


def test_what_was_seen_fades() -> None:
    history = History.first(T0)
    for day in range(1, 2000):
        history = history.visited(T0 + day * DAY, day < 1000)
    assert (history.visits, history.changes) == (2000, 999)
    assert history.quiet_seconds == pytest.approx(MEMORY_VISITS * DAY, rel=0.01)
    assert history.changed_within == {}


def test_a_change_with_a_date_leaves_the_quiet_after_it() -> None:
    history = History.first(T0).visited(T0 + 10 * DAY, True, T0 + 7 * DAY)
    assert (history.dated, history.quiet_seconds, history.changed_within) == (1, 3 * DAY, {})
    assert history.is_dated


def test_a_date_that_contradicts_the_page_is_false_and_is_not_believed_any_more() -> None:
    moved = History.first(T0).visited(T0 + 10 * DAY, False, T0 + 7 * DAY)
    stale = History.first(T0).visited(T0 + 10 * DAY, True, T0 - 7 * DAY)
    assert (moved.misdated, moved.quiet_seconds) == (1, 10 * DAY)
    assert (stale.misdated, stale.dated, sum(stale.changed_within.values())) == (1, 0, pytest.approx(1))
    later = moved.visited(T0 + 20 * DAY, True, T0 + 17 * DAY)
    assert not later.is_dated
    assert (later.dated, sum(later.changed_within.values())) == (0, pytest.approx(1))
    for day in range(30, 400):
        later = later.visited(T0 + day * DAY, False)
    assert later.is_dated


def test_a_date_of_the_response_itself_says_nothing() -> None:
    at = T0 + 10 * DAY
    history = History.first(T0, T0 - 1).visited(at, True, at - DATED_FROM_SECONDS / 2)
    assert (history.modified_seconds, history.dated, history.misdated) == (None, 0, 0)
    assert History.first(T0, T0 - 5 * DAY).modified_seconds == 5 * DAY


def test_the_date_of_a_modification_is_read_by_the_servers_own_clock() -> None:
    assert modified_at(HTTP_T0, None, T0 + 100) == T0
    assert modified_at(HTTP_T0, "Mon, 21 Sep 2026 14:14:20 GMT", T0 + 3600) == T0 + 3540
    assert modified_at(HTTP_T0, None, T0 - 100) is None
    assert modified_at("Thu, 01 Jan 1970 00:00:00 GMT", None, T0) is None
    assert modified_at("yesterday", HTTP_T0, T0) is None
    assert modified_at(HTTP_T0, "today", T0 + 50) == T0
    assert modified_at(None, HTTP_T0, T0) is None
