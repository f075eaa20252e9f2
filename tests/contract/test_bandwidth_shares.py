"""The shares of several workers of one bandwidth limit: fair, and together never more than it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven_redis import DrivenRedis
from tests.contract.samples import NOW
from webcrawl.storage.contract import uptime
from webcrawl.storage.redis.workers import LEAST_SHARE, SHARE_SECONDS

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from tests.redis_server import RedisServer

    Crawl = Callable[[], "Worker"]

LIMIT = 900_000.0
ALL = -1.0


class Worker:
    """A worker that renews its share, and what it may use by its last answer."""

    def __init__(self, driven: DrivenRedis) -> None:
        self.driven = driven
        self.share, self.ends_at = 0.0, 0.0

    def beat(self, wanted: float = ALL, limit: float = LIMIT, at: float = 0.0) -> float:
        """Send a heartbeat ``at`` so many seconds."""
        self.driven.clock.now = NOW + at
        figures = {"bandwidth_limit": limit, "bandwidth_wanted": wanted} if limit else {}
        answer = self.driven.run(self.driven.backend.heartbeat(figures))
        if answer.bandwidth is None:
            assert not limit
            self.share, self.ends_at = 0.0, 0.0
        else:
            assert answer.bandwidth.ends_at <= uptime() + SHARE_SECONDS
            self.share, self.ends_at = answer.bandwidth.rate, at + SHARE_SECONDS
        return self.share

    def may_use(self, at: float) -> float:
        return self.share if at < self.ends_at else 0.0


@pytest.fixture
def crawl(redis_server: RedisServer, runner: asyncio.Runner) -> Iterator[Crawl]:
    """Makes workers of one crawl."""
    made: list[DrivenRedis] = []

    def one() -> Worker:
        made.append(DrivenRedis(runner, redis_server.url, "broad"))
        made[-1].open()
        return Worker(made[-1])

    yield one
    for driven in made:
        driven.dispose()


def test_a_worker_alone_has_all_of_it(crawl: Crawl) -> None:
    assert crawl().beat() == LIMIT


def test_workers_that_need_all_get_equal_shares(crawl: Crawl) -> None:
    workers = [crawl() for _ in range(3)]
    assert [worker.beat() for worker in workers] == [LIMIT, 0, 0]
    assert [worker.beat() for worker in workers] == [LIMIT / 3, LIMIT / 3, LIMIT / 3]


def test_what_one_does_not_need_the_others_get(crawl: Crawl) -> None:
    busy, calm, idle = crawl(), crawl(), crawl()
    for _ in range(3):
        shares = busy.beat(), calm.beat(100_000), idle.beat(0)
    least = LIMIT / 3 * LEAST_SHARE
    assert shares == (pytest.approx(LIMIT - 100_000 - least), 100_000, pytest.approx(least))
    for _ in range(3):
        shares = busy.beat(200_000), calm.beat(100_000), idle.beat(0)
    rest = (LIMIT - 300_000 - least) / 3
    assert shares == (
        pytest.approx(200_000 + rest, abs=1),
        pytest.approx(100_000 + rest, abs=1),
        pytest.approx(least + rest, abs=1),
    )


def test_the_share_of_a_worker_that_is_gone_is_free_when_it_has_ended(crawl: Crawl) -> None:
    frozen, other = crawl(), crawl()
    for _ in range(2):
        frozen.beat()
        other.beat()
    assert other.beat(at=SHARE_SECONDS - 0.1) == LIMIT / 2
    assert other.beat(at=SHARE_SECONDS + 0.1) == LIMIT
    # It wakes up: the other one has to give something back first.
    assert frozen.beat(at=SHARE_SECONDS + 0.2) == 0
    assert other.beat(at=SHARE_SECONDS + 0.3) == LIMIT / 2
    assert frozen.beat(at=SHARE_SECONDS + 0.4) == LIMIT / 2


def test_a_worker_that_leaves_gives_its_share_back_at_once(crawl: Crawl) -> None:
    one, other = crawl(), crawl()
    one.beat()
    one.driven.run(one.driven.backend.close())
    assert other.beat() == LIMIT


def test_without_a_limit_there_are_no_shares(crawl: Crawl) -> None:
    one = crawl()
    one.beat()
    assert one.driven.client.exists("broad:bandwidth")
    one.beat(limit=0)
    assert not one.driven.client.exists("broad:bandwidth")


@pytest.mark.parametrize("seed", range(4))
def test_the_shares_never_exceed_the_limit(crawl: Crawl, seed: int) -> None:
    """Whatever workers need, begin, fall silent or come back; and all of it is used soon after."""
    chance = random.Random(seed)
    workers = [crawl() for _ in range(4)]
    at = 0.0
    for _ in range(120):
        at += chance.choice([0.01, 0.3, 1.0, 1.0, SHARE_SECONDS / 2])
        one = chance.choice(workers)
        one.beat(chance.choice([ALL, ALL, 0.0, chance.uniform(0, LIMIT)]), at=at)
        assert sum(each.may_use(at) for each in workers) <= LIMIT + 0.01
    for _ in range(3):
        at += 0.1
        for one in workers:
            one.beat(at=at)
    assert [worker.share for worker in workers] == [pytest.approx(LIMIT / 4, abs=0.01)] * 4


def test_workers_with_another_limit_take_no_more_than_theirs(crawl: Crawl) -> None:
    """A lower limit reaches the workers one after the other."""
    workers = [crawl() for _ in range(3)]
    for _ in range(2):
        for worker in workers:
            worker.beat()
    shares = [worker.beat(limit=90_000) for worker in workers]
    assert shares == [0, 0, pytest.approx(30_000, abs=1)]
    assert [worker.beat(limit=90_000) for worker in workers] == [pytest.approx(30_000, abs=1)] * 3
