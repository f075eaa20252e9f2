"""How much room a server has left decides what is added: lowest levels first are not, and together never too much."""

from __future__ import annotations

import pytest

from tests.contract.samples import entry
from tests.rows import each_row
from webcrawl.frontier.records import Kind, UrlEntry
from webcrawl.storage.contract import Room
from webcrawl.storage.redis.shard import COST_BYTES, FREED_BYTES, ServerRoom, cut_to

BUDGET = 100_000_000


def at(*percents: float, members: int = 1) -> ServerRoom:
    """A server that was found filled so far, one look after the other."""
    room = ServerRoom()
    for percent in percents:
        room.update(int(percent * BUDGET / 100), BUDGET, members)
    return room


def link(level: int = 0, depth: int = 3, number: int = 0) -> UrlEntry:
    return entry(f"http://a/{number}", level, depth=depth, via="http://a/")


def offered(room: ServerRoom, *levels: int, depth: int = 3) -> list[int]:
    """The levels of what is taken."""
    return [level for level in levels if room.takes(link(level, depth))]


@each_row(
    ("percents", "expected"),
    [
        ((84.9,), Room.PLENTY),
        ((85,), Room.SCARCE),
        ((85, 80), Room.SCARCE),
        ((85, 79.9), Room.PLENTY),
        ((92.9,), Room.SCARCE),
        ((93,), Room.FULL),
        ((93, 90), Room.FULL),
        ((93, 89.9), Room.SCARCE),
        ((93, 79.9), Room.PLENTY),
        ((120,), Room.FULL),
    ],
)
def test_room_comes_back_later_than_it_went(percents: tuple[float, ...], expected: Room) -> None:
    assert at(*percents).room is expected


def test_without_a_budget_everything_is_taken() -> None:
    room = ServerRoom()
    assert room.takes(link())
    room.update(10 * BUDGET, 0, 1)
    assert room.takes(link())
    assert room.filling is None
    assert not room.is_short(1_000_000, 1_000_000_000)


def test_with_room_for_all_every_level_is_taken() -> None:
    assert offered(at(50), -5, 0, 5) == [-5, 0, 5]


def test_where_room_is_scarce_the_lowest_levels_are_turned_away_and_more_of_them_the_scarcer_it_is() -> None:
    room, levels = at(85), range(100)
    offered(room, *levels)
    taken = []
    for percent in (85, 89, 92.9):
        room.update(int(percent * BUDGET / 100), BUDGET, 1)
        taken.append(offered(room, *levels))
    assert len(taken[0]) > len(taken[1]) > len(taken[2]) > 0
    assert all(found == list(range(found[0], 100)) for found in taken)


def test_among_equal_levels_the_deepest_are_turned_away() -> None:
    room = at(88)
    for depth in range(1, 11):
        room.takes(link(0, depth))
    room.update(int(0.88 * BUDGET), BUDGET, 1)
    taken = [depth for depth in range(1, 11) if room.takes(link(0, depth))]
    assert taken == list(range(1, len(taken) + 1))
    assert 0 < len(taken) < 10


def test_what_is_all_alike_is_all_turned_away_from_the_first_mark_on() -> None:
    room = at(85)
    offered(room, 0, 0, 0)
    room.update(int(0.85 * BUDGET), BUDGET, 1)
    assert offered(room, 0, 0, 0) == []


def test_seeds_are_taken_until_it_is_full() -> None:
    room = at(92)
    offered(room, 0, 0, 0)
    room.update(int(0.92 * BUDGET), BUDGET, 1)
    assert room.takes(entry("http://a/seed"))
    assert room.takes(entry("http://a/from-seed", via="http://a/seed", depth=0))
    assert not room.takes(link())
    assert not at(93).takes(entry("http://a/seed"))


def test_what_is_needed_to_read_a_robots_txt_is_always_taken() -> None:
    assert at(99).takes(entry("http://a/robots.txt", kind=Kind.ROBOTS))


@each_row("members", [1, 8])
@each_row("percent", [50, 84, 92])
def test_all_processes_together_take_no_more_before_they_look_again_than_there_is_room(
    members: int, percent: float
) -> None:
    rooms = [at(percent, members=members) for _ in range(members)]
    one = link()
    taken = sum(sum(room.takes(one) for _ in range(400_000 // members)) for room in rooms)
    assert taken > 0
    assert taken * COST_BYTES <= (0.93 - percent / 100) * BUDGET


def test_it_says_when_more_may_come_than_is_allowed() -> None:
    room = at(92, members=10)
    assert not room.is_short(100, 6000)
    assert room.is_short(1000, 60_000)


def test_each_process_prunes_its_part_of_what_is_too_much() -> None:
    room = at(95, members=4)
    assert room.prunable_bytes == pytest.approx(0.05 * BUDGET / 4)
    room.pruned(1000)
    assert room.prunable_bytes == pytest.approx(0.05 * BUDGET / 4 - 1000 * FREED_BYTES)
    room.update(int(0.91 * BUDGET), BUDGET, 4)
    assert room.prunable_bytes == pytest.approx(0.01 * BUDGET / 4)
    room.update(int(0.89 * BUDGET), BUDGET, 4)
    assert room.prunable_bytes == 0


@each_row(
    ("lengths", "urls", "expected"),
    [
        ({}, 10, {}),
        ({"a": 100, "b": 10}, 30, {"a": 70}),
        ({"a": 100, "b": 10}, 90, {"a": 10}),
        ({"a": 100, "b": 100, "c": 90}, 20, {"a": 90, "b": 90}),
        ({"a": 100, "b": 100, "c": 90}, 50, {"a": 80, "b": 80, "c": 80}),
        ({"a": 3, "b": 3}, 1000, {"a": 1, "b": 1}),
        ({"a": 1, "b": 1}, 1000, {}),
        ({"a": 5}, 0, {}),
    ],
)
def test_the_longest_queues_are_cut_most(
    lengths: dict[str, int], urls: int, expected: dict[str, int]
) -> None:
    assert cut_to(lengths, urls) == expected
