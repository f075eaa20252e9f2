from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.order import LEVELS_CONSIDERED, LevelSampler


@given(
    st.lists(st.integers(-(1 << 40), 1 << 40), min_size=1, max_size=40),
    st.integers(1, 200),
    st.floats(1, 1000),
    st.integers(),
)
def test_it_spreads_exactly_what_was_asked_for_over_levels_that_are_there(
    levels: list[int], count: int, bias: float, seed: int
) -> None:
    spread = LevelSampler(bias, seed).spread(levels, count)
    assert sum(spread.values()) == count
    assert spread.keys() <= set(sorted(set(levels), reverse=True)[:LEVELS_CONSIDERED])
    assert all(wanted > 0 for wanted in spread.values())


def test_of_no_levels_or_no_keys_it_spreads_nothing() -> None:
    sampler = LevelSampler(2.0)
    assert (sampler.spread([], 5), sampler.spread([1, 2], 0), sampler.spread([1], -1)) == ({}, {}, {})


def test_a_single_level_gets_all() -> None:
    assert LevelSampler(2.0).spread([7], 50) == {7: 50}


def test_the_bias_is_the_ratio_of_neighbouring_levels() -> None:
    spread = LevelSampler(3.0, seed=1).spread([0, 10, 20], 130_000)
    assert spread[20] / spread[10] == pytest.approx(3.0, rel=0.05)
    assert spread[10] / spread[0] == pytest.approx(3.0, rel=0.05)


def test_without_bias_all_levels_are_alike() -> None:
    spread = LevelSampler(1.0, seed=1).spread([1, 2, 3, 4], 40_000)
    assert all(count == pytest.approx(10_000, rel=0.05) for count in spread.values())


def test_the_same_seed_draws_the_same() -> None:
    first, second = LevelSampler(2.0, seed=5), LevelSampler(2.0, seed=5)
    assert [first.spread([1, 2, 3], 10) for _ in range(5)] == [second.spread([3, 2, 1], 10) for _ in range(5)]


def test_a_bias_that_prefers_low_levels_is_refused() -> None:
    with pytest.raises(ValueError, match=r"0\.5"):
        LevelSampler(0.5)
