"""One commit: what is discovered, what is settled, and what the counts say afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.driven_redis import DrivenRedis
from tests.contract.samples import NOW, again, entry, found, pages, settled, urls
from webcrawl.frontier.records import Kind, State, UrlEntry, UrlRecord
from webcrawl.storage.contract import QUEUE_FULL, Batch, Settled

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
    backend.commit(found(page := entry("http://a/1")))
    backend.activate_one()
    backend.commit(settled(page, state))
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
    counts = backend.read_counts()
    # It has come good; a seen test without states does not know that it had failed.
    assert (counts.queued, counts.done, counts.failed) == ((0, 1, 0) if backend.exact else (0, 0, 1))


@pytest.mark.parametrize(("state", "name"), ENDS)
def test_a_settled_url_is_in_exactly_one_state(backend: Driven, state: State, name: str) -> None:
    backend.commit(found(page := entry("http://a/1"), entry("http://a/2")))
    backend.activate_one()
    committed = backend.commit(settled(page, state, "some-rule"))
    counts = backend.read_counts()
    assert committed.total_queued == counts.queued == 1
    assert {n: getattr(counts, n) for _, n in ENDS} == {n: int(n == name) for _, n in ENDS}
    if backend.exact:
        assert backend.state_of(page) is state


def test_a_queued_url_has_the_state_queued_and_an_unknown_one_none(backend: Driven) -> None:
    backend.commit(found(page := entry("http://a/1")))
    assert backend.state_of(page) is (State.QUEUED if backend.exact else None)
    assert backend.state_of(entry("http://a/2")) is None
    assert backend.state_of(entry("http://never-seen/")) is None


def test_a_url_that_is_tried_again_is_queued_once_and_still_known(backend: Driven) -> None:
    backend.commit(found(page := entry("http://a/1")))
    backend.activate_one()
    committed = backend.commit(again(page))
    assert urls(committed.queued) == ["http://a/1"]
    assert committed.total_queued == backend.read_counts().queued == 1
    assert backend.commit(found(entry("http://a/1"))).queued == []
    if backend.exact:
        assert backend.state_of(page) is State.QUEUED


def ended(one: UrlEntry, state: State, rule: str | None, status: int | None) -> Batch:
    return Batch(settled=[Settled(one, UrlRecord(state, rule, status))])


def tried_again(one: UrlEntry, status: int | None) -> Batch:
    batch = again(one)
    batch.settled[0].record = UrlRecord(State.QUEUED, None, status)
    return batch


def test_a_settled_url_has_the_status_of_its_response(backend: Driven) -> None:
    records = [
        UrlRecord(state, rule if state in (State.FAILED, State.REFUSED) else None, status)
        for state, _ in ENDS
        for rule in ("some rule", None)
        for status in (None, 200, 301, 404, 999)
    ]
    pages = [entry(f"http://a/{number}") for number in range(len(records))]
    backend.commit(found(*pages, other := entry("http://a/other")))
    backend.activate_one()
    for page, record in zip(pages, records, strict=True):
        backend.commit(ended(page, *record))
    for _ in range(2):
        if backend.exact:
            assert [backend.record_of(page) for page in pages] == records
            assert backend.record_of(other) == UrlRecord(State.QUEUED)
        backend.crash()


@pytest.mark.parametrize(("state", "name"), ENDS)
def test_a_url_keeps_its_status_until_there_is_another_response(
    backend: Driven, state: State, name: str
) -> None:
    backend.commit(found(page := entry("http://a/1")))
    for status, expected in ((None, None), (503, 503), (None, 503), (429, 429)):
        backend.activate_one()
        [page] = backend.commit(tried_again(page, status)).queued
        backend.crash()
        if backend.exact:
            assert backend.record_of(page) == UrlRecord(State.QUEUED, None, expected)
    backend.activate_one()
    rule = None if state is State.DONE else name
    backend.commit(ended(page, state, rule, None))
    if backend.exact:
        assert backend.record_of(page) == UrlRecord(state, rule, 429)


@pytest.mark.parametrize(("state", "name"), ENDS)
def test_the_response_to_a_repeat_changes_the_status_and_what_was_not_done_is_done(
    backend: Driven, state: State, name: str
) -> None:
    backend.commit(found(page := entry("http://a/1")))
    backend.activate_one()
    rule = None if state is State.DONE else name
    backend.commit(ended(page, state, rule, 200))
    for status, expected in ((None, 200), (304, 304), (None, 304), (200, 200), (410, 410)):
        [repeat] = backend.commit(found(entry("http://a/1", repeat=True))).queued
        other = State.FAILED if status is None else State.DONE
        backend.commit(ended(repeat, other, None if status else "timeout", status))
        if other is State.DONE and backend.exact:
            state, rule, name = State.DONE, None, "done"
        counts = backend.read_counts()
        assert getattr(counts, name) == 1
        assert (counts.queued, counts.done + counts.failed + counts.refused) == (0, 1)
        if backend.exact:
            assert backend.record_of(page) == UrlRecord(state, rule, expected)


@pytest.mark.parametrize("status", [200, 404, None])
def test_urls_that_failed_and_their_repeats_may_be_settled_in_one_commit(
    backend: Driven, status: int | None
) -> None:
    first = pages("a", 3)
    backend.commit(found(*first, *(repeats := [entry(page.url, repeat=True) for page in first])))
    backend.activate_one()
    failed = [Settled(page, UrlRecord(State.FAILED, "timeout", None)) for page in first]
    done = [Settled(page, UrlRecord(State.DONE, None, status)) for page in repeats]
    backend.commit(Batch(settled=[*failed, *done]))
    counts = backend.read_counts()
    assert (counts.queued, counts.done, counts.failed) == ((0, 3, 0) if backend.exact else (0, 0, 3))
    if backend.exact:
        assert {backend.record_of(page) for page in first} == {UrlRecord(State.DONE, None, status)}


def test_of_a_url_and_its_repeat_in_one_commit_the_last_response_counts(backend: Driven) -> None:
    backend.commit(
        found(*(first := pages("a", 2)), *(repeats := [entry(page.url, repeat=True) for page in first]))
    )
    backend.activate_one()
    ends = [
        Settled(page, UrlRecord(State.DONE, None, status))
        for page, status in zip(
            (first[0], repeats[0], repeats[1], first[1]), (301, 404, 500, 200), strict=True
        )
    ]
    backend.commit(Batch(settled=ends))
    if backend.exact:
        assert [backend.record_of(page) for page in first] == [
            UrlRecord(State.DONE, None, 404),
            UrlRecord(State.DONE, None, 200),
        ]


@pytest.mark.parametrize("at_once", [100, 700])
def test_many_statuses_of_many_urls(backend: Driven, at_once: int) -> None:
    """On Redis the first words of a shard are kept, of each call at most 254; a status without one is not stored."""
    urls = pages("a", 700)
    backend.commit(found(*urls))
    backend.activate_one()
    ends = [
        Settled(
            url, UrlRecord(State.FAILED if n % 2 else State.DONE, "rule" if n % 2 else None, 200 + n // 2)
        )
        for n, url in enumerate(urls)
    ]
    for start in range(0, len(ends), at_once):
        backend.commit(Batch(settled=ends[start : start + at_once]))
    if not backend.exact:
        return
    found_there = [backend.record_of(url) for url in urls]
    if not isinstance(backend, DrivenRedis):
        assert found_there == [one.record for one in ends]
        return
    for record, end in zip(found_there, ends, strict=True):
        assert record is not None
        assert record.state is end.record.state
        assert record.status in (end.record.status, None)
        assert record.rule in (end.record.rule, None)
    if at_once == 700:
        return
    assert {one.rule for one in found_there[1::2]} == {"rule"}
    assert sum(one.status is not None for one in found_there[0::2]) == 1 + 62
    assert sum(one.status is not None for one in found_there[1::2]) == 23
    backend.commit(ended(urls[-2], *UrlRecord(State.DONE)))
    new = [entry(f"http://a/new{n}") for n in range(2)]
    backend.commit(found(*new))
    backend.commit(ended(new[0], State.REFUSED, "other rule", None))
    backend.commit(ended(new[1], State.REFUSED, "last rule", 599))
    assert backend.record_of(new[0]) == UrlRecord(State.REFUSED, "other rule")
    assert backend.record_of(new[1]) == UrlRecord(State.REFUSED, "last rule")


def test_links_and_the_end_of_their_page_are_one_commit(backend: Driven) -> None:
    backend.commit(found(page := entry("http://a/")))
    backend.activate_one()
    committed = backend.commit(
        Batch([entry("http://a/1"), entry("http://b/1")], [Settled(page, UrlRecord(State.DONE))])
    )
    assert urls(sorted(committed.queued, key=lambda one: one.url)) == ["http://a/1", "http://b/1"]
    counts = backend.read_counts()
    assert (counts.queued, counts.done, counts.hosts) == (2, 1, 2)


def test_a_page_that_links_to_itself_is_not_queued_again_by_its_own_commit(backend: Driven) -> None:
    backend.commit(found(page := entry("http://a/")))
    backend.activate_one()
    assert backend.commit(Batch([entry("http://a/")], [Settled(page, UrlRecord(State.DONE))])).queued == []


def test_a_hop_of_a_robots_redirect_is_queued_whatever_was_seen_and_is_no_url_of_the_crawl(
    backend: Driven,
) -> None:
    [hop] = backend.commit(found(robots_hop(1))).queued
    assert backend.commit(found(robots_hop(2))).queued[0].repeat
    assert backend.state_of(hop) is None
    backend.activate_one()
    backend.commit(settled(hop))
    counts = backend.read_counts()
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
    backend.check_consistency()


def test_what_is_pruned_is_refused_and_stays_known(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=1)
    _, gone = known = pages("a", 2)
    backend.commit(found(*known))
    assert backend.read_counts().refused == 1
    if backend.exact:
        assert backend.state_of(gone) is State.REFUSED
    assert backend.commit(found(entry(gone.url))).queued == []
    backend.check_consistency()


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
    counts = backend.read_counts()
    if backend.exact:
        assert (counts.queued, counts.done, counts.refused) == (1, 1, 0)
        assert backend.state_of(gone) is State.QUEUED
        assert committed.queued[0].repeat is False
    assert backend.commit(found(entry(gone.url))).queued == []
    backend.check_consistency()


def test_what_is_pruned_has_no_status_and_returns_whatever_it_had(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=3)
    first, gone = pages("a", 2)
    backend.commit(found(first, gone))
    [repeat] = backend.commit(found(entry(gone.url, level=2, repeat=True))).queued
    backend.activate_one()
    backend.commit(tried_again(gone, 503))
    backend.commit(found(*(more := [entry(f"http://a/more{n}", level=1) for n in range(2)])))
    if not backend.exact:
        return
    pruned = UrlRecord(State.REFUSED, QUEUE_FULL)
    assert backend.record_of(gone) == pruned
    # The response to a repeat changes nothing then.
    backend.commit(ended(repeat, State.DONE, None, 404))
    assert backend.record_of(gone) == pruned
    for page in more:
        backend.commit(settled(page))
    assert urls(backend.commit(found(entry(gone.url))).queued) == [gone.url]
    assert backend.record_of(gone) == UrlRecord(State.QUEUED)
    backend.check_consistency()


def test_what_was_pruned_returns_though_a_repeat_of_it_was_queued(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=2)
    first, gone = pages("a", 2)
    more = [entry(f"http://a/more{n}", level=1) for n in range(2)]
    backend.commit(found(first, gone, *more))
    backend.activate_one()
    [repeat] = backend.commit(found(entry(gone.url, level=2, repeat=True))).queued
    for page in (repeat, *more):
        backend.commit(settled(page))
    returned = [gone.url] if backend.exact else []
    assert urls(backend.commit(found(entry(gone.url))).queued) == returned
    backend.check_consistency()


def test_what_was_pruned_takes_what_room_new_urls_leave(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=3)
    first, second, third, *gone = known = pages("a", 6)
    backend.commit(found(*known))
    backend.activate_one()
    backend.commit(Batch(settled=[Settled(page, UrlRecord(State.DONE)) for page in (first, second)]))
    again = [entry(page.url) for page in gone]
    committed = backend.commit(found(*again, new := entry("http://a/new", level=-1)))
    assert committed.pruned == 0
    assert set(urls(committed.queued)) == ({new.url, gone[0].url} if backend.exact else {new.url})
    if backend.exact:
        assert sorted(committed.may_return) == sorted(page.fingerprint for page in gone[1:])
        assert backend.read_counts().refused == 2
        assert urls(backend.read_queue("a").entries) == [third.url, gone[0].url, new.url]
    backend.check_consistency()


def test_what_is_pruned_is_told_as_what_may_return(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=2)
    committed = backend.commit(found(*(known := pages("a", 4)), entry("http://a/0", repeat=True)))
    assert sorted(committed.may_return) == sorted(page.fingerprint for page in known[2:] if backend.exact)
    backend.check_consistency()


def test_many_that_were_pruned_return_as_there_is_room(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=40)
    known = pages("a", 300)
    backend.commit(found(*known))
    backend.activate_one()
    for _ in range(9):
        queued = backend.queued()
        backend.commit(Batch(settled=[Settled(page, UrlRecord(State.DONE)) for page in queued]))
        backend.commit(found(*(entry(page.url) for page in known)))
        backend.check_consistency()
    if backend.exact:
        counts = backend.read_counts()
        assert (counts.queued, counts.done, counts.refused) == (0, 300, 0)


@pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.REFUSED])
def test_what_was_settled_by_another_rule_never_returns(make_backend: MakeBackend, state: State) -> None:
    backend = make_backend(queue_max=2)
    backend.commit(found(page := entry("http://a/1"), *pages("a", 4)))
    backend.activate_one()
    backend.commit(settled(page, state, "robots"))
    assert backend.commit(found(entry("http://a/1"))).queued == []
    backend.check_consistency()


def test_what_was_pruned_while_it_was_fetched_and_is_found_again_is_fetched_once_more(
    make_backend: MakeBackend,
) -> None:
    backend, low, returned = pruned_while_fetched_and_found_again(make_backend)
    backend.commit(settled(low, State.DONE))
    assert backend.state_of(low) is State.QUEUED
    counts = backend.read_counts()
    assert (counts.queued, counts.done, counts.refused) == (1, 1, 0)
    backend.commit(settled(returned, State.FAILED))
    counts = backend.read_counts()
    assert (counts.queued, counts.done, counts.failed, counts.refused) == (0, 1, 1, 0)
    backend.check_consistency()


def test_what_was_pruned_while_it_was_fetched_and_is_found_again_is_not_queued_a_second_time(
    make_backend: MakeBackend,
) -> None:
    backend, low, returned = pruned_while_fetched_and_found_again(make_backend)
    committed = backend.commit(again(low))
    assert (committed.queued, list(committed.lost)) == ([], [])
    assert committed.total_queued == backend.read_counts().queued == 1
    assert [page.position for page in backend.queued()] == [returned.position]
    backend.check_consistency()


def test_what_was_found_again_and_settled_leaves_nothing_for_the_fetch_before_it(
    make_backend: MakeBackend,
) -> None:
    backend, low, returned = pruned_while_fetched_and_found_again(make_backend)
    backend.commit(settled(returned, State.DONE))
    backend.commit(again(low))
    backend.commit(settled(low, State.FAILED))
    counts = backend.read_counts()
    assert (counts.queued, counts.done, counts.failed, counts.refused) == (0, 2, 0, 0)
    backend.check_consistency()


def pruned_while_fetched_and_found_again(make_backend: MakeBackend) -> tuple[Driven, UrlEntry, UrlEntry]:
    """A backend, a URL as it was leased, and as it is queued; another one is done."""
    backend = make_backend(queue_max=1)
    if not backend.exact:
        pytest.skip("a Bloom filter cannot forget the pruned URL, so it never returns")
    backend.commit(found(low := entry("http://a/low", level=0)))
    backend.activate_one()
    backend.commit(found(high := entry("http://a/high", level=1)))
    backend.commit(settled(high))
    [returned] = backend.commit(found(entry("http://a/low", level=0))).queued
    return backend, low, returned


def test_what_is_pruned_at_once_is_not_among_what_was_queued(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=2)
    committed = backend.commit(found(*pages("a", 5)))
    assert urls(committed.queued) == urls(pages("a", 2))


def test_other_keys_are_not_pruned_for_one_full_queue(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=2)
    backend.commit(found(*pages("b", 2)))
    assert backend.commit(found(*pages("a", 5))).pruned == 3
    assert backend.read_counts().queued == 4


def test_pruned_repeats_leave_the_state_of_their_url_alone(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=1)
    backend.commit(found(first := entry("http://a/1")))
    assert backend.commit(found(entry("http://a/1", repeat=True))).pruned == 1
    assert backend.read_counts().refused == 0
    if backend.exact:
        assert backend.state_of(first) is State.QUEUED
    backend.check_consistency()


@pytest.mark.parametrize(("state", "name"), ENDS)
def test_a_url_that_was_pruned_while_it_was_fetched_ends_as_its_fetch_did(
    make_backend: MakeBackend, state: State, name: str
) -> None:
    backend = make_backend(queue_max=1)
    backend.commit(found(low := entry("http://a/low", level=0)))
    backend.activate_one()
    assert backend.commit(found(entry("http://a/high", level=1))).pruned == 1
    backend.commit(settled(low, state))
    counts = backend.read_counts()
    assert counts.queued == 1
    told = name if backend.knows_pruned else "refused"
    assert {n: getattr(counts, n) for _, n in ENDS} == {n: int(n == told) for _, n in ENDS}
    backend.check_consistency()


def test_a_url_that_was_pruned_while_it_was_fetched_may_be_tried_again(make_backend: MakeBackend) -> None:
    backend = make_backend(queue_max=1)
    backend.commit(found(low := entry("http://a/low", level=0)))
    backend.activate_one()
    backend.commit(found(high := entry("http://a/high", level=1)))
    backend.commit(Batch(settled=[Settled(high, UrlRecord(State.DONE)), *again(low).settled]))
    counts = backend.read_counts()
    if backend.knows_pruned:
        assert (counts.queued, counts.done, counts.refused) == (1, 1, 0)
        assert urls(backend.read_queue("a").entries) == ["http://a/low"]
    else:
        assert (counts.queued, counts.done, counts.refused) == (0, 1, 1)
    backend.check_consistency()


def test_settling_what_is_not_active_any_more_is_no_loss(backend: Driven) -> None:
    backend.commit(found(page := entry("http://a/1"), entry("http://a/2")))
    backend.release_keys(backend.activate_one().record)
    backend.commit(settled(page))
    assert urls(backend.activate_one().queue.entries) == ["http://a/2"]


def test_a_key_whose_last_url_is_settled_after_its_release_is_not_idle(backend: Driven) -> None:
    backend.commit(found(page := entry("http://a/1")))
    backend.release_keys(backend.activate_one().record)
    backend.commit(settled(page))
    assert backend.read_idle_times().at is None
    assert backend.activate_keys(now=NOW + 100) == []


def test_the_level_of_a_released_key_falls_when_its_highest_url_is_settled(make_backend: MakeBackend) -> None:
    backend = make_backend()
    backend.commit(found(high := entry("http://a/1", 5), entry("http://a/2", 0)))
    backend.release_keys(backend.activate_one().record)
    backend.commit(settled(high))
    backend.check_consistency()


def test_many_urls_of_many_keys_fit_in_one_commit(backend: Driven) -> None:
    batch = [entry(f"http://h{number % 50}/{number}") for number in range(2000)]
    committed = backend.commit(found(*batch))
    assert (len(committed.queued), committed.total_queued, committed.total_hosts) == (2000, 2000, 50)
