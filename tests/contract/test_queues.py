"""A queue per key, in the order of levels and positions, read a stretch at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.samples import again, entry, found, pages, settled, urls
from webcrawl.frontier.queue_head import expected_place
from webcrawl.frontier.records import CARRIED, QUEUED, UrlEntry
from webcrawl.storage.contract import HEAD, Batch, Settled

if TYPE_CHECKING:
    from tests.contract.driven import Driven

BOUNDARY = [0, 1, -1, (1 << 63) - 1, -(1 << 63), 1 << 62, -(1 << 62)]


def test_higher_levels_come_first_and_within_a_level_lower_positions(backend: Driven) -> None:
    backend.commit(
        found(
            entry("http://a/low-late", level=-1, position=9),
            entry("http://a/high-late", level=5, position=8),
            entry("http://a/middle", level=0, position=1),
            entry("http://a/high-early", level=5, position=7),
            entry("http://a/low-early", level=-1, position=2),
        )
    )
    queue = backend.activate_one().queue
    assert [page.url.rpartition("/")[2] for page in queue.entries] == [
        "high-early",
        "high-late",
        "middle",
        "low-early",
        "low-late",
    ]
    assert not queue.more


def test_an_activated_key_brings_the_head_of_its_queue_and_tells_whether_more_follows(
    backend: Driven,
) -> None:
    backend.commit(found(*pages("short", HEAD), *pages("long", HEAD + 1)))
    queues = {active.record.key: active.queue for active in backend.activate_keys()}
    assert urls(queues["short"].entries) == urls(pages("short", HEAD))
    assert not queues["short"].more
    assert urls(queues["long"].entries) == urls(pages("long", HEAD))
    assert queues["long"].more


def test_loading_stretch_after_stretch_gives_the_whole_queue_once(backend: Driven) -> None:
    known = pages("a", 23) + pages("a", 0)
    backend.commit(found(*known))
    backend.activate_one()
    place, more, seen = None, True, []
    while more:
        loaded = backend.read_queue("a", place, 5)
        seen += loaded.entries
        place, more = expected_place(loaded.entries[-1]), loaded.more
    assert urls(seen) == urls(known)


def test_a_load_behind_the_last_entry_is_empty_and_says_that_nothing_follows(backend: Driven) -> None:
    backend.commit(found(*(known := pages("a", 3))))
    backend.activate_one()
    loaded = backend.read_queue("a", expected_place(known[-1]))
    assert (loaded.entries, loaded.more) == ([], False)


def test_a_load_behind_a_place_that_no_entry_has_starts_at_the_next_one(backend: Driven) -> None:
    backend.commit(found(entry("http://a/1", position=10), entry("http://a/2", position=20)))
    backend.activate_one()
    assert urls(backend.read_queue("a", (0, 15)).entries) == ["http://a/2"]


def test_a_load_sees_what_was_queued_and_settled_since_the_key_became_active(backend: Driven) -> None:
    first, second = entry("http://a/1"), entry("http://a/2")
    backend.commit(found(first, second))
    backend.activate_one()
    backend.commit(found(entry("http://a/urgent", level=3)))
    backend.commit(settled(first))
    assert urls(backend.read_queue("a").entries) == ["http://a/urgent", "http://a/2"]


def test_a_leased_url_stays_in_its_queue_until_it_is_settled(backend: Driven) -> None:
    page = entry("http://a/1")
    backend.commit(found(page))
    backend.activate_one()
    assert urls(backend.read_queue("a").entries) == ["http://a/1"]
    assert backend.read_counts().queued == 1


def test_a_url_that_goes_back_stands_at_its_new_place_and_only_there(backend: Driven) -> None:
    first, second = entry("http://a/1", position=1), entry("http://a/2", position=2)
    backend.commit(found(first, second))
    backend.activate_one()
    backend.commit(again(first, position=3))
    loaded = backend.read_queue("a").entries
    assert urls(loaded) == ["http://a/2", "http://a/1"]
    assert loaded[1].attempts == 1


def test_every_field_of_an_entry_comes_back_as_it_went_in(backend: Driven) -> None:
    full = UrlEntry(
        "http://a/?q=1",
        "a",
        -5,
        level=2,
        position=77,
        depth=4,
        via="http://b/",
        kind="sitemap",
        redirects=2,
        attempts=1,
        **{name: f"its {name}" for name in CARRIED},
    )
    backend.commit(found(full))
    [loaded] = backend.activate_one().queue.entries
    assert loaded == full


@pytest.mark.parametrize("name", CARRIED)
def test_a_carried_value_stays_with_its_url(backend: Driven, name: str) -> None:
    one, other = entry("http://a/1", via="http://a/", **{name: "one"}), entry("http://a/2", via="http://a/")
    empty = entry("http://a/3", via="http://a/", **{name: ""})
    backend.commit(found(one, other, empty))
    assert backend.activate_one().queue.entries == [one, other, empty]
    retried = replace(one, attempts=1, position=empty.position + 1)
    backend.commit(Batch(settled=[Settled(one, QUEUED, again=retried)]))
    assert backend.read_queue("a").entries == [other, empty, retried]


def test_any_url_comes_back_as_it_went_in(backend: Driven) -> None:
    texts = [
        "http://a/" + "x" * 20_000,
        "http://a/\N{SNOWMAN}/\U0001f577/%zz",
        "http://a/'; DROP TABLE queue; --",
        "http://a/\"quoted\"?a='b'&\\",
        "http://a/nul\x00inside",
        "http://a/\n\t\r",
        "data:,hello",
    ]
    pages = [
        UrlEntry(text, "a", number, position=number, via=text, **dict.fromkeys(CARRIED, text))
        for number, text in enumerate(texts)
    ]
    backend.commit(found(*pages))
    assert backend.activate_one().queue.entries == pages


def test_any_key_comes_back_as_it_went_in(backend: Driven) -> None:
    keys = ["a", "xn--bcher-kva.example", "münchen.example", "[::1]", "data:", "a'b\x00c"]
    backend.commit(found(*(entry(f"http://a/{key}", key=key) for key in keys)))
    active = {one.record.key: one for one in backend.activate_keys()}
    assert {key: [page.key for page in one.queue.entries] for key, one in active.items()} == {
        key: [key] for key in keys
    }
    backend.release_keys(*(one.record for one in active.values()))
    assert sorted(backend.active_keys()) == sorted(keys)


def test_fingerprints_reach_over_all_of_64_bits(backend: Driven) -> None:
    pages = [entry(f"http://a/{number}", fingerprint=number) for number in BOUNDARY]
    backend.commit(found(*pages))
    assert [page.fingerprint for page in backend.activate_one().queue.entries] == BOUNDARY
    assert (
        backend.commit(found(*(entry("http://a/again", fingerprint=number) for number in BOUNDARY))).queued
        == []
    )
    for page in pages:
        backend.commit(settled(page))
    assert backend.read_counts().done == len(pages)


def test_levels_and_positions_may_be_large_and_negative(backend: Driven) -> None:
    places = [
        (level, position)
        for level in (0, 1 << 40, -(1 << 40))
        for position in (0, 1, -1, (1 << 62) - 1, -(1 << 62))
    ]
    pages = [entry(f"http://{number}/", *place) for number, place in enumerate(places)]
    backend.commit(found(*pages))
    active = {one.record.key: one.queue.entries for one in backend.activate_keys()}
    loaded = [active[page.key] for page in pages]
    assert [[(one.level, one.position) for one in queue] for queue in loaded] == [[place] for place in places]
    for page, [one] in zip(pages, loaded, strict=True):
        backend.commit(settled(one))
        assert backend.read_queue(page.key).entries == []


@pytest.mark.parametrize("at_once", [True, False])
def test_of_entries_with_one_fingerprint_the_first_is_queued(backend: Driven, at_once: bool) -> None:
    first = entry("http://a/%7ex")
    second = replace(entry("http://a/~x"), fingerprint=first.fingerprint)
    if at_once:
        backend.commit(found(first, second))
    else:
        backend.commit(found(first))
        backend.commit(found(second))
    assert urls(backend.activate_one().queue.entries) == [first.url]


def test_queues_do_not_touch_each_other(backend: Driven) -> None:
    mine, yours = entry("http://a/1", position=1), entry("http://b/1", position=1)
    backend.commit(found(mine, yours))
    backend.activate_keys(2)
    backend.commit(settled(mine))
    assert backend.read_queue("a").entries == []
    assert urls(backend.read_queue("b").entries) == ["http://b/1"]


def test_what_the_caller_does_to_an_entry_later_does_not_reach_the_queue(backend: Driven) -> None:
    page = entry("http://a/1")
    backend.commit(found(page))
    page.depth = 99
    active = backend.activate_one()
    active.queue.entries[0].depth = 98
    assert backend.read_queue("a").entries[0].depth == 0


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1 << 62)), unique=True, max_size=40))
def test_a_queue_is_always_sorted_whatever_comes_in(make_backend, places: list[tuple[int, int]]) -> None:
    backend: Driven = make_backend()
    for number, (level, position) in enumerate(places):
        backend.commit(found(entry(f"http://a/{number}", level, position)))
    if places:
        backend.activate_one()
        loaded = backend.read_queue("a").entries
        assert [(page.level, page.position) for page in loaded] == sorted(places, key=lambda p: (-p[0], p[1]))
    backend.dispose()
