from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webcrawl.features.link_scores.worth_table import WorthTable

MARKS = st.integers(-(1 << 63), (1 << 63) - 1).filter(bool)


@given(st.lists(st.tuples(st.sampled_from([5, 6, -7, 1 << 60]), st.integers(1, 9)), max_size=40))
def test_while_there_is_room_it_counts_like_a_dictionary(added: list[tuple[int, int]]) -> None:
    table, expected = WorthTable(1 << 10), dict.fromkeys((5, 6, -7, 1 << 60), 0)
    for mark, worth in added:
        table.add({mark: worth})
        expected[mark] += worth
    assert {mark: table.worth(mark) for mark in expected} == expected
    assert table.worth(8) == 0


@given(st.dictionaries(MARKS, st.floats(0.01, 1e6), max_size=30))
def test_what_is_dumped_is_loaded(worths: dict[int, float]) -> None:
    table, other = WorthTable(16), WorthTable(16)
    table.add(worths)
    other.load(b"".join(table.dump()))
    assert {mark: other.worth(mark) for mark in worths} == {mark: table.worth(mark) for mark in worths}


@pytest.mark.parametrize("dumped", [b"", b"x" * 191, b"x" * 193])
def test_what_is_no_dump_of_this_size_is_not_loaded(dumped: bytes) -> None:
    with pytest.raises(ValueError, match="instead of 192"):
        WorthTable(16).load(dumped)


@pytest.mark.parametrize("places", [0, 2, 12])
def test_a_table_has_a_power_of_two_of_places(places: int) -> None:
    with pytest.raises(ValueError, match="power of two"):
        WorthTable(places)


def test_a_worth_is_taken_once() -> None:
    table = WorthTable(16)
    table.add({3: 2.0})
    assert [table.take(3), table.take(3), table.worth(3)] == [2.0, 0.0, 0.0]


def test_less_than_nothing_is_left_of_none() -> None:
    table = WorthTable(16)
    table.add({3: 2.0})
    table.add({3: -5.0, 4: -1.0})
    assert (table.worth(3), table.worth(4)) == (0.0, 0.0)


def test_a_frequent_url_stays_where_many_come_once() -> None:
    seed = 7
    chance = random.Random(seed)
    table = WorthTable(1 << 10)
    often = [chance.getrandbits(63) for _ in range(50)]
    for _ in range(60):
        table.add_to_all(often, 1.0)
        table.add_to_all((chance.getrandbits(63) for _ in range(300)), 1.0)
    kept = [mark for mark in often if table.worth(mark) > 10]
    assert len(kept) >= 48, f"seed {seed}"
