"""A Redis that was killed and started again may have forgotten its last second: everybody hears of it in time."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.driven_redis import LEASE_SECONDS, DrivenRedis
from tests.contract.samples import NOW, found, pages, settled
from webcrawl.errors import StorageAway
from webcrawl.storage.contract import Batch
from webcrawl.storage.redis.server import OPERATIONS, script

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from tests.redis_server import RedisServer

    Crawl = Callable[..., DrivenRedis]


@pytest.fixture(params=["exact", "bloom"])
def crawl(
    request: pytest.FixtureRequest, redis_server: RedisServer, runner: asyncio.Runner
) -> Iterator[Crawl]:
    """Makes members of a crawl on the session's server, opened; with each seen test."""
    workers: list[DrivenRedis] = []

    def one(spider: str = "broad", **options: Any) -> DrivenRedis:
        exact = request.param == "exact"
        workers.append(DrivenRedis(runner, redis_server.url, spider, exact=exact, **options))
        workers[-1].open()
        return workers[-1]

    yield one
    for driven in workers:
        driven.dispose()


def restart(server: RedisServer, crawl: DrivenRedis, kept_bytes: int | None = None) -> None:
    kept = server.written_bytes if kept_bytes is None else kept_bytes
    server.kill().forget_behind(kept).start()
    with suppress(StorageAway):
        # The first one meets the connection that is gone.
        crawl.read_counts()


def epochs(crawl: DrivenRedis) -> list[int]:
    return [int(crawl.client.hget(names.totals, "epoch") or 0) for names in crawl.names()]


def test_a_server_that_started_knows_no_operation(redis_server: RedisServer, crawl: Crawl) -> None:
    worker = crawl()
    server = worker.backend._server
    shas = [script(name, server.crawl, server.filters).sha for name in OPERATIONS]
    assert redis_server.call("SCRIPT", "EXISTS", *shas) == [1] * len(shas)
    redis_server.kill().start()
    assert redis_server.call("SCRIPT", "EXISTS", *shas) == [0] * len(shas)


def test_every_crawl_on_a_server_hears_that_it_has_started(redis_server: RedisServer, crawl: Crawl) -> None:
    worker, other = crawl("one"), crawl("other", shards=2)
    before = epochs(worker), epochs(other)
    restart(redis_server, worker)
    worker.commit(found(*pages("a", 1)))
    assert epochs(worker) != before[0]
    assert epochs(other) == before[1]
    with suppress(StorageAway):
        other.read_counts()
    other.commit(found(*pages("a", 1)))
    other.commit(found(*pages("b", 1)))
    assert not set(epochs(other)) & set(before[1])


def test_a_lease_that_the_server_forgot_is_given_to_nobody_else(
    redis_server: RedisServer, crawl: Crawl
) -> None:
    worker, other = crawl(), crawl()
    worker.commit(found(*pages("a", 2)))
    before = redis_server.written_bytes
    assert worker.active_keys() == ["a"]
    restart(redis_server, other, before)
    assert not other.client.hgetall(other.names()[0].held)
    with pytest.raises(StorageAway):
        other.active_keys(now=NOW + 5)
    other.run(other.backend.heartbeat({}))
    assert other.active_keys(now=NOW + 5) == []


def test_what_a_server_forgot_is_queued_again_by_whoever_queued_it(
    redis_server: RedisServer, crawl: Crawl
) -> None:
    worker, other = crawl(), crawl()
    kept, forgotten = pages("a", 2), pages("b", 2)
    worker.commit(found(*kept))
    before = redis_server.written_bytes
    worker.commit(found(*forgotten))
    restart(redis_server, other, before)
    other.run(other.backend.heartbeat({}))
    assert worker.queued() == kept
    with suppress(StorageAway):
        worker.read_counts()
    worker.run(worker.backend.heartbeat({}))
    assert worker.queued() == kept + forgotten
    worker.check_consistency()


def test_what_is_told_again_is_told_once_more_when_the_server_forgets_it_only_then(
    redis_server: RedisServer, crawl: Crawl
) -> None:
    worker = crawl()
    kept, forgotten = pages("a", 2), pages("b", 2)
    worker.commit(found(*kept))
    before = redis_server.written_bytes
    worker.commit(found(*forgotten))
    for bytes_left in (None, before):
        # The first start forgets nothing, so nothing is new when it is told again; the second one forgets it.
        restart(redis_server, worker, bytes_left)
        worker.run(worker.backend.heartbeat({}))
    assert worker.queued() == kept + forgotten
    worker.check_consistency()


def test_nothing_is_settled_while_its_links_may_be_forgotten(redis_server: RedisServer, crawl: Crawl) -> None:
    """The second page has the same link as the first, which is known to be known; the server forgot it."""
    worker, other = crawl(), crawl()
    first, second = pages("a", 2)
    [link] = pages("b", 1)
    worker.commit(found(first, second))
    assert worker.active_keys() == ["a"]
    before = redis_server.written_bytes
    worker.commit(Batch(discovered=[link], settled=settled(first).settled))
    restart(redis_server, other, before)
    batch = Batch(discovered=[link], settled=settled(second).settled)
    for _ in range(2):
        with pytest.raises(StorageAway):
            worker.commit(batch)
    counts = worker.counts_now()
    assert (counts.queued, counts.done) == (2, 0)
    worker.run(worker.backend.heartbeat({}))
    worker.commit(batch)
    assert {one.url for one in worker.queued()} == {first.url, link.url}
    assert worker.counts_now().done == 1
    worker.check_consistency()


@pytest.mark.parametrize("lost", ["lease", "load"])
def test_keys_whose_lease_was_lost_on_the_way_are_leased_again(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    worker = crawl()
    worker.commit(found(*pages("a", 2)))
    call = worker.backend._server.call

    async def cut_off(name: str, calls: Any, **more: Any) -> Any:
        answers = await call(name, calls, **more)
        if name == lost:
            raise StorageAway("the answer did not arrive")
        return answers

    monkeypatch.setattr(worker.backend._server, "call", cut_off)
    with pytest.raises(StorageAway):
        worker.activate_keys()
    monkeypatch.undo()
    assert worker.active_keys() == ["a"]
    worker.check_consistency()


def test_a_lease_that_is_given_long_after_it_was_asked_for_is_put_down(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that was frozen carries out what its callers have given up."""
    worker, other = crawl(), crawl()
    worker.commit(found(*pages("a", 2), *pages("b", 1)))
    [known] = worker.active_keys(count=1)
    monkeypatch.setattr(other.backend._holding, "_member", worker.backend._member)
    [stray] = other.active_keys()
    monkeypatch.undo()
    worker.run(worker.backend.heartbeat({}))
    assert worker.active_keys() == []
    worker.backend._holding._looked_at -= LEASE_SECONDS / 2
    worker.run(worker.backend.heartbeat({}))
    assert worker.active_keys() == [stray] != [known]
    worker.check_consistency()


def test_a_worker_that_leaves_while_redis_is_away_says_so_and_leaves(
    redis_server: RedisServer, crawl: Crawl, caplog: pytest.LogCaptureFixture
) -> None:
    worker = crawl()
    redis_server.kill()
    with caplog.at_level(logging.WARNING):
        worker.close()
    assert "The other workers do not know yet that this worker leaves" in caplog.text
