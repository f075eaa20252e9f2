"""An answer of Redis that is lost leaves nothing behind: no key that nobody uses, no news that nobody heard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.driven_redis import LEASE_SECONDS, DrivenRedis
from tests.contract.samples import NOW, found, pages
from webcrawl.errors import StorageAway, StorageLost
from webcrawl.storage.redis.frontier import RedisBackend

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from tests.redis_server import RedisServer
    from webcrawl.storage.contract import HeartbeatAnswer

    Crawl = Callable[[], DrivenRedis]

LATER = NOW + 100


@pytest.fixture
def crawl(redis_server: RedisServer, runner: asyncio.Runner) -> Iterator[Crawl]:
    """Makes members of one crawl, opened."""
    made: list[DrivenRedis] = []

    def one() -> DrivenRedis:
        made.append(DrivenRedis(runner, redis_server.url, "broad"))
        made[-1].open()
        return made[-1]

    yield one
    for driven in made:
        driven.dispose()


def lose_the_answer(driven: DrivenRedis, operation: str) -> None:
    """Of the next call of ``operation``, which is carried out."""
    server = driven.backend._server
    call = server.call

    async def calling(name: str, calls: Any, **more: Any) -> list[Any]:
        answers = await call(name, calls, **more)
        if name == operation:
            server.call = call
            raise StorageAway("the connection broke")
        return answers

    server.call = calling


def heartbeat(driven: DrivenRedis) -> HeartbeatAnswer:
    return driven.run(driven.backend.heartbeat({}))


@pytest.mark.parametrize("operation", ["lease", "load"])
def test_a_key_whose_lease_was_not_heard_of_is_given_back(crawl: Crawl, operation: str) -> None:
    one, other = crawl(), crawl()
    one.commit(found(*pages("a", 2), *pages("b", 2)))
    assert len(one.activate_keys(1)) == 1
    lose_the_answer(one, operation)
    with pytest.raises(StorageAway):
        one.activate_keys(1)
    assert other.active_keys(now=LATER) == []
    heartbeat(one)
    assert len(other.active_keys(now=LATER)) == 1
    assert len(one.hosts()) == len([host for host in one.hosts().values() if host.active]) == 2
    one.check_consistency()


def test_a_release_whose_answer_was_lost_is_said_again_without_harm(crawl: Crawl) -> None:
    one, other = crawl(), crawl()
    one.commit(found(*pages("a", 2)))
    record = one.activate_one().record
    record.next_fetch_at = NOW + 50
    lose_the_answer(one, "release")
    with pytest.raises(StorageAway):
        one.release_keys(record)
    assert other.active_keys(now=LATER) == ["a"]
    one.release_keys(record)
    assert not heartbeat(other).lost
    other.check_consistency()


def test_news_that_was_not_heard_is_told_again(crawl: Crawl) -> None:
    one, other = crawl(), crawl()
    one.commit(found(*pages("a", 1)))
    assert one.active_keys() == ["a"]
    other.commit(found(*pages("a", 3)[1:]))
    lose_the_answer(one, "heartbeat")
    with pytest.raises(StorageAway):
        heartbeat(one)
    assert list(heartbeat(one).changed_queues) == ["a"]
    heartbeat(one)
    assert not heartbeat(one).changed_queues


def test_news_that_came_while_others_were_being_heard_is_told(crawl: Crawl) -> None:
    one, other = crawl(), crawl()
    first, second, third = pages("a", 3)
    one.commit(found(second))
    assert one.active_keys() == ["a"]
    other.commit(found(first))
    assert list(heartbeat(one).changed_queues) == ["a"]
    other.commit(found(third))
    assert list(heartbeat(one).changed_queues) == ["a"]


def test_what_a_pulse_brought_is_told_even_if_it_fails_later(crawl: Crawl) -> None:
    one, other = crawl(), crawl()
    one.commit(found(*pages("a", 1)))
    assert one.active_keys() == ["a"]
    other.commit(found(*pages("a", 3)[1:]))
    report = one.backend._workers.report

    async def failing(*_: object) -> None:
        raise StorageAway("the connection broke")

    one.backend._workers.report = failing
    for _ in range(2):
        with pytest.raises(StorageAway):
            heartbeat(one)
    one.backend._workers.report = report
    assert list(heartbeat(one).changed_queues) == ["a"]


def test_keys_that_were_lost_are_told_even_if_the_pulse_fails_later(crawl: Crawl) -> None:
    one, other = crawl(), crawl()
    one.commit(found(*pages("a", 1)))
    assert one.active_keys() == ["a"]
    one.client.delete(*(names.members for names in one.names()))
    lose_the_answer(one, "join")
    with pytest.raises(StorageAway):
        heartbeat(one)
    assert heartbeat(one).lost == ["a"]
    assert not heartbeat(other).lost


# -- and what a server has forgotten that was killed ---------------------------------------------------------


def restart(server: RedisServer, kept_bytes: int, *members: DrivenRedis) -> None:
    server.kill().forget_behind(kept_bytes).start()
    for member in members:
        with pytest.raises(StorageAway):
            member.read_counts()
        heartbeat(member)


def test_last_words_on_a_key_that_the_server_forgot_are_said_again(
    redis_server: RedisServer, crawl: Crawl
) -> None:
    one, other = crawl(), crawl()
    one.commit(found(*pages("a", 2)))
    record = one.activate_one().record
    before = redis_server.written_bytes
    record.next_fetch_at, record.delay_seconds, record.parked = NOW + 5000, 7.0, True
    one.release_keys(record)
    restart(redis_server, before, one, other)
    stored = one.hosts()["a"]
    assert not stored.active
    assert stored.record.next_fetch_at == NOW + 5000
    assert stored.record.delay_seconds == 7.0
    one.check_consistency()


def test_a_lease_and_a_release_that_were_both_forgotten_leave_the_last_words(
    redis_server: RedisServer, crawl: Crawl
) -> None:
    one = crawl()
    one.commit(found(*pages("a", 2)))
    before = redis_server.written_bytes
    record = one.activate_one().record
    record.next_fetch_at = NOW + 500
    one.release_keys(record)
    restart(redis_server, before, one)
    stored = one.hosts()["a"]
    assert not stored.active
    assert stored.record.next_fetch_at == NOW + 500
    one.check_consistency()


@pytest.mark.parametrize("newer_first", [False, True])
def test_whoever_held_a_key_later_keeps_it_when_the_server_forgot_that_it_changed_hands(
    redis_server: RedisServer, crawl: Crawl, newer_first: bool
) -> None:
    one, other = crawl(), crawl()
    one.commit(found(*pages("a", 2)))
    record = one.activate_one().record
    before = redis_server.written_bytes
    record.next_fetch_at = NOW + 1
    one.release_keys(record)
    assert other.active_keys(now=NOW + 2) == ["a"]
    one.clock.now = NOW + 2
    members = (other, one) if newer_first else (one, other)
    restart(redis_server, before, *members)
    assert list(other.backend._shards[0].mine) == ["a"]
    assert not one.backend._shards[0].mine
    assert other.client.hget(other.names()[0].held, "a").endswith(other.backend._member.encode())
    assert not heartbeat(other).lost
    one.check_consistency()


@pytest.mark.parametrize("newer_first", [False, True])
def test_of_two_last_words_the_later_ones_hold(
    redis_server: RedisServer, crawl: Crawl, newer_first: bool
) -> None:
    one, other = crawl(), crawl()
    one.commit(found(*pages("a", 2)))
    before = redis_server.written_bytes
    record = one.activate_one().record
    record.next_fetch_at = NOW + 1
    one.release_keys(record)
    record = other.activate_one(now=NOW + 2).record
    record.next_fetch_at = NOW + 900
    other.release_keys(record)
    one.clock.now = NOW + 2
    members = (other, one) if newer_first else (one, other)
    restart(redis_server, before, *members)
    assert one.hosts()["a"].record.next_fetch_at == NOW + 900
    one.check_consistency()


def test_a_crawl_that_was_forgotten_in_its_first_second_is_founded_again(
    redis_server: RedisServer, crawl: Crawl
) -> None:
    one = crawl()
    before = one.client.hgetall("broad:meta")
    restart(redis_server, 0, one)
    assert one.client.hgetall("broad:meta") == before


def test_a_crawl_that_others_began_anew_with_other_settings_is_left(
    redis_server: RedisServer, crawl: Crawl, runner: asyncio.Runner
) -> None:
    one = crawl()
    redis_server.kill().forget_behind(0).start()
    identity = {"POLITENESS_KEY": "domain"}
    options, get_owner, clock = one._options, one._get_owner, one.clock
    other = RedisBackend({"url": redis_server.url}, options, identity, get_owner, clock)
    runner.run(other.open(NOW))
    with pytest.raises(StorageAway):
        one.read_counts()
    with pytest.raises(StorageLost, match="POLITENESS_KEY"):
        heartbeat(one)
    runner.run(other.close())


def test_nobody_takes_a_crawl_for_finished_that_the_server_forgot(
    redis_server: RedisServer, crawl: Crawl
) -> None:
    one = crawl()
    before = redis_server.written_bytes
    one.commit(found(*pages("a", 2)))
    redis_server.kill().forget_behind(before).start()
    for _ in range(2):
        with pytest.raises(StorageAway):
            one.read_idle_times()
    heartbeat(one)
    assert one.read_idle_times().at is not None
    assert len(one.queued()) == 2


def test_nothing_is_finished_while_others_may_have_leases_that_were_forgotten(
    redis_server: RedisServer, crawl: Crawl
) -> None:
    one = crawl()
    restart(redis_server, redis_server.written_bytes, one)
    assert one.read_idle_times().busy
    one.clock.now += LEASE_SECONDS
    assert not one.read_idle_times().busy


def test_what_was_let_go_of_stays_so_when_others_are_given_back(crawl: Crawl) -> None:
    one = crawl()
    one.commit(found(*pages("a", 2), *pages("b", 2)))
    [first] = one.activate_keys(1)
    one.release_keys(first.record)
    lose_the_answer(one, "lease")
    with pytest.raises(StorageAway):
        one.activate_keys(2)
    heartbeat(one)
    assert not any(host.active for host in one.hosts().values())
    one.check_consistency()
