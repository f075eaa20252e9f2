"""Nodes of a cluster die, hang and hand slots over: a commit is carried out again until it is, and then once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.driven_redis import DrivenRedis
from tests.contract.samples import found, pages, settled
from webcrawl.errors import StartRefused, StorageAway
from webcrawl.frontier.records import State
from webcrawl.storage.contract import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.redis_server import RedisCluster, RedisServer
    from webcrawl.frontier.records import UrlEntry

SHARDS = 5
KEYS = "abcdefghijkl"
PATIENCE_SECONDS = 30.0


@pytest.fixture
def members(runner: asyncio.Runner, redis_cluster: RedisCluster) -> Iterator[Callable[[], DrivenRedis]]:
    """Makes members of one crawl, opened."""
    workers: list[DrivenRedis] = []

    def one() -> DrivenRedis:
        workers.append(DrivenRedis(runner, redis_cluster.url, "broad", redis_cluster.client(), shards=SHARDS))
        workers[-1].open()
        return workers[-1]

    yield one
    for driven in workers:
        driven.dispose()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that does not answer is not waited for long."""
    monkeypatch.setattr("webcrawl.storage.redis.cluster.NODE_SECONDS", 0.5)
    monkeypatch.setattr("webcrawl.storage.redis.cluster.EXCHANGE_SECONDS", 1.5)


def until_done(driven: DrivenRedis, step: Callable[[], Any]) -> Any:
    """What ``step`` gives when it is not refused any more; a sign of life is given between two tries."""

    async def trying() -> Any:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    await driven.backend.heartbeat({})
                    return await step()
                except StorageAway:
                    await asyncio.sleep(0.05)

    return driven.run(trying())


def some() -> list[UrlEntry]:
    return [entry for key in KEYS for entry in pages(key, 3)]


def node_of(cluster: RedisCluster, driven: DrivenRedis, key: str) -> RedisServer:
    shard = driven.backend._get_shard(key)
    node = driven.client.get_node_from_key(shard.names.idle.decode())
    [server] = [server for server in cluster.servers if server.port == node.port]
    return server


@pytest.mark.parametrize("which", [[0], [0, 1, 2]], ids=["the_one_in_the_url", "all"])
def test_nodes_that_are_killed_and_come_back(
    members: Callable[[], DrivenRedis], redis_cluster: RedisCluster, which: list[int]
) -> None:
    worker = members()
    entries = some()
    first, second = Batch(discovered=entries[::2]), Batch(discovered=entries[1::2])
    worker.commit(first)
    held = {active.record.key for active in worker.activate_keys(4)}
    for number in which:
        redis_cluster.servers[number].kill()
    with pytest.raises(StorageAway):
        worker.commit(second)
    with pytest.raises(StorageAway):
        worker.read_counts()
    for number in which:
        redis_cluster.servers[number].start()
    until_done(worker, lambda: worker.backend.commit(second))
    redis_cluster.until_whole()
    worker.commit(second)
    assert sorted(entry.url for entry in worker.queued()) == sorted(entry.url for entry in entries)
    assert {key for key, host in worker.hosts().items() if host.active} == held
    worker.check_consistency()


def test_a_page_is_done_once_though_a_node_was_killed_in_between(
    members: Callable[[], DrivenRedis], redis_cluster: RedisCluster
) -> None:
    worker = members()
    worker.commit(found(*some()))
    active = worker.activate_keys(12)
    taken = [active_key.queue.entries[0] for active_key in active]
    verdicts = [
        verdict
        for entry, key in zip(taken, active, strict=True)
        for verdict in settled(entry).settled
        if setattr(verdict, "fence", key.record.fence) is None
    ]
    links = [entry for key in ("x", "y", "z", "w") for entry in pages(key, 2)]
    batch = Batch(links, verdicts, [active_key.record for active_key in active])
    node_of(redis_cluster, worker, taken[0].key).kill()
    with pytest.raises(StorageAway):
        worker.commit(batch)
    for server in redis_cluster.servers:
        if not server.is_running:
            server.start()
    until_done(worker, lambda: worker.backend.commit(batch))
    redis_cluster.until_whole()
    assert worker.commit(batch).lost == []
    assert worker.states() == {State.DONE: len(taken), State.QUEUED: len(some()) - len(taken) + len(links)}
    worker.check_consistency()


@pytest.mark.usefixtures("impatient")
def test_a_frozen_node_is_not_waited_for_long_and_is_found_again(
    members: Callable[[], DrivenRedis], redis_cluster: RedisCluster
) -> None:
    worker = members()
    frozen = node_of(redis_cluster, worker, "a").freeze()

    async def tries() -> int:
        async with asyncio.timeout(PATIENCE_SECONDS):
            for _ in range(3):
                with pytest.raises(StorageAway):
                    await worker.backend.commit(found(*pages("a", 2)))
        return 3

    assert worker.run(tries()) == 3
    frozen.thaw()
    until_done(worker, lambda: worker.backend.commit(found(*some())))
    redis_cluster.until_whole()
    worker.commit(found(*some()))
    assert len({entry.url for entry in worker.queued()}) == len(some())
    worker.check_consistency()


@pytest.mark.usefixtures("impatient")
def test_nobody_joins_while_a_node_hangs(
    members: Callable[[], DrivenRedis], redis_cluster: RedisCluster
) -> None:
    worker = members()
    worker.close()
    redis_cluster.servers[0].freeze()
    worker.renew()
    worker.backend._server._params["socket_timeout"] = 0.5
    with pytest.raises(StartRefused, match="cannot be reached"):
        worker.open()
    redis_cluster.servers[0].thaw()


# -- slots on their way ----------------------------------------------------------------------------------------


class Move:
    """Hands the slot of a shard over to another node, step by step as ``redis-cli --cluster reshard`` does."""

    def __init__(self, cluster: RedisCluster, driven: DrivenRedis, key: str) -> None:
        names = driven.backend._get_shard(key).names
        self.source = node_of(cluster, driven, key)
        self.target = next(server for server in cluster.servers if server is not self.source)
        self.cluster = cluster
        self.slot = int(self.source.call("CLUSTER", "KEYSLOT", names.idle))

    def begin(self) -> None:
        self.target.call("CLUSTER", "SETSLOT", self.slot, "IMPORTING", self._id(self.source))
        self.source.call("CLUSTER", "SETSLOT", self.slot, "MIGRATING", self._id(self.target))

    def carry(self, most: int) -> int:
        """Move some of its keys; how many there were."""
        keys = self.source.call("CLUSTER", "GETKEYSINSLOT", self.slot, most)
        if keys:
            self.source.call("MIGRATE", "127.0.0.1", self.target.port, "", 0, 5000, "REPLACE", "KEYS", *keys)
        return len(keys)

    def end(self) -> None:
        for server in (self.target, self.source, *self.cluster.servers):
            server.call("CLUSTER", "SETSLOT", self.slot, "NODE", self._id(self.target))

    @staticmethod
    def _id(server: RedisServer) -> str:
        return bytes(server.call("CLUSTER", "MYID")).decode()


@pytest.fixture
def move(
    members: Callable[[], DrivenRedis], redis_cluster: RedisCluster
) -> Iterator[Callable[[DrivenRedis, str], Move]]:
    """Makes moves, and takes the slots back where they belong: the cluster is everybody's."""
    moves: list[Move] = []

    def one(driven: DrivenRedis, key: str) -> Move:
        moves.append(Move(redis_cluster, driven, key))
        return moves[-1]

    yield one
    for server in redis_cluster.servers:
        server.call("FLUSHALL")
    for back in moves:
        back.source, back.target = back.target, back.source
        back.end()


def test_a_shard_that_moves_is_waited_for_and_found_again(
    members: Callable[[], DrivenRedis], move: Callable[[DrivenRedis, str], Move]
) -> None:
    worker, other = members(), members()
    worker.commit(found(*some()))
    held = {active.record.key for active in worker.activate_keys(12)}
    under_way = move(worker, "a")
    under_way.begin()
    assert under_way.carry(3) == 3
    with pytest.raises(StorageAway):
        worker.commit(found(*pages("a", 5)))
    while under_way.carry(2):
        pass
    under_way.end()
    for driven in (worker, other):
        until_done(driven, lambda driven=driven: driven.backend.commit(found(*pages("a", 5))))
    assert len({entry.url for entry in worker.queued()}) == len(some()) + 2
    assert {key for key, host in worker.hosts().items() if host.active} == held
    assert worker.run(worker.backend.heartbeat({})).lost == []
    worker.check_consistency()


def test_a_shard_that_has_moved_is_found_at_once(
    members: Callable[[], DrivenRedis], move: Callable[[DrivenRedis, str], Move]
) -> None:
    worker = members()
    worker.commit(found(*some()))
    done = move(worker, "a")
    done.begin()
    while done.carry(100):
        pass
    done.end()
    assert len(worker.commit(found(*pages("a", 5))).queued) == 2
    assert "a" in [key for _ in range(5) for key in worker.active_keys()]
    worker.check_consistency()
