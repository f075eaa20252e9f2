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
    workers: list[DrivenRedis] = []

    def one() -> DrivenRedis:
        workers.append(DrivenRedis(runner, redis_server.url, "broad"))
        workers[-1].open()
        return workers[-1]

    yield one
    for driven in workers:
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
    worker, other = crawl(), crawl()
    worker.commit(found(*pages("a", 2), *pages("b", 2)))
    assert len(worker.activate_keys(1)) == 1
    lose_the_answer(worker, operation)
    with pytest.raises(StorageAway):
        worker.activate_keys(1)
    assert other.active_keys(now=LATER) == []
    heartbeat(worker)
    assert len(other.active_keys(now=LATER)) == 1
    assert len(worker.hosts()) == len([host for host in worker.hosts().values() if host.active]) == 2
    worker.check_consistency()


def test_a_release_whose_answer_was_lost_is_said_again_without_harm(crawl: Crawl) -> None:
    worker, other = crawl(), crawl()
    worker.commit(found(*pages("a", 2)))
    record = worker.activate_one().record
    record.next_fetch_at = NOW + 50
    lose_the_answer(worker, "release")
    with pytest.raises(StorageAway):
        worker.release_keys(record)
    assert other.active_keys(now=LATER) == ["a"]
    worker.release_keys(record)
    assert not heartbeat(other).lost
    other.check_consistency()


def test_news_that_was_not_heard_is_told_again(crawl: Crawl) -> None:
    worker, other = crawl(), crawl()
    worker.commit(found(*pages("a", 1)))
    assert worker.active_keys() == ["a"]
    other.commit(found(*pages("a", 3)[1:]))
    lose_the_answer(worker, "heartbeat")
    with pytest.raises(StorageAway):
        heartbeat(worker)
    assert list(heartbeat(worker).changed_queues) == ["a"]
    heartbeat(worker)
    assert not heartbeat(worker).changed_queues


def test_news_that_came_while_others_were_being_heard_is_told(crawl: Crawl) -> None:
    worker, other = crawl(), crawl()
    first, second, third = pages("a", 3)
    worker.commit(found(second))
    assert worker.active_keys() == ["a"]
    other.commit(found(first))
    assert list(heartbeat(worker).changed_queues) == ["a"]
    other.commit(found(third))
    assert list(heartbeat(worker).changed_queues) == ["a"]


def test_what_a_pulse_brought_is_told_even_if_it_fails_later(crawl: Crawl) -> None:
    worker, other = crawl(), crawl()
    worker.commit(found(*pages("a", 1)))
    assert worker.active_keys() == ["a"]
    other.commit(found(*pages("a", 3)[1:]))
    report = worker.backend._workers.report

    async def failing(*_: object) -> None:
        raise StorageAway("the connection broke")

    worker.backend._workers.report = failing
    for _ in range(2):
        with pytest.raises(StorageAway):
            heartbeat(worker)
    worker.backend._workers.report = report
    assert list(heartbeat(worker).changed_queues) == ["a"]


def test_keys_that_were_lost_are_told_even_if_the_pulse_fails_later(crawl: Crawl) -> None:
    worker, other = crawl(), crawl()
    worker.commit(found(*pages("a", 1)))
    assert worker.active_keys() == ["a"]
    worker.client.delete(*(names.members for names in worker.names()))
    lose_the_answer(worker, "join")
    with pytest.raises(StorageAway):
        heartbeat(worker)
    assert heartbeat(worker).lost == ["a"]
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
    worker, other = crawl(), crawl()
    worker.commit(found(*pages("a", 2)))
    record = worker.activate_one().record
    before = redis_server.written_bytes
    record.next_fetch_at, record.delay_seconds, record.parked = NOW + 5000, 7.0, True
    worker.release_keys(record)
    restart(redis_server, before, worker, other)
    stored = worker.hosts()["a"]
    assert not stored.active
    assert stored.record.next_fetch_at == NOW + 5000
    assert stored.record.delay_seconds == 7.0
    worker.check_consistency()


def test_a_lease_and_a_release_that_were_both_forgotten_leave_the_last_words(
    redis_server: RedisServer, crawl: Crawl
) -> None:
    worker = crawl()
    worker.commit(found(*pages("a", 2)))
    before = redis_server.written_bytes
    record = worker.activate_one().record
    record.next_fetch_at = NOW + 500
    worker.release_keys(record)
    restart(redis_server, before, worker)
    stored = worker.hosts()["a"]
    assert not stored.active
    assert stored.record.next_fetch_at == NOW + 500
    worker.check_consistency()


@pytest.mark.parametrize("newer_first", [False, True])
def test_whoever_held_a_key_later_keeps_it_when_the_server_forgot_that_it_changed_hands(
    redis_server: RedisServer, crawl: Crawl, newer_first: bool
) -> None:
    worker, other = crawl(), crawl()
    worker.commit(found(*pages("a", 2)))
    record = worker.activate_one().record
    before = redis_server.written_bytes
    record.next_fetch_at = NOW + 1
    worker.release_keys(record)
    assert other.active_keys(now=NOW + 2) == ["a"]
    worker.clock.now = NOW + 2
    members = (other, worker) if newer_first else (worker, other)
    restart(redis_server, before, *members)
    assert list(other.backend._shards[0].mine) == ["a"]
    assert not worker.backend._shards[0].mine
    assert other.client.hget(other.names()[0].held, "a").endswith(other.backend._member.encode())
    assert not heartbeat(other).lost
    worker.check_consistency()


@pytest.mark.parametrize("newer_first", [False, True])
def test_of_two_last_words_the_later_ones_hold(
    redis_server: RedisServer, crawl: Crawl, newer_first: bool
) -> None:
    worker, other = crawl(), crawl()
    worker.commit(found(*pages("a", 2)))
    before = redis_server.written_bytes
    record = worker.activate_one().record
    record.next_fetch_at = NOW + 1
    worker.release_keys(record)
    record = other.activate_one(now=NOW + 2).record
    record.next_fetch_at = NOW + 900
    other.release_keys(record)
    worker.clock.now = NOW + 2
    members = (other, worker) if newer_first else (worker, other)
    restart(redis_server, before, *members)
    assert worker.hosts()["a"].record.next_fetch_at == NOW + 900
    worker.check_consistency()


def test_a_crawl_that_was_forgotten_in_its_first_second_is_founded_again(
    redis_server: RedisServer, crawl: Crawl
) -> None:
    worker = crawl()
    before = worker.client.hgetall("broad:meta")
    restart(redis_server, 0, worker)
    assert worker.client.hgetall("broad:meta") == before


def test_a_crawl_that_others_began_anew_with_other_settings_is_left(
    redis_server: RedisServer, crawl: Crawl, runner: asyncio.Runner
) -> None:
    worker = crawl()
    redis_server.kill().forget_behind(0).start()
    identity = {"POLITENESS_KEY": "domain"}
    options, get_owner, clock = worker._options, worker._get_owner, worker.clock
    other = RedisBackend({"url": redis_server.url}, options, identity, get_owner, clock)
    runner.run(other.open(NOW))
    with pytest.raises(StorageAway):
        worker.read_counts()
    with pytest.raises(StorageLost, match="POLITENESS_KEY"):
        heartbeat(worker)
    runner.run(other.close())


def test_nobody_takes_a_crawl_for_finished_that_the_server_forgot(
    redis_server: RedisServer, crawl: Crawl
) -> None:
    worker = crawl()
    before = redis_server.written_bytes
    worker.commit(found(*pages("a", 2)))
    redis_server.kill().forget_behind(before).start()
    for _ in range(2):
        with pytest.raises(StorageAway):
            worker.read_idle_times()
    heartbeat(worker)
    assert worker.read_idle_times().at is not None
    assert len(worker.queued()) == 2


def test_nothing_is_finished_while_others_may_have_leases_that_were_forgotten(
    redis_server: RedisServer, crawl: Crawl
) -> None:
    worker = crawl()
    restart(redis_server, redis_server.written_bytes, worker)
    assert worker.read_idle_times().busy
    worker.clock.now += LEASE_SECONDS
    assert not worker.read_idle_times().busy


def test_what_was_let_go_of_stays_so_when_others_are_given_back(crawl: Crawl) -> None:
    worker = crawl()
    worker.commit(found(*pages("a", 2), *pages("b", 2)))
    [first] = worker.activate_keys(1)
    worker.release_keys(first.record)
    lose_the_answer(worker, "lease")
    with pytest.raises(StorageAway):
        worker.activate_keys(2)
    heartbeat(worker)
    assert not any(host.active for host in worker.hosts().values())
    worker.check_consistency()
