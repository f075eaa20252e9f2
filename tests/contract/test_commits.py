"""One commit: what is discovered, what is settled, and what the counts say afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.samples import NOW, again, entry, found, pages, settled, urls
from webcrawl.frontier.records import Kind, State, UrlEntry
from webcrawl.storage.contract import Batch, Settled

if TYPE_CHECKING:
    from tests.contract.conftest import MakeBackend
    from tests.contract.driven import Driven

ENDS = [(State.DONE, "done"), (State.FAILED, "failed"), (State.REFUSED, "refused")]


def robots_hop(position: int = 1) -> UrlEntry:
    """A robots.txt redirect that waits in the queue of another key."""
    return UrlEntry(
        "http://a/robots.txt", "a", 0, 1 << 40, position, kind=Kind.ROBOTS, repeat=True, payload="{}"
    )


def test_an_empty_commit_changes_nothing(backend: Driven) -> None:
    committed = backend.commit(Batch())
    assert (committed.queued, committed.pruned, committed.total_queued, committed.total_hosts) == (
        [],
        0,
        0,
        0,
    )


def test_a_commit_tells_what_it_queued_and_how_much_is_queued_in_all(backend: Driven) -> None:
    backend.commit(found(entry("http://a/1")))
    committed = backend.commit(found(entry("http://a/1"), entry("http://a/2"), entry("http://b/1")))
    assert urls(committed.queued) == ["http://a/2", "http://b/1"]
    assert (committed.total_queued, committed.total_hosts) == (3, 2)


def test_a_url_that_is_known_is_dropped(backend: Driven) -> None:
    backend.commit(found(entry("http://a/1")))
    assert backend.commit(found(entry("http://a/1"))).queued == []
    assert urls(backend.activate_one().queue.entries) == ["http://a/1"]


def test_a_url_that_comes_twice_in_one_batch_is_queued_once(backend: Driven) -> None:
    assert len(backend.commit(found(entry("http://a/1"), entry("http://a/1"))).queued) == 1


@pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.REFUSED])
def test_a_url_that_was_settled_is_known_for_ever(backend: Driven, state: State) -> None:
    backend.commit(found(one := entry("http://a/1")))
    backend.activate_one()
    backend.commit(settled(one, state))
    assert backend.commit(found(entry("http://a/1"))).queued == []


def test_a_known_url_is_kept_when_it_says_repeat(backend: Driven) -> None:
    backend.commit(found(entry("http://a/1")))
    [repeated] = backend.commit(found(entry("http://a/1", repeat=True))).queued
    assert repeated.repeat
    assert urls(backend.activate_one().queue.entries) == ["http://a/1", "http://a/1"]


def test_a_url_that_says_repeat_and_is_new_is_queued_as_the_first(backend: Driven) -> None:
    [first] = backend.commit(found(entry("http://a/1", repeat=True))).queued
    assert not first.repeat
    assert backend.commit(found(entry("http://a/1"))).queued == []


def test_settling_a_repeat_does_not_count_its_url_again(backend: Driven) -> None:
    [first] = backend.commit(found(entry("http://a/1"))).queued
    [second] = backend.commit(found(entry("http://a/1", repeat=True))).queued
    backend.activate_one()
    backend.commit(settled(first, State.FAILED))
    backend.commit(settled(second, State.DONE))
    counts = backend.counts()
    assert (counts.queued, counts.done, counts.failed) == (0, 0, 1)


@pytest.mark.parametrize(("state", "name"), ENDS)
def test_a_settled_url_is_in_exactly_one_state(backend: Driven, state: State, name: str) -> None:
    backend.commit(found(one := entry("http://a/1"), entry("http://a/2")))
    backend.activate_one()
    committed = backend.commit(settled(one, state, "some-rule"))
    counts = backend.counts()
    assert committed.total_queued == counts.queued == 1
    assert {n: getattr(counts, n) for _, n in ENDS} == {n: int(n == name) for _, n in ENDS}
    if backend.exact:
        assert backend.state_of(one) is state


def test_a_queued_url_has_the_state_queued_and_an_unknown_one_none(backend: Driven) -> None:
    backend.commit(found(one := entry("http://a/1")))
    assert backend.state_of(one) is (State.QUEUED if backend.exact else None)
    assert backend.state_of(entry("http://a/2")) is None
    assert backend.state_of(entry("http://never-seen/")) is None


def test_a_url_that_is_tried_again_is_queued_once_and_still_known(backend: Driven) -> None:
    backend.commit(found(one := entry("http://a/1")))
    backend.activate_one()
    committed = backend.commit(again(one))
    assert urls(committed.queued) == ["http://a/1"]
    assert committed.total_queued == backend.counts().queued == 1
    assert backend.commit(found(entry("http://a/1"))).queued == []
    if backend.exact:
        assert backend.state_of(one) is State.QUEUED


def test_links_and_the_end_of_their_page_are_one_commit(backend: Driven) -> None:
    backend.commit(found(page := entry("http://a/")))
    backend.activate_one()
    committed = backend.commit(Batch([entry("http://a/1"), entry("http://b/1")], [Settled(page, State.DONE)]))
    assert urls(sorted(committed.queued, key=lambda one: one.url)) == ["http://a/1", "http://b/1"]
    counts = backend.counts()
    assert (counts.queued, counts.done, counts.hosts) == (2, 1, 2)


def test_a_page_that_links_to_itself_is_not_queued_again_by_its_own_commit(backend: Driven) -> None:
    backend.commit(found(page := entry("http://a/")))
    backend.activate_one()
    assert backend.commit(Batch([entry("http://a/")], [Settled(page, State.DONE)])).queued == []


def test_a_hop_of_a_robots_redirect_is_queued_whatever_was_seen_and_is_no_url_of_the_crawl(
    backend: Driven,
) -> None:
    [hop] = backend.commit(found(robots_hop(1))).queued
    assert backend.commit(found(robots_hop(2))).queued[0].repeat
    assert backend.state_of(hop) is None
    backend.activate_one()
    backend.commit(settled(hop))
    counts = backend.counts()
    assert (counts.queued, counts.done) == (1, 0)


def test_full_queues_lose_the_lowest_level_first_and_of_it_the_last_come(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=3)
    urls_in_order = [
        entry("http://a/low-early", 0, 1),
        entry("http://a/high", 1, 5),
        entry("http://a/low-late", 0, 3),
        entry("http://a/lowest", -1, 2),
        entry("http://a/low-middle", 0, 2),
    ]
    committed = backend.commit(found(*urls_in_order))
    assert committed.pruned == 2
    assert committed.total_queued == 3
    left = urls(backend.activate_one().queue.entries)
    assert left == ["http://a/high", "http://a/low-early", "http://a/low-middle"]
    backend.check_books()


def test_what_is_pruned_is_refused_and_stays_known(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=1)
    _, gone = known = pages("a", 2)
    backend.commit(found(*known))
    assert backend.counts().refused == 1
    if backend.exact:
        assert backend.state_of(gone) is State.REFUSED
    assert backend.commit(found(entry(gone.url))).queued == []
    backend.check_books()


def test_what_was_pruned_is_queued_as_new_when_it_is_found_again_and_there_is_room(
    make_backend: MakeBackend,
) -> None:
    backend = make_backend(queue_max=1)
    first, gone = known = pages("a", 2)
    backend.commit(found(*known))
    backend.activate_one()
    backend.commit(settled(first))
    committed = backend.commit(found(entry(gone.url), entry(gone.url)))
    assert urls(committed.queued) == ([gone.url] if backend.exact else [])
    counts = backend.counts()
    if backend.exact:
        assert (counts.queued, counts.done, counts.refused) == (1, 1, 0)
        assert backend.state_of(gone) is State.QUEUED
        assert committed.queued[0].repeat is False
    assert backend.commit(found(entry(gone.url))).queued == []
    backend.check_books()


def test_what_was_pruned_takes_what_room_new_urls_leave(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=3)
    first, second, third, *gone = known = pages("a", 6)
    backend.commit(found(*known))
    backend.activate_one()
    backend.commit(Batch(settled=[Settled(one, State.DONE) for one in (first, second)]))
    again = [entry(one.url) for one in gone]
    committed = backend.commit(found(*again, new := entry("http://a/new", level=-1)))
    assert committed.pruned == 0
    assert set(urls(committed.queued)) == ({new.url, gone[0].url} if backend.exact else {new.url})
    if backend.exact:
        assert sorted(committed.may_return) == sorted(one.fingerprint for one in gone[1:])
        assert backend.counts().refused == 2
        assert urls(backend.load("a").entries) == [third.url, gone[0].url, new.url]
    backend.check_books()


def test_what_is_pruned_is_told_as_what_may_return(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=2)
    committed = backend.commit(found(*(known := pages("a", 4)), entry("http://a/0", repeat=True)))
    assert sorted(committed.may_return) == sorted(one.fingerprint for one in known[2:] if backend.exact)
    backend.check_books()


def test_many_that_were_pruned_return_as_there_is_room(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=40)
    known = pages("a", 300)
    backend.commit(found(*known))
    backend.activate_one()
    for _ in range(9):
        queued = backend.queued()
        backend.commit(Batch(settled=[Settled(one, State.DONE) for one in queued]))
        backend.commit(found(*(entry(one.url) for one in known)))
        backend.check_books()
    if backend.exact:
        counts = backend.counts()
        assert (counts.queued, counts.done, counts.refused) == (0, 300, 0)


@pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.REFUSED])
def test_what_was_settled_by_another_rule_never_returns(make_backend: MakeBackend, state: State) -> None:
    backend = make_backend(queue_max=2)
    backend.commit(found(one := entry("http://a/1"), *pages("a", 4)))
    backend.activate_one()
    backend.commit(settled(one, state, "robots"))
    assert backend.commit(found(entry("http://a/1"))).queued == []
    backend.check_books()


def test_what_was_pruned_while_it_was_fetched_and_is_found_again_is_fetched_once_more(
    make_backend: MakeBackend,
) -> None:
    backend = make_backend(queue_max=1)
    if not backend.exact:
        return
    low, returned = pruned_while_fetched_and_found_again(backend)
    backend.commit(settled(low, State.DONE))
    assert backend.state_of(low) is State.QUEUED
    counts = backend.counts()
    assert (counts.queued, counts.done, counts.refused) == (1, 1, 0)
    backend.commit(settled(returned, State.FAILED))
    counts = backend.counts()
    assert (counts.queued, counts.done, counts.failed, counts.refused) == (0, 1, 1, 0)
    backend.check_books()


def test_what_was_pruned_while_it_was_fetched_and_is_found_again_is_not_queued_a_second_time(
    make_backend: MakeBackend,
) -> None:
    backend = make_backend(queue_max=1)
    if not backend.exact:
        return
    low, returned = pruned_while_fetched_and_found_again(backend)
    committed = backend.commit(again(low))
    assert (committed.queued, list(committed.lost)) == ([], [])
    assert committed.total_queued == backend.counts().queued == 1
    assert [one.position for one in backend.queued()] == [returned.position]
    backend.check_books()


def test_what_was_found_again_and_settled_leaves_nothing_for_the_fetch_before_it(
    make_backend: MakeBackend,
) -> None:
    backend = make_backend(queue_max=1)
    if not backend.exact:
        return
    low, returned = pruned_while_fetched_and_found_again(backend)
    backend.commit(settled(returned, State.DONE))
    backend.commit(again(low))
    backend.commit(settled(low, State.FAILED))
    counts = backend.counts()
    assert (counts.queued, counts.done, counts.failed, counts.refused) == (0, 2, 0, 0)
    backend.check_books()


def pruned_while_fetched_and_found_again(backend: Driven) -> tuple[UrlEntry, UrlEntry]:
    """A URL as it was leased, and as it is queued; another one is done."""
    backend.commit(found(low := entry("http://a/low", level=0)))
    backend.activate_one()
    backend.commit(found(high := entry("http://a/high", level=1)))
    backend.commit(settled(high))
    [returned] = backend.commit(found(entry("http://a/low", level=0))).queued
    return low, returned


def test_what_is_pruned_at_once_is_not_among_what_was_queued(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=2)
    committed = backend.commit(found(*pages("a", 5)))
    assert urls(committed.queued) == urls(pages("a", 2))


def test_other_keys_are_not_pruned_for_one_full_queue(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=2)
    backend.commit(found(*pages("b", 2)))
    assert backend.commit(found(*pages("a", 5))).pruned == 3
    assert backend.counts().queued == 4


def test_pruned_repeats_leave_the_state_of_their_url_alone(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=1)
    backend.commit(found(first := entry("http://a/1")))
    assert backend.commit(found(entry("http://a/1", repeat=True))).pruned == 1
    assert backend.counts().refused == 0
    if backend.exact:
        assert backend.state_of(first) is State.QUEUED
    backend.check_books()


@pytest.mark.parametrize(("state", "name"), ENDS)
def test_a_url_that_was_pruned_while_it_was_fetched_ends_as_its_fetch_did(
    make_backend: MakeBackend, state: State, name: str
) -> None:
    backend = make_backend(queue_max=1)
    backend.commit(found(low := entry("http://a/low", level=0)))
    backend.activate_one()
    assert backend.commit(found(entry("http://a/high", level=1))).pruned == 1
    backend.commit(settled(low, state))
    counts = backend.counts()
    assert counts.queued == 1
    assert {n: getattr(counts, n) for _, n in ENDS} == {n: int(n == name) for _, n in ENDS}
    backend.check_books()


def test_a_url_that_was_pruned_while_it_was_fetched_may_be_tried_again(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=1)
    backend.commit(found(low := entry("http://a/low", level=0)))
    backend.activate_one()
    backend.commit(found(high := entry("http://a/high", level=1)))
    backend.commit(Batch(settled=[Settled(high, State.DONE), *again(low).settled]))
    counts = backend.counts()
    assert (counts.queued, counts.done, counts.refused) == (1, 1, 0)
    assert urls(backend.load("a").entries) == ["http://a/low"]
    backend.check_books()


def test_settling_what_is_not_active_any_more_is_no_loss(backend: Driven) -> None:
    backend.commit(found(one := entry("http://a/1"), entry("http://a/2")))
    backend.release(backend.activate_one().record)
    backend.commit(settled(one))
    assert urls(backend.activate_one().queue.entries) == ["http://a/2"]


def test_a_key_whose_last_url_is_settled_after_its_release_is_not_idle(backend: Driven) -> None:
    backend.commit(found(one := entry("http://a/1")))
    backend.release(backend.activate_one().record)
    backend.commit(settled(one))
    assert backend.idle().at is None
    assert backend.activate(now=NOW + 100) == []


def test_the_level_of_a_released_key_falls_when_its_highest_url_is_settled(make_backend: MakeBackend) -> None:
    backend = make_backend()
    backend.commit(found(high := entry("http://a/1", 5), entry("http://a/2", 0)))
    backend.release(backend.activate_one().record)
    backend.commit(settled(high))
    backend.check_books()


def test_many_urls_of_many_keys_fit_in_one_commit(backend: Driven) -> None:
    batch = [entry(f"http://h{number % 50}/{number}") for number in range(2000)]
    committed = backend.commit(found(*batch))
    assert (len(committed.queued), committed.total_queued, committed.total_hosts) == (2000, 2000, 50)
