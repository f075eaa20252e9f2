"""Scores change while URLs are queued: they are fetched in the order of now, and none is lost or fetched twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.properties.world import page
from tests.unit.frontier.small_crawl import SmallCrawl
from webcrawl.errors import StorageFull
from webcrawl.frontier.records import UrlEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Opinion:
    """Scores by the ends of URLs; of others it has no opinion."""

    def __init__(self, **levels: int) -> None:
        self.version = 1
        self._levels = levels

    def levels(self, entries: Sequence[UrlEntry]) -> list[int | None]:
        return [self._levels.get(entry.url.rpartition("/")[2]) for entry in entries]

    def change(self, **levels: int) -> None:
        self._levels = levels
        self.version += 1


@pytest.fixture
def opinion() -> Opinion:
    return Opinion()


@pytest.fixture
def crawl(opinion: Opinion) -> Iterator[SmallCrawl]:
    made = SmallCrawl(scorer=opinion)
    yield made
    made.dispose()


def reorder(crawl: SmallCrawl) -> bool:
    assert crawl.frontier.reordering is not None
    return bool(crawl.loop.run(crawl.frontier.reordering.rescore_queues()))


def fetched(crawl: SmallCrawl, count: int) -> list[str]:
    """The next ``count`` URLs, fetched one by one."""
    names = []
    for _ in range(count):
        lease = crawl.wait_for_lease()
        names.append(lease.entry.url.rpartition("/")[2])
        crawl.fetch(lease)
    return names


def test_what_is_in_the_hand_of_an_active_key_and_what_lies_behind_it_is_given_in_the_new_order(
    crawl: SmallCrawl, opinion: Opinion
) -> None:
    crawl.add(*(f"a.test/p{number}" for number in range(60)))
    crawl.allow("a.test")
    assert fetched(crawl, 2) == ["p0", "p1"]
    opinion.change(p50=3, p2=-1, p10=1)
    assert reorder(crawl)
    rest = fetched(crawl, 58)
    assert rest[:2] == ["p50", "p10"]
    assert rest[-1] == "p2"
    assert sorted(rest) == sorted(f"p{number}" for number in range(2, 60))
    assert crawl.is_finished()


def test_there_is_no_walk_while_scores_are_the_same(crawl: SmallCrawl, opinion: Opinion) -> None:
    crawl.add("a.test/one")
    assert not reorder(crawl)
    opinion.change(one=2)
    assert [reorder(crawl), reorder(crawl)] == [True, False]


def test_what_is_being_fetched_stays_where_it_is(crawl: SmallCrawl, opinion: Opinion) -> None:
    crawl.add("a.test/one", "a.test/two")
    crawl.allow("a.test")
    lease = crawl.wait_for_lease()
    opinion.change(one=5, two=6)
    reorder(crawl)
    crawl.fetch(lease)
    assert fetched(crawl, 1) == ["two"]
    assert crawl.is_finished()
    assert crawl.loop.run(crawl.backend.read_counts()).done == 2


def test_an_idle_key_is_found_by_its_new_level(opinion: Opinion) -> None:
    crawl = SmallCrawl(scorer=opinion, active_max=1)
    crawl.add("a.test/one")
    crawl.lease()
    crawl.add("b.test/two", "c.test/three")
    opinion.change(three=9)
    reorder(crawl)
    assert {key: host.queue[0].level for key, host in crawl.backend._hosts.items()} == {
        "a.test": 0,
        "b.test": 0,
        "c.test": 9,
    }
    crawl.dispose()


def test_a_storage_that_is_full_costs_nothing_but_the_new_order(crawl: SmallCrawl, opinion: Opinion) -> None:
    crawl.add("a.test/one", "a.test/two", "a.test/three")
    crawl.allow("a.test")
    opinion.change(three=1)
    crawl.disk.state_full = True
    assert crawl.frontier.reordering is not None
    with pytest.raises(StorageFull):
        crawl.loop.run(crawl.frontier.reordering.rescore_queues())
    crawl.disk.state_full = False
    assert fetched(crawl, 3) == ["one", "two", "three"]


def test_the_background_walk_ends_with_the_crawl(opinion: Opinion) -> None:
    crawl = SmallCrawl(scorer=opinion, reordering_share=1.0)
    opinion.change(one=1)
    crawl.loop.run(crawl.frontier.close())
    crawl.dispose()


def test_best_first_takes_the_best_of_all_ready_hosts(opinion: Opinion) -> None:
    crawl = SmallCrawl(scorer=opinion, best_first=0.0)
    opinion.change(good=5, better=7, best=9)
    crawl.add("a.test/plain", "b.test/good", "c.test/best", "d.test/better")
    for _ in range(4):
        lease = crawl.wait_for_lease()
        crawl.answer_robots(lease)
    crawl.clock.now += 100
    assert fetched(crawl, 4) == ["best", "better", "good", "plain"]
    crawl.dispose()


def test_best_first_exchanges_the_worst_active_host_for_a_better_one(opinion: Opinion) -> None:
    crawl = SmallCrawl(scorer=opinion, best_first=0.0, active_max=2)
    opinion.change(good=5, best=9)
    crawl.add("a.test/plain", "b.test/good")
    for _ in range(2):
        crawl.answer_robots(crawl.wait_for_lease())
    crawl.clock.now += 100
    crawl.add("c.test/best")
    crawl.loop.call(crawl.frontier.next_at)
    first = crawl.wait_for_lease()
    assert first.entry.url == "http://b.test/good"
    crawl.rest()
    assert crawl.frontier.snapshot().active_hosts <= 2
    second = crawl.wait_for_lease()
    assert second.entry.url == "http://c.test/robots.txt"
    crawl.dispose()


def bring_forward(crawl: SmallCrawl, url: str) -> bool:
    """Ask for a queued URL to come first, by its key and place alone."""
    entry = next(one for one in crawl.loop.run(walked(crawl)) if one.url.endswith(url))
    known = UrlEntry("", entry.key, entry.fingerprint, entry.level, entry.position)
    return bool(crawl.loop.run(crawl.frontier.bring_forward(known)))


async def walked(crawl: SmallCrawl) -> list[UrlEntry]:
    return [entry async for entry in crawl.frontier.queued_entries()]


def test_a_url_that_an_operator_brings_forward_is_the_next_of_its_host(crawl: SmallCrawl) -> None:
    crawl.add(*(f"a.test/p{number}" for number in range(60)))
    assert bring_forward(crawl, "/p59"), "of a host that is idle"
    crawl.allow("a.test")
    assert fetched(crawl, 2) == ["p59", "p0"]
    assert bring_forward(crawl, "/p58"), "of one that is active"
    assert bring_forward(crawl, "/p3"), "and one that its key has in hand"
    assert fetched(crawl, 3) == ["p3", "p58", "p1"]
    rest = fetched(crawl, 55)
    assert rest == ["p2", *(f"p{number}" for number in range(4, 58))]
    assert crawl.is_finished()


def test_what_is_being_fetched_or_has_moved_is_not_brought_forward(crawl: SmallCrawl) -> None:
    crawl.add("a.test/one", "a.test/two")
    crawl.allow("a.test")
    lease = crawl.wait_for_lease()
    one = lease.entry
    assert not crawl.loop.run(crawl.frontier.bring_forward(one))
    crawl.fetch(lease)
    assert not crawl.loop.run(crawl.frontier.bring_forward(one))
    assert fetched(crawl, 1) == ["two"]


def test_a_url_that_is_added_as_the_next_comes_before_those_that_wait(crawl: SmallCrawl) -> None:
    crawl.add("a.test/one", "a.test/two")
    crawl.allow("a.test")
    for path in ("first", "second"):
        crawl.loop.call(crawl.frontier.add_entries, [crawl.frontier.place_first(page("a.test", path))])
    crawl.rest()
    assert fetched(crawl, 4) == ["first", "second", "one", "two"]
