from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.frontier.heap import BestFirst

LEVELS = {"low": 1, "middle": 5, "high": 9}


def heap_of(levels: dict[str, int], explored: float = 0.0) -> BestFirst:
    return BestFirst(levels.__getitem__, explored, seed=1)


def all_ready(heap: BestFirst, now: float = 10.0) -> list[str]:
    keys = []
    while (key := heap.pop_ready(now)) is not None:
        keys.append(key)
    return keys


def test_of_ready_keys_the_best_comes_first_whenever_its_time_came() -> None:
    heap = heap_of(LEVELS)
    for at, key in enumerate(("low", "high", "middle")):
        heap.push(key, at)
    assert all_ready(heap) == ["high", "middle", "low"]


def test_a_better_key_whose_time_has_not_come_is_not_waited_for() -> None:
    heap = heap_of(LEVELS)
    heap.push("high", 11.0)
    heap.push("low", 10.0)
    assert heap.next_at() == 10.0
    assert (heap.pop_ready(10.0), heap.pop_ready(10.0)) == ("low", None)
    assert heap.next_at() == 11.0
    assert heap.pop_ready(11.0) == "high"
    assert heap.next_at() is None


def test_a_key_that_got_better_while_it_was_ready_comes_sooner_and_one_that_got_worse_later() -> None:
    levels = dict(LEVELS)
    heap = heap_of(levels)
    for key in levels:
        heap.push(key, 0.0)
    levels["low"], levels["high"] = 7, 2
    assert heap.pop_ready(10.0) == "low"
    heap.push("low", 0.0)
    levels["low"] = 0
    assert heap.pop_ready(10.0) == "middle"
    heap.push("middle", 0.0)
    levels.update(low=20, middle=-1)
    for key in levels:
        heap.raised(key)
    assert all_ready(heap) == ["low", "high", "middle"]


def test_a_share_of_the_turns_goes_to_any_ready_key() -> None:
    levels = {f"k{number}": number for number in range(10)}
    heap = heap_of(levels, explored=0.3)
    for key in levels:
        heap.push(key, 0.0)
    given: Counter[str] = Counter()
    for _ in range(2000):
        key = heap.pop_ready(1.0)
        assert key is not None
        given[key] += 1
        heap.push(key, 0.0)
    # Of the others each has about a tenth of three tenths of 2000 turns: 60.
    assert given["k9"] > 1300
    assert all(30 < given[f"k{number}"] < 95 for number in range(9))


def test_all_turns_may_be_drawn() -> None:
    heap = heap_of(LEVELS, explored=1.0)
    for key in LEVELS:
        heap.push(key, 0.0)
    assert sorted(all_ready(heap)) == sorted(LEVELS)


@pytest.mark.parametrize("explored", [0.0, 0.5])
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["push", "remove", "pop", "raised"]), st.integers(0, 5), st.integers(-2, 2)
        ),
        max_size=80,
    )
)
def test_it_holds_each_key_once_and_gives_only_ready_ones(
    explored: float, steps: list[tuple[str, int, int]]
) -> None:
    levels: dict[str, int] = {}
    heap = BestFirst(levels.__getitem__, explored, seed=3)
    model: dict[str, float] = {}
    for now, (step, number, level) in enumerate(steps):
        key = f"k{number}"
        levels[key] = level
        if step == "push":
            model[key] = now + level
            heap.push(key, now + level)
        elif step == "remove":
            model.pop(key, None)
            heap.remove(key)
        elif step == "raised":
            heap.raised(key)
        else:
            given = heap.pop_ready(now)
            assert (given is None) is not any(at <= now for at in model.values())
            assert given is None or model.pop(given) <= now
        assert len(heap) == len(model)
        assert all((f"k{one}" in heap) is (f"k{one}" in model) for one in range(6))
        assert heap.count_ready(now) == sum(at <= now for at in model.values())
