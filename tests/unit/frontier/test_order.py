from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from tests.contract.samples import NOW, entry
from webcrawl.frontier.order import FIRST, LAST, Order, OrderName, by_path_depth
from webcrawl.frontier.queue_head import expected_place
from webcrawl.frontier.records import UrlEntry
from webcrawl.frontier.robots_requests import LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence


def placed(order: Order, *urls: str) -> list[UrlEntry]:
    return order.place_all([entry(url, position=0) for url in urls])


def one_placed(order: Order, url: str, level: int = 0) -> UrlEntry:
    [one] = order.place_all([entry(url, position=0, level=level)])
    return one


def in_order(entries: list[UrlEntry]) -> list[str]:
    return [one.url for one in sorted(entries, key=expected_place)]


def test_breadth_first_is_first_come_first_served_within_a_level() -> None:
    entries = placed(Order("breadth_first", None, NOW), "http://a/3", "http://a/1", "http://a/2")
    assert in_order(entries) == ["http://a/3", "http://a/1", "http://a/2"]


def test_breadth_first_keeps_the_level_that_was_asked_for() -> None:
    assert one_placed(Order("breadth_first", None, NOW), "http://a/", level=7).level == 7


def test_positions_after_a_restart_are_behind_all_before_it() -> None:
    before = Order("breadth_first", None, NOW)
    last = [one_placed(before, "http://a/").position for _ in range(1000)][-1]
    after = Order("breadth_first", None, NOW + 0.01)
    assert one_placed(after, "http://a/").position > last


def test_what_one_process_places_later_than_another_comes_behind_it() -> None:
    one, other = Order("breadth_first", None, NOW), Order("breadth_first", None, NOW + 5)
    first = one_placed(other, "http://a/1").position
    one.set_time(NOW + 6)
    second = one_placed(one, "http://a/2").position
    one.set_time(NOW + 5.9)
    assert first < second < one_placed(one, "http://a/3").position


def test_priority_puts_front_pages_before_inner_ones() -> None:
    entries = placed(
        Order("priority", None, NOW),
        "http://a/x/y/z/page.html",
        "http://a/list?page=2",
        "http://a/x/",
        "http://a/",
        "http://a/x",
    )
    assert in_order(entries) == [
        "http://a/",
        "http://a/x/",
        "http://a/x",
        "http://a/list?page=2",
        "http://a/x/y/z/page.html",
    ]


def test_a_prioritiser_of_ones_own_decides_in_every_order() -> None:
    orders: list[OrderName] = ["breadth_first", "priority", "random"]
    for name in orders:
        order = Order(name, lambda one: len(one.url), NOW)
        assert one_placed(order, "http://a/123").level == 12


def test_the_order_of_path_depth_starts_from_the_level_that_was_asked_for() -> None:
    assert by_path_depth(entry("http://a/", level=5)) == 5
    assert by_path_depth(entry("http://a/x/y", level=5)) == 3


def test_the_random_order_walks_otherwise_each_time_and_the_same_with_the_same_seed() -> None:
    urls = [f"http://a/{number}" for number in range(50)]
    first, second, other = (in_order(placed(Order("random", None, NOW, seed), *urls)) for seed in (1, 1, 2))
    assert first == second
    assert first != other
    assert first != urls
    assert sorted(first) == sorted(urls)


def test_levels_are_kept_below_that_of_robots_txt_and_within_what_can_be_stored() -> None:
    order = Order("breadth_first", None, NOW)
    assert one_placed(order, "http://a/", level=10**30).level == LEVEL - 1
    assert one_placed(order, "http://a/", level=-(10**30)).level == 1 - LEVEL
    assert one_placed(Order("random", lambda one: True, NOW), "http://a/").level == 1


@given(st.sampled_from(["breadth_first", "priority", "random"]), st.integers(-5, 5))
def test_a_url_that_is_tried_again_keeps_its_level_and_gets_a_place_of_its_own(
    name: OrderName, level: int
) -> None:
    order = Order(name, None, NOW, seed=3)
    one = entry("http://a/x", level=level, position=11)
    again = order.place_again(one)
    assert again.level == level
    assert again.position not in (0, 11)


def test_no_place_is_given_twice_and_none_is_nought() -> None:
    order = Order("random", None, NOW, seed=4)
    positions = [one_placed(order, "http://a/").position for _ in range(10_000)]
    assert len(set(positions)) == 10_000
    assert 0 not in positions


class ByTraits:
    """Scores entries with link features by their length, and counts the calls."""

    def __init__(self) -> None:
        self.version = 1
        self.asked: list[list[str]] = []

    def levels(self, entries: Sequence[UrlEntry]) -> list[int | None]:
        self.asked.append([one.url for one in entries])
        return [None if one.link_features is None else len(one.link_features) for one in entries]


def test_a_scorer_is_asked_once_about_all_that_is_placed_together() -> None:
    scorer = ByTraits()
    order = Order("breadth_first", None, NOW, scorer=scorer)
    known = entry("http://a/0", level=1, position=5)
    entries = [known, entry("http://a/1", 0, 0, link_features="ab"), entry("http://a/2", 7, 0)]
    assert order.place_all(entries) == entries
    assert scorer.asked == [["http://a/1", "http://a/2"]]
    assert [one.level for one in entries] == [1, 2, 7]
    assert 5 < entries[1].position < entries[2].position
    order.place_all([known])
    assert len(scorer.asked) == 1


def test_what_is_to_be_first_or_last_stays_so() -> None:
    order = Order("best_first", None, NOW, scorer=ByTraits())
    queued = [entry("http://a/1", level, 5, link_features="abc") for level in (FIRST, LAST, 7)]
    assert order.levels(queued) == [FIRST, LAST, 3]


def test_what_a_scorer_gives_is_kept_storable() -> None:
    class Boundless(ByTraits):
        def levels(self, entries: Sequence[UrlEntry]) -> list[int | None]:
            return [10**30, -(10**30)]

    order = Order("priority", None, NOW, scorer=Boundless())
    high, low = order.place_all([entry("http://a/1", 0, 0), entry("http://a/2", 0, 0)])
    assert (high.level, low.level) == (LEVEL - 1, 1 - LEVEL)


def walked(restart: float, seed: int) -> list[int]:
    order = Order("random_walk", None, NOW, seed, restart=restart)
    entries = [entry(f"http://a/{number}", 0, 0, via="http://a/") for number in range(20)]
    return [one.level for one in order.place_all(entries)]


def test_a_random_walk_goes_on_with_one_of_a_pages_links_or_jumps() -> None:
    steps = [walked(0.3, seed) for seed in range(400)]
    assert {sum(levels) for levels in steps} == {0, 1}
    # Of 400 walks 120 jump on average, 9 the standard deviation.
    assert 80 < sum(not any(levels) for levels in steps) < 160
    assert len({levels.index(1) for levels in steps if any(levels)}) == 20
    assert not any(walked(1.0, 1))
    assert sum(walked(0.0, 1)) == 1


def test_a_random_walk_begins_anywhere() -> None:
    order = Order("random_walk", None, NOW, 5, restart=0.0)
    seeds = order.place_all([entry(f"http://a/{number}", 0, 0) for number in range(20)])
    assert {seed.level for seed in seeds} == {0}
    assert in_order(seeds) != [f"http://a/{number}" for number in range(20)]
