"""A shared crawl from outside: how it stands, who works on it, and what its operator wants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract.driven import IDENTITY
from tests.contract.driven_redis import DrivenRedis
from tests.contract.sample_crawl import SampleCrawl
from tests.contract.samples import NOW
from webcrawl.errors import StartRefused
from webcrawl.storage.contract import Counts, HeartbeatAnswer, OperatorCommand
from webcrawl.storage.inspection import Worker
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
    assert status.command is OperatorCommand.RUN
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
    assert mine == Worker("test", NOW, NOW, {"active": 1, **figures})


def test_a_command_is_kept_and_tells_the_one_before(sample: SampleCrawl, control: Control) -> None:
    assert sample.run(control.command()) is OperatorCommand.RUN
    assert sample.run(control.command(OperatorCommand.PAUSE)) is OperatorCommand.RUN
    assert sample.run(control.command(OperatorCommand.STOP)) is OperatorCommand.PAUSE
    assert sample.run(control.command()) is OperatorCommand.STOP


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
    options, owner_of, clock = first._options, first._owner_of, first.clock

    def with_most(requests: str) -> RedisBackend:
        identity = {**IDENTITY, f"{SCOPE}REQUESTS_PER_KEY_MAX": requests}
        return RedisBackend({"url": redis_server.url}, options, identity, owner_of, clock)

    second = with_most("5")
    runner.run(second.open(NOW))
    with pytest.raises(StartRefused, match="has REQUESTS_PER_KEY_MAX=5 and cannot be joined with"):
        runner.run(with_most("6").open(NOW))
    runner.run(second.close())


def want(driven: DrivenRedis, command: OperatorCommand) -> None:
    driven.client.hset("broad:meta", "command", str(command))


def heard(driven: DrivenRedis) -> OperatorCommand:
    backend: RedisBackend = driven.backend
    heartbeat: HeartbeatAnswer = driven.run(backend.heartbeat({}))
    return heartbeat.command


@pytest.mark.parametrize("command", OperatorCommand)
def test_every_member_hears_a_command(join: Join, command: OperatorCommand) -> None:
    first, second = join(), join()
    want(first, command)
    assert [heard(first), heard(second)] == [command, command]


def test_a_stopped_crawl_goes_on_when_somebody_starts_after_all_have_left(join: Join) -> None:
    first = join()
    want(first, OperatorCommand.STOP)
    first.close()
    assert heard(join()) is OperatorCommand.RUN


def test_who_starts_while_others_are_stopping_stops_with_them(join: Join) -> None:
    first = join()
    want(first, OperatorCommand.STOP)
    assert heard(join()) is OperatorCommand.STOP
    assert heard(first) is OperatorCommand.STOP


def test_who_was_killed_does_not_keep_a_stopped_crawl_from_going_on(join: Join) -> None:
    first = join()
    want(first, OperatorCommand.STOP)
    assert heard(join(NOW + 11)) is OperatorCommand.RUN


def test_a_paused_crawl_stays_paused_whoever_starts(join: Join) -> None:
    first = join()
    want(first, OperatorCommand.PAUSE)
    first.close()
    assert heard(join()) is OperatorCommand.PAUSE
