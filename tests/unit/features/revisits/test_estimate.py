"""Rates that are estimated from irregular visits are true on average, and it is known how far off they may be."""

from __future__ import annotations

import math
import random
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import pytest

from tests.rows import each_row
from tests.unit.features.revisits.changing import DAY, DEVIATION, MEDIAN, T0, ChangingPage
from webcrawl.features.revisits.estimate import (
    RATES,
    Expectation,
    History,
    expected,
    log_normal,
    posterior,
    quantile,
    typical_rate,
)
from webcrawl.features.revisits.freshness import START, Census

if TYPE_CHECKING:
    from collections.abc import Sequence

PRIOR = log_normal(MEDIAN, DEVIATION)


def visited(seed: int, pages: int, visits: int, *, dated_part: float = 0.0) -> list[ChangingPage]:
    """Pages after visits at intervals from a day to three months."""
    draw = random.Random(seed)
    found = [ChangingPage(f"{seed} {number}", dated_part=dated_part) for number in range(pages)]
    for page in found:
        at = T0
        for _ in range(visits):
            page.visit(at)
            at += DAY * 90 ** draw.random()
    return found


def history_of(page: ChangingPage) -> History:
    assert page.history is not None
    return page.history


def errors(pages: Sequence[ChangingPage], prior: Sequence[float]) -> list[float]:
    """Natural logarithms of estimated by true rate."""
    return [math.log(typical_rate(posterior(history_of(page), prior)) / page.rate) for page in pages]


@each_row(
    ("visits", "dated_part", "spread"),
    [(4, 0.0, 1.0), (16, 0.0, 0.6), (64, 0.0, 0.4), (4, 1.0, 0.85), (16, 1.0, 0.45)],
)
def test_rates_are_true_on_average(visits: int, dated_part: float, spread: float) -> None:
    pages = visited(7, 400, visits, dated_part=dated_part)
    found = errors(pages, PRIOR)
    print(f"seed 7, {visits} visits, dated {dated_part}: bias {fmean(found):+.3f}, spread {stdev(found):.3f}")
    assert abs(fmean(found)) < 0.1
    assert stdev(found) < spread


def test_counting_changes_makes_fast_pages_slow_and_the_estimate_does_not() -> None:
    fast = [page for page in visited(8, 600, 16) if page.rate > 1 / (7 * DAY)]
    histories = list(map(history_of, fast))
    counted = [
        math.log(max(history.changes, 0.5) / (history.last_at - history.first_at) / page.rate)
        for history, page in zip(histories, fast, strict=True)
    ]
    assert fmean(counted) < -1.0
    assert abs(fmean(errors(fast, PRIOR))) < 0.3


def test_how_sure_an_estimate_is_proves_true() -> None:
    pages = visited(9, 600, 8)
    within = 0
    for page in pages:
        weights = posterior(history_of(page), PRIOR)
        step = math.sqrt(math.sqrt(2))
        within += quantile(weights, 0.1) / step <= page.rate <= quantile(weights, 0.9) * step
    assert 0.77 < within / len(pages) < 0.9


def test_the_spread_of_rates_is_learnt_from_all_pages() -> None:
    pages = visited(10, 800, 16, dated_part=0.5)
    census = Census()
    for _ in range(4):
        prior = census.spread()
        census = Census()
        for page in pages:
            census.add(posterior(history_of(page), prior), DAY, 1.0, T0)
    learnt = census.spread()
    for part in (0.25, 0.5, 0.75):
        assert 0.6 < quantile(learnt, part) / quantile(PRIOR, part) < 1.7
    before, after = (stdev(errors(pages, prior)) for prior in (START, learnt))
    assert after <= before


def test_a_page_that_always_or_never_changed_has_a_rate() -> None:
    always = never = History.first(T0)
    for week in range(1, 20):
        always = always.visited(T0 + 7 * week * DAY, True)
        never = never.visited(T0 + 7 * week * DAY, False)
    assert 1 / (3 * DAY) < typical_rate(posterior(always, START)) < 1 / (0.2 * DAY)
    assert 1 / (5000 * DAY) < typical_rate(posterior(never, START)) < 1 / (150 * DAY)


def test_the_date_of_the_first_visit_counts_as_long_as_dates_prove_true() -> None:
    old, new = History.first(T0, T0 - 1000 * DAY), History.first(T0, T0 - DAY)
    unknown = History.first(T0)
    slow, fast, usual = (typical_rate(posterior(history, START)) for history in (old, new, unknown))
    assert slow < usual / 3
    assert fast > 3 * usual
    disproved = new.visited(T0 + DAY, False, T0 + DAY / 2)
    undated = unknown.visited(T0 + DAY, False)
    assert posterior(disproved, START) == pytest.approx(posterior(undated, START))


def test_what_is_to_be_expected_of_a_copy() -> None:
    known = tuple(float(number == 20) for number in range(len(RATES)))
    rate = RATES[20]
    assert expected(known, 0) == Expectation(1.0, 0.0)
    found = expected(known, 1 / rate)
    assert found.unchanged == pytest.approx(math.exp(-1))
    draw = random.Random(4)
    ages = [max(1 / rate - draw.expovariate(rate), 0.0) for _ in range(20_000)]
    assert found.age_seconds == pytest.approx(fmean(ages), rel=0.02)
