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
    made: list[DrivenRedis] = []

    def one() -> DrivenRedis:
        made.append(DrivenRedis(runner, redis_cluster.url, "broad", redis_cluster.client(), shards=SHARDS))
        made[-1].open()
        return made[-1]

    yield one
    for driven in made:
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
    one = members()
    entries = some()
    first, second = Batch(discovered=entries[::2]), Batch(discovered=entries[1::2])
    one.commit(first)
    held = {active.record.key for active in one.activate_keys(4)}
    for number in which:
        redis_cluster.servers[number].kill()
    with pytest.raises(StorageAway):
        one.commit(second)
    with pytest.raises(StorageAway):
        one.read_counts()
    for number in which:
        redis_cluster.servers[number].start()
    until_done(one, lambda: one.backend.commit(second))
    redis_cluster.until_whole()
    one.commit(second)
    assert sorted(entry.url for entry in one.queued()) == sorted(entry.url for entry in entries)
    assert {key for key, host in one.hosts().items() if host.active} == held
    one.check_consistency()


def test_a_page_is_done_once_though_a_node_was_killed_in_between(
    members: Callable[[], DrivenRedis], redis_cluster: RedisCluster
) -> None:
    one = members()
    one.commit(found(*some()))
    active = one.activate_keys(12)
    taken = [one.queue.entries[0] for one in active]
    verdicts = [
        verdict
        for entry, key in zip(taken, active, strict=True)
        for verdict in settled(entry).settled
        if setattr(verdict, "fence", key.record.fence) is None
    ]
    links = [entry for key in ("x", "y", "z", "w") for entry in pages(key, 2)]
    batch = Batch(links, verdicts, [one.record for one in active])
    node_of(redis_cluster, one, taken[0].key).kill()
    with pytest.raises(StorageAway):
        one.commit(batch)
    for server in redis_cluster.servers:
        if not server.is_running:
            server.start()
    until_done(one, lambda: one.backend.commit(batch))
    redis_cluster.until_whole()
    assert one.commit(batch).lost == []
    assert one.states() == {State.DONE: len(taken), State.QUEUED: len(some()) - len(taken) + len(links)}
    one.check_consistency()


@pytest.mark.usefixtures("impatient")
def test_a_frozen_node_is_not_waited_for_long_and_is_found_again(
    members: Callable[[], DrivenRedis], redis_cluster: RedisCluster
) -> None:
    one = members()
    frozen = node_of(redis_cluster, one, "a").freeze()

    async def tries() -> int:
        async with asyncio.timeout(PATIENCE_SECONDS):
            for _ in range(3):
                with pytest.raises(StorageAway):
                    await one.backend.commit(found(*pages("a", 2)))
        return 3

    assert one.run(tries()) == 3
    frozen.thaw()
    until_done(one, lambda: one.backend.commit(found(*some())))
    redis_cluster.until_whole()
    one.commit(found(*some()))
    assert len({entry.url for entry in one.queued()}) == len(some())
    one.check_consistency()


@pytest.mark.usefixtures("impatient")
def test_nobody_joins_while_a_node_hangs(
    members: Callable[[], DrivenRedis], redis_cluster: RedisCluster
) -> None:
    one = members()
    one.close()
    redis_cluster.servers[0].freeze()
    one.renew()
    one.backend._server._params["socket_timeout"] = 0.5
    with pytest.raises(StartRefused, match="cannot be reached"):
        one.open()
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
    made: list[Move] = []

    def one(driven: DrivenRedis, key: str) -> Move:
        made.append(Move(redis_cluster, driven, key))
        return made[-1]

    yield one
    for server in redis_cluster.servers:
        server.call("FLUSHALL")
    for back in made:
        back.source, back.target = back.target, back.source
        back.end()


def test_a_shard_that_moves_is_waited_for_and_found_again(
    members: Callable[[], DrivenRedis], move: Callable[[DrivenRedis, str], Move]
) -> None:
    one, other = members(), members()
    one.commit(found(*some()))
    held = {active.record.key for active in one.activate_keys(12)}
    under_way = move(one, "a")
    under_way.begin()
    assert under_way.carry(3) == 3
    with pytest.raises(StorageAway):
        one.commit(found(*pages("a", 5)))
    while under_way.carry(2):
        pass
    under_way.end()
    for driven in (one, other):
        until_done(driven, lambda driven=driven: driven.backend.commit(found(*pages("a", 5))))
    assert len({entry.url for entry in one.queued()}) == len(some()) + 2
    assert {key for key, host in one.hosts().items() if host.active} == held
    assert one.run(one.backend.heartbeat({})).lost == []
    one.check_consistency()


def test_a_shard_that_has_moved_is_found_at_once(
    members: Callable[[], DrivenRedis], move: Callable[[DrivenRedis, str], Move]
) -> None:
    one = members()
    one.commit(found(*some()))
    done = move(one, "a")
    done.begin()
    while done.carry(100):
        pass
    done.end()
    assert len(one.commit(found(*pages("a", 5))).queued) == 2
    assert "a" in [key for _ in range(5) for key in one.active_keys()]
    one.check_consistency()
