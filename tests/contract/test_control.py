"""A shared crawl from outside: how it stands, who works on it, and what its operator wants."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import IDENTITY
from tests.contract.driven_redis import DrivenRedis
from tests.contract.sample_crawl import SampleCrawl
from tests.contract.samples import NOW
from webcrawl.errors import StartRefused
from webcrawl.storage.contract import Counts
from webcrawl.storage.redis.control import Control
from webcrawl.storage.redis.frontier import RedisBackend
from webcrawl.storage.redis.packing import PROTOCOL
from webcrawl.storage.technology import SCOPE

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from tests.redis_server import RedisServer

    Join = Callable[[], DrivenRedis]


@pytest.fixture
def control(sample: SampleCrawl, runner: asyncio.Runner) -> Iterator[Control]:
    made = Control({"url": sample.driven.url}, "broad", 60.0)
    runner.run(made.open())
    yield made
    runner.run(made.close())


def test_it_tells_how_the_crawl_stands(sample: SampleCrawl, control: Control) -> None:
    status = sample.run(control.status())
    assert status.counts == Counts(
        queued=329, done=2, failed=1, refused=1, hosts=4, given_up_hosts=1, given_up_urls=2
    )
    assert status.active_hosts == 1
    assert status.is_shared
    assert status.now == pytest.approx(sample.server_now(), abs=5)


def test_it_tells_who_works_on_it_in_the_order_in_which_they_came(
    sample: SampleCrawl, control: Control
) -> None:
    figures = {"pages": 3, "bytes": 4000, "open": 2}
    sample.run(sample.driven.backend.heartbeat(figures))
    sample.report("w7", seen_at=NOW + 9)
    workers = sample.run(control.workers())
    assert sorted(worker.name for worker in workers) == ["test", "w7"]
    mine = next(worker for worker in workers if worker.name == "test")
    assert (mine.started_at, mine.heartbeat_at, mine.figures) == (NOW, NOW, {"active": 1, **figures})


def test_there_must_be_such_a_crawl(sample: SampleCrawl) -> None:
    control = Control({"url": sample.driven.url}, "other", 60.0)
    with pytest.raises(StartRefused, match=r"there is no crawl 'other' on Redis at 127\.0\.0\.1:\d+"):
        sample.run(control.open())
    assert sample.client.keys("other*") == []


def test_it_must_be_one_of_this_version(sample: SampleCrawl) -> None:
    sample.client.hset("broad:meta", "protocol", "99")
    with pytest.raises(StartRefused, match="protocol 99"):
        sample.run(Control({"url": sample.driven.url}, "broad", 60.0).open())


# -- what members hear -------------------------------------------------------------------------------------


@pytest.fixture
def join(runner: asyncio.Runner, redis_server: RedisServer) -> Iterator[Join]:
    """Another member of one crawl each time."""
    made: list[DrivenRedis] = []

    def one(now: float = NOW) -> DrivenRedis:
        made.append(DrivenRedis(runner, redis_server.url, "broad"))
        made[-1].open(now)
        return made[-1]

    yield one
    for driven in made:
        driven.dispose()


def test_a_crawl_of_a_protocol_before_is_refused(join: Join) -> None:
    first = join()
    first.close()
    first.client.hset("broad:meta", "protocol", "3")
    refusal = (
        f"was begun by a webcrawl with protocol 3, this one speaks {PROTOCOL}; use the version that began it"
    )
    with pytest.raises(StartRefused, match=refusal):
        join()
    assert first.client.hget("broad:meta", "protocol") == b"3"


def test_a_setting_of_the_scope_that_is_new_since_the_crawl_was_begun_is_agreed_on_from_then_on(
    redis_server: RedisServer, join: Join, runner: asyncio.Runner
) -> None:
    first = join()
    first.close()
    options, get_owner, clock = first._options, first._get_owner, first.clock

    def with_most(requests: str) -> RedisBackend:
        identity = {**IDENTITY, f"{SCOPE}REQUESTS_PER_KEY_MAX": requests}
        return RedisBackend({"url": redis_server.url}, options, identity, get_owner, clock)

    second = with_most("5")
    runner.run(second.open(NOW))
    with pytest.raises(StartRefused, match="has REQUESTS_PER_KEY_MAX=5 and cannot be joined with"):
        runner.run(with_most("6").open(NOW))
    runner.run(second.close())


def test_who_began_before_a_moment_is_counted_while_it_lives(join: Join, runner: asyncio.Runner) -> None:
    first = join()

    def before(driven: DrivenRedis, at: float) -> int:
        return runner.run(driven.backend.count_workers_before(at))

    assert before(first, NOW + 1) == 0, "itself"
    second = join(NOW + 2)
    assert [before(second, NOW + 1), before(second, NOW - 1)] == [1, 0]
    assert before(first, NOW + 1) == 0, "the second one began later"
    # One that was killed.
    assert before(join(NOW + 11), NOW + 1) == 0
    first.close()
    assert before(second, NOW + 1) == 0


def test_a_member_says_how_long_its_leases_last_and_which_process_it_is(
    sample: SampleCrawl, control: Control
) -> None:
    sample.run(sample.driven.backend.heartbeat({}))
    [worker] = sample.run(control.workers())
    assert (worker.process, worker.host) == (os.getpid(), socket.gethostname())
    assert worker.lease_seconds == sample.driven._options.lease_seconds
