"""What a restart finds: everything, after a clean end as after a kill -9."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import DrivenMemory
from tests.contract.samples import NOW, again, entry, found, pages, robots, settled, urls
from webcrawl.frontier.records import State
from webcrawl.politeness.host_record import HostRecord
from webcrawl.storage.contract import Batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contract.conftest import MakeBackend
    from tests.contract.driven import Driven

    Restart = Callable[[Driven, float], object]


@pytest.fixture(params=["close", "crash"])
def restart(request: pytest.FixtureRequest) -> Restart:
    """Ends a backend one way or the other, and takes it up again."""

    def end_and_open(backend: Driven, now: float = NOW) -> object:
        return backend.reopen(now) if request.param == "close" else backend.crash(now)

    return end_and_open


def released(backend: Driven, **words: object) -> HostRecord:
    """Release the one key that is ready, with these last words."""
    record = backend.activate_one().record
    for name, value in words.items():
        setattr(record, name, value)
    backend.release_keys(record)
    return record


def test_an_empty_crawl_opens_empty(backend: Driven, restart: Restart) -> None:
    counts = restart(backend, NOW)
    assert counts == backend.read_counts()
    assert (counts.queued, counts.hosts) == (0, 0)


def test_queues_states_and_counts_are_found_again(backend: Driven, restart: Restart) -> None:
    one, two, three, four = known = pages("a", 4)
    backend.commit(found(*known))
    record = backend.activate_one().record
    backend.commit(settled(one))
    backend.commit(settled(two, State.FAILED, "timeout"))
    backend.commit(settled(three, State.REFUSED, "robots"))
    backend.release_keys(record)
    before = backend.read_counts()
    assert restart(backend, NOW) == before
    assert urls(backend.activate_one().queue.entries) == [four.url]
    expected = [State.DONE, State.FAILED, State.REFUSED, State.QUEUED]
    assert [backend.state_of(each) for each in known] == (expected if backend.exact else [None] * 4)


def test_what_was_seen_stays_seen(backend: Driven, restart: Restart) -> None:
    known = [entry(f"http://h{number % 7}/{number}") for number in range(500)]
    backend.commit(found(*known))
    restart(backend, NOW)
    more = [entry(f"http://h{number % 7}/{number}") for number in range(510)]
    assert len(backend.commit(found(*more)).queued) == 10
    restart(backend, NOW)
    assert backend.commit(found(*[entry(one.url) for one in more])).queued == []


def test_records_and_robots_answers_are_found_again(backend: Driven, restart: Restart) -> None:
    backend.commit(found(entry("http://a/")))
    record = backend.activate_one().record
    record.download_seconds, record.crawl_delay_seconds, record.fetches = [0.25], 11.0, 5
    backend.commit(Batch(hosts=[record], robots=[answer := robots("http://a", "Disallow: /\n")]))
    backend.release_keys(record)
    restart(backend, NOW)
    active = backend.activate_one()
    assert active.record == record
    assert active.queue.robots == [answer]


def test_the_place_of_a_url_that_is_tried_again_is_found_again(backend: Driven, restart: Restart) -> None:
    backend.commit(found(first := entry("http://a/1"), entry("http://a/2")))
    backend.release_keys(backend.activate_one().record)
    backend.commit(again(first))
    restart(backend, NOW)
    queue = backend.activate_one().queue.entries
    assert [(one.url, one.attempts) for one in queue] == [("http://a/2", 0), ("http://a/1", 1)]


@pytest.mark.parametrize(
    ("next_fetch_at", "rests_until"),
    [(NOW + 1, NOW + 12), (NOW + 100, NOW + 100)],
    ids=["its delay", "longer"],
)
def test_a_key_that_was_left_active_rests_its_delay_from_the_moment_of_opening_or_longer(
    backend: Driven, restart: Restart, next_fetch_at: float, rests_until: float
) -> None:
    backend.commit(found(entry("http://a/")))
    record = backend.activate_one().record
    record.delay_seconds, record.next_fetch_at = 7.0, next_fetch_at
    backend.commit(Batch(hosts=[record]))
    restart(backend, NOW + 5)
    assert backend.read_idle_times().at == rests_until
    assert backend.active_keys(now=rests_until - 0.1) == []
    assert backend.activate_one(now=rests_until).record.next_fetch_at == rests_until


def test_a_key_that_was_left_active_before_its_first_record_rests_the_least_delay(
    make_backend: MakeBackend, restart: Restart
) -> None:
    backend = make_backend(delay_seconds=5.0)
    backend.commit(found(entry("http://a/")))
    backend.activate_one()
    restart(backend, NOW + 1)
    assert backend.read_idle_times().at == NOW + 6


def test_a_key_that_was_released_does_not_rest_again(backend: Driven, restart: Restart) -> None:
    backend.commit(found(entry("http://a/")))
    released(backend, delay_seconds=7.0, next_fetch_at=NOW + 1)
    restart(backend, NOW + 5)
    assert backend.read_idle_times().at == NOW + 1


def test_a_leased_url_is_queued_again_at_its_place(backend: Driven, restart: Restart) -> None:
    backend.commit(found(*(known := pages("a", 3))))
    backend.activate_one()
    restart(backend, NOW)
    assert urls(backend.activate_one().queue.entries) == urls(known)


def test_a_parked_key_is_still_parked(backend: Driven, restart: Restart) -> None:
    backend.commit(found(entry("http://a/")))
    released(backend, parked=True, next_fetch_at=NOW + 60)
    restart(backend, NOW)
    idle = backend.read_idle_times()
    assert (idle.at, idle.parked_at) == (None, NOW + 60)


def test_a_key_that_was_active_after_a_park_merely_rests(backend: Driven, restart: Restart) -> None:
    backend.commit(found(entry("http://a/")))
    released(backend, parked=True, next_fetch_at=NOW)
    backend.activate_one()
    restart(backend, NOW)
    idle = backend.read_idle_times()
    assert (idle.at, idle.parked_at) == (NOW, None)


def test_a_given_up_key_gets_another_chance_with_all_its_urls(backend: Driven, restart: Restart) -> None:
    backend.commit(found(entry("http://a/low", 0)))
    released(backend, given_up=True, next_fetch_at=NOW + 60)
    backend.commit(found(entry("http://a/high", 4)))
    counts = restart(backend, NOW)
    assert (counts.given_up_hosts, counts.given_up_urls, counts.queued) == (0, 0, 2)
    assert backend.active_keys(now=NOW + 59) == []
    active = backend.activate_one(now=NOW + 60)
    assert not active.record.given_up
    assert urls(active.queue.entries) == ["http://a/high", "http://a/low"]


def test_a_revived_key_is_drawn_by_the_level_its_queue_has_now(
    make_backend: MakeBackend, restart: Restart
) -> None:
    backend = make_backend()
    backend.commit(found(entry("http://a/low", 0)))
    released(backend, given_up=True)
    backend.commit(found(entry("http://a/high", 4)))
    restart(backend, NOW)
    backend.check_consistency()


def test_it_can_be_restarted_many_times(backend: Driven, restart: Restart) -> None:
    for life in range(5):
        backend.commit(found(*pages(f"h{life}", 3)))
        for active in backend.activate_keys():
            first = active.queue.entries[0]
            backend.commit(settled(first))
            if life % 2:
                backend.release_keys(active.record)
        backend.check_consistency()
        restart(backend, NOW)
        backend.check_consistency()
    counts = backend.read_counts()
    assert counts.queued + counts.done == 15
    assert counts.done == 12


def test_what_was_not_committed_before_a_crash_is_gone_and_what_was_is_there(backend: Driven) -> None:
    backend.commit(found(entry("http://a/1")))
    backend.crash()
    assert len(backend.commit(found(entry("http://a/1"), entry("http://a/2"))).queued) == 1


def test_what_was_pruned_returns_without_a_limit_when_it_is_found_again(
    make_backend: MakeBackend, restart: Restart
) -> None:
    backend = make_backend(queue_max=1)
    if isinstance(backend, DrivenMemory):
        pytest.skip("its state ends with its process")
    first, gone, other = known = pages("a", 3)
    backend.commit(found(*known))
    backend.lift_limit()
    for state in (State.REFUSED, State.QUEUED):
        restart(backend, NOW + 1000)
        if backend.exact:
            assert backend.state_of(gone) is state
        committed = backend.commit(found(entry(gone.url), entry(first.url)))
        assert urls(committed.queued) == ([gone.url] if backend.exact and state is State.REFUSED else [])
    if backend.exact:
        assert backend.state_of(other) is State.REFUSED, "nobody has found it again"
        assert backend.read_counts().refused == 1
    backend.check_consistency()
