"""The freshness policy keeps more pages fresh than others with as many visits, and keeps to its budget."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest

from tests.rows import each_row
from tests.unit.features.revisits.changing import DAY, T0, YEAR, Web
from webcrawl.features.revisits.estimate import Expectation, History
from webcrawl.features.revisits.freshness import FreshnessPolicy
from webcrawl.features.revisits.policies import (
    FixedPolicy,
    LearningPolicy,
    MultiplicativePolicy,
    Pace,
    RevisitPolicy,
)

SEEDS = range(100, 120)


def pace(days: float = 90.0, **changes: Any) -> Pace:
    given = {"interval_seconds": days * DAY, "least_seconds": DAY / 24, "most_seconds": YEAR}
    return Pace(**(given | changes))


def freshness(web: Web, policy: RevisitPolicy) -> float:
    return web.crawl(policy).freshness


def _told(gains: list[float]) -> str:
    return f"median {median(gains):+.1%}, from {min(gains):+.1%} to {max(gains):+.1%}"


def history(*visits: tuple[float, bool]) -> History:
    found = History.first(T0)
    for day, changed in visits:
        found = found.visited(T0 + day * DAY, changed)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [SEEDS[:1], pytest.param(SEEDS[1:], marks=pytest.mark.soak)])
def test_it_keeps_more_fresh_than_other_policies_with_the_same_visits(seeds: range) -> None:
    gains = []
    for seed in seeds:
        web = Web(seed)
        ours, fixed, multiplied = (
            freshness(web, policy(pace())) for policy in (FreshnessPolicy, FixedPolicy, MultiplicativePolicy)
        )
        gains.append(ours / fixed - 1)
        print(
            f"seed {seed}: {ours:.3f}, fixed {fixed:.3f} ({gains[-1]:+.1%}), multiplicative {multiplied:.3f}"
        )
        assert ours >= multiplied
        assert ours > fixed
    print(f"over fixed {_told(gains)}")
    assert median(gains) >= 0.10


@pytest.mark.soak
@each_row("dated_part", [0.0, 0.5, 1.0])
@each_row(("days", "least"), [(14, 0.02), (30, 0.035), (60, 0.06), (90, 0.09)])
def test_it_does_so_under_other_budgets_and_whether_or_not_pages_have_dates(
    days: float, least: float, dated_part: float
) -> None:
    factors = [(0.5, 1.5), (0.5, 2.0), (0.8, 1.25), (0.9, 1.1)]
    gains, lead = [], []
    for seed in SEEDS:
        web = Web(seed, pages=150, mean_interval_seconds=days * DAY, dated_part=dated_part)
        ours, fixed = (freshness(web, policy(pace(days))) for policy in (FreshnessPolicy, FixedPolicy))
        multiplied = max(
            freshness(web, MultiplicativePolicy(pace(days, faster=faster, slower=slower)))
            for faster, slower in factors
        )
        gains.append(ours / fixed - 1)
        lead.append(ours / multiplied - 1)
        print(f"seed {seed}: {ours:.3f}, fixed {fixed:.3f}, multiplicative at its best {multiplied:.3f}")
    print(f"a visit each {days} days, {dated_part:.0%} of pages with dates: over fixed {_told(gains)}")
    print(f"over multiplicative at its best {_told(lead)}")
    assert median(gains) >= least
    assert min(lead) >= 0


@pytest.mark.slow
@pytest.mark.parametrize(("days", "dated_part"), [(14, 0.5), (60, 0.0)])
def test_pages_ask_for_as_many_visits_as_there_are(days: float, dated_part: float) -> None:
    web = Web(
        1, pages=200, mean_interval_seconds=days * DAY, dated_part=dated_part, years=4, measured_from_years=2
    )
    crawled = Web(**{**_fields(web), "hurried": False}).crawl(FreshnessPolicy(pace(days)))
    budget = web.pages * 2 * YEAR / (days * DAY)
    print(f"used {crawled.visits / budget:.3f} of the budget")
    assert 0.88 < crawled.visits / budget <= 1.001


def _fields(web: Web) -> dict[str, Any]:
    return {name: getattr(web, name) for name in Web.__dataclass_fields__}


def test_a_page_is_never_left_alone_for_longer_than_it_may_be() -> None:
    policy = FreshnessPolicy(pace(7, least_seconds=DAY, most_seconds=30 * DAY))
    for found in (
        history(),
        history((1, False), (900, False)),
        history(*[(day, True) for day in range(1, 60)]),
    ):
        assert DAY <= policy.next_visit_at(found, T0) - T0 <= 30 * DAY + 1


def test_a_page_that_changes_too_fast_gives_way_to_others() -> None:
    policy = FreshnessPolicy(pace(30))
    hourly = history(*[(hour / 24, True) for hour in range(1, 60)])
    weekly = history(*[(day, day % 7 == 0) for day in range(1, 60)])
    assert policy.next_visit_at(hourly, T0) - T0 == pytest.approx(120 * DAY)
    assert policy.next_visit_at(weekly, T0) - T0 < 30 * DAY
    assert policy.expected(weekly, weekly.last_at) == Expectation(pytest.approx(1), 0.0)
    soon = policy.expected(hourly, hourly.last_at + DAY)
    assert soon.unchanged < 0.01
    assert 0.8 * DAY < soon.age_seconds < DAY


@each_row("seconds", [5.0, 600.0, DAY, 30 * DAY])
def test_a_new_page_is_visited_at_about_the_mean_interval_however_short_that_is(seconds: float) -> None:
    policy = FreshnessPolicy(Pace(seconds, least_seconds=seconds / 5, most_seconds=20 * seconds))
    assert seconds / 2 < policy.next_visit_at(history(), T0) - T0 < 2 * seconds


def test_a_budget_in_pages_a_day_is_for_all_pages() -> None:
    by_interval, by_number = FreshnessPolicy(pace(50)), FreshnessPolicy(pace(7, pages_per_day=20.0))
    assert by_interval.next_visit_at(history(), T0) > by_number.next_visit_at(history(), T0)
    by_number.recall(None, [], pages=1000)
    assert by_interval.next_visit_at(history(), T0) == pytest.approx(by_number.next_visit_at(history(), T0))


def test_what_was_learnt_outlives_the_process_and_is_shared() -> None:
    first, second = FreshnessPolicy(pace()), FreshnessPolicy(pace())
    web = Web(5, pages=100, years=2, measured_from_years=1)
    pages = web.crawl(first).pages
    again, sharing = FreshnessPolicy(pace()), FreshnessPolicy(pace())
    again.recall(first.lessons())
    sharing.recall(None, [first.lessons(), second.lessons()])
    first.recall(first.lessons())
    for page in pages:
        assert page.history is not None
        expected = first.next_visit_at(page.history, T0)
        assert again.next_visit_at(page.history, T0) == pytest.approx(expected)
        assert sharing.next_visit_at(page.history, T0) == pytest.approx(expected)
    assert isinstance(first, LearningPolicy)
    assert not isinstance(FixedPolicy(pace()), LearningPolicy)


@each_row(
    ("found", "reason"),
    [
        (history(), "by 1 visit with 0 changes it changes about each"),
        (history(*[(hour / 24, True) for hour in range(1, 60)]), "other pages gain more by visits"),
        (history((900, False), (1900, False), (2900, False)), "so that visits keep most pages fresh"),
        (history(*[(1000 * n, False) for n in range(1, 40)]), "like any page at the latest"),
        (history((30, True)), "to know that better"),
    ],
)
def test_it_says_why(found: History, reason: str) -> None:
    text = FreshnessPolicy(pace()).explain(found, T0)
    assert reason in text, text
    assert "when it is still the same with a chance of" in text
