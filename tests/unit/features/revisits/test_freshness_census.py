"""A census counts pages alike, forgets slowly, and those of several workers are added."""

from __future__ import annotations

import random

import pytest

from tests.rows import each_row
from webcrawl.features.revisits.estimate import RATES
from webcrawl.features.revisits.freshness import HALF_LIFE_SECONDS, START, Census

DAY = 86_400.0
T0 = 1_790_000_000.0


def known(number: int) -> list[float]:
    return [float(number == one) for one in range(len(RATES))]


def test_a_page_counts_alike_however_often_it_is_visited() -> None:
    census = Census()
    for day in range(0, 360, 2):
        census.add(known(10), 2 * DAY, 1.0, T0 + day * DAY)
        if day % 20 == 0:
            census.add(known(30), 20 * DAY, 1.0, T0 + day * DAY)
    spread = census.spread()
    assert spread[10] == pytest.approx(spread[30], rel=0.06)
    assert sum(spread) == pytest.approx(1)
    assert min(spread) > 0


def test_before_anything_is_known_and_when_much_is() -> None:
    assert Census().spread() == list(START)
    assert Census().visits_needed([2.0] * len(RATES)) == pytest.approx(2)


def test_what_is_old_counts_less() -> None:
    census = Census()
    for moment, number in ((T0, 10), (T0 + HALF_LIFE_SECONDS, 30)):
        for _ in range(1000):
            census.add(known(number), DAY, 1.0, moment)
    spread = census.spread()
    assert spread[30] == pytest.approx(2 * spread[10], rel=0.05)


def test_it_is_made_good_that_pages_ask_for_more_than_was_foreseen() -> None:
    census = Census()
    for _ in range(5000):
        census.add(known(20), DAY, 0.5 / DAY, T0)
    visits = [1 / DAY] * len(RATES)
    assert census.visits_needed(visits) == pytest.approx(2 / DAY)


def test_workers_together_know_what_one_would() -> None:
    draw = random.Random(3)
    alone, workers = Census(), [Census(), Census(), Census()]
    for number in range(500):
        visit = (known(draw.randrange(40)), DAY * draw.randrange(1, 90), 1 / DAY, T0 + number * DAY)
        alone.add(*visit)
        draw.choice(workers).add(*visit)
    first, *others = workers
    first.take(None, [other.text() for other in others])
    assert first.visits == alone.visits == 500
    assert first.spread() == pytest.approx(alone.spread(), rel=1e-3)
    again = Census()
    again.take(alone.text(), [])
    assert again.spread() == pytest.approx(alone.spread(), rel=1e-3)
    assert len(alone.text()) < 700
    first.take(None, [])
    assert first.visits < 500


@each_row("text", ["", "null", "[1,2]", '"x"', str([-1.0] * 43), "[" + ",".join(["NaN"] * 43) + "]"])
def test_what_is_no_census_counts_for_nothing(text: str) -> None:
    census = Census()
    census.take(text, [text])
    assert census.visits == 0
    assert census.spread() == list(START)
