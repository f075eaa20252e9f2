"""Values by key are exact, however little fits into memory."""

from __future__ import annotations

import random

import pytest

from tests.rows import each_row
from webcrawl import external_sort
from webcrawl.external_sort import Gathered
from webcrawl.reports.counting import summed


@each_row(("held", "weight"), [(10_000, 1 << 30), (1, 1 << 30), (7, 1 << 30), (10_000, 50), (300, 1 << 30)])
def test_sums_are_exact_whatever_is_held(held: int, weight: int) -> None:
    source = random.Random(held)
    sums: Gathered[tuple[int, ...]] = Gathered(summed, held_max=held, weight_max=weight)
    expected: dict[str, tuple[int, ...]] = {}
    for _ in range(2_000):
        key, amount = f"é{source.randrange(400)}\ud800", source.randrange(9)
        sums.add(key, (1, amount))
        expected[key] = summed(expected.get(key, (0, 0)), (1, amount))
    for _ in range(2):
        assert list(sums) == sorted(expected.items())


def test_many_runs_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_sort, "RUNS_MAX", 3)
    least: Gathered[int] = Gathered(min, held_max=2)
    for number in range(100):
        least.add(str(number % 10), number)
    assert list(least) == [(str(number), number) for number in range(10)]


def test_nothing_is_nothing() -> None:
    nothing: Gathered[int] = Gathered(max)
    assert not nothing
    assert list(nothing) == []
