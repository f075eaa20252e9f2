"""All queues can be gone through while they change, and what is queued can be given another level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.samples import entry, found, pages, settled, urls
from webcrawl.frontier.records import CARRIED, UrlEntry
from webcrawl.storage.contract import Batch, Move

if TYPE_CHECKING:
    from tests.contract.conftest import MakeBackend
    from tests.contract.driven import Driven


def walked(backend: Driven, count: int = 7) -> list[UrlEntry]:
    """All that a walk brings."""
    entries: list[UrlEntry] = []
    cursor = None
    while True:
        stretch = backend.run(backend.backend.scan_queues(cursor, count))
        entries += stretch.entries
        cursor = stretch.cursor
        if cursor is None:
            return entries


def move(backend: Driven, *moves: Move) -> list[str]:
    """The URLs of those that were moved."""
    return [one.entry.url for one in backend.run(backend.backend.change_levels(moves))]


def test_a_walk_brings_all_that_is_queued_once(backend: Driven) -> None:
    several = [entry(f"http://a/{level}", level, link_features=f"level {level}") for level in range(-2, 20)]
    others = [page for key in ("b", "c", "d" * 50) for page in pages(key, 5)]
    backend.commit(found(*several, *others))
    backend.commit(settled(others[-1]))
    for count in (1, 3, 1000):
        entries = walked(backend, count)
        assert sorted(urls(entries)) == sorted(urls([*several, *others[:-1]]))
        assert [one for one in entries if one.key == "a"] == several[::-1]


def test_a_walk_through_nothing(backend: Driven) -> None:
    assert walked(backend) == []
    backend.commit(found(entry("http://a/")))
    backend.commit(settled(backend.activate_one().queue.entries[0]))
    assert walked(backend) == []


def test_a_walk_brings_what_is_held_too(backend: Driven) -> None:
    backend.commit(found(*pages("a", 20), *pages("b", 2)))
    assert len(backend.activate_keys()) == 2
    assert len(walked(backend)) == 22


def test_what_stays_queued_is_met_whatever_happens_during_a_walk(backend: Driven) -> None:
    entries = pages("a", 30) + pages("b", 30)
    backend.commit(found(*entries))
    met: set[str] = set()
    cursor, step = None, 0
    while True:
        stretch = backend.run(backend.backend.scan_queues(cursor, 4))
        met.update(urls(stretch.entries))
        if (cursor := stretch.cursor) is None:
            break
        backend.commit(settled(entries[step]))
        backend.commit(found(*pages(f"new{step}", 3)))
        step += 1
    assert {page.url for page in entries[step:]} <= met


def test_an_idle_keys_urls_are_moved(backend: Driven) -> None:
    one, two, three = pages("a", 3)
    backend.commit(found(one, two, three, entry("http://b/", level=1)))
    assert move(backend, Move(three, 5), Move(one, -1)) == [three.url, one.url]
    active = {each.record.key: each.queue.entries for each in backend.activate_keys()}
    assert [(each.url, each.level, each.position) for each in active["a"]] == [
        (three.url, 5, three.position),
        (two.url, 0, two.position),
        (one.url, -1, one.position),
    ]


def test_the_level_of_an_idle_key_follows_its_urls(backend: Driven) -> None:
    one, two = pages("a", 2)
    backend.commit(found(one, two, entry("http://b/", level=1)))
    move(backend, Move(two, 3))
    assert backend.hosts()["a"].level == 3
    moved = Move(two, 3).moved()
    move(backend, Move(moved, -2), Move(one, -1))
    assert backend.hosts()["a"].level == -1


def test_every_field_but_the_level_stays(backend: Driven) -> None:
    full = entry("http://a/", 2, depth=3, via="http://b/", attempts=1, **dict.fromkeys(CARRIED, "x"))
    backend.commit(found(full))
    assert move(backend, Move(full, 7)) == [full.url]
    [loaded] = backend.activate_one().queue.entries
    full.level = 7
    assert loaded == full


def test_what_is_no_longer_where_it_was_is_not_moved(backend: Driven) -> None:
    one, two = pages("a", 2)
    backend.commit(found(one, two))
    backend.commit(settled(one))
    assert move(backend, Move(one, 4)) == []
    assert move(backend, Move(two, 4)) == [two.url]
    assert move(backend, Move(two, 4), Move(entry("http://nobody/"), 1)) == []
    assert urls(backend.queued()) == [two.url]


def test_a_place_that_is_taken_stays_so(backend: Driven) -> None:
    one, two = entry("http://a/1", 0, 50), entry("http://a/2", 1, 50)
    backend.commit(found(one, two))
    assert move(backend, Move(one, 1)) == []
    assert [(each.url, each.level) for each in backend.queued()] == [(two.url, 1), (one.url, 0)]


def test_only_its_holder_moves_what_is_in_an_active_key(backend: Driven) -> None:
    one, two = pages("a", 2)
    backend.commit(found(one, two))
    assert move(backend, Move(one, 1, fence=0)) == []
    record = backend.activate_one().record
    assert move(backend, Move(one, 1)) == []
    assert move(backend, Move(two, 1, fence=record.fence)) == [two.url]
    assert urls(backend.read_queue("a").entries) == [two.url, one.url]
    backend.release_keys(record)
    assert move(backend, Move(one, 2, fence=record.fence)) == []
    assert move(backend, Move(one, 2)) == [one.url]


def test_a_key_that_is_given_up_is_reordered_for_another_time(backend: Driven) -> None:
    one, two = pages("a", 2)
    backend.commit(found(one, two))
    record = backend.activate_one().record
    record.given_up = True
    backend.release_keys(record)
    assert move(backend, Move(two, 9)) == [two.url]
    assert backend.activate_keys() == []
    backend.reopen()
    assert urls(backend.activate_one().queue.entries) == [two.url, one.url]


def test_what_was_moved_is_settled_where_it_is(backend: Driven) -> None:
    one, two = pages("a", 2)
    backend.commit(found(one, two))
    move(backend, Move(two, 3))
    backend.commit(settled(Move(two, 3).moved()))
    assert backend.read_counts().done == 1
    assert urls(backend.queued()) == [one.url]


def test_a_move_outlasts_a_crash(backend: Driven) -> None:
    one, two = pages("a", 2)
    backend.commit(found(one, two))
    move(backend, Move(two, 3))
    backend.crash()
    assert urls(backend.queued()) == [two.url, one.url]


def test_full_queues_are_pruned_by_the_levels_of_now(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=3)
    one, two, three = pages("a", 3)
    backend.commit(found(one, two, three))
    move(backend, Move(one, -1))
    backend.commit(found(entry("http://a/new")))
    assert urls(backend.queued()) == [two.url, three.url, "http://a/new"]
    backend.check_consistency()


@pytest.mark.parametrize("length", [3, 400])
def test_queues_stay_in_order_through_many_moves(make_backend: MakeBackend, length: int) -> None:
    backend = make_backend()

    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(st.integers(0, length - 1), st.integers(-3, 3)), max_size=60))
    def shuffled(steps: list[tuple[int, int]]) -> None:
        stand = {page.url: page for page in backend.queued()}
        names = sorted(stand)
        wanted = {names[number]: level for number, level in steps}
        moves = [Move(stand[name], level) for name, level in wanted.items() if stand[name].level != level]
        assert len(move(backend, *moves)) == len(moves)
        for one in moves:
            stand[one.entry.url] = one.moved()
        expected = sorted(stand.values(), key=lambda page: (-page.level, page.position))
        assert backend.queued() == expected

    backend.commit(Batch(discovered=pages("a", length)))
    shuffled()
    backend.check_consistency()
