"""When a page is due, by the policies that look at nothing but the page."""

from __future__ import annotations

from tests.rows import each_row
from webcrawl.features.revisits.estimate import History
from webcrawl.features.revisits.policies import FixedPolicy, MultiplicativePolicy, Pace

T0 = 1_790_000_000.0
HOUR = 3600.0
PACE = Pace(interval_seconds=24 * HOUR, least_seconds=HOUR, most_seconds=100 * HOUR, faster=0.5, slower=2.0)
ONCE = History.first(T0)


def test_fixed_is_the_same_for_all() -> None:
    policy = FixedPolicy(PACE)
    assert policy.next_visit_at(ONCE, T0 + 5) == T0 + 5 + 24 * HOUR
    assert policy.next_visit_at(ONCE.visited(T0 + 9, True), T0 + 9) == T0 + 9 + 24 * HOUR
    assert policy.explain(ONCE, T0) == "every page is visited each 1 d 00 h"


@each_row(
    ("hours", "changed", "expected"), [(10, True, 5), (10, False, 20), (1.5, True, 1), (60, False, 100)]
)
def test_multiplicative_goes_by_what_the_last_visit_found(
    hours: float, changed: bool, expected: float
) -> None:
    history = ONCE.visited(T0 + hours * HOUR, changed)
    now = history.last_at
    assert MultiplicativePolicy(PACE).next_visit_at(history, now) == now + expected * HOUR


def test_multiplicative_begins_with_the_usual_interval_and_says_why() -> None:
    policy = MultiplicativePolicy(PACE)
    assert policy.next_visit_at(ONCE, T0) == T0 + 24 * HOUR
    assert policy.explain(ONCE, T0) == "it was visited once, and is looked at again after 1 d 00 h"
    assert policy.explain(ONCE.visited(T0 + 10 * HOUR, True), T0) == (
        "the last visit, after 10 h 00 min, found a change: times 0.5, within bounds, is 5 h 00 min"
    )
