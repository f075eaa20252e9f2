"""What visits make of a page: of one that comes, that is the same, that is gone, that fails."""

from dataclasses import replace

import pytest

from tests.rows import each_row
from webcrawl.features.revisits.page import Visit, VisitOutcome
from webcrawl.features.revisits.policies import FixedPolicy, Pace
from webcrawl.features.revisits.visits import (
    DAY_SECONDS,
    FAILED_MAX,
    HOUR_SECONDS,
    LONGEST_WAIT_SECONDS,
    VisitRules,
    after,
)

NOW = 1_700_000_000.0
RULES = VisitRules(FixedPolicy(Pace(interval_seconds=10 * DAY_SECONDS)), gone_max=3)
FIRST = Visit(
    "h.test",
    7,
    "http://h.test/",
    NOW,
    VisitOutcome.CAME,
    b"one",
    '"1"',
    "then",
    depth=2,
    via="v",
    payload="{}",
)


def visit(seconds, finding=VisitOutcome.CAME, **more):
    plain = Visit("h.test", 7, "http://h.test/", NOW + seconds, finding)
    return replace(plain, **more)


def page_after(*visits):
    page = None
    for one in visits:
        page = after(page, one, one.at + 1, RULES)
    return page


def test_a_page_that_comes_is_remembered_with_what_is_sent_back():
    page = page_after(FIRST)
    assert (page.id, page.url, page.depth, page.via, page.payload) == (FIRST.id, FIRST.url, 2, "v", "{}")
    assert (page.digest, page.etag, page.last_modified, page.came_at) == (b"one", '"1"', "then", NOW)
    assert page.next_visit_at == NOW + 1 + 10 * DAY_SECONDS
    assert (page.history.visits, page.history.changes) == (1, 0)


@each_row("finding", list(VisitOutcome))
def test_what_never_came_is_not_remembered(finding):
    assert page_after(visit(0, finding)) is None


def test_another_content_is_a_change_and_takes_the_place_of_the_last():
    page = page_after(FIRST, visit(50, digest=b"two", etag='"2"'))
    assert (page.history.visits, page.history.changes) == (2, 1)
    assert (page.digest, page.etag, page.last_modified, page.came_at) == (b"two", '"2"', None, NOW + 50)


@pytest.mark.parametrize("digest", [b"one", None])
def test_the_same_content_and_a_304_are_visits_without_a_change(digest):
    page = page_after(FIRST, visit(50, digest=digest))
    assert (page.history.visits, page.history.changes, page.digest) == (2, 0, b"one")


def test_a_304_keeps_the_validators_that_it_does_not_repeat_and_the_time_of_the_content():
    page = page_after(FIRST, visit(50, etag='"1b"'))
    assert (page.etag, page.last_modified, page.came_at) == ('"1b"', "then", NOW)


def test_a_visit_that_is_told_twice_counts_once():
    change = visit(50, digest=b"two")
    assert page_after(FIRST, change, change) == page_after(FIRST, change)
    gone = visit(-1, VisitOutcome.GONE)
    assert page_after(FIRST, gone) == page_after(FIRST)


def test_a_page_that_is_gone_is_asked_for_later_and_later_and_then_forgotten():
    gone = [visit(50 + number, VisitOutcome.GONE) for number in range(3)]
    waits = [page_after(FIRST, *gone[:count]).next_visit_at - gone[count - 1].at - 1 for count in (1, 2)]
    assert waits == [DAY_SECONDS, 2 * DAY_SECONDS]
    assert page_after(FIRST, *gone) is None


def test_a_page_that_came_back_is_as_any_other():
    page = page_after(
        FIRST, visit(1, VisitOutcome.GONE), visit(2, VisitOutcome.GONE), visit(3, digest=b"one")
    )
    assert (page.gone, page.failed, page.history.visits) == (0, 0, 2)


def test_failures_do_not_touch_the_history_and_are_tried_again_soon():
    failed = [visit(50 + number, VisitOutcome.FAILED) for number in range(FAILED_MAX)]
    pages = [page_after(FIRST, *failed[:count]) for count in range(1, FAILED_MAX)]
    waits = [page.next_visit_at - one.at - 1 for page, one in zip(pages, failed, strict=False)]
    assert waits[:3] == [HOUR_SECONDS, 2 * HOUR_SECONDS, 4 * HOUR_SECONDS]
    assert waits[-1] == LONGEST_WAIT_SECONDS
    assert pages[-1].history == page_after(FIRST).history
    assert page_after(FIRST, *failed) is None


def test_what_is_refused_waits_a_day_first():
    page = page_after(FIRST, visit(50, VisitOutcome.REFUSED))
    assert page.next_visit_at == NOW + 51 + DAY_SECONDS


def test_what_the_archive_had_already_is_confirmed_where_it_lies():
    page = page_after(FIRST, visit(50, digest=b"one", stored_at=NOW))
    assert (page.came_at, page.history.last_at) == (NOW, NOW + 50)


FLOORS = [
    # fresh by its header fields, the longest time that counts, seconds from the visit to the next
    (None, 7 * DAY_SECONDS, 1.0 + HOUR_SECONDS),
    (0.0, 7 * DAY_SECONDS, 1.0 + HOUR_SECONDS),
    (60.0, 7 * DAY_SECONDS, 1.0 + HOUR_SECONDS),
    (DAY_SECONDS, 7 * DAY_SECONDS, DAY_SECONDS),
    (3650 * DAY_SECONDS, 7 * DAY_SECONDS, 7 * DAY_SECONDS),
    (DAY_SECONDS, 0.0, 1.0 + HOUR_SECONDS),
]


@each_row(("fresh", "longest", "seconds"), FLOORS)
def test_a_page_is_not_due_while_its_header_fields_call_it_fresh(fresh, longest, seconds):
    rules = VisitRules(FixedPolicy(Pace(HOUR_SECONDS)), 3, longest)
    first = replace(FIRST, fresh_seconds=fresh)
    page = after(None, first, first.at + 1, rules)
    assert page.next_visit_at == NOW + seconds
    again = after(page, visit(9e5, digest=b"two", fresh_seconds=fresh), NOW + 9e5 + 1, rules)
    assert again.next_visit_at == NOW + 9e5 + seconds


def test_a_304_without_the_fields_leaves_those_of_the_content_in_force():
    rules = VisitRules(FixedPolicy(Pace(HOUR_SECONDS)))
    page = after(None, replace(FIRST, fresh_seconds=DAY_SECONDS), NOW + 1, rules)
    confirmed = after(page, visit(9e5), NOW + 9e5 + 1, rules)
    assert (confirmed.fresh_seconds, confirmed.next_visit_at) == (DAY_SECONDS, NOW + 9e5 + DAY_SECONDS)
    said = after(page, visit(9e5, fresh_seconds=7200.0), NOW + 9e5 + 1, rules)
    assert (said.fresh_seconds, said.next_visit_at) == (7200.0, NOW + 9e5 + 7200.0)
    changed = after(page, visit(9e5, digest=b"two"), NOW + 9e5 + 1, rules)
    assert (changed.fresh_seconds, changed.next_visit_at) == (None, NOW + 9e5 + 1 + HOUR_SECONDS)
