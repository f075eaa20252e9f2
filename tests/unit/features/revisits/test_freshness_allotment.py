"""Visits are worth what they keep fresh, and at one price nothing is gained by giving a visit to another page."""

from __future__ import annotations

import math
import random

import pytest

from tests.rows import each_row
from webcrawl.features.revisits.estimate import RATES, dot
from webcrawl.features.revisits.freshness import Allotment

DAY = 86_400.0
ALLOTMENT = Allotment(DAY / 24, 366 * DAY)


def known(number: int) -> list[float]:
    """A rate of which all is known."""
    return [float(number == one) for one in range(len(RATES))]


def fresh(rate: float, often: float) -> float:
    return often / rate * -math.expm1(-rate / often)


@each_row("number", range(0, 40, 3))
@each_row("price", [DAY / 24, DAY, 10 * DAY])
def test_the_last_visit_of_a_page_is_worth_the_price(number: int, price: float) -> None:
    rate, interval = RATES[number], ALLOTMENT.interval(known(number), price)
    often, little = 1 / interval, 1e-4 / interval
    worth = (fresh(rate, often + little) - fresh(rate, often - little)) / (2 * little)
    if interval >= 366 * DAY * 0.999:
        assert worth <= price * 1.02
    elif interval <= DAY / 24 * 1.001:
        assert worth >= price * 0.98
    else:
        assert worth == pytest.approx(price, rel=0.02)
    assert ALLOTMENT.visits(price)[number] == pytest.approx(often, rel=1e-6)


def test_a_page_that_changes_too_fast_is_not_followed() -> None:
    price = DAY
    assert ALLOTMENT.interval(known(39), price) == pytest.approx(366 * DAY)
    assert ALLOTMENT.interval(known(20), price) < 60 * DAY


def test_where_little_is_known_a_visit_is_worth_what_it_is_on_average() -> None:
    weights = [0.5 * one + 0.5 * other for one, other in zip(known(18), known(28), strict=True)]
    apart = [1 / often for often in (ALLOTMENT.visits(DAY)[18], ALLOTMENT.visits(DAY)[28])]
    assert min(apart) < ALLOTMENT.interval(weights, DAY) < max(apart)


@each_row("seed", range(5))
def test_no_other_allotment_of_as_many_visits_keeps_more_fresh(seed: int) -> None:
    draw = random.Random(seed)
    rates = [draw.randrange(8, 36) for _ in range(30)]
    visits = [ALLOTMENT.visits(5 * DAY)[number] for number in rates]

    def total(often: list[float]) -> float:
        return sum(fresh(RATES[number], one) for number, one in zip(rates, often, strict=True))

    best = total(visits)
    for _ in range(300):
        one, other = draw.sample(range(30), 2)
        moved = draw.random() * visits[one] * 0.5
        changed = visits[:]
        changed[one] -= moved
        changed[other] += moved
        if changed[one] >= 1 / (366 * DAY):
            assert total(changed) <= best * (1 + 1e-4), f"seed {seed}"


def test_what_is_gained_is_freshness_less_the_price_of_visits() -> None:
    price = 5 * DAY
    visits = ALLOTMENT.visits(price)
    gains = ALLOTMENT.gains(visits, price)
    assert gains[20] == pytest.approx(fresh(RATES[20], visits[20]) - price * visits[20])
    assert ALLOTMENT.gain(known(20), 1 / visits[20], price) == pytest.approx(gains[20], abs=0.01)
    assert dot(known(3), gains) == gains[3]


def test_bounds_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="no intervals"):
        Allotment(0, 1)
    with pytest.raises(ValueError, match="no intervals"):
        Allotment(2, 1)
    assert Allotment(DAY, DAY).interval(known(20), DAY) == pytest.approx(DAY)
