"""A Redis with a limit is never run into it: near a budget URLs are turned away and pruned, and the crawl goes on."""

from __future__ import annotations

import asyncio
import itertools
import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.driven import IDENTITY
from tests.contract.driven_redis import LEASE_SECONDS, DrivenRedis, GivenClock
from tests.contract.samples import NOW, entry, found, pages, robots
from webcrawl.errors import StartRefused, StorageFull
from webcrawl.frontier.order import LevelSampler
from webcrawl.frontier.records import QUEUED, State, UrlEntry, UrlRecord
from webcrawl.storage.contract import Batch, Filling, Room, Settled
from webcrawl.storage.redis.frontier import RedisBackend
from webcrawl.storage.redis.names import RedisOptions
from webcrawl.urls.politeness_key import get_host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import ServeRedis
    from tests.redis_server import RedisCluster, RedisServer

MIB = 1 << 20
SHARDS = 16
HOSTS = 500
LINKS = 40


class Worker:
    """One process that crawls a web without end, of which nearly every link is new."""

    def __init__(self, url: str, number: int, budget_bytes: int) -> None:
        self.clock = GivenClock()
        options = RedisOptions(
            shards=SHARDS, lease_seconds=LEASE_SECONDS, worker=f"w{number}", budget_bytes=budget_bytes
        )
        self.backend = RedisBackend(
            {"url": url}, options, IDENTITY, lambda origin: get_host(f"{origin}/"), self.clock
        )
        self.filling: Filling | None = None
        self.pages = self.queued = self.turned_away = self.crowded_out = 0
        self._random = random.Random(number)
        self._positions = itertools.count(number, 100)

    async def look(self) -> None:
        self.filling = (await self.backend.heartbeat({})).filling

    async def crawl(self) -> None:
        """A round of the pages that come next of 40 hosts."""
        activated = await self.backend.activate_keys(40, self.clock(), LevelSampler(2.0, seed=1))
        batch = Batch(hosts=[one.record for one in activated])
        for one in activated:
            for leased in one.queue.entries[:3]:
                batch.settled.append(Settled(leased, UrlRecord(State.DONE), fence=one.record.fence))
                batch.discovered += [self._link(leased) for _ in range(LINKS)]
        await self.add(batch)
        self.pages += len(batch.settled)
        await self.backend.release_keys(batch.hosts)

    async def add(self, batch: Batch) -> None:
        committed = await self.backend.commit(batch)
        self.queued += len(committed.queued)
        self.turned_away += committed.turned_away
        self.crowded_out += committed.crowded_out

    def _link(self, source: UrlEntry) -> UrlEntry:
        number = self._random.getrandbits(40)
        url = f"http://host-{number % HOSTS}/section/of-some-length/page-{number}.html"
        return entry(url, 0, next(self._positions), depth=source.depth + 1, via=source.url)


class SharedCrawl:
    """Some workers on a server, who crawl at the same time and look when they are told to."""

    def __init__(self, runner: asyncio.Runner, server: RedisServer, workers: int, budget_bytes: int) -> None:
        self.run, self.server = runner.run, server
        self.workers = [Worker(server.url, number, budget_bytes) for number in range(workers)]
        for worker in self.workers:
            self.run(worker.backend.open(NOW))
        self.look()
        self.most_used_bytes = 0
        seeds = [entry(f"http://host-{number}/") for number in range(HOSTS)]
        self.run(self.workers[0].add(found(*seeds)))

    def together(self, what: str) -> None:
        async def all_of_them() -> None:
            await asyncio.gather(*(getattr(worker, what)() for worker in self.workers))

        self.run(all_of_them())

    def look(self) -> None:
        self.together("look")

    def crawl(self, rounds: int) -> None:
        """``rounds`` rounds between two looks."""
        for _ in range(rounds):
            self.together("crawl")
            self.most_used_bytes = max(self.most_used_bytes, self.used_bytes())
        self.look()

    def crawl_until(self, *rooms: Room) -> None:
        """Crawl until the storage is as one of ``rooms`` says."""
        for _ in range(60):
            if self.room() in rooms:
                return
            self.crawl(3)
        raise AssertionError(f"it never became {rooms}")

    def room(self) -> Room:
        filling = self.workers[0].filling
        assert filling is not None
        return filling.room

    def used_bytes(self) -> int:
        return int(self.server.call("INFO", "memory")["used_memory"])

    def sum(self, name: str) -> int:
        return sum(getattr(worker, name) for worker in self.workers)

    def limit(self, size_bytes: int) -> None:
        self.server.call("CONFIG", "SET", "maxmemory", size_bytes)

    def close(self) -> None:
        for worker in self.workers:
            self.run(worker.backend.close())


@pytest.fixture
def limited(serve_redis: ServeRedis) -> RedisServer:
    return serve_redis({"maxmemory": 5 * MIB, "maxmemory-policy": "noeviction", "appendonly": "no"})


@pytest.fixture
def make_crawl(runner: asyncio.Runner, limited: RedisServer) -> Iterator[Any]:
    crawls: list[SharedCrawl] = []

    def made(workers: int, budget_bytes: int) -> SharedCrawl:
        crawls.append(SharedCrawl(runner, limited, workers, budget_bytes))
        return crawls[-1]

    yield made
    for one in crawls:
        one.close()


@pytest.fixture
def state(runner: asyncio.Runner, limited: RedisServer) -> Iterator[DrivenRedis]:
    driven = DrivenRedis(runner, limited.url, "broad", shards=SHARDS)
    yield driven
    driven.dispose()


def test_several_workers_in_an_endless_web_stay_below_the_limit_and_go_on(
    make_crawl: Any, state: DrivenRedis
) -> None:
    crawl = make_crawl(3, 4 * MIB)
    crawl.crawl_until(Room.SCARCE, Room.FULL)
    taken, turned_away = crawl.sum("queued"), crawl.sum("turned_away")
    assert taken > 8_000
    for _ in range(4):
        before = crawl.sum("pages")
        crawl.crawl(3)
        assert crawl.sum("pages") > before
    assert crawl.sum("turned_away") > turned_away + 3_000
    assert crawl.most_used_bytes < 5 * MIB
    state.check_consistency()


def test_what_was_taken_too_much_is_pruned_and_with_room_again_all_is_taken(
    make_crawl: Any, state: DrivenRedis
) -> None:
    crawl = make_crawl(2, 0)
    crawl.crawl_until(Room.SCARCE)
    used = crawl.used_bytes()
    # Nine tenths of it are the budget, and that is used up now.
    crawl.limit(int(used / 0.9))
    crawl.look()
    assert crawl.room() is Room.FULL
    crawl.crawl_until(Room.SCARCE)
    # Some are pruned by both at once, or fetched all the same since they were leased already.
    assert 0.8 * crawl.sum("crowded_out") < state.counts_now().refused <= crawl.sum("crowded_out")
    crawl.limit(8 * used)
    crawl.look()
    assert crawl.room() is Room.PLENTY
    before, taken = crawl.sum("turned_away"), crawl.sum("queued")
    crawl.crawl(1)
    assert crawl.sum("turned_away") == before
    assert crawl.sum("queued") > taken + 1000
    state.check_consistency()


def test_what_is_turned_away_is_new_when_it_is_found_again(make_crawl: Any) -> None:
    crawl = make_crawl(1, 0)
    worker, again = crawl.workers[0], [entry("http://host-1/again", depth=1, via="http://host-1/")]
    crawl.limit(int(crawl.used_bytes() / 0.88))
    crawl.look()
    assert crawl.room() is Room.FULL
    crawl.run(worker.add(found(*again)))
    assert worker.turned_away == 1
    assert crawl.run(worker.backend.url_record("host-1", again[0].fingerprint)) is None
    crawl.limit(0)
    crawl.look()
    assert worker.filling is None
    crawl.run(worker.add(found(*again)))
    assert crawl.run(worker.backend.url_record("host-1", again[0].fingerprint)) == QUEUED


def test_a_long_queue_is_found_and_cut_among_many_short_ones(make_crawl: Any, state: DrivenRedis) -> None:
    crawl = make_crawl(1, 0)
    crawl.limit(1 << 40)
    crawl.look()
    crawl.run(crawl.workers[0].add(found(*pages("giant", 6_000))))
    crawl.limit(int(crawl.used_bytes() / 0.99))
    crawl.look()
    # Which queues it looks at is chance: it finds the long one sooner or later.
    for _ in range(200):
        crawl.run(crawl.workers[0].add(Batch()))
        if crawl.sum("crowded_out") > 1_000:
            break
    hosts = state.hosts()
    assert hosts["giant"].queued == 6_000 - crawl.sum("crowded_out")
    assert hosts["giant"].queued < 5_000
    assert all(hosts[f"host-{number}"].queued == 1 for number in range(HOSTS))
    left = [one.position for one in state.queued() if one.key == "giant"]
    assert left == sorted(left)
    state.check_consistency()


def test_a_queue_that_others_made_short_is_not_cut_again_and_again(
    make_crawl: Any, state: DrivenRedis
) -> None:
    crawl = make_crawl(1, 0)
    worker = crawl.workers[0]
    crawl.limit(1 << 40)
    crawl.look()
    crawl.run(worker.add(found(*pages("giant", 6_000), *pages("short", 3))))
    worker.backend._budget._long = {"short": 50_000}
    crawl.limit(int(crawl.used_bytes() / 0.99))
    crawl.look()
    for _ in range(100):
        crawl.run(worker.add(Batch()))
        if worker.crowded_out:
            break
    hosts = state.hosts()
    assert hosts["short"].queued == 3
    assert hosts["giant"].queued < 6_000


def test_on_a_full_server_a_new_robots_txt_takes_the_place_of_the_one_that_expires_first(
    make_crawl: Any,
) -> None:
    crawl = make_crawl(1, 0)
    worker, origins = crawl.workers[0], [f"http://origin-{number}" for number in range(400)]
    crawl.limit(1 << 40)
    crawl.look()
    early = [robots(origin, expires_at=NOW + number) for number, origin in enumerate(origins[:200])]
    crawl.run(worker.add(Batch(robots=early)))
    crawl.limit(int(crawl.used_bytes() / 0.88))
    crawl.look()
    for origin in origins[200:]:
        crawl.run(worker.add(Batch(robots=[robots(origin, expires_at=NOW + 1000)])))
    known = [crawl.run(worker.backend.read_robots(origin, get_host(f"{origin}/"))) for origin in origins]
    assert sum(one is not None for one in known) == 200
    assert known[0] is None
    assert known[-1] is not None


def test_a_server_that_refuses_already_is_given_room_by_who_meets_it(
    make_crawl: Any, state: DrivenRedis
) -> None:
    crawl = make_crawl(1, 0)
    worker = crawl.workers[0]
    crawl.limit(1 << 40)
    crawl.run(worker.add(found(*pages("giant", 8_000))))
    crawl.limit(crawl.used_bytes() - 100_000)
    for step in (worker.look, lambda: worker.add(found(entry("http://other/")))):
        tries = iter(range(10))
        while next(tries) < 9:
            with suppress(StorageFull):
                crawl.run(step())
                break
    assert crawl.room() is not Room.PLENTY
    assert state.hosts()["giant"].queued < 8_000
    state.check_consistency()


def test_in_a_cluster_a_full_node_turns_away_and_the_others_take(
    runner: asyncio.Runner, redis_cluster: RedisCluster
) -> None:
    used = max(int(server.call("INFO", "memory")["used_memory"]) for server in redis_cluster.servers)
    worker = Worker(redis_cluster.url, 1, used + MIB)
    runner.run(worker.backend.open(NOW))
    giant = (entry(f"http://giant/section/of-some-length/{number}") for number in itertools.count())
    while worker.filling is None or worker.filling.room is not Room.FULL:
        runner.run(worker.add(found(*itertools.islice(giant, 300))))
        runner.run(worker.look())
    elsewhere = [entry(f"http://host-{number}/x", depth=1, via="http://giant/") for number in range(60)]
    before = worker.queued
    runner.run(worker.add(found(*elsewhere)))
    assert 20 < worker.queued - before < 60
    runner.run(worker.backend.close())


def test_a_server_that_would_drop_keys_is_refused(runner: asyncio.Runner, limited: RedisServer) -> None:
    limited.call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    worker = Worker(limited.url, 1, 0)
    with pytest.raises(StartRefused, match="maxmemory-policy noeviction"):
        runner.run(worker.backend.open(NOW))
