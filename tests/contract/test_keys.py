"""Which keys become active, what they bring along, and what is remembered of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven_redis import DrivenRedis
from tests.contract.samples import NOW, entry, found, pages, robots, settled, urls
from webcrawl.frontier.records import UrlEntry
from webcrawl.politeness.host_record import HostRecord
from webcrawl.robots.answer import RobotsState
from webcrawl.storage.contract import FIRST_VISIT_AHEAD_SECONDS, Activated, Batch, Unavailable

if TYPE_CHECKING:
    from tests.contract.conftest import MakeBackend
    from tests.contract.driven import Driven


def idle_key(backend: Driven, key: str, at: float, level: int = 0, **record: object) -> None:
    """Give ``key`` a URL and a time from which it may be contacted."""
    backend.commit(found(entry(f"http://{key}/", level)))
    [active] = [active for active in backend.activate_keys() if active.record.key == key]
    active.record.next_fetch_at = at
    for name, value in record.items():
        setattr(active.record, name, value)
    backend.release_keys(active.record)


def needs_one_shard(backend: Driven) -> None:
    """Skip a test of an order that a crawl has only within each of its shards."""
    if isinstance(backend, DrivenRedis) and backend.shards > 1:
        pytest.skip("that is so within a shard; all that are ready give their part")


def test_a_key_that_was_never_contacted_is_ready_at_once(backend: Driven) -> None:
    backend.commit(found(entry("http://a/")))
    assert backend.read_idle_times().at == 0.0
    assert backend.active_keys(now=0.0) == ["a"]


def test_only_keys_whose_time_has_come_become_active(backend: Driven) -> None:
    idle_key(backend, "now", NOW + 5)
    idle_key(backend, "later", NOW + 5.001)
    assert backend.active_keys(now=NOW + 4.999) == []
    assert backend.active_keys(now=NOW + 5) == ["now"]
    assert backend.active_keys(now=NOW + 6) == ["later"]


def test_a_key_becomes_active_once(backend: Driven) -> None:
    backend.commit(found(*pages("a", 3)))
    assert backend.active_keys() == ["a"]
    assert backend.active_keys() == []
    backend.commit(found(entry("http://a/new")))
    assert backend.active_keys() == []


def test_no_more_keys_become_active_than_were_asked_for(backend: Driven) -> None:
    backend.commit(found(*(entry(f"http://h{number}/") for number in range(10))))
    first, second = backend.active_keys(4), backend.active_keys(100)
    assert (len(first), len(second)) == (4, 6)
    assert len({*first, *second}) == 10


def test_asked_for_none_none_becomes_active(backend: Driven) -> None:
    backend.commit(found(entry("http://a/")))
    assert backend.active_keys(0) == []
    assert backend.active_keys(1) == ["a"]


def test_within_a_level_those_come_first_whose_time_came_first(backend: Driven) -> None:
    needs_one_shard(backend)
    for key, at in (("third", 30), ("first", 10), ("second", 20)):
        idle_key(backend, key, NOW + at)
    assert backend.active_keys(2, now=NOW + 100) == ["first", "second"]


def test_keys_without_a_visit_come_in_the_order_in_which_their_urls_were_found(backend: Driven) -> None:
    needs_one_shard(backend)
    for at, key in enumerate(("z", "a", "m"), start=1):
        backend.commit(Batch([entry(f"http://{key}/")], at=NOW + at))
    assert backend.active_keys(2, now=NOW + 100) == ["z", "a"]
    assert backend.active_keys(2, now=NOW + 100) == ["m"]


def test_a_first_visit_comes_before_keys_that_have_not_rested_much_longer(backend: Driven) -> None:
    needs_one_shard(backend)
    found_at = NOW + FIRST_VISIT_AHEAD_SECONDS + 2
    idle_key(backend, "visited-long-ago", NOW + 1)
    idle_key(backend, "visited", NOW + 3)
    backend.commit(Batch([entry("http://new/")], at=found_at))
    assert backend.active_keys(3, now=found_at) == ["visited-long-ago", "new", "visited"]


def test_a_key_that_was_active_once_has_had_its_first_visit(backend: Driven) -> None:
    needs_one_shard(backend)
    first = entry("http://active-once/1")
    backend.commit(Batch([first], at=NOW))
    [active] = backend.activate_keys(now=NOW)
    backend.commit(settled(first))
    backend.release_keys(active.record)
    idle_key(backend, "visited", NOW + 1)
    backend.commit(Batch([entry("http://active-once/2")], at=NOW + 2))
    assert backend.active_keys(2, now=NOW + 100) == ["visited", "active-once"]


def test_a_key_that_ran_dry_waits_from_the_moment_at_which_it_has_a_url_again(backend: Driven) -> None:
    needs_one_shard(backend)
    first = entry("http://dry/1")
    backend.commit(Batch([first], at=NOW))
    [active] = backend.activate_keys(now=NOW)
    backend.commit(settled(first))
    backend.release_keys(active.record)
    backend.commit(Batch([entry("http://other/")], at=NOW + 2))
    backend.commit(Batch([entry("http://dry/2")], at=NOW + 3))
    backend.commit(Batch([entry("http://dry/3")], at=NOW + 9))
    [other, dry] = backend.activate_keys(now=NOW + 100)
    assert (other.record.key, dry.record.key) == ("other", "dry")
    assert dry.record.next_fetch_at == NOW + 3


def test_the_draw_prefers_high_levels_and_starves_none(make_backend: MakeBackend) -> None:
    drawn: Counter[str] = Counter()
    backend = make_backend()
    backend.commit(
        found(*(entry(f"http://h{number}-{level}/", level) for number in range(60) for level in range(3)))
    )
    for _ in range(20):
        drawn.update(key[-1] for key in backend.active_keys(2))
    assert drawn["2"] > drawn["1"] > drawn["0"] > 0


def test_only_keys_that_are_ready_take_part_in_the_draw(backend: Driven) -> None:
    idle_key(backend, "high", NOW + 1000, level=9)
    idle_key(backend, "low", NOW)
    assert backend.active_keys(5) == ["low"]


def test_the_level_of_a_key_is_the_highest_in_its_queue(make_backend: MakeBackend) -> None:
    backend = make_backend()
    backend.commit(found(entry("http://a/low", 0), entry("http://a/high", 7), entry("http://b/", 3)))
    assert {key: host.level for key, host in backend.hosts().items()} == {"a": 7, "b": 3}
    backend.commit(found(entry("http://b/higher", 8)))
    assert backend.hosts()["b"].level == 8
    backend.check_consistency()


def test_a_released_key_is_idle_again_with_the_level_its_queue_has_now(make_backend: MakeBackend) -> None:
    backend = make_backend()
    backend.commit(found(high := entry("http://a/high", 7), entry("http://a/low", 1)))
    active = backend.activate_one()
    backend.commit(settled(high))
    backend.release_keys(active.record)
    assert backend.hosts()["a"].level == 1
    assert backend.active_keys() == ["a"]
    backend.check_consistency()


def test_a_released_key_with_an_empty_queue_is_kept_and_comes_back_with_its_next_url(
    backend: Driven,
) -> None:
    backend.commit(found(one := entry("http://a/1")))
    record = backend.activate_one().record
    record.fetches, record.next_fetch_at = 3, NOW + 50
    backend.commit(settled(one))
    backend.release_keys(record)
    assert backend.active_keys(now=NOW + 100) == []
    assert backend.read_idle_times().at is None
    backend.commit(found(entry("http://a/2")))
    assert backend.read_idle_times().at == NOW + 50
    assert backend.active_keys(now=NOW + 49) == []
    assert backend.activate_one(now=NOW + 50).record.fetches == 3


def test_the_last_words_of_a_released_key_come_back_with_it(backend: Driven) -> None:
    backend.commit(found(entry("http://a/")))
    backend.activate_one()
    last = HostRecord(
        "a",
        NOW + 7.25,
        7.25,
        [0.5, 0.25],
        crawl_delay_seconds=3.5,
        fetches=9,
        answered=True,
        failures=2,
        parks=1,
        backoffs=4,
        forgiven_at=NOW + 12.5,
        pages=70_000,
        asked_until=NOW + 3600.5,
        rate_limit_seconds=12.5,
        rate_limit_until=NOW + 600.25,
        refusals=2,
        refusal_base=6,
        refusal_rests=1,
        last_error="tim\u00e9out",
    )
    backend.release_keys(last)
    assert backend.activate_one(now=NOW + 8).record == last


def test_the_record_of_an_active_key_can_be_stored_without_releasing_it(backend: Driven) -> None:
    backend.commit(found(entry("http://a/")))
    record = backend.activate_one().record
    record.next_fetch_at, record.failures = NOW + 20, 1
    backend.commit(Batch(hosts=[record]))
    assert backend.active_keys(now=NOW + 100) == []
    assert backend.hosts()["a"].record.failures == 1


def test_idle_times_of_parked_keys_are_told_apart_from_those_that_merely_rest(backend: Driven) -> None:
    idle_key(backend, "rests", NOW + 10)
    idle_key(backend, "rests-longer", NOW + 20)
    idle_key(backend, "parked", NOW + 5, parked=True)
    idle_key(backend, "parked-longer", NOW + 99, parked=True)
    idle = backend.read_idle_times()
    assert (idle.at, idle.parked_at) == (NOW + 10, NOW + 5)
    assert backend.read_counts().parked_hosts == 2


def test_without_idle_keys_there_are_no_idle_times(backend: Driven) -> None:
    assert (backend.read_idle_times().at, backend.read_idle_times().parked_at) == (None, None)
    backend.commit(found(entry("http://a/")))
    backend.activate_one()
    assert (backend.read_idle_times().at, backend.read_idle_times().parked_at) == (None, None)


def test_a_parked_key_becomes_active_when_its_time_comes_and_is_parked_no_more(backend: Driven) -> None:
    idle_key(backend, "a", NOW + 60, parked=True)
    assert backend.active_keys(now=NOW + 59) == []
    assert not backend.activate_one(now=NOW + 60).record.parked
    assert backend.read_counts().parked_hosts == 0


def test_given_up_keys_are_passed_over_and_their_urls_kept(backend: Driven) -> None:
    idle_key(backend, "dead", NOW, given_up=True)
    idle_key(backend, "alive", NOW)
    assert backend.active_keys(now=NOW + 10_000) == ["alive"]
    backend.commit(found(entry("http://dead/more")))
    assert backend.active_keys(now=NOW + 10_000) == []
    counts = backend.read_counts()
    assert (counts.given_up_hosts, counts.given_up_urls, counts.queued) == (1, 2, 3)
    assert backend.read_idle_times().at is None


def test_robots_answers_come_along_with_the_head_of_a_queue(backend: Driven) -> None:
    backend.commit(found(entry("http://a/"), entry("https://a/", key="a"), entry("http://b/")))
    answers = [robots("http://a", "User-agent: *\nDisallow: /x"), robots("https://a"), robots("http://b")]
    backend.commit(Batch(robots=answers))
    brought = {active.record.key: active.queue.robots for active in backend.activate_keys()}
    assert sorted(brought["a"], key=lambda record: record.origin) == answers[:2]
    assert brought["b"] == answers[2:]


def test_robots_answers_come_along_with_every_load(backend: Driven) -> None:
    backend.commit(found(entry("http://a/", position=1), entry("http://a:8080/", key="a", position=2)))
    backend.activate_one()
    backend.commit(Batch(robots=[robots("http://a:8080")]))
    assert backend.read_queue("a", None, 1).robots == []
    assert [record.origin for record in backend.read_queue("a", (0, 1)).robots] == ["http://a:8080"]


def test_a_new_robots_answer_takes_the_place_of_the_old_one(backend: Driven) -> None:
    backend.commit(found(entry("http://a/")))
    backend.commit(Batch(robots=[robots("http://a", "old")]))
    newer = robots("http://a", "new \N{SNOWMAN}")
    newer.state, newer.crawl_delay_seconds, newer.attempts = RobotsState.UNREACHABLE, 2.5, 3
    backend.commit(Batch(robots=[newer]))
    assert backend.activate_one().queue.robots == [newer]


def test_entries_without_an_origin_bring_no_robots_answers(backend: Driven) -> None:
    backend.commit(found(UrlEntry("data:,x", "data:", 1, position=1)))
    assert backend.activate_one().queue.robots == []


def test_what_comes_in_for_an_active_key_is_there_when_it_is_released(backend: Driven) -> None:
    backend.commit(found(one := entry("http://a/1")))
    record = backend.activate_one().record
    backend.commit(Batch([entry("http://a/2", 4)], settled(one).settled))
    backend.release_keys(record)
    active = backend.activate_one()
    assert urls(active.queue.entries) == ["http://a/2"]


# -- keys that are acquired --------------------------------------------------------------------------------------


def test_a_key_is_acquired_by_its_name_whatever_its_time(backend: Driven) -> None:
    idle_key(backend, "a", NOW + 500, parked=True)
    backend.commit(Batch(robots=[robots("http://a")]))
    found_key = backend.acquire_key("a")
    assert isinstance(found_key, Activated)
    assert (found_key.record.key, found_key.record.next_fetch_at) == ("a", NOW + 500)
    assert (urls(found_key.queue.entries), found_key.queue.more) == (["http://a/"], False)
    assert [answer.origin for answer in found_key.queue.robots] == ["http://a"]
    assert backend.acquire_key("a") is Unavailable.HELD
    assert backend.active_keys(now=NOW + 1000) == []
    backend.release_keys(found_key.record)
    assert backend.active_keys(now=NOW + 1000) == ["a"]


def test_a_key_that_nobody_knows_is_acquired_and_remembered(backend: Driven) -> None:
    found_key = backend.acquire_key("new")
    assert isinstance(found_key, Activated)
    assert (found_key.queue.entries, found_key.queue.more) == ([], False)
    assert backend.read_counts().hosts == 1
    found_key.record.next_fetch_at = NOW + 7
    backend.release_keys(found_key.record)
    assert backend.read_idle_times().at is None
    backend.commit(found(entry("http://new/")))
    assert backend.read_idle_times().at == NOW + 7


def test_a_key_that_is_given_up_is_not_acquired(backend: Driven) -> None:
    idle_key(backend, "a", NOW, given_up=True)
    assert backend.acquire_key("a") is Unavailable.GIVEN_UP
    assert backend.read_counts().given_up_hosts == 1


def test_a_key_that_is_given_up_is_acquired_if_it_is_asked_for(backend: Driven) -> None:
    idle_key(backend, "a", NOW + 500, given_up=True)
    found_key = backend.acquire_key("a", given_up=True)
    assert isinstance(found_key, Activated)
    assert (found_key.record.given_up, urls(found_key.queue.entries)) == (False, ["http://a/"])
    counts = backend.read_counts()
    assert (counts.given_up_hosts, counts.given_up_urls, counts.queued) == (0, 0, 1)
    found_key.record.next_fetch_at = NOW
    backend.release_keys(found_key.record)
    assert backend.active_keys(now=NOW) == ["a"]


def test_a_key_that_was_acquired_rests_after_a_crash(make_backend: MakeBackend) -> None:
    backend = make_backend(delay_seconds=5.0)
    assert isinstance(backend.acquire_key("a"), Activated)
    backend.commit(found(entry("http://a/")))
    backend.crash(NOW + 10)
    assert backend.read_idle_times().at == NOW + 15
